/** Endpoints of transfers: goods moved from one store to another (rules/transfers). */
import { Effect, Result } from "effect"
import { boolean, command, created, crudResource, decimal, forbidden, hasAbility } from "../../kernel/index.ts"
import { hasOnePermission, integer, keyInAnyCase, later, list, object, ok } from "../../kernel/index.ts"
import { permissionsOfArea, ref, renderById, resource, Shown, text, viewContext } from "../../kernel/index.ts"
import { viewManageAccess, warningsMeta, withRules } from "../../kernel/index.ts"
import type { Endpoint, Input, Slice, Status } from "../../kernel/index.ts"
import { demands, supplies } from "../../orders/demands/schema.ts"
import { opportunities, shortage_waits } from "../../orders/opportunities/tables/index.ts"
import { waitingOf, waitingShown } from "../../orders/opportunities/waiting/api.ts"
import { grantToSystemRoles } from "../../people/users/decide.ts"
import { stock_levels, stock_transactions } from "../../products/stock/schema.ts"
import { resolveFields } from "../../purchasing/fields.ts"
import { purchaseOrderAnswer, purchaseOrderShown } from "../../purchasing/orders/api.ts"
import { purchase_order_items, purchase_orders, write } from "../../purchasing/schema.ts"
import { stores } from "../../setup/stores.ts"
import { dateAfter } from "../../values/period.ts"
import { dayOf, millisOf, startOfDay, zoneOf } from "../../values/time.ts"
import { transfer_items, transferEvents, type TransferRow, transfers, under_way } from "./schema.ts"

const planning = later(() => import("./plan.ts"))
const moving = later(() => import("./move.ts"))
const reading = later(() => import("./facts.ts"))
const resolved = later(() => import("./shortages.ts"))

/** Whether a transfer is under way after the day of its arrival, by the receiving store's time zone. */
export const isLate = (
  { arrives_at, starts_at, status }: Pick<TransferRow, "arrives_at" | "starts_at" | "status">,
  zone: string,
  now: number
): boolean => {
  const day = dayOf(millisOf(arrives_at ?? starts_at), zone)
  return under_way.some((one) => one === status) && startOfDay(dateAfter(day), zone) <= now
}

const nameOf = (row: { readonly [column: string]: unknown } | undefined): string | null =>
  typeof row?.["name"] === "string" ? row["name"] : null
export const items_shown = {
  items: Shown.objects({
    id: integer(),
    transfer_id: integer(),
    product_id: integer({ nullable: true }),
    stock_level_id: integer({ nullable: true }),
    container_id: integer({ nullable: true }),
    quantity: integer(),
    sent_quantity: integer(),
    received_quantity: integer(),
    code: text({ nullable: true }),
    name: text({ nullable: true }),
    weight: decimal({ scale: 4, nullable: true, describe: "Weight of its goods in kg; null if one is unknown" })
  })
}
export const transferResource = resource({
  singular: "transfer",
  heading: "Catalogue",
  table: transfers,
  shows: {
    from_store_name: text({ nullable: true }),
    to_store_name: text({ nullable: true }),
    is_late: boolean({ describe: "Whether it is still under way after its day of arrival" })
  },
  filters: [
    ...(["from_store_id", "to_store_id", "opportunity_id", "status", "return_of_transfer_id", "starts_at"] as const),
    ...(["arrives_at", "ends_at", "sent_at", "received_at", "created_at", "updated_at"] as const)
  ],
  sorts: ["starts_at", "arrives_at", "status", "created_at", "updated_at"],
  order: ["-starts_at", "-id"],
  lookups: { from: { via: "from_store_id", table: stores }, to: { via: "to_store_id", table: stores } },
  includes: {
    items: {
      kind: "keys",
      shows: items_shown,
      of: (rows) => Effect.flatMap(reading, ({ showItems }) => showItems(rows))
    }
  },
  view: (base, row, { from, to }, { now }) => ({
    ...base,
    from_store_name: nameOf(from),
    to_store_name: nameOf(to),
    is_late: isLate(row, zoneOf(typeof to?.["timezone"] === "string" ? to["timezone"] : null), millisOf(now))
  })
})

const path = "/api/v1/transfers"
const access = { ability: "stock:write", permission: "stock.transfer" } as const
const codes = list(text({ max: 500 }), {
  nullable: true,
  max_items: 1_000,
  describe: "Scanned codes of the goods: A-17, CASE-3, CABLE*7"
})
const items = list(
  object({
    stock_level_id: ref("stock_levels", { nullable: true }),
    container_id: ref("containers", { nullable: true }),
    product_id: ref("products", { nullable: true }),
    quantity: integer({ nullable: true, min: 1, describe: "Pieces of the product; default: 1" })
  }),
  { nullable: true, max_items: 1_000, describe: "Goods to transfer: units, cases, or quantities of products" }
)
const answer = { transfer: Shown.row(() => transferResource), meta: Shown.optional(Shown.warnings()) }
const result = Shown.keys({ id: integer(), warnings: Shown.list(text()) })
const shown = (status: Status) => (moved: typeof result.Type, input: Input) =>
  Effect.map(renderById(transferResource, moved.id, input.query, viewContext(input)), (body) =>
    status({ ...body, ...warningsMeta(moved.warnings) })
  )

const step = <const F extends { readonly codes?: typeof codes; readonly items?: typeof items }>(
  verb: "send" | "receive" | "cancel",
  summary: string,
  fields: F
) =>
  command("POST", `${path}/{id}/${verb}`, {
    answer,
    name: `transfers.${verb}`,
    summary,
    destructive: verb === "cancel",
    ...access,
    success_status: 200,
    params: { id: { table: transfers } },
    fields,
    creates: [transfers, transfer_items, stock_levels, stock_transactions, demands, supplies],
    facts: (input) =>
      Effect.flatMap(reading, ({ loadMove }) => withRules(moving, () => loadMove(input.rows.id, input.values, input))),
    decide: ({ known, rules }, _input, context) => rules[verb](known, context),
    result,
    respond: shown(ok)
  })

const { arrives_at, ends_at, from_store_id, notes, opportunity_id, starts_at, to_store_id } = transfers.columns
const writes: ReadonlyArray<Endpoint> = [
  command("POST", path, {
    answer,
    name: "transfers.create",
    summary: "Plan a transfer of goods from one store to another",
    ...access,
    fields: { from_store_id, to_store_id, starts_at, arrives_at, ends_at, opportunity_id, notes, items, codes },
    creates: [transfers, transfer_items, demands, supplies],
    streams: () => [],
    facts: (input) =>
      Effect.flatMap(resolved, ({ loadPlanned }) => withRules(planning, () => loadPlanned(input.values, input))),
    decide: ({ known, rules: { plan } }, { values }, context) => plan(values, known, context),
    result,
    respond: shown(created)
  }),
  step("send", "Send a transfer: all of it, or what is scanned; the rest stays", { codes }),
  step("receive", "Receive a transfer: all that is left of it, or what is named", { codes, items }),
  step("cancel", "Cancel a transfer; what was sent goes back to the sending store", {})
]

const resolving = later(() => import("../../purchasing/resolutions/resolve.ts"))
/** The resolution in a body that is not validated yet; undefined if it is unknown. */
const resolutionOf = (sent: unknown): string | undefined => {
  const { type } = resolveFields.resolution
  return typeof sent === "object" && sent !== null && "resolution" in sent && type.kind === "choice"
    ? keyInAnyCase(type.labels, String(sent.resolution))
    : undefined
}
/** Resolves shortages by purchase orders or the waiting list, whose rules are in lower districts, or by a transfer. */
const resolve = command("POST", "/api/v1/opportunities/{id}/shortages/resolve", {
  answer: {
    purchase_order: Shown.optional(purchaseOrderShown.purchase_order),
    waiting: Shown.optional(waitingShown),
    transfer: Shown.optional(answer.transfer),
    meta: answer.meta
  },
  name: "opportunities.resolve_shortages",
  summary: "Resolve shortages by sub-hire, purchase, a transfer or the waiting list",
  success_status: 201,
  ability: write,
  permission: "shortages.resolve",
  params: { id: { table: opportunities } },
  fields: resolveFields,
  // Joining the waiting list orders nothing, so it needs no right to purchase.
  authorize: ({ sent, viewer }) => {
    const resolution = resolutionOf(sent)
    const is_transfer = resolution === "transfer"
    const needed = is_transfer ? access.permission : "purchase_orders.create"
    return resolution === "waitlist" ||
      (hasOnePermission(viewer, needed) && (!is_transfer || hasAbility(viewer, access.ability)))
      ? Effect.void
      : Effect.fail(forbidden(`This needs the permission ${needed}.`))
  },
  creates: [purchase_orders, purchase_order_items, shortage_waits, transfers, transfer_items, demands, supplies],
  facts: ({ now, rows, settings, values, viewer }) => {
    const asked = { now, settings, values, row: rows.id }
    return Effect.gen(function* () {
      if (values.resolution !== "transfer")
        return { by: "order", ...(yield* withRules(resolving, (rules) => rules.resolutionFacts(asked))) } as const
      const { loadResolution } = yield* resolved
      return {
        by: "transfer",
        ...(yield* withRules(planning, () => loadResolution(rows.id, values, { now, settings, viewer })))
      } as const
    })
  },
  decide: (facts, { rows, values }, context) =>
    facts.by === "order"
      ? facts.rules.decideResolution(rows.id.id, facts.known, values, context)
      : Result.gen(function* () {
          const { facts: known, sent } = yield* facts.known
          return yield* facts.rules.plan(sent, known, context)
        }),
  result,
  respond: (made, input) => {
    const { resolution } = input.values
    return resolution === "transfer"
      ? shown(created)(made, input)
      : resolution === "waitlist"
        ? Effect.map(waitingOf(made.id, input), (waiting) => created({ waiting }))
        : Effect.map(purchaseOrderAnswer(ok)(made, input), ({ body }) =>
            created({ ...body, ...warningsMeta(made.warnings) })
          )
  }
})
const reads = crudResource({
  resource: transferResource,
  fields: {},
  path,
  access: viewManageAccess("stock", "stock.view", "stock.transfer"),
  only: ["list", "show"]
}).endpoints

const permissions = permissionsOfArea("stock", "transfer")
const keys = permissions.map(({ key }) => key)

export const transfersSlice: Slice = {
  name: "transfers",
  tables: [transfers, transfer_items],
  resources: [transferResource],
  events: transferEvents,
  endpoints: [...(reads ?? []), ...writes, resolve],
  permissions,
  later_seeds: [grantToSystemRoles({ "Admin": keys, "Operations Manager": keys, "Warehouse": keys })]
}
