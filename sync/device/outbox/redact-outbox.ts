/**
 * Redacts data stored in the outbox (rows as a user saw them, outcomes of commands) like the replica: removes values
 * whose permission was lost, and erased people. Text typed by the user stays until it is sent.
 */
import { Effect } from "effect"
import { isWithheldIn, journal, keyOf, quote, scrubbed, scrubsOf, Store, streamOf } from "../../../core/kernel/index.ts"
import type { Catalogue, JsonObject, Key, Scrub, Table } from "../../../core/kernel/index.ts"
import { users } from "../../../core/people/users/permissions.ts"
import type { Redaction } from "../../protocol/redaction.ts"
import type { Actor, CommandOutcome, ConcurrentChange, OverwrittenValue, RowLabel, ValueDifference } from "./outcome.ts"
import { readOutcome } from "./outcome.ts"
import type { WireFile } from "../../protocol/wire.ts"
import { decodeErased, readMeta } from "./replica-tables.ts"
import type { Outbox } from "./outbox.ts"
import type { OutboxCommand, RecordedEffects } from "./rows.ts"

/** Personal data erased from the journal so far, and current names of users. */
interface Erasures {
  readonly scrubs: ReadonlyArray<Scrub>
  readonly user_names: ReadonlySet<string>
}
/** Erasures in this journal and in the part before a fill, which came with the fill. */
export const loadErasures = Effect.fnUntraced(function* ({ scrubs }: Pick<Catalogue, "scrubs">) {
  const store = yield* Store
  const events = yield* store.find(journal, { type: Object.keys(scrubs) })
  const all: ReadonlyArray<Scrub> = [
    ...decodeErased((yield* readMeta(store, "erased")) ?? "[]"),
    ...scrubsOf(scrubs, events)
  ]
  const names = all.length === 0 ? [] : yield* store.run<{ name: string }>(`select name from ${quote(users.name)}`)
  return { scrubs: all, user_names: new Set(names.map(({ name }) => name)) } satisfies Erasures
})
const no_erasures: Erasures = { scrubs: [], user_names: new Set() }

type Replacements = Pick<Scrub, "placeholders" | "kept">
const nothing: Replacements = { placeholders: {} }

/** Replacements for the data of erased people. */
interface ErasedData {
  readonly ofStream: (stream: string) => Replacements
  readonly ofRow: (table: Table, key: Key) => Replacements
  /** Placeholder for the name of an erased user; undefined for other users. */
  readonly nameOf: (actor: Actor) => string | undefined
}
const erasedDataOf = ({ scrubs, user_names }: Erasures, tables: ReadonlyMap<string, Table>): ErasedData => {
  const by_stream = new Map(scrubs.flatMap((scrub) => scrub.streams.map((stream) => [stream, scrub] as const)))
  const by_entity = new Map([...by_stream].map(([stream, scrub]) => [stream.slice(0, stream.indexOf(":")), scrub]))
  const user_prefix = streamOf(users.entity, "")
  const names_of_users = new Map(
    scrubs.flatMap(({ streams, placeholders: { name } }) =>
      typeof name !== "string"
        ? []
        : streams.filter((stream) => stream.startsWith(user_prefix)).map((stream) => [stream, name] as const)
    )
  )
  return {
    ofStream: (stream) => by_stream.get(stream) ?? nothing,
    // The key of a row in another row's stream does not show whose it is, so any erasure of that entity counts.
    ofRow: (table, key) =>
      (table.in_streams_of_references
        ? table.references
            .map((one) => by_entity.get(tables.get(one.table)?.entity ?? ""))
            .find((one) => one !== undefined)
        : undefined) ??
      (table.stream === undefined ? by_stream.get(streamOf(table.entity, key)) : by_entity.get(table.stream.entity)) ??
      nothing,
    nameOf: ({ id, name }) => {
      if (id !== null) return names_of_users.get(streamOf(users.entity, id))
      // Release 0.1 stored only the name: one that no user has any more may be that of an erased user.
      return name === null || user_names.has(name) ? undefined : [...names_of_users.values()][0]
    }
  }
}

/** Returns a predicate for the visible columns of a row; undefined if none is visible. */
type ColumnsSeen = (table: Table, key: Key) => ((column: string) => boolean) | undefined
const columnsSeenBy =
  (redaction: Redaction, erased: ErasedData): ColumnsSeen =>
  (table, key) => {
    const row = { [table.key]: key }
    const visible = redaction.row(table, row)
    if (visible === undefined) return undefined
    const { kept = {}, placeholders } = erased.ofRow(table, key)
    const columns = visible === row ? redaction.columns(table) : undefined
    return (column) =>
      !(column in placeholders || column in kept) &&
      (redaction.sees(table, column) || columns?.includes(column) === true)
  }

/** Removes rows, columns and names from an outcome that the reader may not see. */
const redactOutcome = (
  tables: ReadonlyMap<string, Table>,
  columnsSeen: ColumnsSeen,
  erased: ErasedData
): ((outcome: CommandOutcome) => CommandOutcome) => {
  const seenRow = (row: RowLabel) => {
    const table = tables.get(row.table)
    const isSeen = table === undefined ? undefined : columnsSeen(table, row.key)
    if (table === undefined || isSeen === undefined) return undefined
    const is_named = table.named_by.every(isSeen)
    return { isSeen, is_named, label: is_named ? row : { ...row, name: null, number: null } }
  }
  const renamed = (actor: Actor | null): Actor | null => {
    const name = actor === null ? undefined : erased.nameOf(actor)
    return actor === null || name === undefined ? actor : { ...actor, name }
  }
  const seenEntry = <Entry extends ConcurrentChange | OverwrittenValue | ValueDifference>(
    entry: Entry
  ): ReadonlyArray<Entry> => {
    const row = seenRow(entry.row)
    const column = entry.field?.split(".")[0]
    if (row === undefined || (column !== undefined && !row.isSeen(column))) return []
    const holding = "holding" in entry ? entry.holding : undefined
    if (holding !== undefined && seenRow(holding.by)?.is_named !== true) return []
    return [{ ...entry, row: row.label, ...("actor" in entry ? { actor: renamed(entry.actor) } : {}) }]
  }
  return (outcome) => {
    const changes = outcome.changes?.flatMap(seenEntry) ?? []
    const merged = outcome.merged?.flatMap(seenEntry) ?? []
    const differences = outcome.differences?.flatMap(seenEntry) ?? []
    return {
      ...(changes.length === 0 ? {} : { changes }),
      ...(merged.length === 0 ? {} : { merged }),
      ...(differences.length === 0 ? {} : { differences })
    }
  }
}

/** Removes what the user may no longer see from a command's effects here and from the rows they saw. */
const redactRecorded = (
  catalogue: Catalogue,
  tables: ReadonlyMap<string, Table>,
  redaction: Redaction,
  erased: ErasedData
): ((recorded: RecordedEffects) => RecordedEffects) => {
  const columnsKept = columnsKeptBy(redaction)
  return ({ events, rows }) => ({
    events: events.flatMap((event) => {
      const visible = redaction.see({ ...event, replica_id: null })
      if (visible === undefined) return []
      const data = scrubbed(visible.data, erased.ofStream(event.stream), isWithheldIn(catalogue.tables))
      return [{ ...event, type: visible.type, data }]
    }),
    rows: Object.fromEntries(
      Object.entries(rows).flatMap(([row, values]) => {
        const table = tables.get(row.slice(0, row.lastIndexOf("/")))
        const visible = table === undefined ? undefined : redaction.row(table, values)
        if (table === undefined || visible === undefined) return []
        const kept = columnsKept(table, visible === values)
        const left = Object.keys(values).every((name) => kept.has(name))
          ? values
          : Object.fromEntries(Object.entries(values).filter(([name]) => kept.has(name)))
        return [[row, scrubbed(left, erased.ofRow(table, keyOf(table, values)))]]
      })
    )
  })
}
/**
 * Names of the columns to keep, by table: rows that are fully visible keep those that are sent, others none that is
 * hidden or a placeholder.
 */
const columnsKeptBy = (redaction: Redaction) => {
  const known = new Map<Table, { readonly of_whole: ReadonlySet<string>; readonly of_others: ReadonlySet<string> }>()
  return (table: Table, is_whole: boolean): ReadonlySet<string> => {
    let kept = known.get(table)
    if (kept === undefined) {
      const of_others = new Set(Object.keys(table.columns).filter((name) => redaction.sees(table, name)))
      known.set(table, (kept = { of_whole: new Set([...of_others, ...(redaction.columns(table) ?? [])]), of_others }))
    }
    return is_whole ? kept.of_whole : kept.of_others
  }
}

/** Streams of the rows that a command creates, references in its path or declares to write. */
const streamsOf = (
  catalogue: Catalogue,
  tables: ReadonlyMap<string, Table>,
  { ids, name, payload }: OutboxCommand
): ReadonlyArray<string> => [
  ...Object.entries(ids).flatMap(([table, made]) => made.map((id) => streamOf(tables.get(table)?.entity ?? table, id))),
  ...Object.entries(catalogue.endpoint(name)?.params ?? {}).map(([param, { table }]) =>
    streamOf(table.entity, payload.params[param] ?? "")
  ),
  ...writtenStreams(catalogue, name, payload)
]
/** Streams that a command declares to write, by its path and body. */
const writtenStreams = (
  catalogue: Catalogue,
  name: string,
  { body, params }: OutboxCommand["payload"]
): ReadonlyArray<string> => {
  const endpoint = catalogue.endpoint(name)
  return endpoint?.kind === "command" ? (endpoint.streams?.(params, body) ?? []) : []
}

export const redactionOfOutbox = (
  catalogue: Catalogue,
  redaction: Redaction,
  erasures: Erasures = no_erasures
): Parameters<Outbox["redact"]>[0] => {
  const tables = new Map(catalogue.tables.map((table) => [table.name, table]))
  const erased = erasedDataOf(erasures, tables)
  const withoutUnseen = redactOutcome(tables, columnsSeenBy(redaction, erased), erased)
  const sent = (command: OutboxCommand): OutboxCommand["payload"] => {
    const { body, files } = command.payload
    const streams = streamsOf(catalogue, tables, command)
    const scrub = (given: JsonObject): JsonObject =>
      streams.reduce((left, stream) => scrubbed(left, erased.ofStream(stream)), given)
    const left = scrub(body)
    if (files === undefined) return left === body ? command.payload : { ...command.payload, body: left }
    // A file name may contain personal data.
    const named = Object.entries(files).map(([field, file]): [string, WireFile] => [
      field,
      { ...file, name: String(scrub({ original_name: file.name })["original_name"]) }
    ])
    const same = left === body && named.every(([field, { name }]) => files[field]?.name === name)
    return same ? command.payload : { ...command.payload, body: left, files: Object.fromEntries(named) }
  }
  return {
    sent: erasures.scrubs.length === 0 ? undefined : sent,
    recorded: redactRecorded(catalogue, tables, redaction, erased),
    account: (account) => withoutUnseen(readOutcome(catalogue, account))
  }
}
