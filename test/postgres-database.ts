import { randomUUID } from "node:crypto"
import pg from "pg"

export interface FreshDatabase {
  readonly url: string
  readonly drop: () => Promise<void>
}

/** A database created once per server and then copied, such as one with the schema. */
export interface Template {
  /** Identifies the content: other content needs another name. */
  readonly name: string
  /** Fills the empty database at `url`, and closes all connections to it. */
  readonly prepare: (url: string) => Promise<void>
}

/**
 * A new database on the server at `serverUrl`, empty or a copy of the template. Copying files takes a third of the time
 * of writing them to the log.
 */
export const databaseOn = async (serverUrl: string, template?: Template): Promise<FreshDatabase> => {
  const name = `test_${randomUUID().replaceAll("-", "")}`
  await withServer(serverUrl, async (client) => {
    const source = template === undefined ? "template1" : await templateOn(client, serverUrl, template)
    await client.query(`create database ${name} template ${client.escapeIdentifier(source)} strategy file_copy`)
  })
  return {
    url: within(serverUrl, name),
    drop: () =>
      withServer(serverUrl, async (client) => {
        await client.query(`drop database if exists ${name} with (force)`)
      })
  }
}

/** The template's database, filled on first use while others wait. */
const templateOn = async (client: pg.Client, serverUrl: string, { name, prepare }: Template): Promise<string> => {
  const finished = `template_${name}`
  await client.query("select pg_advisory_lock(hashtext($1))", [finished])
  const known = await client.query("select from pg_database where datname = $1", [finished])
  if (known.rowCount === 0) {
    const draft = client.escapeIdentifier(`draft_${name}`)
    await client.query(`drop database if exists ${draft} with (force)`)
    await client.query(`create database ${draft}`)
    await prepare(within(serverUrl, `draft_${name}`))
    await client.query(`alter database ${draft} rename to ${client.escapeIdentifier(finished)}`)
  }
  await client.query("select pg_advisory_unlock(hashtext($1))", [finished])
  return finished
}

const within = (serverUrl: string, database: string): string => {
  const url = new URL(serverUrl)
  url.pathname = `/${database}`
  return url.href
}

const withServer = async (serverUrl: string, use: (client: pg.Client) => Promise<void>): Promise<void> => {
  const client = new pg.Client(serverUrl)
  await client.connect()
  try {
    await use(client)
  } finally {
    await client.end()
  }
}
