/** Handwritten statements on the server's engine, with parameters `$1`, `$2` … on both engines. */
import { DatabaseSync, type SQLInputValue } from "node:sqlite"
import pg from "pg"
import { onPostgres, onSqlite, type PgEngine, served, type SqliteEngine } from "./stage.ts"
import { connectionTo } from "./connection.ts"
import { type Client, owner_token, type Running } from "./processes.ts"

export interface Sql {
  /** `Postgres (fsync on)` or `SQLite (synchronous=full)`. */
  readonly engine: string
  readonly driver: string
  readonly is_pg: boolean
  readonly all: (text: string, values?: ReadonlyArray<SQLInputValue>) => Promise<ReadonlyArray<any>>
  readonly transaction: (work: () => Promise<void>) => Promise<void>
  readonly columns: (table: string) => Promise<ReadonlyArray<string>>
  /** Creates `bare_<table>`, a copy of the table with its indexes and rows. */
  readonly copyOf: (table: string) => Promise<void>
  /** Moves the server's next id beyond those in use. */
  readonly moveIds: (table: string) => Promise<void>
}

const overPg = async ({ url }: PgEngine): Promise<Sql & { readonly close: () => Promise<void> }> => {
  // Returns times as the received text, which is cheapest.
  const types: pg.CustomTypesConfig = {
    getTypeParser: (oid, format) => (oid === 1184 ? (text: string) => text : pg.types.getTypeParser(oid, format))
  }
  const client = new pg.Client({ connectionString: url, types })
  await client.connect()
  const prepared = new Map<string, string>()
  const all: Sql["all"] = async (text, values = []) => {
    let name = prepared.get(text)
    if (name === undefined) prepared.set(text, (name = `s${prepared.size}`))
    return (
      await client.query(values.length === 0 && !text.startsWith("select") ? text : { name, text, values: [...values] })
    ).rows
  }
  return {
    engine: "Postgres (fsync on)",
    driver: "pg alone, no HTTP",
    is_pg: true,
    all,
    close: () => client.end(),
    transaction: async (work) => {
      await client.query("begin")
      await work()
      await client.query("commit")
    },
    columns: async (table) =>
      (
        await all(
          "select column_name from information_schema.columns where table_name = $1 order by ordinal_position",
          [table]
        )
      ).map((row) => row.column_name),
    copyOf: async (table) => {
      await client.query(`create table bare_${table} (like ${table} including all)`)
      await client.query(`insert into bare_${table} select * from ${table}`)
    },
    moveIds: async (table) => {
      await client.query(`select setval('ids_${table}', (select max(id) from ${table}))`)
    }
  }
}

export const overSqlite = ({ path }: SqliteEngine): Sql & { readonly close: () => Promise<void> } => {
  const db = new DatabaseSync(path, { timeout: 10_000 })
  db.exec("pragma journal_mode = wal; pragma synchronous = full")
  const statements = new Map<string, ReturnType<DatabaseSync["prepare"]>>()
  const all: Sql["all"] = async (text, values = []) => {
    let statement = statements.get(text)
    if (statement === undefined) statements.set(text, (statement = db.prepare(text.replaceAll(/\$(\d+)/g, "?$1"))))
    return statement.all(...values)
  }
  return {
    engine: "SQLite (synchronous=full)",
    driver: "node:sqlite alone, no HTTP",
    is_pg: false,
    all,
    close: async () => db.close(),
    transaction: async (work) => {
      db.exec("begin immediate")
      await work()
      db.exec("commit")
    },
    columns: async (table) => (await all("select name from pragma_table_info($1)", [table])).map((row) => row.name),
    copyOf: async (table) => {
      const made = db
        .prepare(
          "select sql from sqlite_master where tbl_name = ? and type in ('table', 'index') and sql is not null order by type desc"
        )
        .all(table)
      for (const { sql } of made) {
        db.exec(
          String(sql)
            .replace(new RegExp(`(create (?:unique )?index )"`, "i"), `$1"bare_`)
            .replaceAll(`"${table}"`, `"bare_${table}"`)
        )
      }
      db.exec(`insert into "bare_${table}" select * from "${table}"`)
    },
    moveIds: async (table) => {
      db.exec(`update id_sequences set next = (select max(id) + 1 from "${table}") where name = '${table}'`)
    }
  }
}

/** Expressions that differ between the engines. */
export const saidOn = ({ is_pg }: Sql) => ({
  text: (part: string): string => (is_pg ? `(${part})::text` : `cast(${part} as text)`),
  /** The instant a number of minutes after another one. */
  moment: (minutes: string, from = "2019-01-01T00:00:00Z"): string =>
    is_pg
      ? `timestamptz '${from}' + (${minutes}) * interval '1 minute'`
      : `strftime('%Y-%m-%dT%H:%M:00.000Z', '${from}', '+' || (${minutes}) || ' minutes')`,
  padded: (part: string, width: number): string =>
    is_pg ? `lpad((${part})::text, ${width}, '0')` : `printf('%0${width}d', ${part})`
})

/** Sends a request of the owner on one kept connection, and resolves with the JSON of its answer, not read. */
export type Send = (method: string, path: string, body?: unknown) => Promise<Buffer>

/**
 * Runs the server on each engine in turn, with a connection for handwritten statements and one for the requests that
 * are measured: `fetch`, inflating and reading JSON would take longer than many of them.
 */
export const onBoth = async (use: (sql: Sql, ask: Client, send: Send) => Promise<void>): Promise<void> => {
  const beside = async (
    sql: Sql & { readonly close: () => Promise<void> },
    { port }: Running,
    ask: Client
  ): Promise<void> => {
    let connection = await connectionTo(port)
    try {
      await use(sql, ask, async (method, path, body) => {
        // Filling may take longer than the server keeps an idle connection.
        if (!connection.isOpen()) connection = await connectionTo(port)
        return connection.send(method, path, owner_token, body === undefined ? undefined : JSON.stringify(body))
      })
    } finally {
      connection.close()
      await sql.close()
    }
  }
  await served(onSqlite, (engine, server, ask) => beside(overSqlite(engine), server, ask))
  await served(onPostgres, async (engine, server, ask) => beside(await overPg(engine), server, ask))
}

/** Adds `count` copies of a row; `set` has SQL for the columns that differ, where `i` runs from 1 to `count`. */
export const multiply = async (
  sql: Sql,
  table: string,
  id: number,
  count: number,
  set: { readonly [column: string]: string }
): Promise<void> => {
  const columns = await sql.columns(table)
  const numbers = sql.is_pg
    ? `generate_series(1, ${count}) as n(i)`
    : `(with recursive n(i) as (select 1 union all select i + 1 from n where i < ${count}) select i from n) as n`
  const listed = columns.map((name) => `"${name}"`).join(", ")
  await sql.all(
    `insert into "${table}" (${listed}) select ${columns.map((name) => set[name] ?? `row."${name}"`).join(", ")} from "${table}" row, ${numbers} where row.id = ${id}`
  )
  await sql.moveIds(table)
}
