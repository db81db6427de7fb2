/**
 * Offline work of a device: a durable command on an open device against appending the same bytes to a file and syncing
 * it; and a read from a cold start with hundreds of pending commands against an idle Node.
 */
import { closeSync, fdatasyncSync, openSync, writeSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import type { JsonObject } from "../../core/kernel/fields/field.ts"
import { type Device, enrolDevice, openDevice } from "../../sync/device/device.ts"
import { priceList } from "./journal.ts"
import { inTurns, print, type Side, timed } from "./measure.ts"
import { type Client, importProducts, owner_token, root, started, temporaryFolder } from "./processes.ts"
import { onSqlite, served } from "./stage.ts"

const products = 2_000
const quotations = 50
const commands = 40
const rounds = 9
const cold_rounds = 15
const pending = 500
const from = "2026-07-01T09:00:00Z",
  to = "2026-07-04T17:00:00Z"

interface Enrolled {
  readonly profile: string
  readonly quotations: ReadonlyArray<number>
}
/** Enrols a device of a company with a price list and some quotations, then stops the server. */
const enrolled = (home: string): Promise<Enrolled> =>
  served(onSqlite, async (_engine, server, ask) => {
    const profile = join(home, "profiles", "default")
    const made = await furnished(ask)
    await (
      await enrolDevice(profile, { name: "default", url: server.url, token: owner_token, device: "bench" })
    ).close()
    return { profile, quotations: made }
  })
const furnished = async (ask: Client): Promise<ReadonlyArray<number>> => {
  await importProducts(ask, products)
  const made: Array<number> = []
  for (let at = 0; at < quotations; at++)
    made.push(
      (await ask("POST", "/api/v1/opportunities", { subject: `Job ${at}`, store_id: 1, starts_at: from, ends_at: to }))
        .opportunity.id
    )
  return made
}

type Kind = (
  at: number,
  made: ReadonlyArray<number>
) => { readonly method: string; readonly path: string; readonly body: JsonObject }
const edit: Kind = (at) => ({
  method: "PUT",
  path: `/api/v1/products/${1 + (at % products)}`,
  body: { name: `Renamed ${at}` }
})
const newLine: Kind = (at, made) => ({
  method: "POST",
  path: `/api/v1/opportunities/${made[at % made.length]!}/items`,
  body: { name: `Line ${at}`, item_id: 1 + (at % products), quantity: 1 }
})

const record = async (device: Device, { method, path, body }: ReturnType<Kind>): Promise<void> => {
  const answer = await device.ask({ method, path, query: [], body })
  if (answer.command === undefined)
    throw new Error(`${method} ${path} was not recorded: ${answer.status} ${JSON.stringify(answer.body)}`)
}
/** The last commands as JSON lines, with the columns that hold their content. */
const keptTexts = (profile: string, count: number): ReadonlyArray<string> => {
  const db = new DatabaseSync(join(profile, "outbox.sqlite"), { readOnly: true })
  const rows = db
    .prepare("select id, name, payload, ids, issued_at, needs, outcome from commands order by n desc limit ?")
    .all(count)
  db.close()
  return rows.map((row) => `${JSON.stringify(row)}\n`)
}
const appended = (path: string, texts: ReadonlyArray<string>): Side => ({
  name: "append + fdatasync",
  round: async () => {
    const file = openSync(path, "a")
    const started = performance.now()
    for (let at = 0; at < commands; at++) {
      writeSync(file, texts[at % texts.length]!)
      fdatasyncSync(file)
    }
    const seconds = (performance.now() - started) / 1000
    closeSync(file)
    return { seconds, count: commands }
  }
})

/** Inserts the same bytes into a SQLite file, in a durable transaction each. */
const inserted = (path: string, texts: ReadonlyArray<string>): Side => ({
  name: "node:sqlite insert, synchronous=full",
  round: async () => {
    const db = new DatabaseSync(path)
    db.exec(
      "pragma journal_mode = wal; pragma synchronous = full; create table if not exists lines (n integer primary key, line text not null)"
    )
    const insert = db.prepare("insert into lines (line) values (?)")
    const started = performance.now()
    for (let at = 0; at < commands; at++) insert.run(texts[at % texts.length]!)
    const seconds = (performance.now() - started) / 1000
    db.close()
    return { seconds, count: commands }
  }
})

const durableCommands = async (): Promise<void> => {
  for (const [title, kind] of [
    ["a product renamed", edit],
    ["a line added to a quotation", newLine]
  ] as const) {
    const home = temporaryFolder()
    const { profile, quotations: made } = await enrolled(home)
    const device = await openDevice(profile)
    let at = 0
    const ours = timed("flightcase", commands, () => record(device, kind(at++, made)))
    await ours.round()
    const texts = keptTexts(profile, commands)
    const bytes = Math.round(texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0) / texts.length)
    const taken = await inTurns(
      [ours, appended(join(home, "appended"), texts), inserted(join(home, "inserted.sqlite"), texts)],
      rounds
    )
    print(
      `offline: ${title}, decided, priced and on disk, up to ${(rounds + 2) * commands} pending; ${bytes} bytes each`,
      taken,
      { unit: "commands", as: "duration" }
    )
    await device.close()
  }
}

const coldReads = async (): Promise<void> => {
  const [quiet, busy] = [temporaryFolder(), temporaryFolder()]
  await enrolled(quiet)
  const { profile, quotations: made } = await enrolled(busy)
  const device = await openDevice(profile)
  for (let at = 0; at < pending; at++) await record(device, at % 5 === 0 ? edit(at, made) : newLine(at, made))
  await device.close()
  const asked = [join(root, "cli/bin.mjs"), "products", "show", "1"]
  const shows = priceList(1)[0]!["weight"] as string
  const taken = await inTurns(
    [
      started(`flightcase, ${pending} commands pending`, asked, busy, shows),
      started("flightcase, none pending", asked, quiet, shows),
      started("node -e 0", ["-e", "0"], quiet)
    ],
    cold_rounds,
    2
  )
  print(`offline: a read from nothing, "products show 1"`, taken, { unit: "starts", as: "duration" })
}

export const offline = async (): Promise<void> => {
  await durableCommands()
  await coldReads()
}
