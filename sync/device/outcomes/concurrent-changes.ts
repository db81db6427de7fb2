/** What changed between the moment a command was recorded here and its refusal: the part of it that has to do with why. */
import { Effect } from "effect"
import type { Failure } from "../../../core/kernel/endpoint.ts"
import type { StoredEvent } from "../../../core/kernel/event.ts"
import { journal } from "../../../core/kernel/journal.ts"
import { originalTypeOf } from "../../../core/kernel/redacted-event.ts"
import { isJsonObject, type Json, type JsonObject } from "../../../core/kernel/json.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import type { AnyRow } from "../../../core/kernel/table.ts"
import { demands } from "../../../core/demands/schema.ts"
import { opportunities } from "../../../core/opportunities/schema.ts"
import { opportunity_items } from "../../../core/opportunities/lines/schema.ts"
import { products } from "../../../core/products/schema.ts"
import { stock_levels } from "../../../core/stock/schema.ts"
import type { WireError } from "../../protocol/wire.ts"
import { referencesOfCommand, rowReference } from "../replica/references.ts"
import type { OutboxCommand, RecordedEffects } from "../outbox/command.ts"
import {
  type Change,
  isByOtherDevice,
  rowKey,
  isWorthShowing,
  isSameValue,
  type DescriptionContext,
  type RowTouch,
  touchesOf,
  describeValue,
  describeRow,
  describeActor
} from "./describe-event.ts"

/** As many events as are looked through, and as many changes as are told, the latest of each. */
const events_max = 10_000
const changes_max = 20

export const concurrentChanges = Effect.fnUntraced(function* (
  description_context: DescriptionContext,
  command: OutboxCommand,
  recorded: RecordedEffects,
  until: number,
  error: WireError | undefined
): Effect.fn.Return<ReadonlyArray<Change>, Failure, Store> {
  if (command.base === null) return []
  const store = yield* Store
  const events = (yield* store.run(
    `select * from journal where position > ? and position < ? and replica_id is not ? order by position desc limit ${events_max}`,
    [command.base, until, description_context.replica_id]
  ))
    .map((row) => store.decode(journal, row) as StoredEvent)
    .filter((event) => isByOtherDevice(description_context, event))
    .reverse()
  const sought = yield* soughtBy(description_context, command, recorded, error)
  const found: Array<{ readonly matters: boolean; readonly change: Change }> = []
  const latest = new Map<string, unknown>()
  for (const event of events) {
    const who = yield* describeActor(event)
    const about = { who, when: event.recorded_at, event: originalTypeOf(event) }
    for (const touch of touchesOf(description_context, event, event.recorded_at)) {
      const seen: AnyRow | undefined = recorded.rows[rowKey(touch)]
      const own = sought.streams.has(event.stream) || sought.rows.has(rowKey(touch))
      if (touch.table === demands) {
        if (!own && sought.isTaken(touch.columns))
          found.push({ matters: true, change: { ...about, ...(yield* taken(touch.columns)) } })
        continue
      }
      const columns = Object.keys(touch.columns).filter(
        (column) =>
          isWorthShowing(touch.table, column) &&
          (own ? touch.op !== "insert" || sought.clashes(touch, column) : sought.clashes(touch, column))
      )
      if (own && (touch.op !== "update" || touch.columns["deleted_at"])) {
        found.push({
          matters: touch.op !== "insert",
          change: { ...about, what: yield* describeRow(touch, touch.columns, seen), field: null, from: null, to: null }
        })
        continue
      }
      for (const column of columns) {
        const place = `${rowKey(touch)}/${column}`
        const before = latest.has(place) ? latest.get(place) : (wasBefore(event, column) ?? seen?.[column])
        latest.set(place, touch.columns[column])
        if (isSameValue(before, touch.columns[column])) continue
        const around = { ...seen, ...touch.columns }
        found.push({
          matters: !own || sought.isAbout(column),
          change: {
            ...about,
            what: yield* describeRow(touch, touch.columns, seen),
            field: column,
            from: describeValue(description_context, touch.table, column, before, around),
            to: describeValue(description_context, touch.table, column, touch.columns[column], around)
          }
        })
      }
    }
  }
  const mattering = found.filter((one) => one.matters)
  return (mattering.length > 0 ? mattering : found).slice(-changes_max).map((one) => one.change)
})

/** Opportunities' events say themselves what stood there. */
const wasBefore = (event: StoredEvent, column: string): Json | undefined => {
  const was = event.data["was"]
  return isJsonObject(was) ? was[column] : undefined
}

interface Sought {
  readonly streams: ReadonlySet<string>
  readonly rows: ReadonlySet<string>
  /** A column the command speaks of, or was refused for: a quantity may be a dispatched_quantity. */
  readonly isAbout: (column: string) => boolean
  /** Does this column of a row that is not the command's hold what the command was refused for wanting too? */
  readonly clashes: (touch: RowTouch, column: string) => boolean
  /** Does this claim take what the command wanted? */
  readonly isTaken: (claim: AnyRow) => boolean
}
const soughtBy = Effect.fnUntraced(function* (
  description_context: DescriptionContext,
  command: OutboxCommand,
  recorded: RecordedEffects,
  error: WireError | undefined
) {
  const store = yield* Store
  const endpoint = description_context.catalogue.endpoint(command.name)
  const named = endpoint === undefined ? [] : referencesOfCommand(endpoint, command.payload)
  const errored = Object.keys(error?.errors ?? {})
  const wanted = (row: { readonly field?: string }): boolean => row.field !== undefined && errored.includes(row.field)
  const units = new Set(named.filter((row) => row.table === stock_levels.name && wanted(row)).map((row) => row.id))
  const deal = named.find((row) => row.table === opportunities.name && row.field === undefined)?.id
  const isShort = errored.includes("shortages") && deal !== undefined
  const short = new Set(
    !isShort ? [] : (yield* store.find(opportunity_items, { opportunity_id: deal })).map((line) => line.item_id)
  )
  const leaves = errored.map((path) => path.split(".").at(-1) ?? path)
  const body: JsonObject = command.payload.body
  const fields = new Set([
    ...Object.keys(body),
    ...leaves,
    ...(leaves.includes("state") ? ["status"] : []),
    "deleted_at"
  ])
  const shared = new Map(
    errored
      .filter((path) => (body[path] ?? null) !== null && typeof body[path] !== "object")
      .map((path) => [path, body[path]!])
  )
  const made = description_context.catalogue.tables.filter((table) =>
    recorded.events.some((event) => originalTypeOf(event).startsWith(`${table.entity}.`))
  )
  return {
    streams: new Set([
      ...recorded.events.map((event) => event.stream),
      ...named
        .filter((row) => row.field === undefined)
        .map((row) => `${description_context.catalogue.table(row.table).entity}:${row.id}`)
    ]),
    rows: new Set(named.filter((row) => row.field === undefined || wanted(row)).map(rowReference)),
    isAbout: (column) => fields.has(column) || leaves.some((leaf) => column.endsWith(`_${leaf}`)),
    clashes: (touch, column) =>
      made.includes(touch.table) && shared.has(column) && isSameValue(shared.get(column), touch.columns[column]),
    isTaken: (claim) =>
      claim["is_active"] === true &&
      (units.has(claim["asset_id"] as number) ||
        (short.has(claim["product_id"] as number) && claim["opportunity_id"] !== deal))
  } satisfies Sought
})

/** A claim as people speak of it: what is held, by which opportunity, from when to when. */
const taken = Effect.fnUntraced(function* (claim: AnyRow) {
  const unit = claim["asset_id"] as number | null,
    deal = claim["opportunity_id"] as number | null
  const holder =
    deal === null
      ? `container ${String(claim["container_id"])}`
      : yield* describeRow({ table: opportunities, key: deal })
  const quantity = unit === null ? `${String(claim["quantity"])} by ` : ""
  return {
    what: yield* describeRow(
      unit === null ? { table: products, key: claim["product_id"] as number } : { table: stock_levels, key: unit }
    ),
    field: "held_by",
    from: null,
    to: `${quantity}${holder} from ${String(claim["starts_at"])} to ${String(claim["ends_at"])}`
  }
})
