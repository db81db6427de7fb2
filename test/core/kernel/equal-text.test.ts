import { expect, it } from "vitest"
import { chosenPlan } from "../../query-plan.ts"
import { serve } from "../../server/serving.ts"
import { bindings } from "../../../core/kernel/index.ts"
import { conditionSql } from "../../../core/kernel/lists/query.ts"
import { invoices } from "../../../core/billing/state/tables.ts"

it("an equality filter on text uses the index of the folded column", async () => {
  const server = await serve()
  const bound = bindings("sqlite")
  const listing = {
    ...{ table: invoices, filters: ["number"], sorts: [], aliases: {}, related: {}, flags: {}, value_names: {} },
    ...{ custom_fields: new Map(), base_currency: "GBP", now: "2026-06-18T12:00:00.000Z" }
  }
  const where = conditionSql({ name: "number", predicate: "eq", values: ["A1"] }, listing, "sqlite", bound)
  const plan = await server.run(chosenPlan(`select id from invoices where ${where}`, bound.values))
  expect(bound.values).toEqual(["A1", "a1"])
  expect(plan.join()).toContain("number_folded=?")
  await server.close()
})
