/** Bodies and verdicts of imports. */
import { boolean, choice, integer, json, list, Shown, text } from "../kernel/index.ts"
import type { FieldErrors, Json, JsonObject } from "../kernel/index.ts"

const rows_max = 500

/** The body of imports of products and rate definitions. */
export const importFields = {
  // A row that cannot be stored is refused individually.
  rows: json<
    ReadonlyArray<Json>,
    { readonly form: "array"; readonly by_item: true; readonly required: true; readonly describe: string }
  >({ form: "array", by_item: true, required: true, describe: `At most ${rows_max} rows, each an object of columns` }),
  dry_run: boolean({ default: false, describe: "Return the verdicts without writing anything" }),
  promised_skus: list(text(), {
    default: [],
    max_items: 20_000,
    describe: "Dry runs: SKUs that the file's earlier requests create"
  }),
  promised_stores: list(text(), {
    default: [],
    max_items: 100,
    describe: "Dry runs: names of stores to be created before the import"
  })
}
const { rows, dry_run } = importFields
export const memberImportFields = {
  rows,
  dry_run,
  promised_numbers: list(text(), {
    default: [],
    max_items: 20_000,
    describe: "Dry runs: members that earlier requests create, by number or external id"
  }),
  promised_names: list(text(), {
    default: [],
    max_items: 20_000,
    describe: "Dry runs: names of members that earlier requests create"
  })
}

/** 422 `rows` for too many rows, before any query. */
export const checkRows = ({ rows }: JsonObject): FieldErrors =>
  Array.isArray(rows) && rows.length > rows_max
    ? { rows: [`At most ${rows_max} rows fit one request; send the others in another.`] }
    : {}

/** The verdicts, and the number of rows with each status. */
export const verdictsShown = {
  results: Shown.objects({
    row: integer(),
    status: choice({ created: "Created", updated: "Updated", unchanged: "Unchanged", rejected: "Rejected" }),
    id: integer({ nullable: true }),
    key: text({ nullable: true }),
    errors: Shown.optional(Shown.map(list(text()))),
    same_as_row: Shown.optional(integer({ describe: "Earlier row of this request about the same record" })),
    ignored: Shown.optional(
      list(text(), { describe: "Columns that the import lacks, each once a request; warnings begin with them" })
    ),
    warnings: Shown.optional(list(text()))
  }),
  meta: Shown.keys({
    created: integer(),
    updated: integer(),
    unchanged: integer(),
    rejected: integer(),
    dry_run: boolean()
  })
}
export const verdictsResult = Shown.keys(verdictsShown)
