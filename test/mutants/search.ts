/** Faults in search: missing results, and results the reader may not see. */
import { faultsIn, type Mutant } from "./mutant.ts"

const words = "test/core/overview/search/find.test.ts"
const within = (file: string, test_file = words) => faultsIn(`core/overview/search/${file}.ts`, test_file, "sqlite")
const unit_location_test = "test/core/overview/search/unit-location.test.ts"
const where = within("where", unit_location_test)

export const search_mutants: ReadonlyArray<Mutant> = [
  within("find")(
    "search finds rows that the user may not list",
    "findAll",
    { find: "if (mayAsk(catalogue, rules.list, caller.viewer))", replace: "" },
    "finds only rows that the user may list"
  ),
  within("matches")(
    "a telephone number is found only in its own format",
    "soughtIn",
    { find: "digits.slice(-phone_digits_told_by)", replace: "digits" },
    "finds members by e-mail address, and by telephone number in any format"
  ),
  faultsIn("core/values/text.ts", words, "sqlite")(
    "a document number is found only with its leading zeros",
    "zeroForms",
    { find: '"0".repeat(zeros) + digits', replace: "digits" },
    "finds an order by its number with or without leading zeros, by its subject and by its customer"
  ),
  within("find")(
    "a customer's open orders are not found with the customer",
    "findAll",
    { find: "people !== undefined && orders !== undefined", replace: "people !== undefined && orders === undefined" },
    "finds an order by its number with or without leading zeros, by its subject and by its customer"
  ),
  within("matches")(
    "newer rows come before an exact match of the code",
    "inOrderOfCloseness",
    { find: "one.closeness - other.closeness ||", replace: "" },
    "the exact code first"
  ),
  within("rows")(
    "deleted rows are found",
    "notDeleted",
    { find: "table.soft_delete", replace: "table.soft_delete && table.key === table.name" },
    "finds a renamed member by its new name only, also after a rebuild, and no longer once it is deleted"
  ),
  faultsIn("core/kernel/store/search-index.ts", "test/core/overview/search/edges.test.ts")(
    "deleted rows displace older matches",
    "matchSql",
    { find: 'table.soft_delete ? ` and exists (${own})` : ""', replace: '""' },
    "finds a row among more deleted rows than one search examines"
  ),
  faultsIn("core/kernel/store/search-index.ts", "test/core/kernel/store/search-index.test.ts")(
    "the search index keeps text that an erasure removed",
    "indexesLater",
    { find: "searched?.never_erased === true", replace: "searched !== undefined" },
    "keeps nothing of a changed text in its pages, except for tables that are never erased"
  ),
  faultsIn("core/kernel/store/search-index.ts", "test/core/kernel/store/search-index.test.ts")(
    "rows whose new text does not match displace others",
    "matchSql",
    { find: "`rowid not in (${changed})`", replace: "`true`" },
    "finds changed rows by their new texts alone, before and after these are indexed"
  ),
  faultsIn("core/kernel/store/search-index.ts", "test/core/kernel/store/search-index.test.ts")(
    "a deleted row stays in the search index by its former text",
    "searchTableStatements",
    {
      find: "is_later ? `coalesce((select words from ${changed} where id = old.${key}), ${old})` : old",
      replace: "old"
    },
    "finds a changed row no longer once it is deleted, and a row made again by its new text"
  ),
  within("rows")(
    "short words find nothing",
    "candidatesOf",
    { find: "?? byBeginning(rules, sought.words, worded)", replace: "" },
    "finds a product by the first two letters of its name"
  ),
  within("where")(
    "a dispatched unit is reported as on its shelf",
    "placeOf",
    { find: "held?.status === dispatched || held?.status === on_hire ||", replace: "" },
    "shows a unit on its shelf, then out with its order and customer"
  ),
  where(
    "an order is named to users who may not see orders",
    "shownOrder",
    { find: 'sees("subject")', replace: "id > 0" },
    "names no order to users without access to orders"
  ),
  where(
    "a customer is named to users who may not see customers",
    "shownOrder",
    { find: "sees_customer ?", replace: "id > 0 ?" },
    "names the order to users who see orders or availability, and its customer to users who see members"
  ),
  within("steps", unit_location_test)(
    "a dispatched unit is reported as allocated to its next order",
    "telling",
    { find: "in_order.indexOf(one.status) - in_order.indexOf(other.status)", replace: "0" },
    "names the order that the unit is out with, even if another order has it allocated"
  ),
  where(
    "a dispatched part of a kit is reported as in stock",
    "placeOf",
    { find: '|| around?.status === "dispatched"', replace: "" },
    "names the order that a unit's kit is out with, although only the kit is on the order"
  ),
  {
    name: "a refilled device finds rows of its former fill",
    file: "sync/device/replica/fill.ts",
    within: "renameStagedTables",
    find: "for (const statement of searchIndexAnew(table)) yield* store.run(statement)",
    replace: "void searchIndexAnew",
    killed_by: [{ file: "test/sync/device/replica/swap.test.ts", test: "replace those in use, and keep tables" }]
  }
]
