/** The columns a saved view may name, by entity type (rules/conventions 6). */
import type { Catalogue } from "../../kernel/endpoints/endpoint.ts"
import type { Resource } from "../../kernel/endpoints/resource.ts"

/** Columns by entity type; those of its first system view are marked with `*`. */
const declared: { readonly [entity_type: string]: string } = {
  members: `
    name* membership_type* email* phone* is_active* description tags account_number tax_number is_bookable rating
    cost_per_hour cost_per_day cost_per_distance charge_per_hour charge_per_day charge_per_distance city country
    created_at* updated_at`,
  products: `
    name* product_type* product_group_id* sku* barcode is_active* weight replacement_charge stock_method created_at*
    updated_at*`,
  product_groups: "name* description* parent_id* products_count* created_at* updated_at",
  stock_levels: `
    item_name* asset_number* serial_number* barcode store* product stock_type stock_category stock_method*
    quantity_held* quantity_allocated* quantity_unavailable location created_at* updated_at`,
  activities: `
    subject* type_id* status_id* priority regarding* owner* starts_at* ends_at completed created_at* updated_at`,
  rate_definitions: `
    name* description calculation_strategy* base_period* is_preset* preset_slug created_at* updated_at`,
  product_rates: `
    product_id rate_definition_id* store_id transaction_type* price* currency* valid_from valid_to priority*
    created_at* updated_at`,
  opportunities: `
    subject* number reference* state* status* member_id venue_id store_id owned_by starts_at* ends_at*
    charge_starts_at charge_ends_at charge_total* invoiced has_shortage tag_list version_count active_version_id
    created_at* updated_at`,
  opportunity_items: `
    opportunity_id name* item_type quantity* unit_price* charge_period total* transaction_type starts_at* ends_at*
    is_optional sort_order created_at* updated_at`,
  opportunity_costs: `
    opportunity_id description* cost_type* transaction_type amount* quantity* is_optional* sort_order created_at*
    updated_at`,
  opportunity_versions: `
    version_number* label* version_type* status* is_active* opportunity_id charge_total* sent_to sent_via
    accepted_by decline_reason notes sent_at accepted_at declined_at created_at* updated_at`,
  asset_assignments: `
    opportunity_id opportunity_item_id* stock_level_id* stock_level container_stock_level_id status status_label*
    allocated_at prepared_at dispatched_at* on_hire_at returned_at* checked_at condition_on_return
    condition_on_return_label created_at updated_at`,
  containers: `
    name* barcode* status* scan_mode is_temporary* product_id store_id opportunity_id created_at* updated_at`,
  serialised_components: "product_id component_product_id* quantity* binding* sort_order* created_at updated_at",
  shortage_resolutions: `
    resolver_key* resolution_type* status* quantity_resolved* cost* resolved_by confirmed_by confirmed_at*
    fulfilled_at cancelled_at cancellation_reason notes created_at* updated_at`,
  invoices: `
    number* type* status* member_id* store_id opportunity_id currency_code subtotal tax_total total* amount_paid
    amount_outstanding* issued_at* due_at* paid_at created_at* updated_at`,
  credit_notes: `
    number* status* invoice_id* member_id* store_id opportunity_id currency_code subtotal tax_total total* reason
    notes issued_at* created_at* updated_at`,
  purchase_orders: `
    number* subject* reference po_type* status* supplier_id* store_id opportunity_id currency_code subtotal
    tax_total total* expected_at* starts_at ends_at sent_at received_at cancelled_at cancellation_reason
    delivery_instructions notes created_by created_at* updated_at`,
  documents: `
    document_number* document_type* status* documentable_type* documentable_id* store_id download_url created_at*
    updated_at`
}
const named = (text: string): ReadonlyArray<{ readonly name: string; readonly starred: boolean }> =>
  text
    .trim()
    .split(/\s+/)
    .map((one) => ({ name: one.replace("*", ""), starred: one.endsWith("*") }))

/** The columns of the first system view of an entity type. */
export const startingColumns = (entity_type: string): ReadonlyArray<string> =>
  named(declared[entity_type] ?? "")
    .filter((one) => one.starred)
    .map((one) => one.name)

/** The columns of a list without an entry above: every column of its rows with a plain value. */
const plainColumns = ({ table }: Resource): ReadonlyArray<string> =>
  Object.entries(table.columns)
    .filter(
      ([name, field]) =>
        !field.hidden &&
        name !== "id" &&
        name !== "deleted_at" &&
        field.type.kind !== "json" &&
        field.type.kind !== "object"
    )
    .map(([name]) => name)

interface Viewable {
  readonly columns: ReadonlySet<string>
  /** The module whose custom fields can be columns as well. */
  readonly custom_module: string | undefined
}
/** Columns and module of an entity type; undefined when there is no such list. */
export const viewableAs = (entity_type: string, catalogue: Catalogue): Viewable | undefined => {
  const resource = catalogue.resources.find((one) => one.entity_type === entity_type)
  const written = Object.hasOwn(declared, entity_type) ? declared[entity_type] : undefined
  const columns = written === undefined ? resource && plainColumns(resource) : named(written).map((one) => one.name)
  return columns && { columns: new Set(columns), custom_module: resource?.custom_module }
}
