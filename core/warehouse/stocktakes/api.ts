/** Endpoints of stocktakes: counting a store's goods by code, and recording the result (rules/stocktakes). */
import { Effect, Result } from "effect"
import { boolean, choice, command, created, crudResource, includesOf, integer, later } from "../../kernel/index.ts"
import { list, ok, permissionsOfArea, reaction, render, renderById, resource, Shown } from "../../kernel/index.ts"
import { Store, text, timestamp, viewContext, viewManageAccess, withRules } from "../../kernel/index.ts"
import type { Endpoint, Input, Slice } from "../../kernel/index.ts"
import {
  bulkDispatched,
  bulkDispatchReverted,
  bulkReturned,
  bulkReturnReverted
} from "../../orders/opportunities/events/lines.ts"
import { grantToSystemRoles } from "../../people/users/decide.ts"
import { product_groups } from "../../products/products/api.ts"
import { stock_transactions } from "../../products/stock/schema.ts"
import { stores } from "../../setup/stores.ts"
import { firstOf } from "../../values/text.ts"
import { service_records } from "../workshop/schema.ts"
import { stocktakeEvents } from "./events.ts"
import {
  last_seen_shown,
  line_statuses,
  missing_records,
  stocktake_moves,
  stocktake_scans,
  stocktakes,
  taken_shown
} from "./schema.ts"

const rules = later(() => import("./decide.ts"))
const reading = later(() => import("./facts.ts"))
const moving = later(() => import("./moves.ts"))
const resolving = later(() => import("./resolve.ts"))
const seeing = later(() => import("./last-seen.ts"))

export const stocktakeResource = resource({
  singular: "stocktake",
  heading: "Catalogue",
  table: stocktakes,
  shows: { store_name: text({ nullable: true }), product_group_name: text({ nullable: true }) },
  filters: ["store_id", "product_group_id", "status", "started_at", "closed_at", "created_at", "updated_at"],
  sorts: ["started_at", "closed_at", "status", "created_at", "updated_at"],
  order: ["-started_at", "-id"],
  lookups: { store: { via: "store_id", table: stores }, group: { via: "product_group_id", table: product_groups } },
  includes: {
    stocktake_lines: {
      kind: "keys",
      shows: taken_shown,
      of: (rows, context) => Effect.flatMap(reading, ({ showLines }) => showLines(rows, context))
    }
  },
  view: (base, _row, { group, store }) => ({
    ...base,
    store_name: typeof store?.["name"] === "string" ? store["name"] : null,
    product_group_name: typeof group?.["name"] === "string" ? group["name"] : null
  })
})

const path = "/api/v1/stocktakes"
const one = { id: { table: stocktakes } } as const
const answer = { stocktake: Shown.row(() => stocktakeResource) }
const count_access = { ability: "stock:write", permission: "stock.count" } as const

/** Response without lines unless included, as starting and cancelling compare nothing. */
const withoutLines = Effect.fnUntraced(function* (id: number, input: Input) {
  const rows = yield* Store.getMany(stocktakes, [id])
  return { stocktake: firstOf(yield* render(stocktakeResource, rows, includesOf(input.query), viewContext(input))) }
})

const reads = crudResource({
  resource: stocktakeResource,
  fields: {},
  path,
  access: viewManageAccess("stock", "stock.view", "stock.count"),
  only: ["list", "show"]
}).endpoints

const verdict_fields = {
  code: text(),
  kind: Shown.oneOf(["unit", "case", "bulk", "unknown"]),
  outcome: Shown.oneOf(["counted", "counted_before", "taken_back", "not_counted"]),
  name: text({ nullable: true }),
  quantity: integer({ describe: "Quantity added, or removed, by the scan" }),
  note: text({ nullable: true })
}
const scanned_fields = {
  ...verdict_fields,
  status: choice(line_statuses, {
    nullable: true,
    describe: "Status of the line, or of a case's first item that differs"
  }),
  way_out: text({ nullable: true })
}
const decidedVerdict = { ...verdict_fields, level_ids: list(integer()), product_id: integer({ nullable: true }) }
export const scansShown = { scans: Shown.objects(scanned_fields) }

const scanning = command("POST", `${path}/{id}/scans`, {
  answer: scansShown,
  name: "stocktakes.scan",
  summary: "Count scanned codes, or remove them from the count",
  ...count_access,
  success_status: 200,
  params: one,
  fields: {
    codes: list(text({ max: 500 }), {
      required: true,
      min_items: 1,
      max_items: 1_000,
      describe: "Scanned codes; CABLE*7 is seven of a bulk product"
    }),
    counted_at: timestamp({ nullable: true, describe: "Time of the count; default: now" }),
    take_back: boolean({ default: false, describe: "Remove these scans from the count instead" })
  },
  facts: (input) =>
    Effect.flatMap(resolving, ({ loadScan }) =>
      withRules(rules, () => loadScan(input.rows.id, input.values.codes ?? []))
    ),
  decide: ({ known, rules: { scan } }, { values }, context) => scan(known, values, context),
  result: Shown.keys({ id: integer(), verdicts: Shown.objects(decidedVerdict) }),
  respond: ({ id, verdicts }, { now }) =>
    Effect.flatMap(resolving, ({ showScans }) => Effect.map(showScans(id, verdicts, now), (scans) => ok({ scans })))
})

/**
 * Records movements of bulk goods in open stocktakes of their store, so that counts are compared with the stock at
 * their time (rules/stocktakes 4). One query if none is open.
 */
const goodsMoved = reaction({
  on: [bulkDispatched, bulkDispatchReverted, bulkReturned, bulkReturnReverted],
  facts: ({ events }) =>
    Effect.gen(function* () {
      const open = yield* Store.pick(stocktakes, ["id", "store_id"], { status: "open" })
      return open.length === 0 ? undefined : yield* withRules(moving, ({ loadMoved }) => loadMoved(open, events))
    }),
  decide: ({ events }, facts, context) =>
    Result.succeed(facts === undefined ? [] : facts.rules.recordMoved(events, facts.known, context))
})

const { notes, product_group_id, store_id } = stocktakes.columns
const writes: ReadonlyArray<Endpoint> = [
  command("POST", path, {
    answer,
    name: "stocktakes.create",
    summary: "Start a stocktake of a store, or of one product group there",
    ...count_access,
    fields: { store_id, product_group_id, notes },
    creates: [stocktakes],
    streams: () => [],
    facts: () => rules,
    decide: ({ start }, { values }, context) => start(values, context),
    respond: ({ id }, input) => Effect.map(withoutLines(id, input), created)
  }),
  scanning,
  command("POST", `${path}/{id}/close`, {
    answer,
    name: "stocktakes.close",
    summary: "Close a stocktake: records missing, found and differing stock",
    destructive: true,
    ability: "stock:write",
    permission: "stock.adjust",
    success_status: 200,
    params: one,
    // Locked after the stock levels that closing changes, as moved goods do.
    streams: () => [],
    fields: {
      missing_as: choice(missing_records, {
        default: "lost",
        describe: "Whether missing units become lost or are written off"
      })
    },
    creates: [service_records, stock_transactions],
    facts: (input) =>
      Effect.flatMap(reading, ({ loadClose }) => withRules(rules, () => loadClose(input.rows.id, input.now))),
    decide: ({ known, rules: { close } }, { values }, context) => close(known, values, context),
    respond: (result, input) =>
      Effect.map(renderById(stocktakeResource, result.id, input.query, viewContext(input)), ok)
  }),
  command("POST", `${path}/{id}/cancel`, {
    answer,
    name: "stocktakes.cancel",
    summary: "Cancel a stocktake: stock stays as it is",
    destructive: true,
    ...count_access,
    success_status: 200,
    params: one,
    facts: () => rules,
    decide: ({ cancel }, { rows }, context) => cancel(rows.id, context),
    respond: ({ id }, input) => Effect.map(withoutLines(id, input), ok)
  })
]

const permissions = permissionsOfArea("stock", "count")
const keys = permissions.map(({ key }) => key)

export const stocktakesSlice: Slice = {
  name: "stocktakes",
  tables: [stocktakes, stocktake_scans, stocktake_moves],
  resources: [stocktakeResource],
  events: stocktakeEvents,
  endpoints: [...(reads ?? []), ...writes],
  react: [goodsMoved],
  settings: {
    stocktakes: {
      second_person: boolean({
        default: false,
        describe: "Only a person who neither started a stocktake nor counted all of it may close it"
      })
    }
  },
  includes: {
    stock_levels: {
      last_seen: {
        kind: "worked_out",
        shown: last_seen_shown,
        of: (rows, context) => Effect.flatMap(seeing, ({ showLastSeen }) => showLastSeen(rows, context))
      }
    }
  },
  permissions,
  later_seeds: [grantToSystemRoles({ "Admin": keys, "Operations Manager": keys, "Warehouse": keys })]
}
