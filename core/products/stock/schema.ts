/**
 * Stock levels (the quantity of a bulk product at a store, or one serialised unit) and their ledger (rules/availability
 * 10).
 */
import { boolean, choice, code, decimal, eventType, integer, json, list, longText, object } from "../../kernel/index.ts"
import { mapValues, ref, remove, rowEvents, settingText, table, text, timestamp } from "../../kernel/index.ts"
import type { AnyEventType, JsonObject, Now, RowOf, Settings } from "../../kernel/index.ts"
import { Schema } from "effect"
import { millisOf } from "../../values/time.ts"
import { openEndMillis, type Period } from "../../values/period.ts"

// Service state of stock: periods out of service and their reasons (rules/availability 13). Pure.

/** Service states of a unit, or of part of a bulk quantity. */
export const service_states = {
  in_service: "In service",
  quarantine: "Quarantine",
  in_repair: "In repair",
  lost: "Lost",
  sold: "Sold"
} as const
export type ServiceState = keyof typeof service_states
export const isServiceState = (value: unknown): value is ServiceState =>
  typeof value === "string" && Object.hasOwn(service_states, value)
/** States in which stock cannot be rented. Sold stock is excluded, as it is no longer own stock. */
const { in_service: _in_service, sold: _sold, ...out_of_service } = service_states
export const out_of_service_labels = out_of_service
export type OutOfServiceState = keyof typeof out_of_service_labels

/** Part of a stock level that is out of service, one for each open service record. */
export type OutOfService = {
  readonly service_record_id: number
  readonly state: OutOfServiceState
  /** Whole units; 1 for a serialised level. */
  readonly quantity: number
  readonly starts_at: string
  /** Expected time of return to service; null if unknown. */
  readonly expected_back_at: string | null
  /** True for a unit without a valid inspection: it is no record of the workshop. */
  readonly is_inspection?: true
}

/** Whether units without a valid inspection are out of service (rules/inspections 4). */
export const blocksUninspected = (settings: Settings): boolean =>
  settingText(settings, "inspections", "policy") === "block"
/** First id of entries for missing inspections, above the ids of service records. */
const inspection_entries_from = 1_000_000_000_000
/** Parts out of service; with `blocks`, also the unit itself once an inspection is due. */
export const outOfServiceOf = (
  level: {
    readonly id: number
    readonly out_of_service?: ReadonlyArray<OutOfService>
    readonly inspection_due_at?: string | null
  },
  blocks: boolean,
  now: number
): ReadonlyArray<OutOfService> => {
  const { id, inspection_due_at: starts_at = null, out_of_service = [] } = level
  return !blocks || starts_at === null || millisOf(starts_at) > now
    ? out_of_service
    : [
        ...out_of_service,
        {
          service_record_id: inspection_entries_from + id,
          state: "quarantine",
          quantity: 1,
          starts_at,
          expected_back_at: null,
          is_inspection: true
        }
      ]
}

/** Period out of service. `is_overdue`: the expected return has passed without a release. */
interface OutOfServicePeriod extends Period {
  readonly is_overdue: boolean
}
/**
 * Period out of service, up to the expected return; open-ended if none is known, if it has passed without a release,
 * and for lost stock.
 */
export const outOfServicePeriod = (one: OutOfService, now: number): OutOfServicePeriod => {
  const from = millisOf(one.starts_at)
  const expected = one.expected_back_at === null || one.state === "lost" ? undefined : millisOf(one.expected_back_at)
  if (expected === undefined) return { from, to: openEndMillis, is_overdue: false }
  const is_overdue = expected <= now
  return { from, to: is_overdue ? openEndMillis : Math.max(from, expected), is_overdue }
}

const next_states: { readonly [S in ServiceState]: ReadonlyArray<ServiceState> } = {
  in_service: ["quarantine", "in_repair", "lost", "sold"],
  quarantine: ["quarantine", "in_repair", "lost", "sold", "in_service"],
  in_repair: ["quarantine", "in_repair", "lost", "sold", "in_service"],
  // Lost stock must be found before it can be sold.
  lost: ["quarantine", "in_repair", "lost", "in_service"],
  sold: []
}
/** Advice in messages about a sold unit that has returned. */
export const came_back_text =
  "if it came back, post a Buy or a Find to its stock transactions " +
  "(flightcase products stock-levels stock-transactions create)."
/** Reason stock cannot change from one state to another, with a remedy; undefined if it can. */
export const transitionRefusal = (from: ServiceState, to: ServiceState): string | undefined => {
  if (next_states[from].includes(to)) return undefined
  if (from === "sold") return `is sold; ${came_back_text}`
  if (from === "lost") return "is lost; release it first if it was found."
  return "is in service already."
}

/** First entry that overlaps with the window, and its period; undefined if none does. */
export const outOfServiceIn = (
  entries: ReadonlyArray<OutOfService>,
  window: Period,
  now: number
): { readonly entry: OutOfService; readonly period: OutOfServicePeriod } | undefined => {
  for (const entry of entries) {
    const period = outOfServicePeriod(entry, now)
    // A window without length is extended by a millisecond, so that it can overlap.
    if (period.from < Math.max(window.to, window.from + 1) && period.to > window.from) return { entry, period }
  }
  return undefined
}

/**
 * First entry that keeps a level out of service during the window, by default now, with missing inspections as the
 * policy says; undefined if none does.
 */
export const outOfServiceDuring = (
  level: Parameters<typeof outOfServiceOf>[0],
  { now, settings }: Now,
  window: Period = { from: millisOf(now), to: millisOf(now) }
): OutOfService | undefined =>
  outOfServiceIn(outOfServiceOf(level, blocksUninspected(settings), millisOf(now)), window, millisOf(now))?.entry

/** Describes an entry: "is in repair since 2026-11-20T08:00:00.000Z, expected back 2026-12-01T00:00:00.000Z". */
export const outOfServiceText = (entry: OutOfService): string =>
  `${outOfServiceWords(entry)} since ${entry.starts_at}` +
  (entry.expected_back_at === null || entry.state === "lost" ? "" : `, expected back ${entry.expected_back_at}`)
export const outOfServiceWords = ({ is_inspection, state }: OutOfService): string =>
  is_inspection === true ? "has had no valid inspection" : `is ${stateWords[state]}`
/** Warnings about units without a valid inspection, under the policy to warn (rules/inspections 4). */
export const inspectionWarnings = (
  levels: ReadonlyArray<
    Pick<StockLevelRow, "id" | "inspection_due_at" | "asset_number" | "serial_number" | "item_name"> | undefined
  >,
  { now, settings }: Now
): ReadonlyArray<string> =>
  settingText(settings, "inspections", "policy") !== "warn"
    ? []
    : levels.flatMap((level) =>
        level === undefined || level.inspection_due_at === null || level.inspection_due_at > now
          ? []
          : [
              `${level.asset_number ?? level.serial_number ?? level.item_name ?? `unit ${level.id}`} ` +
                `has had no valid inspection since ${level.inspection_due_at}; inspect it, or take another unit.`
            ]
      )
/** Describes an entry and the way to make the stock available again, for refusals. */
export const outOfServiceRefusal = (entry: OutOfService): string =>
  `${outOfServiceText(entry)}; ${entry.is_inspection === true ? "inspect it" : "release it first"}`
export const stateWords: { readonly [S in ServiceState]: string } = {
  in_service: "in service",
  quarantine: "in quarantine",
  in_repair: "in repair",
  lost: "lost",
  sold: "sold"
}

export const bulk_category = 10
export const unit_category = 50
export const stock_categories = { 10: "Bulk Stock", 50: "Serialised Stock" }
const quantity = { scale: 2, min: "0", default: "0.00" } as const

export const stockLevelFields = {
  product_id: ref("products", { required: true, create_only: true, on_delete: "keep", on_merge: "follow_updated" }),
  store_id: ref("stores", { required: true, on_delete: "refuse", way_out: "move or delete the stock first" }),
  member_id: ref("members", { nullable: true, on_delete: "keep", on_merge: "follow" }),
  item_name: text({ nullable: true, search: true }),
  asset_number: text({ nullable: true, search: true }),
  serial_number: text({ nullable: true, search: true }),
  barcode: text({ nullable: true, search: true }),
  location: text({ nullable: true }),
  stock_type: code({ 1: "Rental", 2: "Sale" }, { default: 1 }),
  quantity_held: decimal(quantity),
  quantity_allocated: decimal(quantity),
  quantity_unavailable: decimal(quantity),
  quantity_on_order: decimal(quantity),
  container_stock_level_id: ref("stock_levels", { nullable: true, on_delete: "clear", on_merge: "follow" }),
  container_mode: text({ nullable: true, max: 20 }),
  starts_at: timestamp({ nullable: true }),
  ends_at: timestamp({ nullable: true }),
  custom_fields: json<JsonObject>({ default: {} })
}
export const stock_levels = table(
  "stock_levels",
  {
    ...stockLevelFields,
    stock_category: code(stock_categories, { computed: true }),
    /** Whether the newest ledger line moved the serialised unit out, such as by a write-off, sale or transfer. */
    is_gone: boolean({ computed: true, default: false, hidden: true }),
    is_sub_hired: boolean({ computed: true, default: false }),
    /** State of a serialised unit. Bulk levels stay in service: `out_of_service` has their unavailable quantities. */
    service_state: choice(service_states, { computed: true, default: "in_service" }),
    /** Parts out of service, one for each open service record (core/warehouse/workshop maintains both). */
    out_of_service: list(
      object({
        service_record_id: integer({ required: true, min: 1 }),
        state: choice(out_of_service_labels, { required: true }),
        quantity: integer({ required: true, min: 1 }),
        starts_at: timestamp({ required: true }),
        expected_back_at: timestamp({ nullable: true })
      }),
      { computed: true, default: [] }
    ),
    /** Time from which the unit lacks a required inspection, or failed one; null if none (rules/inspections 3). */
    inspection_due_at: timestamp({ nullable: true, computed: true }),
    /** Time a sub-hired level was returned to its supplier; its serial number is free from then on. */
    given_back_at: timestamp({ nullable: true, computed: true }),
    /** The purchase order row it was received for. */
    purchase_order_item_id: ref("purchase_order_items", {
      nullable: true,
      computed: true,
      live: false,
      on_delete: "keep"
    })
  },
  {
    named_by: ["item_name", "asset_number", "serial_number", "product_id"],
    word: "asset",
    searched: { columns: ["item_name", "asset_number", "serial_number", "barcode"], never_erased: true },
    bookkeeping: ["quantity_allocated"],
    merged_by: { event: "stock_level.merged", from: "id", into: "into_id" },
    locked_by_row: true,
    visibility: {
      all_columns: [
        "stock.*",
        "products.*",
        "availability.view",
        "containers.*",
        "kits.*",
        "opportunities.*",
        "purchase_orders.*",
        "shortages.*"
      ],
      granted_columns: [
        // The serial number of a returned piece may be used by another.
        { to: ["activities.*"], columns: ["item_name", "asset_number", "serial_number", "barcode", "given_back_at"] },
        // Needed offline to refuse deleting a store with stock.
        { to: ["settings.manage"], columns: ["store_id"] }
      ]
    },
    counted_by: ["store_id", "stock_type"],
    indexes: [
      ["product_id", "store_id"],
      ["store_id"],
      ["barcode"],
      ["serial_number"],
      ["created_at"],
      ["purchase_order_item_id"],
      ["service_state"]
    ],
    uniques: [
      { columns: ["asset_number"], field: "asset_number", message: "The asset number has already been taken." },
      {
        columns: ["serial_number"],
        field: "serial_number",
        message: "The serial number has already been taken.",
        // Returned pieces are excluded, as the supplier may send them again.
        where: "given_back_at is null"
      },
      {
        columns: ["product_id", "store_id"],
        field: "product_id",
        message: "The product already has a stock level at this store.",
        where: "stock_category = 10 and not is_sub_hired"
      }
    ]
  }
)
export type StockLevelRow = RowOf<typeof stock_levels>

/** Ledger types with the sign of their quantity; users may post `manual` ones. */
export const transaction_types = {
  1: { name: "Opening Balance", sign: 1, manual: false },
  2: { name: "Increase", sign: 1, manual: false },
  3: { name: "Decrease", sign: -1, manual: false },
  4: { name: "Buy", sign: 1, manual: true },
  5: { name: "Find", sign: 1, manual: true },
  6: { name: "Write Off", sign: -1, manual: true },
  7: { name: "Sell", sign: -1, manual: true },
  8: { name: "Return", sign: 1, manual: false },
  9: { name: "Make", sign: 1, manual: true },
  10: { name: "Transfer Out", sign: -1, manual: false },
  11: { name: "Transfer In", sign: 1, manual: false }
} as const
export type TransactionType = keyof typeof transaction_types

export const stock_transactions = table(
  "stock_transactions",
  {
    stock_level_id: ref("stock_levels", { computed: true, on_delete: "delete", on_merge: "follow_updated" }),
    product_id: ref("products", { computed: true, on_delete: "keep", on_merge: "follow_updated" }),
    store_id: ref("stores", { nullable: true, on_delete: "clear" }),
    source_id: integer({ computed: true, nullable: true }),
    source_type: text({ computed: true, nullable: true }),
    transaction_type: code(
      mapValues(transaction_types, ({ name }) => name),
      { required: true }
    ),
    transaction_at: timestamp({ nullable: true }),
    quantity: decimal({ scale: 2, min: "0.01", required: true, shown_scale: 1 }),
    quantity_move: decimal({ scale: 2, computed: true, shown_scale: 1 }),
    description: longText({ nullable: true }),
    manual: boolean({ computed: true, default: true })
  },
  {
    visibility: { all_columns: ["stock.*"] },
    indexes: [["stock_level_id", "transaction_at"], ["product_id"]],
    is_detail: true
  }
)
export type StockTransactionRow = RowOf<typeof stock_transactions>

// Events of stock besides creation, change and deletion of levels.

/** A merge of two levels; references follow where their columns declare `on_merge`. */
export const stockLevelMerged = eventType("stock_level.merged", {
  meaning: "Stock levels of two merged products at one store became one.",
  data: () => Schema.Struct({ id: Schema.Int, into_id: Schema.Int }),
  project: ({ id }) => [remove(stock_levels, id)]
})

export const stockEvents: ReadonlyArray<AnyEventType> = [...rowEvents(stock_transactions), stockLevelMerged]
