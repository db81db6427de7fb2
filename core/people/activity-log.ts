/** Endpoints of the action log: the journal, newest first, as changes of rows by users (rules/conventions 12). */
import { bindings, columnList, CommandRuntime, conditionsOf, conditionSql, get } from "../kernel/index.ts"
import { hasOnePermission, integer, isJsonObject, journal, offersFilter, ok, pageOf } from "../kernel/index.ts"
import { sameJson, Shown, snakeCase, sortOf, Store, text, timestamp, wholeNumberOf } from "../kernel/index.ts"
import type { Bindings, Catalogue, Condition, Json, JsonObject, Listing, Query, Slice } from "../kernel/index.ts"
import type { StoredEvent, StoreShape, Viewer } from "../kernel/index.ts"
import { Effect } from "effect"
import { ignoredMeta, ignoredOf } from "../kernel/endpoints/ignored.ts"
import { users } from "./users/permissions.ts"

// An entry of the action log and of an opportunity's activity (rules/conventions 12).

const values = Shown.map(Shown.anything(), { nullable: true })
export const auditShown = {
  id: integer(),
  user_id: integer({ nullable: true }),
  user_name: text({ nullable: true }),
  action: text({ describe: "Type of the event, such as product.updated" }),
  auditable_type: text(),
  auditable_id: Shown.either(integer(), text()),
  old_values: values,
  new_values: values,
  ip_address: Shown.nothing("Always null: the journal keeps no IP addresses"),
  created_at: timestamp()
}
export type AuditEntry = Shown.KeysShown<typeof auditShown>

// Old and new values of an event for the action log (rules/conventions 12). Pure.

interface Changes {
  readonly old_values: JsonObject
  readonly new_values: JsonObject
}
const no_changes: Changes = { old_values: {}, new_values: {} }

/** Splits an event's type into entity and action: `product.updated` into product and updated. */
const verbOf = (type: string): readonly [entity: string, verb: string] => {
  const at = type.lastIndexOf(".")
  return [type.slice(0, at), type.slice(at + 1)]
}
const rowKey = (entity: string, data: JsonObject): string => `${entity}:${String(data["id"] ?? "")}`

/** Types of earlier events needed to derive old values for updates and deletions of these types. */
const valueTypes = (types: ReadonlyArray<string>): ReadonlyArray<string> => [
  ...new Set(
    types
      .map(verbOf)
      .filter(([, verb]) => verb === "updated" || verb === "deleted")
      .flatMap(([entity]) => [`${entity}.created`, `${entity}.updated`])
  )
]

/**
 * Old and new values of the events at the `wanted` positions. `events`: in order, with earlier events of the same rows.
 */
export const changesOf = (
  events: ReadonlyArray<StoredEvent>,
  wanted: ReadonlySet<number>
): ReadonlyMap<number, Changes> => {
  const rows = new Map<string, JsonObject>()
  const changes = new Map<number, Changes>()
  for (const { position, type, data } of events) {
    const [entity, verb] = verbOf(type)
    const key = rowKey(entity, data)
    const before = rows.get(key) ?? {}
    if (wanted.has(position)) changes.set(position, changeOf(verb, data, before))
    if (verb === "created" || verb === "updated") rows.set(key, { ...before, ...withoutId(data) })
  }
  return changes
}

const changeOf = (verb: string, data: JsonObject, before: JsonObject): Changes => {
  const { set, was, also } = data
  // Some events carry their old or new values.
  if (isJsonObject(set) || isJsonObject(was)) {
    return {
      old_values: isJsonObject(was) ? was : {},
      new_values: { ...(isJsonObject(set) ? set : {}), ...(isJsonObject(also) ? also : {}) }
    }
  }
  switch (verb) {
    case "created":
      return { old_values: {}, new_values: data }
    case "updated": {
      // Some events contain complete rows, so values that did not change are left out.
      const new_values = Object.fromEntries(
        Object.entries(withoutId(data)).filter(([name, value]) => {
          const old = valueIn(before, name)
          return old === undefined || !sameJson(old, value)
        })
      )
      return {
        new_values,
        old_values: Object.fromEntries(
          Object.keys(new_values).flatMap((name) => {
            const old = valueIn(before, name)
            return old === undefined ? [] : [[name, old] as const]
          })
        )
      }
    }
    case "deleted":
      return { old_values: before, new_values: {} }
    default:
      return { old_values: {}, new_values: withoutId(data) }
  }
}
/** A row's value of a column; undefined for inherited properties such as `constructor`. */
const valueIn = (row: JsonObject, name: string): Json | undefined => (Object.hasOwn(row, name) ? row[name] : undefined)
const withoutId = ({ id: _id, ...rest }: JsonObject): JsonObject => rest

/** Removes keys the reader may not see, at any depth. */
const withoutKeys = (value: JsonObject, hidden: ReadonlySet<string>): JsonObject =>
  Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => !hidden.has(key))
      .map(([key, item]) => [key, within(item, hidden)])
  )
const within = (value: Json, hidden: ReadonlySet<string>): Json =>
  Array.isArray(value)
    ? value.map((item: Json) => within(item, hidden))
    : isJsonObject(value)
      ? withoutKeys(value, hidden)
      : value

const listing: Listing = {
  table: journal,
  filters: ["position", "type", "actor_id", "recorded_at"],
  sorts: ["position", "recorded_at"],
  aliases: { id: "position", action: "type", user_id: "actor_id", created_at: "recorded_at" },
  related: {},
  value_names: {},
  flags: {},
  now: "",
  base_currency: "",
  custom_fields: new Map()
}

/** Filters that are applied to the stream's name. */
const of_streams: ReadonlySet<string> = new Set(["auditable_type", "auditable_id"])
/**
 * SQL condition on the stream's name, such as `member:12`, for `auditable_type` and `auditable_id`; undefined without
 * either.
 */
const streamSql = (conditions: ReadonlyArray<Condition>, bound: Bindings): string | undefined => {
  const given = (name: string): ReadonlyArray<string> | undefined => {
    const one = conditions.find(
      (condition) => condition.name === name && (condition.predicate === "eq" || condition.predicate === "in")
    )
    return one === undefined
      ? undefined
      : (one.predicate === "in" ? one.values.flatMap((value) => value.split(",")) : one.values.slice(-1))
          .map((value) => value.trim())
          .filter((value) => /^[\w-]{1,64}$/.test(value))
  }
  const types = given("auditable_type")?.map((type) => snakeCase(type).replace(/^_/, ""))
  const ids = given("auditable_id")
  if (types === undefined && ids === undefined) return undefined
  const ofId = (id: string): string => `stream like ${bound.bind(`%:${id.replaceAll("_", "\\_")}`)} escape '\\'`
  // A range instead of `like`, so that the index on streams serves it: `;` follows `:` in ASCII.
  const ofType = (type: string): string =>
    `(stream >= ${bound.bind(`${type}:`)} and stream < ${bound.bind(`${type};`)})`
  const parts =
    types === undefined
      ? (ids ?? []).map(ofId)
      : ids === undefined
        ? types.map(ofType)
        : types.flatMap((type) => ids.map((id) => `stream = ${bound.bind(`${type}:${id}`)}`))
  return parts.length === 0 ? "1 = 0" : `(${parts.join(" or ")})`
}

/**
 * Columns hidden from the viewer, by entity; those of parts also by the entity they belong to. By entity, because
 * hiding a purchase order's total does not hide an invoice's.
 */
const hiddenFrom = (catalogue: Catalogue, viewer: Viewer): ReadonlyMap<string, ReadonlySet<string>> => {
  const hidden = new Map<string, Set<string>>()
  for (const { columns, entity, stream } of catalogue.tables) {
    const names = Object.entries(columns)
      .filter(([, field]) => field.visible_to !== undefined && !hasOnePermission(viewer, field.visible_to))
      .map(([name]) => name)
    if (names.length === 0) continue
    for (const subject of [entity, stream?.entity ?? entity]) {
      const known = hidden.get(subject) ?? new Set()
      for (const name of names) known.add(name)
      hidden.set(subject, known)
    }
  }
  return hidden
}
const nothing_hidden: ReadonlySet<string> = new Set()
/** Entity that an event type is about: `purchase_order.sent` gives purchase_order. */
const subjectOf = (type: string): string => type.slice(0, type.indexOf("."))

/** Events as entries of the action log. At most two queries: earlier events of the same streams, and the users. */
const auditRows = Effect.fnUntraced(function* (
  events: ReadonlyArray<StoredEvent>,
  viewer: Viewer
): CommandRuntime.Reads<ReadonlyArray<AuditEntry>> {
  const store = yield* Store
  const hidden = hiddenFrom((yield* CommandRuntime).catalogue, viewer)
  const earlier = yield* historyOf(store, events)
  const changes = changesOf(
    [...earlier, ...events].sort((one, other) => one.position - other.position),
    new Set(events.map((one) => one.position))
  )
  const people = new Map(
    (yield* store.getMany(
      users,
      events.flatMap((one) => one.actor_id ?? [])
    )).map((one) => [one.id, one.name])
  )
  return events.map((one): AuditEntry => {
    const at = one.stream.indexOf(":")
    const id = one.stream.slice(at + 1)
    const { old_values, new_values } = changes.get(one.position) ?? no_changes
    const kept_back = hidden.get(subjectOf(one.type)) ?? nothing_hidden
    return {
      id: one.position,
      user_id: one.actor_id,
      user_name: people.get(one.actor_id ?? 0) ?? null,
      action: one.type,
      auditable_type: one.stream.slice(0, at),
      auditable_id: wholeNumberOf(id) ?? id,
      old_values: withoutKeys(old_values, kept_back),
      new_values: withoutKeys(new_values, kept_back),
      ip_address: null,
      created_at: one.recorded_at
    }
  })
})
/** Earlier events of the same streams from which old values are derived, without the given events. */
const historyOf = Effect.fnUntraced(function* (store: StoreShape, events: ReadonlyArray<StoredEvent>) {
  const types = valueTypes(events.map((one) => one.type))
  if (types.length === 0) return []
  const given = new Set(events.map((one) => one.position))
  const last = Math.max(...given)
  const streams = events.filter((one) => valueTypes([one.type]).length > 0).map((one) => one.stream)
  const found = yield* store.find(journal, { stream: [...new Set(streams)], type: types })
  return found.filter((one) => one.position < last && !given.has(one.position))
})

const actions = Effect.fnUntraced(function* (query: Query, viewer: Viewer) {
  const store = yield* Store
  const bound = bindings(store.dialect)
  const conditions = conditionsOf(query)
  const parts = [
    streamSql(conditions, bound),
    ...conditions.map((one) => conditionSql(one, listing, store.dialect, bound))
  ].filter((sql) => sql !== undefined)
  const from = ` from "journal"${parts.length === 0 ? "" : ` where ${parts.join(" and ")}`}`
  const sort = sortOf(query, listing)
  const { page, per_page } = pageOf(query)
  // Entries are always ordered by position, which has the order of time; a requested sort only gives the direction.
  const order = sort === undefined || sort.descending ? "desc" : "asc"
  const events = (yield* store.run(
    `select ${columnList(journal)}${from} order by "position" ${order} limit ${per_page} ` +
      `offset ${(page - 1) * per_page}`,
    bound.values
  )).map((row) => store.decode(journal, row))
  // If the first page is not full, its length is the total; otherwise rows are counted.
  const [counted] =
    page === 1 && events.length < per_page
      ? [{ total: events.length }]
      : yield* store.run<{ total: number }>(`select count(*) as total${from}`, bound.values)
  return ok({
    actions: yield* auditRows(events, viewer),
    meta: {
      total: Number(counted?.total ?? 0),
      per_page,
      page,
      ...ignoredMeta(
        ignoredOf(query, {
          filters: (name) => of_streams.has(name) || offersFilter(name, listing),
          is_sorted: sort !== undefined,
          includes: {}
        })
      )
    }
  })
})

export const activityLogSlice: Slice = {
  name: "actions",
  endpoints: [
    get("/api/v1/actions", {
      answer: { actions: Shown.objects(auditShown), meta: Shown.meta },
      name: "actions.list",
      summary: "List all changes and who made them, newest first",
      reads_history: "everything",
      ability: "action-log:read",
      permission: "action-log.view",
      run: (input) => actions(input.query, input.viewer)
    })
  ]
}
