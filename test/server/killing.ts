/** What tests of killed servers share: where those servers run, on databases that keep what they said they had. */
import { databaseOn } from "../postgres-database.ts"
import { DURABLE, startPostgres } from "../postgres-server.ts"
import { share } from "../share.ts"
import { type Env, folderOfItsOwn, type ServerProcess } from "./process.ts"
import { type Body, bodyRead } from "../answers.ts"

export const token = "a-token-of-more-than-twenty-characters"

/** A folder of its own, and the SQLite file in it unless an address is given. */
export const environment = async (url?: string): Promise<Env> => ({
  FLIGHTCASE_KEY: "a-key-of-more-than-twenty-characters",
  FLIGHTCASE_TOKEN: token,
  FLIGHTCASE_RATE_LIMIT: "10000",
  FLIGHTCASE_DATA: await folderOfItsOwn(),
  ...(url === undefined ? {} : { DATABASE_URL: url })
})

/** On a Postgres of its own that commits to disk: the one of the whole run commits to memory alone. */
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

/** Databases that commit to disk, by name, each with how work runs on it. */
export const durable_databases = share<readonly [string, (work: (env: Env) => Promise<void>) => Promise<void>]>([
  ["an SQLite file", async (work) => work(await environment())],
  ["Postgres", onDurablePostgres]
])

/** What the server answers, whatever that is; throws where it was killed meanwhile. */
export const call = async (server: ServerProcess, method: string, path: string, body?: object): Promise<Body> => {
  const response = await fetch(`${server.url}/api/v1/${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) })
  })
  return bodyRead(await response.json())
}
