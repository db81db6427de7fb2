import { words } from "../../words.ts"
/** Filters, sorts and includes of a list, as clients write them (rules/conventions 3 to 6). */
interface Offered {
  readonly filters: ReadonlyArray<string>
  readonly sorts?: ReadonlyArray<string>
  readonly includes?: ReadonlyArray<string>
  /** Alias → field, in filters and sorts. */
  readonly aliases?: { readonly [name: string]: string }
  readonly related?: ReadonlyArray<string>
  readonly archived?: boolean
}
const windows = ["deliver", "collect"].flatMap((phase) => [`${phase}_starts_at`, `${phase}_ends_at`])

export const offered: { readonly [plural: string]: Offered } = {
  rate_definitions: {
    filters: ["name", "calculation_strategy", "base_period", "is_preset", "preset_slug", "created_at", "updated_at"],
    sorts: ["name", "calculation_strategy", "base_period", "created_at", "updated_at"],
    includes: ["clonedFrom", "productRates"],
    aliases: { strategy: "calculation_strategy", preset: "preset_slug" }
  },
  product_rates: {
    filters: words(`
      rate_definition_id store_id transaction_type currency priority valid_from valid_to created_at updated_at
    `),
    sorts: ["transaction_type", "price", "priority", "valid_from", "valid_to", "created_at", "updated_at"],
    includes: ["rateDefinition", "store"]
  },
  opportunities: {
    filters: [
      "subject",
      "number",
      "reference",
      "state",
      "status",
      "member_id",
      "venue_id",
      "store_id",
      "owned_by",
      "invoiced",
      "has_shortage",
      "use_chargeable_days",
      "open_ended_rental",
      "customer_collecting",
      "customer_returning",
      "source_opportunity_id",
      "tag_list",
      "starts_at",
      "ends_at",
      "charge_starts_at",
      "charge_ends_at",
      ...windows,
      "ordered_at",
      "quote_invalid_at",
      "created_at",
      "updated_at"
    ],
    sorts: [
      "created_at",
      "starts_at",
      "subject",
      "charge_total",
      "state",
      "status",
      "number",
      "reference",
      "ends_at",
      "charge_starts_at",
      "charge_ends_at",
      ...windows,
      "ordered_at",
      "quote_invalid_at",
      "updated_at"
    ],
    includes: words(`
      member venue store owner deliveryAddress collectionAddress items items.assets costs versions versions.items
      participants participants.member
    `),
    // A deleted opportunity leaves the lists for good (rules/opportunities 17); its id is in the action log.
    archived: false
  },
  assets: {
    filters: words("status opportunity_item_id stock_level_id container_stock_level_id created_at updated_at"),
    sorts: ["status", "dispatched_at", "allocated_at", "created_at", "returned_at", "updated_at"]
  },
  versions: { filters: [], includes: ["items"] },
  members: {
    filters: ["name", "membership_type", "is_active", "created_at"],
    sorts: ["name", "membership_type", "created_at", "updated_at"],
    includes: ["addresses", "emails", "phones", "links", "contacts", "organisations"],
    aliases: { active: "is_active" },
    archived: true
  },
  containers: {
    filters: words(
      "name barcode status scan_mode is_temporary product_id store_id opportunity_id created_at updated_at"
    ),
    sorts: ["name", "barcode", "status", "created_at", "updated_at"],
    includes: ["product", "store", "activeItems", "containerItems"]
  },
  products: {
    filters: words(`
      name product_type is_active product_group_id sku barcode tax_class_id allowed_stock_type stock_method
      accessory_only discountable created_at updated_at
    `),
    sorts: ["name", "product_type", "sku", "created_at", "updated_at"],
    includes: words(`
      productGroup taxClass purchaseTaxClass stockLevels accessories accessories.accessoryProduct customFieldValues
      rates rentalRevenueGroup saleRevenueGroup subRentalCostGroup purchaseCostGroup countryOfOrigin
    `),
    aliases: { type: "product_type", active: "is_active" },
    related: ["productGroup.name"]
  },
  accessories: { filters: [], includes: ["accessoryProduct"] },
  activities: {
    filters: words(`
      subject type_id status_id priority regarding_type regarding_id owned_by completed starts_at ends_at created_at
    `),
    includes: ["owner", "type", "regarding", "participants", "participants.member"]
  },
  stock_levels: {
    filters: words("product_id store_id stock_type stock_category serial_number barcode asset_number created_at"),
    sorts: ["product_id", "store_id", "quantity_held", "stock_type", "created_at"]
  },
  product_groups: { filters: ["name", "parent_id"], sorts: ["name", "sort_order"], includes: ["parent", "children"] },
  product_tax_classes: { filters: ["name", "is_default"] },
  custom_fields: {
    filters: ["name", "module_type", "field_type", "is_active", "is_required"],
    sorts: ["name", "module_type", "sort_order", "created_at"]
  },
  list_names: { filters: ["name", "is_system"], includes: ["values"] },
  list_values: {
    filters: ["name", "parent_id", "is_active", "is_system"],
    sorts: ["name", "sort_order", "created_at", "updated_at"]
  },
  currencies: { filters: ["code", "name", "is_enabled"] }
}
