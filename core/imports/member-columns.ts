/** The columns of a member import: names, aliases, words of spreadsheets, and how a row is read. */
import { isJsonObject, readFields } from "../kernel/index.ts"
import type { FieldErrors, Fields, Json, JsonObject, Values } from "../kernel/index.ts"
import { memberFields, type MemberRow } from "../people/members/schema.ts"
import { cellValue, type Columns, namedIn, partsOfText, readRows, recordsIn, type Row, textCell } from "./rows.ts"

/** Fields that are no columns of their own: custom fields, ids of rows, which cells name instead, and unused ones. */
const {
  custom_fields: _custom,
  lawful_basis_type_id: _basis,
  sale_tax_class_id: _sale,
  purchase_tax_class_id: _purchase,
  invoice_term_id: _term,
  owned_by: _owner,
  price_category_id: _price,
  discount_category_id: _discount,
  ...own
} = memberFields
/** Columns that are a member's own fields. */
const ownColumns: Fields = own

/** Columns that name a row of another table, with the field that stores its id. */
export const named_columns = {
  sale_tax_class: "sale_tax_class_id",
  purchase_tax_class: "purchase_tax_class_id",
  invoice_term: "invoice_term_id"
} as const
/** Parts of the first address, which customer lists have as columns of their own. */
export const address_columns = ["street", "city", "county", "postcode", "country"] as const

export const memberColumns: Columns = {
  known: new Set([
    ...Object.keys(ownColumns),
    ...Object.keys(named_columns),
    ...address_columns,
    "address",
    "email",
    "phone",
    "link",
    "organisation",
    "relationship_type",
    "contact",
    "custom_fields"
  ]),
  aliases: {
    type: "membership_type",
    member_type: "membership_type",
    company_name: "name",
    external_id: "mapping_id",
    number: "account_number",
    customer_number: "account_number",
    member_number: "account_number",
    account_no: "account_number",
    notes: "description",
    note: "description",
    tags: "tag_list",
    active: "is_active",
    cash: "is_cash",
    on_stop: "is_on_stop",
    stop: "is_on_stop",
    currency: "default_currency_code",
    vat_number: "tax_number",
    payment_term: "invoice_term",
    job_title: "title",
    address_line: "street",
    town: "city",
    state: "county",
    zip: "postcode",
    zip_code: "postcode",
    post_code: "postcode",
    postal_code: "postcode",
    addresses: "address",
    emails: "email",
    e_mail: "email",
    email_address: "email",
    phones: "phone",
    telephone: "phone",
    phone_number: "phone",
    links: "link",
    website: "link",
    organization: "organisation",
    organisations: "organisation",
    company: "organisation",
    contacts: "contact",
    cf: "custom_fields"
  },
  spread: new Set(["address", "email", "phone", "link", "contact", "custom_fields"])
}

const types: { readonly [word: string]: string } = {
  organization: "organisation",
  company: "organisation",
  customer: "organisation",
  client: "organisation",
  supplier: "organisation",
  person: "contact",
  people: "contact",
  location: "venue",
  place: "venue"
}
const location_types: { readonly [word: string]: number } = { internal: 0, external: 1 }

const asWritten = (column: string, cell: Json): Json => {
  const word = typeof cell === "string" ? cell.trim().toLowerCase() : ""
  if (column === "membership_type") return namedIn(types, word) ?? cell
  if (column === "location_type") return namedIn(location_types, word) ?? cell
  return cellValue(ownColumns, column, cell)
}

/** The membership type of a row, in lower case; an unknown one is returned as well. Undefined without one. */
export const typeIn = (cells: JsonObject): string | undefined => {
  const cell = textCell(cells, "membership_type")
  return cell === undefined ? undefined : String(asWritten("membership_type", cell)).toLowerCase()
}

interface ReadMember {
  readonly values: Values
  readonly errors: FieldErrors
  readonly custom_fields: JsonObject | undefined
}

/**
 * A row's values for a new member, or its changes of an existing one. A new member is by default a contact if the row
 * names an organisation, else an organisation. Errors are keyed by column.
 */
export const readMember = (cells: JsonObject, before: MemberRow | undefined, base_currency: string): ReadMember => {
  const otherwise = cells["organisation"] === undefined ? "organisation" : "contact"
  const body: { [column: string]: Json } =
    before === undefined ? { membership_type: asWritten("membership_type", otherwise) } : {}
  for (const column of Object.keys(cells)) {
    const cell = cells[column]
    if (cell !== undefined && Object.hasOwn(ownColumns, column)) body[column] = asWritten(column, cell)
  }
  const read = readFields(ownColumns, body, {
    mode: before === undefined ? "create" : "update",
    base_currency,
    ...(before === undefined ? {} : { current: before })
  })
  const custom = cells["custom_fields"]
  return {
    values: read.values,
    errors: {
      ...read.errors,
      ...(custom === undefined || isJsonObject(custom)
        ? {}
        : { custom_fields: ["The custom fields must be an object."] })
    },
    custom_fields: custom !== undefined && isJsonObject(custom) ? custom : undefined
  }
}

/** Organisations a row belongs to, by number, external id or name, separated by semicolons; undefined if unreadable. */
export const organisationsIn = (cells: JsonObject): ReadonlyArray<string> | undefined => {
  const parts = recordsIn(cells["organisation"], "name", undefined)
  const named = parts?.map((part) => textCell(part, "name"))
  return named === undefined || named.some((one) => one === undefined)
    ? undefined
    : named.flatMap((one) => partsOfText(one ?? "", /;/))
}
/** People of an organisation, written in its row; undefined if unreadable. */
export const peopleIn = (cells: JsonObject): ReadonlyArray<Row> | undefined => {
  const parts = recordsIn(cells["contact"], "name", /;/)
  return parts === undefined ? undefined : readRows(parts, memberColumns)
}
