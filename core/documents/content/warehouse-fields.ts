/** What texts of the warehouse's papers may name: the job without its prices. */
import { type FieldGroup, rowGroup } from "./field-groups.ts"
import {
  type CommonFacts,
  companyGroup,
  type CustomerFacts,
  documentGroup,
  type JobFacts,
  jobGroup,
  memberGroup,
  storeGroup
} from "./shared-fields.ts"

export interface WarehouseFieldFacts extends CommonFacts, CustomerFacts, JobFacts {
  /** The lines that the paper shows. */
  readonly items: ReadonlyArray<{
    readonly name: string
    readonly description: string | null
    readonly quantity: string
  }>
}
export const warehouseGroups: ReadonlyArray<FieldGroup<WarehouseFieldFacts>> = [
  documentGroup,
  jobGroup,
  memberGroup,
  storeGroup,
  companyGroup,
  rowGroup<WarehouseFieldFacts, WarehouseFieldFacts["items"][number]>(
    { key: "items", label: "Lines", one: "item" },
    ({ items }) => items,
    {
      product_name: ["Name", "string", ({ name }) => name],
      description: ["Description", "string", ({ description }) => description],
      quantity: ["Quantity", "number", ({ quantity }) => quantity]
    }
  )
]
