/** The imports of products, rate definitions and members. Their rules are loaded on first use. */
import { Effect } from "effect"
import { command, later, ok, withRules, type Slice } from "../kernel/index.ts"
import { checkRows, importFields, memberImportFields, verdictsResult, verdictsShown } from "./fields.ts"

const answerVerdicts = (result: typeof verdictsResult.Type) => Effect.succeed(ok(result))
const ofProducts = later(() => import("./products.ts"))
const ofMembers = later(() => import("./members.ts"))
const ofRates = later(() => import("./rate-definitions.ts"))

const importProducts = command("POST", "/api/v1/products/import", {
  answer: verdictsShown,
  name: "products.import",
  summary: "Import products with groups, stock and rates; returns a verdict per row",
  ability: "products:write",
  permission: "products.create",
  fields: importFields,
  split_by: "rows",
  check: checkRows,
  // One at a time: two concurrent imports of one catalogue would create every row twice.
  streams: () => ["import:products", "compositions"],
  facts: (input) => withRules(ofProducts, ({ productFacts }) => productFacts(input)),
  expects: ({ known, rules }) => rules.idsOfProducts(known),
  decide: ({ known, rules }, input, context) => rules.decideProducts(known, input, context),
  result: verdictsResult,
  respond: answerVerdicts
})

const importRateDefinitions = command("POST", "/api/v1/rate_definitions/import", {
  answer: verdictsShown,
  name: "rate_definitions.import",
  summary: "Import rate definitions; returns a verdict per row",
  ability: "rates:write",
  permission: "rates.create",
  fields: importFields,
  split_by: "rows",
  check: checkRows,
  streams: () => ["import:rate_definitions"],
  facts: (input) => withRules(ofRates, ({ definitionFacts }) => definitionFacts(input)),
  decide: ({ known, rules }, input, context) => rules.decideDefinitions(known, input, context),
  result: verdictsResult,
  respond: answerVerdicts
})

const importMembers = command("POST", "/api/v1/members/import", {
  answer: verdictsShown,
  name: "members.import",
  summary: "Import members with contact details; returns a verdict per row",
  ability: "members:write",
  permission: "members.create",
  fields: memberImportFields,
  split_by: "rows",
  check: checkRows,
  // One at a time: two concurrent imports of the same customers would create every row twice.
  streams: () => ["import:members"],
  facts: (input) => withRules(ofMembers, ({ memberFacts }) => memberFacts(input)),
  decide: ({ known, rules }, input, context) => rules.decideMembers(known, input, context),
  result: verdictsResult,
  respond: answerVerdicts
})

export const importsSlice: Slice = {
  name: "imports",
  endpoints: [importProducts, importRateDefinitions, importMembers]
}
