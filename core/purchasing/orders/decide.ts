/** Creating, updating, deleting, sending and cancelling purchase orders (rules/billing 2.1, 2.3). */
import { changedColumns, customFieldsFrom, decided, decision, initialRow, invalid } from "../../kernel/index.ts"
import { itemsMoved, reject, unstamped, withoutStamps } from "../../kernel/index.ts"
import type { CustomFieldFacts, DecideContext, Decided, Decision, Input, Json, Rejection } from "../../kernel/index.ts"
import { Result } from "effect"
import { exactSums, requireEnabled } from "../../billing/state/amounts.ts"
import { nextDocumentNumber } from "../../billing/state/events.ts"
import type { MemberRow } from "../../people/members/schema.ts"
import { snapshotRate } from "../../orders/opportunities/header/decide.ts"
import { exact } from "../../values/decimal.ts"
import type { PurchaseOrderItemRow, PurchaseOrderRow } from "../schema.ts"
import {
  purchase_order_statuses,
  purchase_orders,
  purchaseOrderCancelled,
  purchaseOrderChange,
  purchaseOrderCreated,
  purchaseOrderDeleted,
  purchaseOrderSent,
  purchaseOrderUpdated
} from "../schema.ts"
import type { CreateValues, PurchaseOrderMail, SentItem, UpdateValues } from "../fields.ts"
import { type ItemFacts, itemsFrom, taxedItems } from "./items.ts"

/** Facts that create and update share. */
export interface HeaderFacts extends ItemFacts {
  /** The supplier after the update. */
  readonly supplier: MemberRow | undefined
  readonly custom: CustomFieldFacts
}
export interface CreateFacts extends HeaderFacts {
  readonly currency: { readonly code: string; readonly is_enabled: boolean }
  /** Undefined without an exchange rate to the base currency. */
  readonly exchange_rate: string | undefined
  readonly default_store_id: number | null
}
export interface UpdateFacts extends HeaderFacts {
  readonly items: ReadonlyArray<PurchaseOrderItemRow>
}

/** The supplier of an order; 422 on `supplier_id` if the member cannot be one. */
const ordersTo = (supplier: MemberRow | undefined): Result.Result<MemberRow, Rejection> =>
  supplier === undefined || supplier.deleted_at !== null
    ? reject("supplier_id", "The supplier is archived; restore the member or name another one.")
    : supplier.membership_type !== "organisation" && supplier.membership_type !== "contact"
      ? reject("supplier_id", `A ${supplier.membership_type} is no supplier; name an organisation or a contact.`)
      : Result.succeed(supplier)
const dated = ({ ends_at, starts_at }: PurchaseOrderRow): Result.Result<void, Rejection> =>
  starts_at !== null && ends_at !== null && ends_at < starts_at
    ? reject("ends_at", "The ends at field must be a date after or equal to starts at.")
    : Result.succeed(undefined)

/** An order with default values. */
export const newPurchaseOrder = (id: number): PurchaseOrderRow => ({ ...initialRow(purchase_orders), ...unstamped, id })

/** Totals of the lines. */
const sumsOf = (
  rows: ReadonlyArray<Pick<PurchaseOrderItemRow, "subtotal" | "tax_total" | "total">>
): Pick<PurchaseOrderRow, "subtotal" | "tax_total" | "total"> => ({
  subtotal: rows.reduce((sum, row) => sum + row.subtotal, 0),
  tax_total: rows.reduce((sum, row) => sum + row.tax_total, 0),
  total: rows.reduce((sum, row) => sum + row.total, 0)
})

export const createPurchaseOrder = (
  facts: CreateFacts,
  { body, values }: Pick<Input, "body"> & { readonly values: CreateValues },
  context: DecideContext
): Decided =>
  Result.gen(function* () {
    const { currency: _c, currency_code: _code, items, ...sent } = values
    const supplier = yield* ordersTo(facts.supplier)
    const store_id = sent.store_id ?? facts.default_store_id
    if (store_id === null)
      return yield* reject("store_id", "The store id field is required: there is no default store.")
    yield* requireEnabled(facts.currency)
    const custom_fields = yield* customFieldsFrom(facts.custom, body["custom_fields"])
    const exchange_rate = yield* snapshotRate(facts.exchange_rate, facts.currency.code)
    const header: PurchaseOrderRow = {
      ...newPurchaseOrder(context.id(purchase_orders)),
      ...sent,
      supplier_id: supplier.id,
      store_id,
      currency_code: facts.currency.code,
      exchange_rate,
      created_by: context.viewer.user_id || null,
      custom_fields
    }
    yield* dated(header)
    const rows = yield* Result.mapError(itemsFrom(header, items ?? [], body["items"], [], facts, context), invalid)
    const sums = yield* exactSums(sumsOf(rows))
    // Takes the number last, so that rejected orders use none.
    const number = nextDocumentNumber("purchase_order", store_id, context)
    return decision(header.id, [
      purchaseOrderCreated.make({ ...withoutStamps({ ...header, ...sums, number }), items: rows.map(withoutStamps) })
    ])
  })
const refuseStatus = ({ status }: PurchaseOrderRow, words: string): Result.Result<never, Rejection> =>
  reject("status", `The order is ${purchase_order_statuses[status].toLowerCase()}; ${words}`)
export const draftOnly = (row: PurchaseOrderRow, words: string): Result.Result<void, Rejection> =>
  row.status === "draft" ? Result.succeed(undefined) : refuseStatus(row, `only a draft can be ${words}.`)

/** Updates an order; absent fields keep their values. */
export const updatePurchaseOrder = (
  facts: UpdateFacts,
  input: Pick<Input, "body"> & { readonly values: UpdateValues; readonly rows: { readonly id: PurchaseOrderRow } },
  context: DecideContext
): Decided =>
  Result.gen(function* () {
    const { body, values } = input
    const before = input.rows.id
    const { currency, currency_code, items, ...sent } = values
    yield* draftOnly(before, "changed")
    const code = currency ?? currency_code ?? before.currency_code
    if (code !== before.currency_code)
      return yield* reject(
        "currency",
        `The order is in ${before.currency_code} and stays so; make another one in ${code} instead.`
      )
    const custom_fields = yield* customFieldsFrom(facts.custom, body["custom_fields"], before.custom_fields)
    const next: PurchaseOrderRow = { ...before, ...sent, custom_fields }
    if (next.supplier_id !== before.supplier_id) yield* ordersTo(facts.supplier)
    yield* dated(next)
    const rows = yield* rowsAfter({ before, next, items, raw: body["items"] }, facts, context)
    const sums = rows === undefined ? {} : yield* exactSums(sumsOf(rows))
    const set = changedColumns(before, { ...next, ...sums })
    const replaced = rows === undefined ? undefined : itemsMoved(facts.items, rows)
    return {
      events:
        Object.keys(set).length === 0 && replaced === undefined
          ? []
          : [
              purchaseOrderUpdated.make({
                ...purchaseOrderChange(before, set),
                ...(replaced === undefined ? {} : { items: replaced })
              })
            ],
      result: { id: before.id }
    }
  })

interface RowsAsked {
  readonly before: PurchaseOrderRow
  readonly next: PurchaseOrderRow
  readonly items: ReadonlyArray<SentItem> | null | undefined
  readonly raw: Json | undefined
}
/** Lines after an update; undefined if they stay as they are. */
const rowsAfter = (
  { before, items, next, raw }: RowsAsked,
  facts: UpdateFacts,
  context: DecideContext
): Result.Result<ReadonlyArray<PurchaseOrderItemRow> | undefined, Rejection> => {
  const stored = movedWindow(before, next, facts.items)
  if (items !== undefined && items !== null)
    return Result.mapError(itemsFrom(next, items, raw, stored, facts, context), invalid)
  const foreign = facts.items.some((row) => row.opportunity_item_id !== null)
  if (foreign && next.opportunity_id !== before.opportunity_id)
    return reject(
      "opportunity_id",
      "Lines of the order are for lines of the opportunity; send the items without opportunity_item_id as well."
    )
  if (stored.some((row) => row.starts_at !== null && row.ends_at !== null && row.ends_at < row.starts_at))
    return reject("ends_at", "A line of the order would end before it starts; send its dates as well.")
  // A new supplier changes the taxes of the lines.
  if (next.supplier_id !== before.supplier_id) return Result.succeed(taxedItems(stored, facts))
  return Result.succeed(stored === facts.items ? undefined : stored)
}
/** Lines after a change of the order's hire period; lines with other dates keep theirs. */
const movedWindow = (
  before: PurchaseOrderRow,
  next: PurchaseOrderRow,
  rows: ReadonlyArray<PurchaseOrderItemRow>
): ReadonlyArray<PurchaseOrderItemRow> =>
  before.starts_at === next.starts_at && before.ends_at === next.ends_at
    ? rows
    : rows.map((row) => ({
        ...row,
        starts_at: row.starts_at === before.starts_at ? next.starts_at : row.starts_at,
        ends_at: row.ends_at === before.ends_at ? next.ends_at : row.ends_at
      }))

export const deletePurchaseOrder = (row: PurchaseOrderRow): Decided =>
  Result.map(draftOnly(row, "deleted"), () => decision(row.id, [purchaseOrderDeleted.make({ id: row.id })]))

export interface SendFacts {
  readonly supplier: MemberRow | undefined
  readonly items: ReadonlyArray<PurchaseOrderItemRow>
  /** The supplier's mail address; undefined without one. */
  readonly known: string | undefined
}
/** Sends an order. Without an e-mail address it is only marked as sent, for orders by telephone or in person. */
export const sendPurchaseOrder = (
  row: PurchaseOrderRow,
  facts: SendFacts,
  asked: { readonly email?: string | null; readonly message?: string | null },
  { now, viewer }: Pick<DecideContext, "now" | "viewer">
): Decided<PurchaseOrderMail> =>
  Result.gen(function* () {
    yield* draftOnly(row, "sent")
    if (facts.items.length === 0)
      return yield* reject("items", "An order without lines cannot be sent; add at least one.")
    const supplier = yield* ordersTo(facts.supplier)
    if (!supplier.is_active)
      return yield* reject("supplier_id", "The supplier is inactive; make the member active or name another one.")
    yield* windowed(row, facts.items)
    const events = [purchaseOrderSent.make(purchaseOrderChange(row, { status: "sent", sent_at: now }))]
    return {
      events,
      result: {
        purchase_order_id: row.id,
        sent_at: now,
        to: asked.email || (facts.known ?? null),
        message: asked.message || null,
        sender_user_id: viewer.user_id
      }
    } satisfies Decision<PurchaseOrderMail>
  })
/** 422 if a sub-hire has no start or end, neither on the order nor on each line. */
const windowed = (
  row: PurchaseOrderRow,
  items: ReadonlyArray<PurchaseOrderItemRow>
): Result.Result<void, Rejection> => {
  if (row.po_type !== "sub_hire") return Result.succeed(undefined)
  const errors = Object.fromEntries(
    (["starts_at", "ends_at"] as const)
      .filter((name) => row[name] === null && items.some((item) => item[name] === null))
      .map((name) => [
        name,
        [`The ${name.replace("_", " ")} field is required to send a sub-hire: give it to the order or to each line.`]
      ])
  )
  return Object.keys(errors).length === 0 ? Result.succeed(undefined) : Result.fail(invalid(errors))
}

interface CancelFacts {
  readonly items: ReadonlyArray<Pick<PurchaseOrderItemRow, "received_quantity">>
}
export const cancelPurchaseOrder = (
  row: PurchaseOrderRow,
  { items }: CancelFacts,
  reason: string | null,
  { now }: Pick<DecideContext, "now">
): Decided => {
  if (row.status !== "draft" && row.status !== "sent")
    return refuseStatus(row, "only a draft or a sent order can be cancelled.")
  if (items.some(({ received_quantity }) => exact(received_quantity).gt(0)))
    return reject("status", "Part of the order was received; it can no longer be cancelled.")
  const set = { status: "cancelled", cancelled_at: now, cancellation_reason: reason } as const
  return decided(row.id, [purchaseOrderCancelled.make(purchaseOrderChange(row, set))])
}
