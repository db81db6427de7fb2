/** Body fields of a member import. */
import { list, text } from "../kernel/fields/field.ts"
import { importFields } from "./rows.ts"

const { rows, dry_run } = importFields
export const memberImportFields = {
  rows,
  dry_run,
  promised_numbers: list(text(), {
    default: [],
    max_items: 20_000,
    describe: "Dry runs: numbers and external ids of members that earlier requests of the same file would have made"
  }),
  promised_names: list(text(), { default: [], max_items: 20_000, describe: "Dry runs: names of such members" })
}
