/** Members: companies, people, places and users, with the ways to reach them (rules/members-activities 1 and 3). */
import { boolean, choice, code, decimal, integer, json, longText, money, ref, table, tags } from "../../kernel/index.ts"
import { text, type JsonObject, type RowOf } from "../../kernel/index.ts"

export const membership_types = {
  user: "User",
  contact: "Contact",
  organisation: "Organisation",
  venue: "Venue"
} as const

/** Costs are in the member's own currency, by default the base currency. */
const cost = { default: 0, currency: "default_currency_code" } as const
export const memberFields = {
  name: text({ required: true, search: true }),
  membership_type: choice(membership_types, { required: true, any_case: true }),
  is_active: boolean({ default: true }),
  description: longText({ nullable: true }),
  locale: text({ nullable: true, format: "language", max: 10 }),
  default_currency_code: text({ nullable: true, max: 3, format: "currency" }),
  bookable: boolean({ default: false }),
  location_type: code({ 0: "Internal", 1: "External" }, { default: 0 }),
  day_cost: money(cost),
  hour_cost: money(cost),
  distance_cost: money(cost),
  flat_rate_cost: money(cost),
  lawful_basis_type_id: ref("list_values", { nullable: true, on_delete: "clear" }),
  sale_tax_class_id: ref("organisation_tax_classes", { nullable: true, on_delete: "clear" }),
  purchase_tax_class_id: ref("organisation_tax_classes", { nullable: true, on_delete: "clear" }),
  tag_list: tags(),
  mapping_id: text({ nullable: true }),
  account_number: text({ nullable: true, search: true }),
  tax_number: text({ nullable: true }),
  peppol_id: text({ nullable: true }),
  chamber_of_commerce_number: text({ nullable: true }),
  global_location_number: text({ nullable: true }),
  is_cash: boolean({ default: false }),
  is_on_stop: boolean({ default: false }),
  credit_limit: money({
    nullable: true,
    describe: "Limit of unpaid invoices and unbilled orders in the base currency; null: no limit"
  }),
  rating: integer({ nullable: true, min: 0, max: 5 }),
  owned_by: ref("members", { nullable: true, on_delete: "keep", on_merge: "follow" }),
  price_category_id: integer({ nullable: true, min: 1 }),
  discount_category_id: integer({ nullable: true, min: 1 }),
  invoice_term_id: ref("list_values", { nullable: true, on_delete: "clear" }),
  invoice_term_length: integer({
    default: 0,
    min: 0,
    max: 36_500,
    describe: "Payment term in days; 0 means 30, and more than 365 count as 365"
  }),
  title: text({ nullable: true, max: 50 }),
  department: text({ nullable: true }),
  custom_fields: json<JsonObject>({ default: {} })
}
export const member_tax_columns = ["sale_tax_class_id", "purchase_tax_class_id"] as const
export const members = table(
  "members",
  {
    ...memberFields,
    icon_url: text({ computed: true, nullable: true, max: 2048, hidden: true }),
    icon_thumb_url: text({ computed: true, nullable: true, max: 2048, hidden: true }),
    /** The member this one was merged into as a duplicate. */
    merged_into_id: ref("members", { computed: true, nullable: true, hidden: true, on_delete: "keep" })
  },
  {
    soft_delete: true,
    searched: { columns: ["name", "account_number"] },
    counted_by: ["membership_type", "is_active"],
    merged_by: { event: "member.merged", from: "secondary_id", into: "primary_id", doubled: "doubled" },
    visibility: {
      all_columns: ["members.*"],
      granted_columns: [
        { to: ["activities.*", "opportunities.*", "users.*"], columns: ["name", "membership_type", "is_active"] },
        // Customer data needed for drafts made offline: term, currency, tax and language (rules/billing 1.3).
        {
          to: ["invoices.*", "payments.*"],
          columns: [
            "name",
            "membership_type",
            "is_active",
            "default_currency_code",
            "sale_tax_class_id",
            "invoice_term_length",
            "locale"
          ]
        },
        // Supplier data needed for purchase orders made offline (rules/billing 2.3).
        {
          to: ["purchase_orders.*"],
          columns: ["name", "membership_type", "is_active", "default_currency_code", "purchase_tax_class_id"]
        },
        { to: ["activities.*"], columns: ["icon_thumb_url"] },
        // Columns that prices, discounts and tax of a quote depend on (rules/rates 8, rules/billing 4).
        {
          to: ["opportunities.*"],
          columns: [
            "bookable",
            "default_currency_code",
            "sale_tax_class_id",
            "purchase_tax_class_id",
            "price_category_id",
            "discount_category_id",
            "tag_list",
            "is_cash",
            "is_on_stop",
            "credit_limit"
          ]
        },
        { to: ["stock.*"], columns: ["membership_type"] }
      ]
    },
    indexes: [
      ["name_folded"],
      ["membership_type", "name_folded"],
      ["created_at"],
      ["merged_into_id"],
      ["account_number"],
      ["account_number_folded"],
      ["mapping_id"]
    ]
  }
)
export type MemberRow = RowOf<typeof members>

/** Declares contact records as parts of their member's stream, so that erasing a person finds them. */
const ofMember = {
  stream: { entity: "member", column: "member_id" },
  indexes: [["member_id"]],
  visibility: { all_columns: ["members.*"] }
}
const member_id = ref("members", { computed: true, on_delete: "keep", on_merge: "follow_updated" })
const type_id = ref("list_values", { nullable: true, on_delete: "clear" })
const is_primary = boolean({ default: false })

export const addressFields = {
  name: text({ nullable: true }),
  street: longText({ required: true }),
  city: text({ nullable: true }),
  county: text({ nullable: true }),
  postcode: text({ nullable: true, max: 20 }),
  what3words: text({ nullable: true }),
  country_id: ref("countries", { nullable: true, on_delete: "keep" }),
  type_id,
  is_primary,
  latitude: decimal({ nullable: true, scale: 7, min: "-90", max: "90", strict: false }),
  longitude: decimal({ nullable: true, scale: 7, min: "-180", max: "180", strict: false })
}
export const addresses = table(
  "addresses",
  { member_id, ...addressFields },
  {
    // Users who write quotes get an address's owner; its text only in server responses that refer to the address.
    ...ofMember,
    entity: "address",
    visibility: {
      ...ofMember.visibility,
      granted_columns: [{ to: ["opportunities.create", "opportunities.edit"], columns: ["member_id"] }],
      shown_by_reference: true
    }
  }
)
export const emailFields = { address: text({ required: true, format: "email" }), type_id, is_primary }
export const emails = table(
  "emails",
  { member_id, ...emailFields },
  { ...ofMember, searched: { columns: ["address"] } }
)
export const phoneFields = {
  number: text({ required: true, max: 50 }),
  country_code: text({ nullable: true, max: 2, length: 2 }),
  type_id,
  is_primary
}
export const phones = table(
  "phones",
  { member_id, ...phoneFields },
  { ...ofMember, named_by: ["number"], searched: { columns: ["number"], compact: ["number"] } }
)
export const linkFields = {
  url: text({ required: true, max: 2048, format: "url" }),
  name: text({ nullable: true }),
  type_id
}
export const links = table("links", { member_id, ...linkFields }, ofMember)

export const relationshipFields = {
  related_member_id: ref("members", { required: true, create_only: true, on_delete: "keep" }),
  relationship_type: text({ nullable: true }),
  is_primary
}
/** Relationships between two members; one row counts in both directions. */
export const relationships = table(
  "relationships",
  { member_id: ref("members", { computed: true, on_delete: "keep" }), ...relationshipFields },
  { stream: ofMember.stream, visibility: ofMember.visibility, indexes: [["member_id"], ["related_member_id"]] }
)
export type RelationshipRow = RowOf<typeof relationships>

/** Tables of contact records by name; a merge moves their rows, an erasure deletes them. */
export const contactTables = { addresses, emails, phones, links }
export type ContactKind = keyof typeof contactTables
export const contact_kinds = ["addresses", "emails", "phones", "links"] as const satisfies ReadonlyArray<ContactKind>
