/**
 * The columns `address`, `email`, `phone` and `link` of a member import. Entries are added, or change the ones they
 * match; nothing is removed. The one of a kind that a row marks as primary, else its first, becomes the primary one.
 */
import { createdEvent, foldCase, initialRow, readFields, updatedEvents } from "../kernel/index.ts"
import type { AnyRow, DecideContext, FieldErrors, Fields, Json, JsonObject, NewEvent, Table } from "../kernel/index.ts"
import {
  addresses,
  addressFields,
  type ContactKind,
  emailFields,
  emails,
  linkFields,
  links,
  phoneFields,
  phones
} from "../people/members/schema.ts"
import { cellValue, columnName, namedIn, recordsIn } from "./rows.ts"
import { address_columns, memberColumns } from "./member-columns.ts"

/** Kinds of contact records: where they are written and how one is recognised. */
interface Kind {
  readonly column: string
  readonly table: Table
  readonly fields: Fields
  /** The field that a plain text fills. */
  readonly main: string
  readonly separator: RegExp | undefined
  /** Link prefix, removed from values copied from a link. */
  readonly scheme?: RegExp
  /** Name of the list of its types. */
  readonly types: string
  readonly primaries: boolean
  readonly isSame: (one: AnyRow, other: AnyRow) => boolean
}
const folded = (value: unknown): string =>
  foldCase(String(value ?? ""))
    .replace(/\s+/g, " ")
    .trim()
const digits = (value: unknown): string => String(value ?? "").replace(/[^\d+]/g, "")
/** Matches by name if both have one, else by street. */
const sameAddress = (one: AnyRow, other: AnyRow): boolean =>
  one["name"] != null && other["name"] != null
    ? folded(one["name"]) === folded(other["name"])
    : folded(one["street"]) === folded(other["street"])
export const contactKinds: { readonly [K in ContactKind]: Kind } = {
  addresses: {
    column: "address",
    table: addresses,
    fields: addressFields,
    main: "street",
    separator: undefined,
    types: "Address Type",
    primaries: true,
    isSame: sameAddress
  },
  emails: {
    column: "email",
    table: emails,
    fields: emailFields,
    main: "address",
    separator: /[;,]/,
    scheme: /^mailto:/i,
    types: "Email Type",
    primaries: true,
    isSame: (one, other) => folded(one["address"]) === folded(other["address"])
  },
  phones: {
    column: "phone",
    table: phones,
    fields: phoneFields,
    main: "number",
    separator: /;/,
    scheme: /^tel:/i,
    types: "Phone Type",
    primaries: true,
    isSame: (one, other) => digits(one["number"]) === digits(other["number"])
  },
  links: {
    column: "link",
    table: links,
    fields: linkFields,
    main: "url",
    separator: /;/,
    types: "Link Type",
    primaries: false,
    isSame: (one, other) => one["url"] === other["url"]
  }
}
const records_max = 50

export type ContactRecord = AnyRow & { readonly id: number; readonly is_primary?: boolean }
export interface ListValue {
  readonly id: number
  readonly name: string
}
export interface ContactFacts {
  /** The values of a list by the list's name. */
  readonly lists: ReadonlyMap<string, ReadonlyArray<ListValue>>
  readonly countries: ReadonlyArray<ListValue & { readonly code: string; readonly code3: string }>
}
export interface ContactPlan {
  readonly errors: FieldErrors
  readonly warnings: ReadonlyArray<string>
  /** Applies the plan; returns the member's resulting records and the events. */
  readonly carryOut: (
    member_id: number,
    context: DecideContext
  ) => { readonly records: ReadonlyArray<ContactRecord>; readonly events: ReadonlyArray<NewEvent> }
}

/** Entries of one kind in a row, undefined if unreadable; the first address may be spread over several columns. */
const partsOf = (kind: Kind, cells: JsonObject): ReadonlyArray<JsonObject> | undefined => {
  const listed = recordsIn(cells[kind.column], kind.main, kind.separator)
  if (kind.column !== "address" || listed === undefined) return listed
  const flat = Object.fromEntries(
    address_columns.flatMap((column) => (cells[column] === undefined ? [] : [[column, cells[column]]]))
  )
  return Object.keys(flat).length === 0 ? listed : [{ ...listed[0], ...flat }, ...listed.slice(1)]
}
const isGiven = (value: Json): boolean => value !== null && !(typeof value === "string" && value.trim() === "")

const ids_by_name = new WeakMap<ReadonlyArray<ListValue>, ReadonlyMap<string, number>>()
/** Ids by folded name, made once for a batch; the first of equal names counts. */
const idsByName = <A extends ListValue>(
  among: ReadonlyArray<A>,
  namesOf: (one: A) => ReadonlyArray<string>
): ReadonlyMap<string, number> => {
  const known = ids_by_name.get(among)
  if (known !== undefined) return known
  const ids = new Map<string, number>()
  for (const one of among) for (const name of namesOf(one).map(folded)) if (!ids.has(name)) ids.set(name, one.id)
  ids_by_name.set(among, ids)
  return ids
}

/** Ids of the named `type` and `country`. */
const idsNamedIn = (
  kind: Kind,
  part: JsonObject,
  { lists, countries }: ContactFacts
): { readonly set: JsonObject; readonly errors: FieldErrors } => {
  const errors: { [field: string]: ReadonlyArray<string> } = {}
  const set: { [field: string]: Json } = {}
  const find = <A extends ListValue>(
    column: string,
    among: ReadonlyArray<A>,
    namesOf: (one: A) => ReadonlyArray<string>,
    way_out: string
  ): void => {
    const given = part[column]
    if (given === undefined) return
    const id = idsByName(among, namesOf).get(folded(given))
    if (id === undefined) errors[column] = [`There is no ${column} ${String(given)}: ${way_out}`]
    else set[`${column}_id`] = id
  }
  const types = lists.get(kind.types) ?? []
  const others = `give one of the list ${kind.types}: ${types.map(({ name }) => name).join(", ")}.`
  find("type", types, ({ name }) => [name], others)
  if (kind.table === addresses)
    find(
      "country",
      countries,
      ({ code, code3, name }) => [name, code, code3],
      "give its name in English or its code of two letters."
    )
  return { set, errors }
}

interface Read {
  readonly errors: FieldErrors
  readonly values: AnyRow
}
const plain_fields = new WeakMap<Kind, Fields>()
/** Fields of a kind that are no references. */
const plainFieldsOf = (kind: Kind): Fields => {
  const known = plain_fields.get(kind)
  if (known !== undefined) return known
  const { type_id: _type, country_id: _country, ...plain } = kind.fields
  plain_fields.set(kind, plain)
  return plain
}
const readPart = (kind: Kind, part: JsonObject, is_new: boolean, facts: ContactFacts): Read => {
  const named = idsNamedIn(kind, part, facts)
  const body: { [column: string]: Json } = {}
  for (const [column, cell] of Object.entries(part)) body[column] = cellValue(kind.fields, column, cell)
  const plain = plainFieldsOf(kind)
  const read = readFields(plain, body, { mode: is_new ? "create" : "update", base_currency: "" })
  const unknown = Object.keys(part).filter(
    (column) =>
      !Object.hasOwn(plain, column) && column !== "type" && !(column === "country" && kind.table === addresses)
  )
  return {
    values: { ...read.values, ...named.set },
    errors: {
      ...read.errors,
      ...named.errors,
      ...Object.fromEntries(
        unknown.map((column) => [
          column,
          [`There is no ${column} here: give ${[...Object.keys(plain), "type"].join(", ")}.`]
        ])
      )
    }
  }
}

/** Key of an error: `email` for the e-mail itself, `email.type` for a part of it, `email2` for the second. */
const errorPath = ({ column, main }: Kind, at: number, part: string): string =>
  `${column}${at === 0 ? "" : at + 1}${part === main && column !== "address" ? "" : `.${part}`}`

/** Compares a row's entries of one kind with the stored records. Undefined if it has none. */
export const planContacts = (
  which: ContactKind,
  cells: JsonObject,
  present: ReadonlyArray<ContactRecord>,
  facts: ContactFacts
): ContactPlan | undefined => {
  const kind = contactKinds[which]
  const parts = partsOf(kind, cells)
  const refused = (text: string): ContactPlan => ({
    errors: { [kind.column]: [text] },
    warnings: [],
    carryOut: () => ({ records: present, events: [] })
  })
  if (parts === undefined) return refused(`The ${kind.column} must be text, an object of its parts, or a list of them.`)
  if (parts.length === 0) return undefined
  if (parts.length > records_max) return refused(`A row may name at most ${records_max}.`)
  const errors: { [field: string]: ReadonlyArray<string> } = {}
  const warnings: Array<string> = []
  const now: Array<{ before: ContactRecord | undefined; row: AnyRow }> = present.map((row) => ({ before: row, row }))
  let first: (typeof now)[number] | undefined
  for (const [at, given] of parts.entries()) {
    const part = writtenIn(kind, given)
    const found = now.find(({ row }) => kind.isSame(part, row))
    if (found === undefined && kind.table === addresses && part["street"] === undefined) {
      warnings.push(`An address needs a street; passed over without one: ${Object.keys(part).join(", ")}.`)
      continue
    }
    const read = readPart(kind, part, found === undefined, facts)
    for (const [field, texts] of Object.entries(read.errors)) errors[errorPath(kind, at, field)] = texts
    const one = found ?? { before: undefined, row: initialRow(kind.table, kind.fields) }
    // A matched e-mail address, phone number or URL keeps its stored spelling.
    const kept = found !== undefined && kind.main !== "street" ? { [kind.main]: found.row[kind.main] ?? null } : {}
    one.row = { ...one.row, ...read.values, ...kept }
    if (found === undefined) now.push(one)
    if (first === undefined || read.values["is_primary"] === true) first = one
  }
  return {
    errors,
    warnings,
    carryOut: (member_id, context) => {
      const events: Array<NewEvent> = []
      const records = now.map(({ before, row }, at): ContactRecord => {
        const set = kind.primaries && first !== undefined ? { ...row, is_primary: now[at] === first } : row
        if (before !== undefined) {
          events.push(...updatedEvents(kind.table, before, set))
          return { ...before, ...set }
        }
        const made = { ...set, member_id, id: context.id(kind.table) }
        events.push(createdEvent(kind.table, made))
        return made
      })
      return { records, events }
    }
  }
}
/** The given parts of a record, by name. */
const writtenIn = ({ main, scheme }: Kind, given: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(given)
      .filter(([, value]) => isGiven(value))
      .map(([header, value]) => {
        const column = partName(columnName(header))
        return [
          column,
          column === main && scheme !== undefined && typeof value === "string"
            ? value.trim().replace(scheme, "")
            : value
        ]
      })
  )
const partName = (column: string): string => {
  const known = namedIn(memberColumns.aliases, column)
  return known !== undefined && (address_columns as ReadonlyArray<string>).includes(known) ? known : column
}
