/** Columns of frequently used lists; other lists have all columns with values. */
import { type Column, columnsNamed } from "./table.ts"

/** Columns of each list, separated by commas. */
const chosen: { readonly [plural: string]: string } = {
  products: `id, sku, name, product_group_name=GROUP?1, product_type=TYPE?2, price,
    stock_levels+quantity_held-given_back_at=STOCK, free, stock_method=METHOD?4, replacement_charge?5,
    is_active=ACTIVE?3`,
  product_groups: "id, name, parent_id, sort_order",
  stores: "id, name, timezone, city, is_default=DEFAULT",
  members: "id, name, membership_type=TYPE, is_active=ACTIVE, updated_at",
  opportunities: `id, number, subject, member.name=CUSTOMER, state_label=STATE?2, status_label=STATUS, starts_at,
    ends_at?1, pieces.packed=PACKED?4, pieces.out=OUT?5, pieces.back=BACK?6, charge_total=NET, currency_code=CUR?3`,
  items: `id, item_type=TYPE, name, quantity, unit_price=PRICE, charged_periods=PERIODS, discount_percent=DISC, total,
    starts_at, ends_at`,
  stock_levels: `id, product_name=PRODUCT, store_name=STORE, asset_number=ASSET, serial_number=SERIAL, barcode,
    quantity_held=HELD, service_state=STATE?1, location?2`,
  service_records: `id, asset_number=ASSET, product_name=PRODUCT, quantity, state_name=STATE, reason, starts_at=SINCE,
    expected_back_at=EXPECTED, ended_at=ENDED, store_name=STORE`,
  stock_transactions: "id, transaction_at=AT, transaction_type_name=TYPE, quantity_move=MOVE, description",
  rate_definitions: `id, preset_slug=PRESET, name, calculation_strategy=STRATEGY, base_period=PERIOD,
    enabled_modifiers=MODIFIERS`,
  product_rates: `id, rate_definition_id=RATE, transaction_type=TYPE, price, currency=CUR, store_id,
    valid_from=FROM, valid_to=TO, priority`,
  containers: "id, name, barcode, status, scan_mode, is_temporary=TEMPORARY, product_id, store_id",
  container_items: "id, serialised_item_id=ASSET, product_id, position, packed_at",
  components: "id, component_product_id=PRODUCT, component_name=NAME, quantity, binding",
  accessories: "id, accessory_product_id=PRODUCT, related_name=NAME, quantity, included, zero_priced",
  versions:
    "id, version_number=NUMBER, version_type_label=TYPE, label, is_active=ACTIVE, status_label=STATUS, charge_total=NET",
  costs: "id, cost_type_label=TYPE, description, quantity, amount, is_optional=OPTIONAL",
  invoices: `id, number, member.name=CUSTOMER, type_name=TYPE?3, status_name=STATUS, total=GROSS,
    amount_outstanding=OUTSTANDING, currency_code=CUR?2, due_at=DUE, is_overdue=OVERDUE?1`,
  credit_notes: `id, number, invoice.number=INVOICE, member.name=CUSTOMER, total=GROSS, currency_code=CUR, reason,
    issued_at=ISSUED`,
  purchase_orders: `id, number, supplier.name=SUPPLIER, po_type_name=TYPE, status_name=STATUS, total=GROSS,
    currency_code=CUR, expected_at=EXPECTED`,
  transfers: `id, from_store_name=FROM, to_store_name=TO, starts_at=LEAVES, arrives_at=ARRIVES, ends_at=BACK?1, status,
    return_of_transfer_id=RETURN OF?2`,
  documents: `id, document_number=NUMBER, document_type_name=TYPE, status_name=STATUS, documentable_type=MADE OF,
    documentable_id=ITS ID, created_at=AT`,
  assets: `id, opportunity_item_id=LINE, stock_level_id=ASSET, stock_level.name=NAME, status_label=STATUS, allocated_at,
    dispatched_at, returned_at`,
  available_assets: "id, asset_number, serial_number, barcode, item_name=NAME, location",
  activity: "created_at=AT, user_name=WHO, action",
  available_actions: "key, label, allowed, reason",
  shortages: `date=SHORT FROM, last_date=UNTIL, product_name=PRODUCT, requested_quantity=NEEDED, available,
    shortfall=SHORT, on_order_quantity=ON ORDER?1, severity?4, opportunity.number=ORDER, opportunity.name=SUBJECT?1,
    opportunity.member.name=CUSTOMER?1, opportunity.state_name=STATE?2`,
  short_days: "date, product_name=PRODUCT, store_id, available, severity",
  availability: `opportunity_item_id=LINE, product_name=PRODUCT, from, to=UNTIL, requested_quantity=NEEDED,
    available_for_item=AVAILABLE, shortfall=SHORT, shortage_quantity=SEVERITY, store_id`,
  shortage_waits: `opportunity_id=ORDER, opportunity.name=SUBJECT, opportunity_item_id=LINE, product.name=PRODUCT,
    quantity=SHORT, starts_at=FROM, ends_at=TO, waitlisted_at=SINCE, status`,
  waiting: `opportunity_item_id=LINE, product_id, requested_quantity=WANTED, free_quantity=FREE NOW,
    position=PLACE, waitlisted_at=SINCE, waitlisted_by=BY, note`,
  slots: "slot_start=SLOT, total_stock=STOCK, total_demanded=DEMANDED, available",
  line_items: "period_from=FROM, period_to=TO, multiplier, unit_price, line_total",
  endpoints: "method, uri, name, ability, price_weight=WEIGHT",
  jobs: "id, status, attempts, next_attempt_at=NEXT, meaning, error",
  attachments: `id, attachable_type=ATTACHED TO, attachable_id=ITS ID, category, original_name=NAME, mime_type=TYPE,
    file_size=BYTES, created_at=AT`,
  custom_views: "id, name, entity_type=LIST, visibility, columns?1, filters?2, sort_column?3, sort_direction?4",
  webhooks: "id, url, events, is_active=ACTIVE, consecutive_failures=FAILURES, disabled_at=TURNED OFF",
  notification_preferences: `notification_type=TYPE, channels.database=DATABASE, channels.email=EMAIL,
    channels.broadcast=BROADCAST, is_muted=MUTED, source=BY`,
  notification_settings: `notification_type=TYPE, channels.database=DATABASE, channels.email=EMAIL,
    channels.broadcast=BROADCAST, is_enabled=ENABLED`,
  request_logs: `created_at=AT, channel, method, uri, status_code=STATUS, duration_ms=MS, weighted_units=UNITS,
    personal_access_token_id=TOKEN, user_id, request_id`,
  tokens: "id, name, user_id, abilities, expires_at, last_used_at, units_this_month=UNITS, monthly_units=A MONTH",
  users: "id, name, email, is_owner=OWNER, is_active=ACTIVE, last_login_at"
}
export const columnsOf = (plural: string): ReadonlyArray<Column> | undefined => {
  const listed = chosen[plural]
  return listed === undefined ? undefined : columnsNamed(listed)
}

/** Includes needed for a list's columns. */
const needed: { readonly [plural: string]: string } = {
  products: "stock_levels",
  opportunities: "member,pieces",
  invoices: "member",
  credit_notes: "member,invoice",
  purchase_orders: "supplier"
}
export const includesOf = (plural: string): string | undefined => needed[plural]
