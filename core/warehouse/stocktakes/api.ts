/** Endpoints of stocktakes: counting a store's goods by code, and recording the result (rules/stocktakes). */
import { Effect } from "effect"
import { command, type Endpoint, get, permissionsOfArea, type Slice } from "../../kernel/endpoints/endpoint.ts"
import { created, listOf, ok, renderById, renderOne, resource, viewContext } from "../../kernel/endpoints/resource.ts"
import { boolean, choice, integer, list, longText, ref, text, timestamp } from "../../kernel/fields/field.ts"
import { later, withRules } from "../../kernel/fields/later.ts"
import * as Shown from "../../kernel/lists/answer-schema.ts"
import { Store } from "../../kernel/store/store.ts"
import { grantToSystemRoles } from "../../people/users/decide.ts"
import { product_groups } from "../../products/products/api.ts"
import { stock_transactions } from "../../products/stock/schema.ts"
import { stores } from "../../setup/stores.ts"
import { service_records } from "../workshop/schema.ts"
import { stocktakeEvents } from "./events.ts"
import { goodsMoved } from "./moves.ts"
import {
  last_seen_shown,
  line_statuses,
  missing_records,
  stocktake_moves,
  stocktake_scans,
  type StocktakeRow,
  stocktakes,
  taken_shown
} from "./schema.ts"

const rules = later(() => import("./decide.ts"))
const reading = later(() => import("./facts.ts"))
const counting = later(() => import("./lines.ts"))
const resolving = later(() => import("./resolve.ts"))

const linesOf = Effect.fnUntraced(function* (take: StocktakeRow, now: string) {
  const { loadLines } = yield* reading
  const { totalsOf } = yield* counting
  const lines = yield* loadLines(take, now)
  return { totals: take.status === "open" ? totalsOf(lines) : take.totals, stocktake_lines: lines }
})

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
      of: (rows, { now }) =>
        Effect.gen(function* () {
          const takes = yield* Store.getMany(
            stocktakes,
            rows.map((row) => Number(row["id"]))
          )
          const all = new Map(
            yield* Effect.forEach(takes, (take) => Effect.map(linesOf(take, now), (lines) => [take.id, lines] as const))
          )
          return (row) => all.get(Number(row["id"])) ?? {}
        })
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
const read_access = { ability: "stock:read", permission: "stock.view" } as const
const count_access = { ability: "stock:write", permission: "stock.count" } as const

const reads: ReadonlyArray<Endpoint> = [
  get(path, {
    answer: Shown.page(() => stocktakeResource),
    name: "stocktakes.list",
    summary: "List stocktakes, newest first",
    ...read_access,
    run: (input) => Effect.map(listOf(stocktakeResource, input.query, viewContext(input)), ok)
  }),
  get(`${path}/{id}`, {
    answer,
    name: "stocktakes.show",
    summary: "Show a stocktake with its lines: what differs, and what to do about it",
    ...read_access,
    params: one,
    run: (input) => Effect.map(renderOne(stocktakeResource, input.rows.id, input.query, viewContext(input)), ok)
  })
]

const verdict_fields = {
  code: text(),
  kind: choice({ unit: "Unit", case: "Case", bulk: "Bulk", unknown: "Unknown" }),
  outcome: choice({
    counted: "Counted",
    counted_before: "Counted before",
    taken_back: "Taken back",
    not_counted: "Not counted"
  }),
  name: text({ nullable: true }),
  quantity: integer({ describe: "Pieces that the scan added, or took back" }),
  note: text({ nullable: true })
}
const scanned_fields = {
  ...verdict_fields,
  status: choice(line_statuses, { nullable: true, describe: "Status of its line; of a case the first that differs" }),
  way_out: text({ nullable: true })
}
const decidedVerdict = { ...verdict_fields, level_ids: list(integer()), product_id: integer({ nullable: true }) }
export const scansShown = { scans: Shown.objects(scanned_fields) }

const scanning = command("POST", `${path}/{id}/scans`, {
  answer: scansShown,
  name: "stocktakes.scan",
  summary: "Count scanned codes, or take them back",
  ...count_access,
  success_status: 200,
  params: one,
  fields: {
    codes: list(text({ max: 500 }), {
      required: true,
      min_items: 1,
      max_items: 1_000,
      describe: "As the scanner gives them; CABLE*7 is seven of a counted product"
    }),
    counted_at: timestamp({ nullable: true, describe: "Default: now" }),
    take_back: boolean({ default: false, describe: "Take these scans back instead" })
  },
  split_by: "codes",
  facts: (input) =>
    Effect.gen(function* () {
      const { loadScan } = yield* resolving
      return yield* withRules(rules, () => loadScan(input.rows.id, input.values.codes ?? []))
    }),
  decide: ({ known, rules: { scan } }, { values }, context) =>
    scan(known, { counted_at: values.counted_at ?? null, take_back: values.take_back ?? false }, context),
  result: Shown.keys({ id: integer(), verdicts: Shown.objects(decidedVerdict) }),
  respond: ({ id, verdicts }, { now }) =>
    Effect.gen(function* () {
      const take = yield* Store.get(stocktakes, id)
      const { loadCount } = yield* reading
      const { countLines } = yield* counting
      const level_ids = verdicts.flatMap((verdict) => verdict.level_ids)
      const product_ids = verdicts.flatMap(({ product_id }) => product_id ?? [])
      const lines = take === undefined ? [] : countLines(yield* loadCount(take, now, { level_ids, product_ids }))
      return ok({
        scans: verdicts.map(({ level_ids: ids, product_id, ...verdict }) => {
          const line = lines.find(
            ({ kind, stock_level_id: level_id, product_id: of }) =>
              (kind === "unit" && level_id !== null && ids.includes(level_id)) ||
              (kind === "bulk" && product_id !== null && of === product_id)
          )
          const status = verdict.kind === "unknown" ? "unexpected" : (line?.status ?? null)
          return {
            ...verdict,
            status: verdict.outcome === "taken_back" ? null : status,
            way_out: line?.way_out ?? null
          }
        })
      })
    })
})

const writes: ReadonlyArray<Endpoint> = [
  command("POST", path, {
    answer,
    name: "stocktakes.create",
    summary: "Start a stocktake of a store, or of one product group there",
    ...count_access,
    fields: {
      store_id: ref("stores", { required: true }),
      product_group_id: ref("product_groups", {
        nullable: true,
        describe: "Count this group alone, with the groups in it; default: everything at the store"
      }),
      notes: longText({ nullable: true })
    },
    creates: [stocktakes],
    streams: () => [],
    facts: () => rules,
    decide: ({ start }, { values }, context) =>
      start(
        {
          store_id: values.store_id ?? 0,
          product_group_id: values.product_group_id ?? null,
          notes: values.notes ?? null
        },
        context
      ),
    respond: (result, input) =>
      Effect.map(renderById(stocktakeResource, result.id, input.query, viewContext(input)), created)
  }),
  scanning,
  command("POST", `${path}/{id}/close`, {
    answer,
    name: "stocktakes.close",
    summary: "Close a stocktake: records missing, found and differing stock",
    ability: "stock:write",
    permission: "stock.adjust",
    success_status: 200,
    params: one,
    fields: {
      missing_as: choice(missing_records, {
        default: "lost",
        describe: "Record missing units as lost, or write them off at once"
      })
    },
    creates: [service_records, stock_transactions],
    facts: (input) =>
      Effect.gen(function* () {
        const { loadClose } = yield* reading
        return yield* withRules(rules, () => loadClose(input.rows.id, input.now))
      }),
    decide: ({ known, rules: { close } }, { values }, context) =>
      close(known, { missing_as: values.missing_as ?? "lost" }, context),
    respond: (result, input) =>
      Effect.map(renderById(stocktakeResource, result.id, input.query, viewContext(input)), ok)
  }),
  command("POST", `${path}/{id}/cancel`, {
    answer,
    name: "stocktakes.cancel",
    summary: "Cancel a stocktake: stock stays as it is",
    ...count_access,
    success_status: 200,
    params: one,
    facts: () => rules,
    decide: ({ cancel }, { rows }, context) => cancel(rows.id, context),
    respond: (result, input) =>
      Effect.map(renderById(stocktakeResource, result.id, input.query, viewContext(input)), ok)
  })
]

const permissions = permissionsOfArea("stock", "count")
const keys = permissions.map(({ key }) => key)

export const stocktakesSlice: Slice = {
  name: "stocktakes",
  tables: [stocktakes, stocktake_scans, stocktake_moves],
  resources: [stocktakeResource],
  events: stocktakeEvents,
  endpoints: [...reads, ...writes],
  react: [goodsMoved],
  settings: {
    stocktakes: {
      second_person: boolean({
        default: false,
        describe: "Stocktakes are closed by somebody who neither started them nor counted everything in them"
      })
    }
  },
  includes: {
    stock_levels: {
      last_seen: {
        kind: "worked_out",
        shown: last_seen_shown,
        of: (rows) =>
          Effect.gen(function* () {
            const { loadLastSeen } = yield* reading
            const seen = yield* loadLastSeen(rows.map((row) => Number(row["id"])))
            return (row) => {
              const last = seen.get(Number(row["id"]))
              return last === undefined ? null : { ...last }
            }
          })
      }
    }
  },
  permissions,
  later_seeds: [grantToSystemRoles({ "Admin": keys, "Operations Manager": keys, "Warehouse": keys })]
}
