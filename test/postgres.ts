import { inject } from "vitest"
import { databaseOn } from "./postgres-database.ts"
import type { FreshDatabase, Template } from "./postgres-database.ts"

export type { FreshDatabase, Template }

let serverUrl: Promise<string> | undefined

/**
 * A database of the test's own on the run's one Postgres, which starts when the first test asks for it. Drop it when
 * done, or leave it: the server goes with the run. With a template, a copy of a database filled once per run.
 */
export const freshDatabase = async (template?: Template): Promise<FreshDatabase> => {
  serverUrl ??= askForServer()
  return databaseOn(await serverUrl, template)
}

const askForServer = async (): Promise<string> => {
  const response = await fetch(inject("postgresUrl"))
  const body = await response.text()
  if (!response.ok) throw new Error(body)
  return body
}
