/**
 * Fields that texts of documents may name. A group is declared once: what is offered (rules/billing 3), what a text is
 * checked against and what it is filled with all come from it.
 */
import { dateText, moneyText, quantityText } from "../../print/format.ts"
import { formatMoney } from "../../values/money.ts"
import { dayOf } from "../../values/zone.ts"

/** Days, numbers and amounts are texts, written in the document's language; a boolean is for conditions. */
export type FieldType = "string" | "date" | "number" | "currency" | "boolean" | "collection"

/** How values are written. */
export interface Written {
  readonly language: string
  readonly zone: string
  readonly currency: string
}
/** Instants, decimal strings, minor units and truths as rows have them; a day may be given as a day. */
type Raw = string | number | boolean | null | undefined
interface Field<F> {
  readonly name: string
  readonly label: string
  readonly type: Exclude<FieldType, "collection">
  readonly of: (facts: F) => Raw
}
export interface FieldGroup<F> {
  readonly label: string
  /** What comes before the point: `member` of `member.name`. Of rows, what one is called. */
  readonly key: string
  readonly fields: ReadonlyArray<Field<F>>
  /** Rows: what all of them are called. */
  readonly rows?: { readonly key: string; readonly label: string }
  readonly dataOf: (facts: F, written: Written) => unknown
}

type Declared<F> = {
  readonly [name: string]: readonly [label: string, type: Exclude<FieldType, "collection">, of: (facts: F) => Raw]
}
const fieldsIn = <F>(declared: Declared<F>): ReadonlyArray<Field<F>> =>
  Object.entries(declared).map(([name, [label, type, of]]) => ({ name, label, type, of }))
const valuesOf = <F>(fields: ReadonlyArray<Field<F>>, facts: F, written: Written) =>
  Object.fromEntries(fields.map(({ name, of, type }) => [name, shown(type, of(facts), written)]))

/** A group of single fields. */
export const group = <F>(key: string, label: string, declared: Declared<F>): FieldGroup<F> => {
  const fields = fieldsIn(declared)
  return { key, label, fields, dataOf: (facts, written) => valuesOf(fields, facts, written) }
}
/** A group of rows, such as lines. */
export const rowGroup = <F, R>(
  { key, label, one }: { readonly key: string; readonly label: string; readonly one: string },
  rowsOf: (facts: F) => ReadonlyArray<R>,
  declared: Declared<R>
): FieldGroup<F> => {
  const fields = fieldsIn(declared)
  return {
    key: one,
    label,
    // Their values are read row by row.
    fields: fields.map(({ label: words, name, type }) => ({ name, label: words, type, of: () => null })),
    rows: { key, label },
    dataOf: (facts, written) => rowsOf(facts).map((row) => valuesOf(fields, row, written))
  }
}

const shown = (type: FieldType, raw: Raw, { currency, language, zone }: Written): string | boolean => {
  if (type === "boolean") return raw === true
  if (raw === null || raw === undefined || raw === "") return ""
  if (type === "currency") return moneyText(formatMoney(Number(raw), currency), currency, language)
  if (type === "number") return quantityText(String(raw), language)
  if (type === "date") {
    const at = String(raw)
    return dateText(at.length === 10 ? at : dayOf(Date.parse(at), zone), language)
  }
  return String(raw)
}

export interface OfferedGroup {
  readonly group: string
  readonly fields: ReadonlyArray<{ readonly name: string; readonly label: string; readonly type: FieldType }>
}
/** As they are offered: `member.name`; of rows the rows, and what one of them has. */
export const offered = <F>(groups: ReadonlyArray<FieldGroup<F>>): ReadonlyArray<OfferedGroup> =>
  groups.map(({ fields, key, label, rows }) => ({
    group: label,
    fields: [
      ...(rows === undefined ? [] : [{ name: rows.key, label: rows.label, type: "collection" as const }]),
      ...fields.map(({ label: words, name, type }) => ({ name: `${key}.${name}`, label: words, type }))
    ]
  }))
/** The paths a text may name: rows by what all of them are called. */
export const pathsOf = <F>(groups: ReadonlyArray<FieldGroup<F>>): ReadonlyArray<string> =>
  groups.flatMap(({ fields, key, rows }) => fields.map(({ name }) => `${rows?.key ?? key}.${name}`))
/** What a text is filled with. */
export const dataOf = <F>(
  groups: ReadonlyArray<FieldGroup<F>>,
  facts: F,
  written: Written
): { readonly [group: string]: unknown } =>
  Object.fromEntries(groups.map((one) => [one.rows?.key ?? one.key, one.dataOf(facts, written)]))
