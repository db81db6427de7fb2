/** The fields of every type of document: offered, checked and filled from the same groups (rules/billing 3). */
import { nearest } from "../../values/nearest.ts"
import type { DocumentType } from "../schema.ts"
import { type FieldGroup, type OfferedGroup, pathsOf, warehouseGroups } from "./shared-fields.ts"
import { creditNoteGroups, invoiceGroups } from "./invoices.ts"
import { purchaseGroups } from "./purchase.ts"
import { salesGroups } from "./sales.ts"

interface FieldsOfType {
  readonly groups: ReadonlyArray<OfferedGroup>
  readonly paths: ReadonlyArray<string>
}
/** Fields for listing, such as `member.name`; row groups also list the collection itself. */
const offered = <F>(groups: ReadonlyArray<FieldGroup<F>>): ReadonlyArray<OfferedGroup> =>
  groups.map(({ fields, key, label, rows }) => ({
    group: label,
    fields: [
      ...(rows === undefined ? [] : [{ name: rows.key, label: rows.label, type: "collection" as const }]),
      ...fields.map(({ label: words, name, type }) => ({ name: `${key}.${name}`, label: words, type }))
    ]
  }))

const both = (groups: Parameters<typeof pathsOf<never>>[0]): FieldsOfType => ({
  groups: offered(groups),
  paths: pathsOf(groups)
})
const sales = both(salesGroups)
const warehouse = both(warehouseGroups)
const invoice = both(invoiceGroups)
const fields: { readonly [T in DocumentType]: FieldsOfType } = {
  quotation: sales,
  order_confirmation: sales,
  pick_list: warehouse,
  delivery_note: warehouse,
  return_note: warehouse,
  invoice,
  proforma_invoice: invoice,
  deposit_invoice: invoice,
  credit_note: both(creditNoteGroups),
  purchase_order: both(purchaseGroups)
}
export const fieldsOfType = (type: DocumentType): ReadonlyArray<OfferedGroup> => fields[type].groups

/** Paths of the fields a type's texts may use; without a type, of the fields every type has. */
export const pathsOfType = (type: DocumentType | null): ReadonlyArray<string> => {
  if (type !== null) return fields[type].paths
  const [first, ...others] = Object.values(fields)
  return (first?.paths ?? []).filter((path) => others.every(({ paths }) => paths.includes(path)))
}
/**
 * The path to suggest for an unknown one: spelt similarly, or with the same last name (`customer.name`: `member.name`).
 */
export const nearestPath = (wrong: string, paths: ReadonlyArray<string>): string | undefined => {
  const name = wrong.slice(wrong.lastIndexOf(".") + 1)
  const same = paths.filter((path) => path.endsWith(`.${name}`))
  return nearest(wrong, paths) ?? (same.length === 1 ? same[0] : nearest(wrong, same))
}
