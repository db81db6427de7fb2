/** Facts of a member import for the whole batch: about a dozen queries, whatever the number of rows. */
import { Effect } from "effect"
import { list_names } from "../custom-fields/schema.ts"
import { type CustomFieldFacts, customFieldFacts, list_values } from "../kernel/custom-field.ts"
import type { Failure, Input } from "../kernel/endpoint.ts"
import { lockStreams } from "../kernel/engine.ts"
import { initialRow } from "../kernel/crud-resource.ts"
import { columnList, quote } from "../kernel/store/statement.ts"
import { Store } from "../kernel/store/store.ts"
import { foldCase, type Table } from "../kernel/table.ts"
import {
  contact_kinds,
  contactTables,
  type ContactKind,
  type MemberRow,
  members,
  type RelationshipRow,
  relationships
} from "../members/schema.ts"
import { countries } from "../reference-data/countries.ts"
import { organisation_tax_classes } from "../reference-data/tax.ts"
import { textCell } from "./cells.ts"
import { type ContactFacts, contactKinds, type ContactRecord, type ListValue } from "./contact-rows.ts"
import { memberColumns, organisationsIn, peopleIn } from "./member-columns.ts"
import type { memberImportFields } from "./member-fields.ts"
import { type ImportContext, readRows, type Row } from "./rows.ts"

export type MemberInput = Input<{}, typeof memberImportFields>

export interface MemberFacts extends ImportContext, ContactFacts {
  /** Members that the rows name, or that belong to an organisation they name; archived ones as well. */
  readonly members: ReadonlyArray<MemberRow>
  readonly relationships: ReadonlyArray<RelationshipRow>
  readonly records: { readonly [K in ContactKind]: ReadonlyArray<ContactRecord> }
  readonly tax_classes: ReadonlyArray<ListValue>
  readonly custom: CustomFieldFacts
}

export const memberFacts = Effect.fnUntraced(function* (
  input: MemberInput
): Effect.fn.Return<MemberFacts, Failure, Store> {
  const store = yield* Store
  const rows = readRows(input.values.rows ?? [], memberColumns)
  const has = (...columns: ReadonlyArray<string>): boolean =>
    rows.some((row) => columns.some((column) => row.cells[column] !== undefined))
  const with_people = has("contact", "organisation")
  const named = yield* membersNamed(rows)
  const before = with_people ? yield* relationshipsOf(named.map(({ id }) => id)) : []
  const ids = [
    ...new Set([...named.flatMap(({ id, merged_into_id }) => [id, merged_into_id ?? id]), ...sidesOf(before)])
  ]
  yield* lockStreams(ids.map((id) => `member:${id}`))
  // Read again now that they are locked.
  const joined = with_people ? yield* relationshipsOf(named.map(({ id }) => id)) : []
  const found = yield* rowsWith(members, "id", [...ids, ...sidesOf(joined)])
  const recordsOf = (which: ContactKind) =>
    has(contactKinds[which].column, "contact", ...(which === "addresses" ? ["street", "city", "postcode"] : []))
      ? rowsWith(
          contactTables[which],
          "member_id",
          found.map(({ id }) => id)
        )
      : Effect.succeed([])
  return {
    rows,
    dry_run: input.values.dry_run ?? false,
    members: [...found, ...promisedMembers(input)],
    relationships: joined,
    records: {
      addresses: yield* recordsOf("addresses"),
      emails: yield* recordsOf("emails"),
      phones: yield* recordsOf("phones"),
      links: yield* recordsOf("links")
    },
    lists: yield* listsFor(rows),
    countries: has("address", "country", "contact") ? yield* store.find(countries, {}) : [],
    tax_classes: has("sale_tax_class", "purchase_tax_class") ? yield* store.find(organisation_tax_classes, {}) : [],
    custom: yield* customFieldFacts("Member")
  }
})

/** Rows with one of these values in a column; one bound list, as there may be more than a statement takes singly. */
const rowsWith = <T extends Table>(table: T, column: string, values: ReadonlyArray<string | number>) =>
  Effect.gen(function* () {
    if (values.length === 0) return []
    const store = yield* Store
    const cast = typeof values[0] === "number" ? "::bigint" : ""
    const given = store.dialect === "pg" ? `json_array_elements_text($1::json)${cast}` : "value from json_each(?)"
    const found = yield* store.run(
      `select ${columnList(table)} from ${quote(table.name)} where ${quote(column)} in (select ${given}) order by id`,
      [JSON.stringify([...new Set(values)])]
    )
    return found.map((row) => store.decode(table, row))
  })
const relationshipsOf = Effect.fnUntraced(function* (ids: ReadonlyArray<number>) {
  const found = [
    ...(yield* rowsWith(relationships, "member_id", ids)),
    ...(yield* rowsWith(relationships, "related_member_id", ids))
  ]
  return [...new Map(found.map((one) => [one.id, one])).values()]
})
const sidesOf = (joined: ReadonlyArray<RelationshipRow>): ReadonlyArray<number> =>
  joined.flatMap(({ member_id, related_member_id }) => [member_id, related_member_id])

/** Members with a number, an external id or a name of the batch. */
const membersNamed = Effect.fnUntraced(function* (rows: ReadonlyArray<Row>) {
  const cells = rows.flatMap((row) => [row.cells, ...(peopleIn(row.cells) ?? []).map((one) => one.cells)])
  const named = rows.flatMap((row) => organisationsIn(row.cells) ?? [])
  const all = (column: string): ReadonlyArray<string> => cells.flatMap((one) => textCell(one, column) ?? [])
  const wanted = {
    mapping_id: new Set([...all("mapping_id"), ...named]),
    account_number: new Set([...all("account_number"), ...named]),
    name_folded: new Set([...rows.flatMap((row) => textCell(row.cells, "name") ?? []), ...named].map(foldCase))
  }
  const found: Array<MemberRow> = []
  for (const [column, values] of Object.entries(wanted)) found.push(...(yield* rowsWith(members, column, [...values])))
  return [...new Map(found.map((row) => [row.id, row])).values()]
})

const listsFor = Effect.fnUntraced(function* (rows: ReadonlyArray<Row>) {
  const store = yield* Store
  const wanted = [
    ...contact_kinds
      .filter((which) => rows.some(({ cells }) => JSON.stringify(cells).includes('"type"') && which))
      .map((which) => contactKinds[which].types),
    ...(rows.some(({ cells }) => cells["invoice_term"] !== undefined) ? ["Invoice Term"] : [])
  ]
  const lists = new Map<string, ReadonlyArray<ListValue>>()
  if (wanted.length === 0) return lists
  const names = yield* store.find(list_names, { name: wanted })
  const values = yield* store.find(list_values, { list_name_id: names.map(({ id }) => id), is_active: true })
  for (const { id, name } of names)
    lists.set(
      name,
      values.filter(({ list_name_id }) => list_name_id === id)
    )
  return lists
})

const promised_from = -1_000_000_000
/** Promised by an earlier request of a dry run: what a row may refer to, and nothing a row changes. */
export const isPromised = ({ id }: MemberRow): boolean => id <= promised_from

/** Placeholders for organisations that a dry run may assume, because earlier rows would make them. Ids are negative. */
const promisedMembers = ({ values }: MemberInput): ReadonlyArray<MemberRow> => {
  if (values.dry_run !== true) return []
  const named = [
    ...(values.promised_numbers ?? []).map((number) => ({ name: "", account_number: number })),
    ...(values.promised_names ?? []).map((name) => ({ name }))
  ]
  return named.map(
    (one, at) =>
      ({ ...initialRow(members, {}), ...one, id: promised_from - at, membership_type: "organisation" }) as MemberRow
  )
}
