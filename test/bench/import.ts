/**
 * Importing a price list, and customers, over HTTP, against inserting the resulting rows into the database in the
 * fastest way.
 */
import { DatabaseSync, type SQLInputValue } from "node:sqlite"
import { join } from "node:path"
import pg from "pg"
import type { Json } from "../../core/kernel/fields/field.ts"
import { customerList, priceList } from "./journal.ts"
import { cpuSecondsOf, inTurns, print, type Side } from "./measure.ts"
import { type Client, type Running, temporaryFolder } from "./processes.ts"
import { onPostgres, onSqlite, served } from "./stage.ts"

const rounds = 7
const warming = 3
const per_round = 2_000
const per_chunk = 500
interface Kind {
  readonly path: string
  readonly list: (count: number) => ReadonlyArray<{ readonly [column: string]: Json }>
  readonly what: string
  /** Tables that a row of the list writes, besides events. */
  readonly tables: ReadonlyArray<string>
}
const products: Kind = {
  path: "/api/v1/products/import",
  list: priceList,
  what: "new products with stock and a rate",
  tables: ["products", "stock_levels", "stock_transactions", "product_rates"]
}
const members: Kind = {
  path: "/api/v1/members/import",
  list: customerList,
  what: "new customers with an address, an e-mail and a telephone number",
  tables: ["members", "addresses", "emails", "phones"]
}

/** Each round imports a new list; the peer inserts the rows of the first one. */
const importing = (kind: Kind, ask: Client, server: Running): Side => {
  const list = kind.list(per_round * (1 + warming + rounds))
  let from = 0
  return {
    name: "flightcase",
    round: async () => {
      const before = cpuSecondsOf(server.pid)
      const started = performance.now()
      for (let sent = 0; sent < per_round; sent += per_chunk) {
        const { meta } = await ask("POST", kind.path, { rows: list.slice(from, (from += per_chunk)) })
        if (meta.created !== per_chunk) throw new Error(JSON.stringify(meta))
      }
      const seconds = (performance.now() - started) / 1000
      const after = cpuSecondsOf(server.pid)
      return {
        seconds,
        count: per_round,
        cpu_seconds: before === undefined || after === undefined ? undefined : after - before
      }
    }
  }
}
const told = ({ tables, what }: Kind, engine: string): string =>
  `import, ${engine}: ${per_round.toLocaleString("en")} ${what} in requests of ${per_chunk}: ` +
  `rows of ${tables.length} tables, and the journal's`

const onPg = (kind: Kind): Promise<void> =>
  served(onPostgres, async (engine, server, ask) => {
    const ours = importing(kind, ask, server)
    const { tables } = kind
    await ours.round()
    const client = new pg.Client(engine.url)
    await client.connect()
    const folder = (await client.query<{ data_directory: string }>("show data_directory")).rows[0]!.data_directory
    for (const table of [...tables, "journal"]) {
      await client.query(`copy ${table} to '${join(folder, table)}.copy'`)
      await client.query(`create table bare_${table} (like ${table} including all)`)
    }
    const copied = (name: string, of: ReadonlyArray<string>): Side => ({
      name,
      round: async () => {
        for (const table of of) await client.query(`truncate bare_${table}`)
        const started = performance.now()
        await client.query("begin")
        for (const table of of) await client.query(`copy bare_${table} from '${join(folder, table)}.copy'`)
        await client.query("commit")
        return { seconds: (performance.now() - started) / 1000, count: per_round }
      }
    })
    print(
      `${told(kind, "Postgres (fsync on)")}; copy reads files on the server into equal tables with equal indexes`,
      await inTurns(
        [ours, copied("copy", tables), copied("copy, journal too", [...tables, "journal"])],
        rounds,
        warming
      ),
      { unit: "rows", as: "rate" }
    )
    await client.end()
  })

const onFile = (kind: Kind): Promise<void> =>
  served(onSqlite, async (engine, server, ask) => {
    const ours = importing(kind, ask, server)
    const { tables } = kind
    await ours.round()
    const db = new DatabaseSync(join(temporaryFolder(), "bare.sqlite"))
    db.exec(`pragma journal_mode = wal; pragma synchronous = full; attach '${engine.path}' as ours`)
    const prepared = [...tables, "journal"].map((table) => {
      const made = db
        .prepare(
          "select sql from ours.sqlite_master where tbl_name = ? and sql is not null and type in ('table', 'index') order by type desc"
        )
        .all(table)
      for (const { sql } of made) db.exec(String(sql))
      const select = db.prepare(`select * from ours."${table}"`)
      select.setReturnArrays(true)
      // After setReturnArrays(true), which the driver's types ignore.
      const rows = select.all() as unknown as ReadonlyArray<ReadonlyArray<SQLInputValue>>
      return {
        table,
        rows,
        insert: db.prepare(`insert into "${table}" values (${rows[0]!.map(() => "?").join(", ")})`)
      }
    })
    db.exec("detach ours")
    const transactions = per_round / per_chunk
    const inserted = (name: string, of: typeof prepared): Side => ({
      name,
      round: async () => {
        for (const { table } of of) db.exec(`delete from "${table}"`)
        const started = performance.now()
        for (let turn = 0; turn < transactions; turn++) {
          db.exec("begin immediate")
          for (const { rows, insert } of of) {
            const until = Math.floor(((turn + 1) * rows.length) / transactions)
            for (let at = Math.floor((turn * rows.length) / transactions); at < until; at++) insert.run(...rows[at]!)
          }
          db.exec("commit")
        }
        return { seconds: (performance.now() - started) / 1000, count: per_round }
      }
    })
    const peers = [inserted("node:sqlite inserts", prepared.slice(0, -1)), inserted("inserts, journal too", prepared)]
    print(
      `${told(kind, "SQLite (synchronous=full)")}; the peer inserts them prepared, in as many transactions`,
      await inTurns([ours, ...peers], rounds, warming),
      { unit: "rows", as: "rate" }
    )
    db.close()
  })

const onBoth = (kind: Kind) => async (): Promise<void> => {
  await onPg(kind)
  await onFile(kind)
}
export const imports = onBoth(products)
export const memberImports = onBoth(members)
