/** Final checks of a world: every guarantee, verified independently of the code that keeps it. */
import { isDeepStrictEqual } from "node:util"
import { Effect } from "effect"
import { catalogue } from "../../core/catalogue.ts"
import { isJsonObject, type JsonObject } from "../../core/kernel/fields/field.ts"
import { journal } from "../../core/kernel/events/journal.ts"
import { danglingReferences } from "../dangling-references.ts"
import { rebuild } from "../../core/kernel/runtime/schema.ts"
import { columnList, encodeRow, rowDecoder } from "../../core/kernel/store/statement.ts"
import { Store } from "../../core/kernel/store/store.ts"
import type { Table } from "../../core/kernel/tables/table.ts"
import { type Redaction, redactionFor } from "../../sync/protocol/redaction.ts"
import { replica_verdicts } from "../../sync/server/tables.ts"
import { command_states, type OutboxCommand } from "../../sync/device/outbox/rows.ts"
import { commandDecided } from "../../sync/protocol/events.ts"
import type { Look } from "./any-command.ts"
import type { Device } from "./device.ts"
import type { SimulatedServer } from "./server.ts"
import { serverCatalogue } from "./pull.ts"
import { questionsIn, sameAnswers } from "./reads.ts"

export interface Counted {
  submitted: number
  accepted: number
  refused: number
  readonly submitted_names: Set<string>
  readonly accepted_names: Set<string>
}
const fail = (text: string): never => {
  throw new Error(text)
}

interface Stored {
  readonly position: number
  readonly stream: string
  readonly version: number
  readonly type: string
  readonly data: JsonObject
  readonly command_id: string
  readonly replica_id: number | null
}

export const check = async (
  server: SimulatedServer,
  devices: ReadonlyArray<Device>,
  refold: boolean
): Promise<Counted> => {
  const counted: Counted = {
    submitted: 0,
    accepted: 0,
    refused: 0,
    submitted_names: new Set(),
    accepted_names: new Set()
  }
  const stored = await server.run(
    Effect.gen(function* () {
      const store = yield* Store
      return {
        verdicts: yield* store.find(replica_verdicts, {}),
        events: (yield* store.find(journal, {}, { order: ["position"] })) as ReadonlyArray<Stored>
      }
    })
  )
  const byCommand = new Map<string, Array<Stored>>()
  for (const event of stored.events)
    byCommand.set(event.command_id, [...(byCommand.get(event.command_id) ?? []), event])
  const verdicts = new Map(stored.verdicts.map((verdict) => [verdict.id, verdict]))
  const truth = new Truth(server)
  for (const device of devices) {
    accountFor(device, counted)
    for (const command of all(device)) {
      const verdict = verdicts.get(command.id)
      const given_up = command.state !== "accepted" && command.state !== "rejected" && command.state !== "held"
      // Discarded commands are not requested again after a restore.
      if (verdict === undefined && !(given_up && server.restored() > 0))
        fail(
          `device ${device.id}: the server knows nothing of command ${command.n} (${command.name}), which is ${command.state} here`
        )
      if (verdict !== undefined && verdict.accepted !== (command.state === "accepted"))
        fail(
          `device ${device.id}: command ${command.n} (${command.name}) is ${command.state} here, and ${verdict.accepted ? "accepted" : "refused"} there`
        )
    }
    const known = new Set(all(device).map(({ id }) => id))
    const strange = stored.verdicts.find((verdict) => verdict.replica_id === device.id && !known.has(verdict.id))
    if (strange !== undefined)
      fail(`the server decided command ${strange.n} of device ${device.id}, which the device knows nothing of`)
    await sameRows(truth, device)
    await sameJournal(server.look, device)
    await nothingProvisional(device)
  }
  await sameReads(server, devices)
  // Without a restore, every row is the one its user saw.
  const doubted =
    server.restored() > 0
      ? undefined
      : stored.verdicts.find(
          ({ error }) => isJsonObject(error) && isJsonObject(error["errors"]) && "rows_seen" in error["errors"]
        )
  if (doubted !== undefined)
    fail(
      `command ${doubted.n} of device ${doubted.replica_id} was refused for a row that might be another one: ${JSON.stringify(doubted.error)}`
    )
  for (const verdict of stored.verdicts) onceOnly(verdict, byCommand.get(verdict.id) ?? [])
  gapless(stored.events)
  await exclusions(server.look)
  const [gone] = await server.run(danglingReferences(catalogue.references, catalogue.table))
  if (gone !== undefined)
    fail(
      `${gone.holder} ${String(gone.id)} names ${gone.target} ${String(gone.missing)} in ${gone.column}, which is not there`
    )
  if (refold) {
    const before = await truth.all()
    await server.run(rebuild(serverCatalogue))
    const after = await new Truth(server).all()
    for (const table of catalogue.tables)
      if (before.get(table.name) !== after.get(table.name))
        await differ(
          `the journal folded again differs in ${table.name}`,
          before.get(table.name)!,
          after.get(table.name)!
        )
  }
  return counted
}

const all = (device: Device): ReadonlyArray<OutboxCommand> =>
  command_states.flatMap((state) => device.outbox().byState(state))

/** Submitted commands are either accepted or refused; none is pending or missing. */
const accountFor = (device: Device, counted: Counted): void => {
  const outbox = device.outbox()
  const commands = all(device)
  const accepted = commands.filter(({ state }) => state === "accepted").length
  const pending = commands.filter(({ state }) => state === "pending")
  if (pending.length > 0)
    fail(
      `device ${device.id} still has ${pending.length} pending commands: ${pending
        .slice(0, 3)
        .map(({ n, name }) => `${n} ${name}`)
        .join(", ")}`
    )
  if (outbox.lastN() !== commands.length)
    fail(`device ${device.id}: ${outbox.lastN()} commands were numbered, ${commands.length} are there`)
  for (const id of device.acknowledged)
    if (outbox.find(id) === undefined) fail(`device ${device.id} lost the acknowledged command ${id}`)
  for (const command of commands) {
    counted.submitted_names.add(command.name)
    if (command.state === "accepted") counted.accepted_names.add(command.name)
    if ((command.state === "substituted" || command.state === "split") && outbox.successors(command.id).length === 0)
      fail(`device ${device.id}: command ${command.n} was ${command.state}, and nothing came in its place`)
    if (command.state !== "held") continue
    const cause = outbox.find(command.cause ?? "")
    if (cause?.state !== "rejected" || cause.n === command.n)
      fail(
        `device ${device.id}: command ${command.n} is held by ${command.cause}, which is ${cause?.state ?? "no command here"}`
      )
  }
  counted.submitted += commands.length
  counted.accepted += accepted
  counted.refused += commands.length - accepted
}

/** Each decided command has one verdict; its effects, if accepted, were stored in the same transaction. */
const onceOnly = (
  verdict: {
    readonly id: string
    readonly n: number
    readonly replica_id: number
    readonly accepted: boolean
    readonly position: number | null
  },
  events: ReadonlyArray<Stored>
): void => {
  const name = `command ${verdict.n} of device ${verdict.replica_id}`
  const told = events.filter(({ type }) => type === commandDecided.type)
  if (told.length !== 1) fail(`${name} was decided ${told.length} times`)
  if (!verdict.accepted && events.length !== 1) fail(`the refused ${name} left ${events.length - 1} events`)
  if (events.at(-1)!.type !== commandDecided.type || events.at(-1)!.position !== verdict.position)
    fail(`the verdict on ${name} is not its last event`)
  if (events.at(-1)!.position - events[0]!.position !== events.length - 1)
    fail(`the events of ${name} came in more than one go: ${events.map(({ position }) => position).join(", ")}`)
}

/** Document numbers are unique and without gaps. */
const gapless = (events: ReadonlyArray<Stored>): void => {
  const numbers = new Map<string, Array<number>>()
  for (const [at, event] of events.entries()) {
    if (event.position !== at + 1) fail(`event ${event.position} is number ${at + 1} of the journal`)
    if (event.type !== "opportunity.created") continue
    const series = event.data["store_id"] === null ? "none" : String(event.data["store_id"])
    numbers.set(series, [...(numbers.get(series) ?? []), Number(event.data["number"])])
  }
  for (const [series, given] of numbers) {
    for (const [at, number] of [...given].sort((a, b) => a - b).entries())
      if (number !== at + 1) fail(`opportunities of store ${series} are numbered ${given.join(", ")}`)
  }
}

const exclusions = async (look: Look): Promise<void> => {
  const claims = await look(
    "select id, asset_id, buffered_starts_at as since, buffered_ends_at as until from claims where is_active and asset_id is not null"
  )
  for (const one of claims) {
    const other = claims.find(
      (two) =>
        Number(two["id"]) > Number(one["id"]) &&
        two["asset_id"] === one["asset_id"] &&
        String(two["since"]) < String(one["until"]) &&
        String(two["until"]) > String(one["since"])
    )
    if (other !== undefined)
      fail(`asset ${String(one["asset_id"])} is claimed twice: claims ${String(one["id"])} and ${String(other["id"])}`)
  }
  const units = await look("select id, asset_number, serial_number from stock_levels where deleted_at is null")
  for (const column of ["asset_number", "serial_number"]) {
    const seen = new Map<unknown, unknown>()
    for (const unit of units) {
      if (unit[column] === null) continue
      if (seen.has(unit[column]))
        fail(
          `units ${String(seen.get(unit[column]))} and ${String(unit["id"])} have the ${column} ${String(unit[column])}`
        )
      seen.set(unit[column], unit["id"])
    }
  }
  const packed = await look(
    "select serialised_item_id as unit, count(*) as times from container_items where unpacked_at is null group by serialised_item_id having count(*) > 1"
  )
  if (packed.length > 0) fail(`unit ${String(packed[0]!["unit"])} is in ${String(packed[0]!["times"])} containers`)
  const out = await look(
    "select stock_level_id as unit, count(*) as times from asset_assignments where status in (2, 3) group by stock_level_id having count(*) > 1"
  )
  if (out.length > 0) fail(`unit ${String(out[0]!["unit"])} is out ${String(out[0]!["times"])} times`)
}

/** All rows of a table as text, equal for equal tables. */
const rowsText = async (look: Look, table: Table, columns: ReadonlyArray<string>): Promise<string> => {
  const given = columns.map((column) => `"${column}"`).join(", ")
  const [row] = await look(
    `select json_group_array(json_array(${given})) as rows from (select ${given} from "${table.name}" order by "${table.key}")`
  )
  return String(row!["rows"])
}
class Truth {
  readonly house: SimulatedServer
  readonly known = new Map<string, string>()
  constructor(server: SimulatedServer) {
    this.house = server
  }
  async rows(table: Table, columns: ReadonlyArray<string>): Promise<string> {
    const key = `${table.name} ${columns.length}`
    const known = this.known.get(key)
    if (known !== undefined) return known
    const text = await rowsText(this.house.look, table, columns)
    this.known.set(key, text)
    return text
  }
  /** Rows as a user without full permissions sees them: columns blank, or rows missing. */
  async rowsSeen(table: Table, columns: ReadonlyArray<string>, redaction: Redaction): Promise<string> {
    const decode = rowDecoder(table, "sqlite")
    const rows = (
      await this.house.look(`select ${columnList(table)} from "${table.name}" order by "${table.key}"`)
    ).map(decode)
    return JSON.stringify(
      rows.flatMap((row) => {
        const seen = redaction.row(table, row)
        if (seen === undefined) return []
        const encoded = encodeRow(table, seen, "sqlite")
        return [
          columns.map((column) => {
            const value = encoded[column] ?? null
            // As SQLite stores them: a plain number stays a number, even in a JSON column.
            return typeof value === "boolean" ||
              typeof value === "bigint" ||
              (typeof value === "string" && table.columns[column]!.type.kind === "json" && /^-?\d/.test(value))
              ? Number(value)
              : value
          })
        ]
      })
    )
  }
  async all(): Promise<ReadonlyMap<string, string>> {
    const found = new Map<string, string>()
    for (const table of catalogue.tables) found.set(table.name, await this.rows(table, Object.keys(table.columns)))
    return found
  }
}

const sameRows = async (truth: Truth, device: Device): Promise<void> => {
  const redaction = redactionFor(serverCatalogue, device.viewer(), device.id)
  for (const table of catalogue.tables) {
    const columns = redaction.columns(table)
    const here = await rowsText(device.look, table, columns ?? [table.key])
    if (columns === undefined) {
      if (here !== "[]") fail(`device ${device.id} holds rows of ${table.name}, which are not for its person`)
      continue
    }
    const there = redaction.whole ? await truth.rows(table, columns) : await truth.rowsSeen(table, columns, redaction)
    if (here !== there) differ(`device ${device.id} differs in ${table.name} (${columns.join(", ")})`, there, here)
  }
}
/** Texts may differ only in the order of keys in JSON. */
const differ = (what: string, truth: string, other: string): void => {
  const documents = (text: string): ReadonlyArray<ReadonlyArray<unknown>> =>
    (JSON.parse(text) as ReadonlyArray<ReadonlyArray<unknown>>).map((row) =>
      row.map((value) => (typeof value === "string" && /^[[{]/.test(value) ? parsed(value) : value))
    )
  const [there, here] = [documents(truth), documents(other)]
  if (isDeepStrictEqual(there, here)) return
  const at = there.findIndex((row, index) => !isDeepStrictEqual(row, here[index]))
  fail(
    `${what}: ${there.length} rows against ${here.length}; first at ${at}: ${JSON.stringify(there[at])} against ${JSON.stringify(here[at])}`
  )
}
const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** A device's journal equals the server's from its first event on, without events withheld from its user. */
const sameJournal = async (serverLook: Look, device: Device): Promise<void> => {
  const from = Number(
    (await device.look("select value from replica_meta where key = 'journal_from'"))[0]?.["value"] ?? 0
  )
  const of = async (look: Look): Promise<string> =>
    String(
      (
        await look(
          `select json_group_array(json_array(position, stream, version, type, command_id, recorded_at)) as events from (select * from journal where position > ? and type <> '${commandDecided.type}' order by position)`,
          [from]
        )
      )[0]!["events"]
    )
  const redaction = redactionFor(serverCatalogue, device.viewer(), device.id)
  if (!redaction.whole) return
  const [there, here] = [await of(serverLook), await of(device.look)]
  if (there !== here) differ(`the journal of device ${device.id} is another, from event ${from} on`, there, here)
}
/** Each query is compared on one device in three. */
const devices_per_question = 3
/** With correct clocks, so that server and device agree on what is overdue. */
const sameReads = async (server: SimulatedServer, devices: ReadonlyArray<Device>): Promise<void> => {
  const questions = await questionsIn(server)
  const parts = Math.min(devices_per_question, devices.length)
  let answered = 0
  for (const [part, device] of devices.entries()) {
    await device.restart()
    answered += await sameAnswers(
      server,
      device,
      questions.filter((_, index) => index % parts === part % parts)
    )
  }
  if (answered === 0) fail("no device answers any question")
}
const nothingProvisional = async (device: Device): Promise<void> => {
  const [left] = await device.look(
    "select (select count(*) from undo) as images, (select count(*) from stalled) as stalled, (select count(*) from verdicts) as verdicts, (select count(*) from accounts) as accounts, (select count(*) from incoming) as incoming"
  )
  if (Object.values(left!).some((count) => Number(count) > 0))
    fail(`device ${device.id} was left with ${JSON.stringify(left)}`)
}
