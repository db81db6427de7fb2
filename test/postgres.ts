import { inject } from "vitest"
import { databaseOn } from "./postgres-database.ts"
import type { FreshDatabase, Template } from "./postgres-database.ts"

export type { FreshDatabase, Template }

let serverUrl: Promise<string> | undefined

/**
 * A new database on the run's Postgres, which the first test that needs it starts. It may be dropped or left, as the
 * server ends with the run. With a template, a copy of a database filled once per run.
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
