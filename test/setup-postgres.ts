import { once } from "node:events"
import { createServer } from "node:http"
import type { TestProject } from "vitest/node"
import { startPostgres } from "./postgres-server.ts"
import type { PostgresServer } from "./postgres-server.ts"
import { removeTemporaryFolder } from "./temporary-folder.ts"

declare module "vitest" {
  interface ProvidedContext {
    /** URL of the run's Postgres for test workers; the first request starts it. */
    readonly postgresUrl: string
  }
}

let server: Promise<PostgresServer> | undefined

const starter = createServer((_, response) => {
  server ??= startPostgres()
  server.then(
    ({ url }) => response.end(url),
    (cause) => response.writeHead(500).end(String(cause))
  )
})

/** Costs nothing until a test asks for Postgres. */
export const setup = async (project: TestProject): Promise<void> => {
  starter.listen(0, "127.0.0.1")
  await once(starter, "listening")
  starter.unref()
  const address = starter.address()
  if (address === null || typeof address === "string") throw new Error("no port")
  project.provide("postgresUrl", `http://127.0.0.1:${address.port}`)
}

export const teardown = async (): Promise<void> => {
  starter.close()
  starter.closeAllConnections()
  await server?.then(
    ({ stop }) => stop(),
    () => {}
  )
  removeTemporaryFolder()
}
