/** API representation of members and their contact records (rules/members-activities 1 and 3). */
import { Effect } from "effect"
import type { ViewColumn, ViewColumns } from "../../kernel/lists/custom-view.ts"
import { boolean, integer, list_values, picked, referredRows, resource, Shown, Store } from "../../kernel/index.ts"
import { text, type AnyRow, type Json, type JsonObject } from "../../kernel/index.ts"
import { countries } from "../../setup/reference-data/currencies.ts"
import { addresses, emails, links, type MemberRow, members, membership_types, phones, relationships } from "./schema.ts"
import { organisation_tax_classes } from "../../setup/reference-data/tax.ts"

// Columns of saved views that are not keys of members: e-mail, phone, address (rules/conventions 6).

type Contact = { readonly member_id: number; readonly is_primary: boolean }
/** The primary contact record of each member, else the first. */
const firstOf = <C extends Contact>(found: ReadonlyArray<C>): ReadonlyMap<unknown, C> => {
  const first = new Map<unknown, C>()
  for (const one of found) {
    const earlier = first.get(one.member_id)
    if (earlier === undefined || (one.is_primary && !earlier.is_primary)) first.set(one.member_id, one)
  }
  return first
}
const idsOf = (rows: ReadonlyArray<AnyRow>): ReadonlyArray<number> =>
  rows.map((row) => row["id"]).filter((id) => typeof id === "number")
const order = { order: ["id"] }
const email: ViewColumn = Effect.fnUntraced(function* (rows) {
  const first = firstOf(yield* Store.find(emails, { member_id: idsOf(rows) }, order))
  return (row) => first.get(row["id"])?.address ?? null
})
const phone: ViewColumn = Effect.fnUntraced(function* (rows) {
  const first = firstOf(yield* Store.find(phones, { member_id: idsOf(rows) }, order))
  return (row) => first.get(row["id"])?.number ?? null
})
const primaryAddresses = Effect.fnUntraced(function* (rows: ReadonlyArray<AnyRow>) {
  return firstOf(yield* Store.find(addresses, { member_id: idsOf(rows), is_primary: true }, order))
})
const city: ViewColumn = (rows) =>
  Effect.map(primaryAddresses(rows), (first) => (row) => first.get(row["id"])?.city ?? null)
const country: ViewColumn = Effect.fnUntraced(function* (rows) {
  const first = yield* primaryAddresses(rows)
  const found = yield* referredRows(countries, [...first.values()], "country_id")
  return (row): Json => found.get(first.get(row["id"])?.country_id ?? 0)?.name ?? null
})
/** Column for charges, which the API promises for members; always null, as members have none. */
const nothing: ViewColumn = () => Effect.succeed(() => null)

const memberColumns: ViewColumns = {
  email,
  phone,
  city,
  country,
  tags: "tag_list",
  is_bookable: "bookable",
  cost_per_hour: "hour_cost",
  cost_per_day: "day_cost",
  cost_per_distance: "distance_cost",
  charge_per_hour: nothing,
  charge_per_day: nothing,
  charge_per_distance: nothing
}

export const addressResource = resource({ singular: "address", table: addresses })
export const emailResource = resource({ singular: "email", table: emails })
export const phoneResource = resource({ singular: "phone", table: phones })
export const linkResource = resource({ singular: "link", table: links })
export const relationshipResource = resource({ singular: "relationship", table: relationships })

const nameOf = (row: { readonly name: string } | undefined): Json => row?.name ?? null
const labelOf = (row: MemberRow | undefined): Json => (row === undefined ? null : membership_types[row.membership_type])

const related = {
  id: integer(),
  relatable_id: integer(),
  relatable_type: text(),
  relatable_name: text(),
  relatable_membership_type: text(),
  related_id: integer(),
  related_type: text(),
  related_name: text(),
  related_membership_type: text(),
  relationship_type: relationships.columns.relationship_type,
  is_primary: boolean()
}
/** Resource of a relationship as seen from one side: `relatable` is this member, `related` the other. */
const relatedResource = (side: "member" | "related") =>
  resource({
    singular: "related_member",
    table: relationships,
    lookups: { member: { via: "member_id", table: members }, related: { via: "related_member_id", table: members } },
    view: ({ id = null, relationship_type = null, is_primary = null }, _row, found) => {
      const [own, other] = side === "member" ? [found.member, found.related] : [found.related, found.member]
      return {
        id,
        relatable_id: own?.id ?? null,
        relatable_type: "Member",
        relatable_name: nameOf(own),
        relatable_membership_type: labelOf(own),
        related_id: other?.id ?? null,
        related_type: "Member",
        related_name: nameOf(other),
        related_membership_type: labelOf(other),
        relationship_type,
        is_primary,
        archived: other === undefined || other["deleted_at"] !== null
      }
    }
  })
const pointedAt = relatedResource("related")
const pointing = relatedResource("member")

/** Related members without archived ones. */
const current = (rows: Json | undefined): ReadonlyArray<Json> =>
  ((rows ?? []) as ReadonlyArray<JsonObject>).flatMap(({ archived, ...row }) => (archived === true ? [] : [row]))

/** Value of `membership`, which depends on the membership type. */
const membershipOf = (member: MemberRow): JsonObject => {
  const { id } = member
  switch (member.membership_type) {
    case "user":
      return { id }
    case "contact":
      return { id, title: member.title, department: member.department }
    default:
      return {
        id,
        number: member.account_number ?? "",
        tax_class_id: member.sale_tax_class_id,
        cash: member.is_cash,
        on_stop: member.is_on_stop,
        ...picked(member, ["rating", "owned_by", "price_category_id", "discount_category_id"]),
        tax_number: member.tax_number ?? "",
        peppol_id: member.peppol_id ?? "",
        chamber_of_commerce_number: member.chamber_of_commerce_number ?? "",
        global_location_number: member.global_location_number ?? "",
        invoice_term: member.invoice_term_id,
        invoice_term_length: member.invoice_term_length
      }
  }
}

/** Schema of `membership`: a user's id, a contact's position, or business terms of any other member. */
const membership = Shown.either(
  Shown.keys({ id: integer() }),
  Shown.keys({ id: integer(), title: members.columns.title, department: members.columns.department }),
  Shown.keys({
    id: integer(),
    number: text(),
    tax_class_id: integer({ nullable: true }),
    cash: boolean(),
    on_stop: boolean(),
    rating: integer({ nullable: true }),
    owned_by: integer({ nullable: true }),
    price_category_id: integer({ nullable: true }),
    discount_category_id: integer({ nullable: true }),
    tax_number: text(),
    peppol_id: text(),
    chamber_of_commerce_number: text(),
    global_location_number: text(),
    invoice_term: integer({ nullable: true }),
    invoice_term_length: integer()
  })
)
const member_shows = {
  membership_type_name: text(),
  active: boolean(),
  description: text(),
  membership_id: integer(),
  membership,
  lawful_basis_type_name: text({ nullable: true }),
  invoice_term_name: text({ nullable: true }),
  sale_tax_class_name: text({ nullable: true }),
  purchase_tax_class_name: text({ nullable: true }),
  icon: Shown.keys({ url: text(), thumb_url: text({ nullable: true }) }, { nullable: true }),
  identity: Shown.nothing(),
  primary_address: Shown.row(() => addressResource, {
    nullable: true,
    describe: "Primary address, with include=addresses"
  }),
  service_stock_levels: Shown.list(Shown.anything()),
  child_members: Shown.objects(related, {
    describe: "Relationships in which this member is the related one; include=contacts"
  }),
  parent_members: Shown.objects(related, { describe: "Relationships of this member to others; include=organisations" })
}

/** Module name under which members' custom fields are defined. */
export const member_module = "Member"
export const memberResource = resource({
  singular: "member",
  called: { by: ["name", "account_number"] },
  shows: member_shows,
  hides: ["contacts", "organisations"],
  table: members,
  filters: [
    "name",
    "account_number",
    "membership_type",
    "is_active",
    "sale_tax_class_id",
    "purchase_tax_class_id",
    "created_at",
    "updated_at"
  ],
  sorts: ["name", "membership_type", "created_at", "updated_at"],
  aliases: { active: "is_active" },
  custom_module: member_module,
  // Lists include archived members on request, so that they can be restored (rules/members-activities 2).
  lists_archived: true,
  columns: memberColumns,
  lookups: {
    lawful_basis: { via: "lawful_basis_type_id", table: list_values },
    invoice_term: { via: "invoice_term_id", table: list_values },
    sale_tax_class: { via: "sale_tax_class_id", table: organisation_tax_classes },
    purchase_tax_class: { via: "purchase_tax_class_id", table: organisation_tax_classes }
  },
  includes: {
    addresses: { kind: "many", via: "member_id", resource: () => addressResource, empty: [] },
    emails: { kind: "many", via: "member_id", resource: () => emailResource, empty: [] },
    phones: { kind: "many", via: "member_id", resource: () => phoneResource, empty: [] },
    links: { kind: "many", via: "member_id", resource: () => linkResource, empty: [] },
    // Related members by the direction of the relationship, whatever its type.
    contacts: { kind: "many", via: "related_member_id", resource: () => pointedAt, empty: [] },
    organisations: { kind: "many", via: "member_id", resource: () => pointing, empty: [] }
  },
  view: ({ contacts, organisations, ...base }, row, found) => ({
    ...base,
    membership_type_name: membership_types[row.membership_type],
    active: row.is_active,
    description: row.description ?? "",
    membership_id: row.id,
    membership: membershipOf(row),
    lawful_basis_type_name: nameOf(found.lawful_basis),
    invoice_term_name: nameOf(found.invoice_term),
    sale_tax_class_name: nameOf(found.sale_tax_class),
    purchase_tax_class_name: nameOf(found.purchase_tax_class),
    icon: row.icon_url === null ? null : { url: row.icon_url, thumb_url: row.icon_thumb_url },
    identity: null,
    primary_address:
      (base["addresses"] as ReadonlyArray<JsonObject>).find((address) => address["is_primary"] === true) ?? null,
    service_stock_levels: [],
    child_members: current(contacts),
    parent_members: current(organisations)
  })
})
