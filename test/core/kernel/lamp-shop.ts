/**
 * A small lamp shop that tests the kernel alone: lamps with columns of all kinds, their racks, and bookings that may
 * not overlap. Its endpoints work plainly, or fail on purpose.
 */
import { randomUUID } from "node:crypto"
import { Effect, Layer, ManagedRuntime, Result } from "effect"
import { serverRuntime } from "../../../core/kernel/runtime/server-runtime.ts"
import { custom_fields, list_values } from "../../../core/kernel/lists/custom-field.ts"
import { answer } from "../../../core/kernel/runtime/engine.ts"
import {
  type Catalogue,
  catalogueOf,
  command,
  type CommandRuntime,
  type Failure,
  type Slice
} from "../../../core/kernel/endpoints/endpoint.ts"
import { event } from "../../../core/kernel/events/event-type.ts"
import {
  boolean,
  choice,
  code,
  date,
  decimal,
  integer,
  type Json,
  json,
  type JsonObject,
  list,
  money,
  object,
  ref,
  tags,
  text,
  timestamp
} from "../../../core/kernel/fields/field.ts"
import { number_sequences } from "../../../core/kernel/runtime/ids.ts"
import { journal, journal_head } from "../../../core/kernel/events/journal.ts"
import type { Query } from "../../../core/kernel/lists/query.ts"
import { accessOf, createdEvent, crudResource, rowCreated } from "../../../core/kernel/endpoints/crud-resource.ts"
import { bodyOf, invalidField, Rejection, statusOf, type Viewer } from "../../../core/kernel/fields/rejection.ts"
import { ok, type Resource, resource, renderById, viewContext } from "../../../core/kernel/endpoints/resource.ts"
import { settingsUpdated, settings_table } from "../../../core/kernel/events/settings.ts"
import { visible_to_all } from "../../../core/kernel/tables/visibility.ts"
import { ensureSchema, rebuild, seed } from "../../../core/kernel/runtime/schema.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import { type RowOf, table } from "../../../core/kernel/tables/table.ts"
import * as Postgres from "../../../server/pg/client.ts"
import * as Sqlite from "../../../sync/sqlite/client.ts"
import { type Engine, owner, type Reply } from "../../app.ts"
import { freshDatabase } from "../../postgres.ts"
import * as Shown from "../../../core/kernel/lists/answer-schema.ts"
import { bodyRead } from "../../answers.ts"

const rackFields = { name: text({ required: true, search: true }), floor: integer({ nullable: true }) }
export const racks = table("racks", rackFields, { visibility: visible_to_all, soft_delete: true })
const list_names = table("list_names", { name: text({ required: true, search: true }) }, { visibility: visible_to_all })

const lampFields = {
  name: text({ required: true, search: true }),
  label: text({ nullable: true, search: true }),
  bay: text({ nullable: true, max: 10 }),
  kind: choice(
    { rental: "Rental", sale: "Sale", loss_and_damage: "Loss & Damage" },
    { nullable: true, any_case: true }
  ),
  method: code({ 1: "Bulk", 2: "Serialised" }, { nullable: true }),
  is_active: boolean({ nullable: true }),
  count: integer({ nullable: true }),
  weight: decimal({ scale: 2, nullable: true }),
  price: money({ nullable: true }),
  cost: money({ default: 0, visible_to: "costs.view" }),
  bought_on: date({ nullable: true }),
  seen_at: timestamp({ nullable: true }),
  tag_list: tags(),
  rack_id: ref("racks", { nullable: true, on_null: "clear" }),
  asset_number: text({ nullable: true, search: true }),
  batch: text({ nullable: true }),
  custom_fields: json<JsonObject>({ default: {} })
}
export const lamps = table("lamps", lampFields, {
  visibility: visible_to_all,
  uniques: [
    { columns: ["batch"], field: "batch_alone", message: "never told: only active lamps count", where: "false" },
    { columns: ["asset_number"], field: "asset_number", message: "The asset number has already been taken." },
    { columns: ["batch", "count"], field: "batch", message: "This batch has a lamp of that count." }
  ]
})
export type LampRow = RowOf<typeof lamps>
const bookings = table(
  "bookings",
  { lamp_id: ref("lamps"), starts_at: timestamp(), ends_at: timestamp(), is_active: boolean() },
  {
    visibility: visible_to_all,
    no_overlap: [{ name: "bookings_overlap", key: "lamp_id", from: "starts_at", to: "ends_at", active: "is_active" }]
  }
)

export const lampResource: Resource<typeof lamps, "lamp"> = resource({
  singular: "lamp",
  table: lamps,
  filters: [
    "name",
    "label",
    "bay",
    "kind",
    "method",
    "is_active",
    "count",
    "weight",
    "price",
    "bought_on",
    "seen_at",
    "tag_list",
    "rack_id"
  ],
  sorts: ["name", "label", "bay", "kind", "method", "is_active", "count", "weight", "price", "bought_on", "seen_at"],
  aliases: { type: "kind", active: "is_active" },
  related: {
    "home_rack.name": { via: "rack_id", table: racks, column: "name" },
    "home_rack.floor": { via: "rack_id", table: racks, column: "floor" }
  },
  custom_module: "Lamp",
  includes: {
    rack: { kind: "brief", via: "rack_id", table: racks },
    home_rack: { kind: "one", via: "rack_id", resource: () => rackResource as Resource }
  }
})
const rackResource: Resource<typeof racks> = resource({
  singular: "rack",
  table: racks,
  filters: ["name"],
  sorts: ["name"],
  includes: { lamps: { kind: "many", via: "rack_id", resource: () => lampResource as Resource } }
})
const lampRegister = crudResource({
  resource: lampResource,
  fields: lampFields,
  path: "/api/v1/lamps",
  access: accessOf("lamps")
})
const rackRegister = crudResource({
  resource: rackResource,
  fields: rackFields,
  path: "/api/v1/racks",
  access: accessOf("racks")
})

const writes = { ability: "lamps:write", permission: "lamps.edit" } as const
const touched = (id: number) => event(`lamp:${id}`, "lamp.updated", { id, label: "touched" })
/** Body field that chooses the step at which the command fails. */
const failureField = {
  at: choice(
    { facts: "Facts", decide: "Decide", respond: "Respond", respond_refusal: "Refusal in respond" },
    { required: true }
  )
}
const crash = command("POST", "/api/v1/lamps/{id}/crash", {
  name: "lamps.crash",
  summary: "Goes wrong",
  ...writes,
  params: { id: { table: lamps } },
  fields: failureField,
  facts: ({ values }) => (values.at === "facts" ? Effect.die(new Error("broken facts")) : Effect.void),
  decide: (_facts, { rows, values }) => {
    if (values.at === "decide") throw new Error("broken rule")
    return Result.succeed({ events: [touched(rows.id.id)], result: rows.id })
  },
  respond: (_result, { values }) =>
    values.at === "respond"
      ? Effect.die(new Error("broken answer"))
      : Effect.fail(invalidField("at", "Refused after recording."))
})
const many = { ids: list(integer()) }
/** Creates, and may change, a number of lamps in one command; the rule draws ids one by one. */
const createMany = command("POST", "/api/v1/lamps/many", {
  name: "lamps.create_many",
  summary: "Creates many",
  ability: "lamps:write",
  permission: "lamps.create",
  answer: many,
  result: Shown.keys(many),
  fields: {
    count: integer({ required: true, min: 1, max: 500 }),
    refuse: boolean({ default: false }),
    touch: boolean({ default: false })
  },
  facts: () => Effect.void,
  decide: (_facts, { values }, context) => {
    const ids = Array.from({ length: values.count! }, () => context.id(lamps))
    if (values.refuse === true) return Result.fail(invalidField("refuse", "Refused after drawing ids."))
    return Result.succeed({
      events: ids.flatMap((id) => [
        createdEvent(lamps, { ...blank, id, name: `Lamp ${id}` }),
        ...(values.touch === true ? [touched(id)] : [])
      ]),
      result: { ids }
    })
  },
  respond: (result) => Effect.succeed(ok(result))
})
const numbered = { number: integer({ nullable: true }) }
/** Gives a lamp the next number of a gapless sequence. */
const numberLamp = command("POST", "/api/v1/lamps/{id}/number", {
  name: "lamps.number",
  summary: "Numbers a lamp",
  ...writes,
  params: { id: { table: lamps } },
  fields: { refuse: boolean({ default: false }) },
  answer: numbered,
  result: Shown.keys(numbered),
  facts: () => Effect.void,
  decide: (_facts, { rows, values }, context) => {
    const number = context.number("lamps")
    if (values.refuse === true) return Result.fail(invalidField("refuse", "Refused after drawing a number."))
    return Result.succeed({
      events: [event(`lamp:${rows.id.id}`, "lamp.updated", { id: rows.id.id, label: `L-${number}` })],
      result: { number }
    })
  },
  respond: (result) => Effect.succeed(ok(result))
})
/** Books a lamp without checking: only the database prevents overlaps. */
const snapshot = command("POST", "/api/v1/lamps/{id}/book", {
  name: "lamps.book",
  summary: "Books a lamp",
  ...writes,
  params: { id: { table: lamps } },
  fields: {
    starts_at: timestamp({ required: true }),
    ends_at: timestamp({ required: true }),
    delay: integer({ default: 0, min: 0, max: 20 })
  },
  streams: () => [],
  answer: { id: integer() },
  creates: [bookings],
  facts: ({ values }) => Effect.sleep(values.delay ?? 0),
  decide: (_facts, { rows, values }, context) => {
    const row = {
      id: context.id(bookings),
      lamp_id: rows.id.id,
      starts_at: values.starts_at!,
      ends_at: values.ends_at!,
      is_active: true
    }
    return Result.succeed({ events: [event(`booking:${row.id}`, "booking.created", row)], result: { id: row.id } })
  },
  respond: (result) => Effect.succeed(ok(result))
})
/** Waits a little, then writes to two streams. */
const touch = command("POST", "/api/v1/lamps/{id}/touch", {
  name: "lamps.touch",
  summary: "Touches a lamp and another",
  ...writes,
  params: { id: { table: lamps } },
  fields: {
    other_id: ref("lamps", { required: true }),
    delay: integer({ default: 0, min: 0, max: 20 }),
    locked: boolean({ default: true })
  },
  answer: { lamp: Shown.row(() => lampResource) },
  streams: (params, body) =>
    body["locked"] === false ? [] : [`lamp:${params["id"]}`, `lamp:${String(body["other_id"])}`],
  facts: ({ values }) => Effect.sleep(values.delay ?? 0),
  decide: (_facts, { rows, values }) =>
    Result.succeed({ events: [touched(rows.id.id), touched(values.other_id!)], result: { id: rows.id.id } }),
  respond: (result, input) => Effect.map(renderById(lampResource, result.id, input.query, viewContext(input)), ok)
})
/** Parses nested bodies and returns what it read. */
const measure = command("POST", "/api/v1/lamps/{id}/measure", {
  name: "lamps.measure",
  summary: "Reads a nested body",
  ...writes,
  params: { id: { table: lamps } },
  fields: {
    readings: list(
      object({
        at: timestamp({ required: true }),
        volts: decimal({ scale: 3, required: true }),
        rack: object({ id: ref("racks", { required: true }), shelf: integer({ default: 1 }) }, { nullable: true })
      }),
      { required: true, min_items: 1, max_items: 3 }
    ),
    rack_ids: list(ref("racks"), { default: [] })
  },
  answer: Shown.map(Shown.anything()),
  result: Shown.map(Shown.anything()),
  facts: () => Effect.void,
  decide: (_facts, { values }) =>
    Result.succeed({ events: [], result: JSON.parse(JSON.stringify(values)) as JsonObject }),
  respond: (result) => Effect.succeed(ok(result))
})

const lampsSlice: Slice = {
  ...lampRegister,
  tables: [lamps, bookings],
  events: [...(lampRegister.events ?? []), rowCreated(bookings)],
  endpoints: [createMany, ...lampRegister.endpoints!, crash, numberLamp, snapshot, touch, measure]
}
const customSlice: Slice = {
  name: "custom",
  tables: [settings_table, custom_fields, list_names, list_values],
  events: [settingsUpdated, rowCreated(custom_fields), rowCreated(list_values)]
}
export const shopSlices: ReadonlyArray<Slice> = [customSlice, rackRegister, lampsSlice]
export const shopCatalogue = catalogueOf(shopSlices)

/** A lamp with no values. */
export const blank = {
  label: null,
  bay: null,
  kind: null,
  method: null,
  is_active: null,
  count: null,
  weight: null,
  price: null,
  cost: 0,
  bought_on: null,
  seen_at: null,
  tag_list: [],
  rack_id: null,
  asset_number: null,
  batch: null,
  custom_fields: {}
}

export const shop_opened = "2026-06-18T12:00:00.000Z"
export interface Shop {
  readonly call: (method: string, path: string, body?: unknown, viewer?: Viewer) => Promise<Reply>
  /** Ids of the lamps a query string finds, in order. */
  readonly found: (query: string | Query) => Promise<ReadonlyArray<number>>
  readonly run: <A, E>(effect: Effect.Effect<A, E, Store | CommandRuntime>) => Promise<A>
  /** Externally visible state: projected tables, journal, document numbers. */
  readonly dump: () => Promise<{ readonly [table: string]: ReadonlyArray<unknown> }>
  readonly rebuild: () => Promise<void>
  readonly close: () => Promise<void>
}
export interface Place {
  readonly engine: Engine
  /** File path or Postgres URL by which shops are opened. */
  readonly at: string
  readonly gone: () => Promise<void>
}
/** A database in which shops can be opened, one or several at once: a file, memory, or a Postgres database. */
export const placeOn = async (engine: Engine, file = ":memory:"): Promise<Place> => {
  if (engine === "sqlite") return { engine, at: file, gone: async () => {} }
  const { url, drop } = await freshDatabase()
  return { engine, at: url, gone: drop }
}

export const openShop = async (engine: Engine, catalogue: Catalogue = shopCatalogue): Promise<Shop> => {
  const place = await placeOn(engine)
  const shop = await openShopAt(place, catalogue)
  return {
    ...shop,
    close: async () => {
      await shop.close()
      await place.gone()
    }
  }
}
export const openShopAt = async (place: Place, catalogue: Catalogue = shopCatalogue): Promise<Shop> => {
  const sql = place.engine === "pg" ? Postgres.layer({ url: place.at }) : Sqlite.layer({ path: place.at })
  const runtime = ManagedRuntime.make(
    Layer.merge(Layer.provide(Store.layer, sql), serverRuntime({ catalogue, commandId: randomUUID }))
  )
  const run: Shop["run"] = (effect) => runtime.runPromise(effect)
  try {
    await run(Effect.andThen(ensureSchema(catalogue, "server"), seed(catalogue, shop_opened)))
  } catch (cause) {
    await runtime.dispose()
    throw cause
  }
  const ask = (method: string, path: string, query: Query, body: unknown, viewer: Viewer): Promise<Reply> =>
    run(
      told(
        Effect.map(answer(catalogue, { method, path, query, body: body as Json | undefined }, viewer), (reply) => ({
          status: reply.status,
          body: bodyRead(reply.body),
          headers: reply.headers ?? {}
        }))
      )
    )
  return {
    run,
    call: (method, target, body, viewer = owner) => {
      const [path, query] = target.split("?", 2)
      return ask(method, path!, query === undefined ? [] : [...new URLSearchParams(query)], body, viewer)
    },
    found: async (query) => {
      const asked = typeof query === "string" ? [...new URLSearchParams(query)] : query
      const { status, body } = await ask("GET", "/api/v1/lamps", asked, undefined, owner)
      if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)}`)
      return body.lamps.map((lamp: { readonly id: number }) => lamp.id)
    },
    dump: () =>
      run(
        Effect.gen(function* () {
          const store = yield* Store
          const dump: { [table: string]: ReadonlyArray<unknown> } = {}
          for (const table of [...catalogue.tables, journal, journal_head, number_sequences])
            dump[table.name] = yield* store.find(table, {})
          return dump
        })
      ),
    rebuild: () => run(rebuild(catalogue)),
    close: () => runtime.dispose()
  }
}
/** Refusals become results; all other errors fail the test. */
const told = <R>(effect: Effect.Effect<Reply, Failure, R>): Effect.Effect<Reply, Failure, R> =>
  Effect.catch(effect, (failure): Effect.Effect<Reply, Failure, R> =>
    failure instanceof Rejection
      ? Effect.succeed({
          status: statusOf[failure.kind],
          body: bodyRead(bodyOf(failure)),
          headers: failure.headers ?? {}
        })
      : Effect.fail(failure)
  )
