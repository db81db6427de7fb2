/**
 * What the outbox keeps beside what is sent (rows as a person saw them, what became of commands) shows no more than the
 * replica does: with a permission taken away it goes from there, too, and so does a person who was erased. What people typed
 * themselves stays while it is to be sent.
 */
import { Effect } from "effect"
import type { Catalogue } from "../../../core/kernel/catalogue.ts"
import type { Key } from "../../../core/kernel/row-change.ts"
import type { Params } from "../../../core/kernel/endpoint.ts"
import { type Scrub, scrubsOf, type StoredEvent, streamOf } from "../../../core/kernel/event.ts"
import { journal } from "../../../core/kernel/journal.ts"
import { isJsonObject, type Json, type JsonObject } from "../../../core/kernel/json.ts"
import { isWithheldIn, scrubbed } from "../../../core/kernel/redacted-event.ts"
import { quote } from "../../../core/kernel/store/statement.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import type { Table } from "../../../core/kernel/table.ts"
import { anonymous_name } from "../../../core/users/anonymous.ts"
import { users } from "../../../core/users/schema.ts"
import type { Redaction } from "../../protocol/redaction.ts"
import { entityLabel } from "../outcomes/describe-event.ts"
import { readMeta } from "../replica/local-tables.ts"
import type { Outbox } from "./outbox.ts"
import type { OutboxCommand, RecordedEffects } from "./command.ts"

/** What erasures in this journal, and those of before that rows came without, ask to be taken out. */
export const loadErasures = Effect.fnUntraced(function* ({ scrubs }: Pick<Catalogue, "scrubs">) {
  const store = yield* Store
  const events = yield* store.find(journal, { type: Object.keys(scrubs) })
  const asked = [
    ...(JSON.parse((yield* readMeta(store, "erased")) ?? "[]") as ReadonlyArray<Scrub>),
    ...scrubsOf(scrubs, events as ReadonlyArray<StoredEvent>)
  ]
  const names = asked.length === 0 ? [] : yield* store.run<{ name: string }>(`select name from ${quote(users.name)}`)
  return { scrubs: asked, user_names: new Set(names.map(({ name }) => name)) } satisfies Erasures
})

const nothing: Pick<Scrub, "placeholders"> = { placeholders: {} }

/** What was taken out of the journal so far, and what users are called since. */
export interface Erasures {
  readonly scrubs: ReadonlyArray<Scrub>
  readonly user_names: ReadonlySet<string>
}
const nobody: Erasures = { scrubs: [], user_names: new Set() }

export const redactionOfOutbox = (
  catalogue: Catalogue,
  redaction: Redaction,
  { scrubs, user_names }: Erasures = nobody
): Parameters<Outbox["redact"]>[0] => {
  const erased = new Map(scrubs.flatMap((scrub) => scrub.streams.map((stream) => [stream, scrub] as const)))
  const scrubOf = new Map([...erased].map(([stream, scrub]) => [stream.slice(0, stream.indexOf(":")), scrub]))
  /** What takes the place of an erased person's data in a row; whose a record of a person is, its key does not say. */
  const scrubFor = (table: Table, key: Key): Pick<Scrub, "placeholders" | "kept"> =>
    (table.stream === undefined ? erased.get(streamOf(table.entity, key)) : scrubOf.get(table.stream.entity)) ?? nothing
  const tables = new Map(catalogue.tables.map((table) => [table.name, table]))
  const byKind = catalogue.tables.toSorted((one, other) => other.entity.length - one.entity.length)
  /** Which columns of a row this reader sees; undefined when none. */
  const columnsSeen = (table: Table, key: Key): ((column: string) => boolean) | undefined => {
    const row = { [table.key]: key }
    const left = redaction.row(table, row)
    const { kept = {}, placeholders } = scrubFor(table, key)
    const isGone = (column: string): boolean => column in placeholders || column in kept
    return left === undefined
      ? undefined
      : (column) =>
          !isGone(column) &&
          (redaction.sees(table, column) || (left === row && redaction.columns(table)?.includes(column) === true))
  }
  /** Accounts name rows in words: `stock level 7 MH-1`. */
  const rowIn = (what: Json | undefined) => {
    const table = typeof what === "string" ? byKind.find((one) => what.startsWith(`${entityLabel(one)} `)) : undefined
    if (typeof what !== "string" || table === undefined) return undefined
    const key = what.slice(entityLabel(table).length + 1).split(" ")[0]!
    const isSeen = columnsSeen(table, table.columns[table.key]?.type.kind === "text" ? key : Number(key))
    const isNamed = isSeen !== undefined && table.named_by.every(isSeen)
    return isSeen === undefined
      ? undefined
      : { table, isSeen, isNamed, what: isNamed ? what : `${entityLabel(table)} ${key}` }
  }
  /** What is told of no column tells of other rows: `held_by`, `2 by opportunity 8 Gala from …`. */
  const namesOnlySeen = (told: JsonObject): boolean =>
    Object.entries(told).every(
      ([part, text]) =>
        part === "what" ||
        typeof text !== "string" ||
        byKind.every((table) =>
          [...text.matchAll(new RegExp(`(?<=^| by )${entityLabel(table)} \\d+`, "g"))].every(
            ([row]) => rowIn(row)?.isNamed === true
          )
        )
    )
  const tell = (told: JsonObject): ReadonlyArray<JsonObject> => {
    const row = rowIn(told["what"])
    if (row === undefined) return []
    const column = typeof told["field"] === "string" ? told["field"].split(".")[0]! : undefined
    const isTold =
      column === undefined || (row.table.columns[column] === undefined ? namesOnlySeen(told) : row.isSeen(column))
    return isTold ? [row.what === told["what"] ? told : { ...told, what: row.what }] : []
  }
  // Accounts say who did something by name alone: a name that no user has, once a user was erased, may be theirs.
  const users_were_erased = [...erased.keys()].some((stream) => stream.startsWith(streamOf(users.entity, "")))
  const named = (told: JsonObject): JsonObject => {
    const { who } = told
    return !users_were_erased || typeof who !== "string" || user_names.has(who) || /^user \d+$/.test(who)
      ? told
      : { ...told, who: anonymous_name }
  }
  /** The streams of the rows a command made or went by. */
  const streamsOf = ({ ids, name, payload }: OutboxCommand): ReadonlyArray<string> =>
    [
      ...Object.entries(ids).flatMap(([table, made]) =>
        made.map((id) => [tables.get(table)?.entity ?? table, id] as const)
      ),
      ...Object.entries((catalogue.endpoint(name)?.params ?? {}) as Params).map(
        ([param, { table }]) => [table.entity, payload.params[param] ?? ""] as const
      )
    ].map(([entity, id]) => streamOf(entity, id))
  return {
    sent:
      scrubs.length === 0
        ? undefined
        : (command) => {
            const body = streamsOf(command).reduce(
              (left, stream) => scrubbed(left, erased.get(stream) ?? nothing),
              command.payload.body
            )
            return body === command.payload.body ? command.payload : { ...command.payload, body }
          },
    recorded: ({ events, rows }): RecordedEffects => ({
      events: events.flatMap((event) => {
        const told = redaction.see({ ...event, replica_id: null })
        return told === undefined
          ? []
          : [
              {
                ...event,
                type: told.type,
                data: scrubbed(told.data, erased.get(event.stream) ?? nothing, isWithheldIn(catalogue.tables))
              }
            ]
      }),
      rows: Object.fromEntries(
        Object.entries(rows).flatMap(([row, values]) => {
          const table = tables.get(row.slice(0, row.lastIndexOf("/")))
          const left = table === undefined ? undefined : redaction.row(table, values)
          // One's own rows, and those of what one sees whole, are kept to the letter; of others nothing stands for what was taken out.
          if (table === undefined || left === undefined) return []
          const kept = Object.entries(values).filter(
            ([name]) =>
              redaction.sees(table, name) || (left === values && redaction.columns(table)?.includes(name) === true)
          )
          return [[row, scrubbed(Object.fromEntries(kept), scrubFor(table, values[table.key] as Key))]]
        })
      )
    }),
    account: (account): JsonObject =>
      Object.fromEntries(
        Object.entries(account).flatMap(([part, told]): ReadonlyArray<readonly [string, Json]> => {
          if (!Array.isArray(told)) return [[part, told]]
          const kept = told.flatMap((one: Json): ReadonlyArray<Json> =>
            isJsonObject(one) ? tell(one).map(named) : [one]
          )
          return kept.length === 0 ? [] : [[part, kept]]
        })
      )
  }
}
