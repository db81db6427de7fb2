/** Facts of a member import for the whole batch: about a dozen queries, whatever the number of rows. */
import { Effect } from "effect"
import { list_names } from "../setup/custom-fields/schema.ts"
import { columnList, createdEvent, customFieldFacts, foldCase, list_values, lockStreams } from "../kernel/index.ts"
import { quote, readFields, Store, updatedEvents } from "../kernel/index.ts"
import type { CustomFieldFacts, DecideContext, FieldErrors, Input, JsonObject, NewEvent } from "../kernel/index.ts"
import type { Table, Viewer } from "../kernel/index.ts"
import type { ContactKind, MemberRow, RelationshipRow } from "../people/members/schema.ts"
import { contact_kinds, contactTables, members, relationshipFields, relationships } from "../people/members/schema.ts"
import { countries } from "../setup/reference-data/currencies.ts"
import { assignedClass, organisation_tax_classes } from "../setup/reference-data/tax.ts"
import type { memberImportFields } from "./fields.ts"
import { draftRow, type ImportContext, readRows, type Row, textCell } from "./rows.ts"
import { type ContactFacts, contactKinds, type ContactRecord, type ListValue } from "./contact-rows.ts"
import { memberColumns, organisationsIn, peopleIn } from "./member-columns.ts"
import { relationshipProblem } from "../people/members/decide.ts"

export type MemberInput = Input<{}, typeof memberImportFields>

export interface MemberFacts extends ImportContext, ContactFacts {
  /** Members that the rows name, or that belong to an organisation they name; archived ones as well. */
  readonly members: ReadonlyArray<MemberRow>
  readonly relationships: ReadonlyArray<RelationshipRow>
  readonly records: { readonly [K in ContactKind]: ReadonlyArray<ContactRecord> }
  readonly tax_classes: ReadonlyArray<ListValue>
  /** For new members without a tax class. */
  readonly default_tax_class_id: number | undefined
  readonly custom: CustomFieldFacts
}

export const memberFacts = Effect.fnUntraced(function* (input: MemberInput): Store.Reads<MemberFacts> {
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
  // Read again under their locks.
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
    countries: has("address", "country", "contact") ? yield* Store.find(countries, {}) : [],
    default_tax_class_id: yield* assignedClass(organisation_tax_classes, input.settings),
    tax_classes: has("sale_tax_class", "purchase_tax_class") ? yield* Store.find(organisation_tax_classes, {}) : [],
    custom: yield* customFieldFacts("Member")
  }
})

/** Rows with one of these values in a column, bound as one list: a statement limits the number of single parameters. */
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
  const names_types = rows.some(({ cells }) => JSON.stringify(cells).includes('"type"'))
  const wanted = [
    ...(names_types ? contact_kinds.map((which) => contactKinds[which].types) : []),
    ...(rows.some(({ cells }) => cells["invoice_term"] !== undefined) ? ["Invoice Term"] : [])
  ]
  const lists = new Map<string, ReadonlyArray<ListValue>>()
  if (wanted.length === 0) return lists
  const names = yield* Store.find(list_names, { name: wanted })
  const values = yield* Store.find(list_values, { list_name_id: names.map(({ id }) => id), is_active: true })
  for (const { id, name } of names)
    lists.set(
      name,
      values.filter(({ list_name_id }) => list_name_id === id)
    )
  return lists
})

const promised_from = -1_000_000_000
/** Assumed from an earlier request of a dry run: rows may refer to it, but not change it. */
export const isPromised = ({ id }: MemberRow): boolean => id <= promised_from

/** Placeholders for organisations that a dry run may assume, because earlier rows would make them. Ids are negative. */
const promisedMembers = ({ values }: MemberInput): ReadonlyArray<MemberRow> => {
  if (values.dry_run !== true) return []
  const named = [
    ...(values.promised_numbers ?? []).map((number) => ({ name: "", account_number: number })),
    ...(values.promised_names ?? []).map((name) => ({ name }))
  ]
  return named.map((one, at) =>
    draftRow(members, {}, { ...one, id: promised_from - at, membership_type: "organisation" })
  )
}

// State of a member import while it processes rows: the facts, and what earlier rows created.

/** Relationships, growing as rows are applied. */
interface Relations {
  readonly between: (one: number, other: number) => RelationshipRow | undefined
  readonly of: (id: number) => ReadonlyArray<number>
  readonly add: (row: RelationshipRow) => void
}
export const relationsOf = (present: ReadonlyArray<RelationshipRow>): Relations => {
  const sides = new Map<number, Map<number, RelationshipRow>>()
  const put = (one: number, other: number, row: RelationshipRow): void => {
    const known = sides.get(one)
    if (known === undefined) sides.set(one, new Map([[other, row]]))
    else known.set(other, row)
  }
  const add = (row: RelationshipRow): void => {
    put(row.member_id, row.related_member_id, row)
    put(row.related_member_id, row.member_id, row)
  }
  present.forEach(add)
  return { add, between: (one, other) => sides.get(one)?.get(other), of: (id) => [...(sides.get(id)?.keys() ?? [])] }
}

export interface Working {
  readonly facts: MemberFacts
  readonly context: DecideContext
  readonly base_currency: string
  readonly viewer: Viewer
  /** Members by `external …`, `number …` and `name …`, archived ones included. */
  readonly named: Map<string, ReadonlyArray<MemberRow>>
  readonly byId: Map<number, MemberRow>
  readonly records: { readonly [K in ContactKind]: Map<number, ReadonlyArray<ContactRecord>> }
  readonly relations: Relations
}

const namesOf = ({ mapping_id, account_number, name }: MemberRow): ReadonlyArray<string> => [
  ...(mapping_id === null ? [] : [`external ${mapping_id}`]),
  ...(account_number === null ? [] : [`number ${account_number}`]),
  `name ${foldCase(name)}`
]
/** Makes a created or changed member known to later rows; `before`: its earlier state, whose names are forgotten. */
export const remember = (member: MemberRow, before: MemberRow | undefined, { named, byId }: Working): void => {
  for (const name of before === undefined ? [] : namesOf(before))
    named.set(
      name,
      (named.get(name) ?? []).filter(({ id }) => id !== member.id)
    )
  for (const name of namesOf(member)) named.set(name, [...(named.get(name) ?? []), member])
  byId.set(member.id, member)
}
// The column `organisation` of a member import: the organisations a person belongs to.

const organisations_max = 20

/** Relates two members, or changes the type of their relationship; no event if nothing changes. */
export const relate = (
  member: MemberRow,
  to: MemberRow,
  type: string | undefined,
  { context, relations }: Working
): ReadonlyArray<NewEvent> => {
  const before = relations.between(member.id, to.id)
  if (before !== undefined) {
    const updated = type === undefined ? [] : updatedEvents(relationships, before, { relationship_type: type })
    if (updated.length > 0) relations.add({ ...before, relationship_type: type ?? null })
    return updated
  }
  const row = draftRow(relationships, relationshipFields, {
    relationship_type: type ?? null,
    id: context.id(relationships),
    member_id: member.id,
    related_member_id: to.id
  })
  relations.add(row)
  return [createdEvent(relationships, row)]
}

/** A person's role in their organisation: `Employee`. */
export const relationTypeIn = (
  cells: JsonObject
): { readonly type: string | undefined; readonly errors: FieldErrors } => {
  const fields = { relationship_type: relationshipFields.relationship_type }
  const { values, errors } = readFields(fields, cells, { mode: "update", base_currency: "" })
  const type = values["relationship_type"]
  return { type: typeof type === "string" ? type : undefined, errors }
}

interface OrganisationsPlan {
  readonly errors: FieldErrors
  readonly carryOut: (member: MemberRow) => ReadonlyArray<NewEvent>
}
/** Resolves the organisations of a row: by number, external id or name; users are excluded. */
export const planOrganisations = (
  cells: JsonObject,
  { type, id }: { readonly type: string; readonly id: number | undefined },
  working: Working
): OrganisationsPlan => {
  const given = organisationsIn(cells)
  const refused = (text: string): OrganisationsPlan => ({ errors: { organisation: [text] }, carryOut: () => [] })
  if (given === undefined) return refused("The organisation must be a number, an external id or a name.")
  if (given.length === 0) return { errors: {}, carryOut: () => [] }
  if (given.length > organisations_max) return refused(`A member may be given at most ${organisations_max} at once.`)
  const found: Array<MemberRow> = []
  const problems: Array<string> = []
  for (const name of given) {
    const target = organisationNamed(name, working)
    const problem =
      typeof target === "string"
        ? target
        : relationshipProblem({ id: id ?? 0, membership_type: type } as MemberRow, target, [])
    if (problem !== undefined) problems.push(problem)
    else if (typeof target !== "string") found.push(target)
  }
  if (problems.length > 0) return { errors: { organisation: problems }, carryOut: () => [] }
  const relation = relationTypeIn(cells)
  return {
    errors: relation.errors,
    carryOut: (member) => found.flatMap((one) => relate(member, one, relation.type, working))
  }
}

const organisationNamed = (name: string, { named }: Working): MemberRow | string => {
  const live = (key: string): ReadonlyArray<MemberRow> =>
    (named.get(key) ?? []).filter((one) => one.deleted_at == null && one.membership_type !== "user")
  const [unique, called] = [
    [...live(`number ${name}`), ...live(`external ${name}`)],
    live(`name ${foldCase(name)}`).filter((one) => one.membership_type !== "contact")
  ]
  const found = [...new Map([...(unique.length > 0 ? unique : called)].map((one) => [one.id, one])).values()]
  return found.length > 1
    ? `${found.length} members are called ${name}; give the number or the external id.`
    : (found[0] ?? `There is no organisation ${name}: put its row before this one.`)
}
