/** Servers to be killed, on databases with durable commits. */
import { databaseOn } from "../postgres-database.ts"
import { DURABLE, startPostgres } from "../postgres-server.ts"
import { share } from "../share.ts"
import { type Env, folderOfItsOwn, type ServerProcess } from "./process.ts"
import { type Body, bodyRead } from "../answers.ts"

export const token = "a-token-of-more-than-twenty-characters"

/** Environment with its own folder, and an SQLite file in it unless a URL is given. */
export const environment = async (url?: string): Promise<Env> => ({
  FLIGHTCASE_KEY: "a-key-of-more-than-twenty-characters",
  FLIGHTCASE_TOKEN: token,
  FLIGHTCASE_RATE_LIMIT: "10000",
  FLIGHTCASE_DATA: await folderOfItsOwn(),
  ...(url === undefined ? {} : { DATABASE_URL: url })
})

/** Runs work on its own Postgres with durable commits, as the run's shared one does not sync them. */
const onDurablePostgres = async (work: (env: Env) => Promise<void>): Promise<void> => {
  const postgres = await startPostgres(DURABLE)
  try {
    const { drop, url } = await databaseOn(postgres.url)
    await work(await environment(url))
    await drop()
  } finally {
    await postgres.stop()
  }
}

/** Databases with durable commits, by name, each with how work runs on it. */
export const durable_databases = share<readonly [string, (work: (env: Env) => Promise<void>) => Promise<void>]>([
  ["an SQLite file", async (work) => work(await environment())],
  ["Postgres", onDurablePostgres]
])

/** The server's response, with any status; throws if the server was killed meanwhile. */
export const call = async (server: ServerProcess, method: string, path: string, body?: object): Promise<Body> => {
  const response = await fetch(`${server.url}/api/v1/${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) })
  })
  return bodyRead(await response.json())
}
