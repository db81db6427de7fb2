import { expect, it } from "vitest"
import { chosenPlan } from "../../query-plan.ts"
import { serve } from "../../server/serving.ts"
import { conditionSql } from "../../../core/kernel/lists/query.ts"
import { invoices } from "../../../core/billing/state/tables.ts"

it("an equality filter on text uses the index of the folded column", async () => {
  const server = await serve()
  const values: Array<unknown> = []
  const bound = {
    values,
    bind: (value: unknown) => {
      values.push(value)
      return "?"
    }
  }
  const listing = {
    ...{ table: invoices, filters: ["number"], sorts: [], aliases: {}, related: {}, flags: {}, value_names: {} },
    ...{ custom_fields: new Map(), base_currency: "GBP", now: "2026-06-18T12:00:00.000Z" }
  }
  const where = conditionSql({ name: "number", predicate: "eq", values: ["A1"] }, listing, "sqlite", bound)
  const plan = await server.run(chosenPlan(`select id from invoices where ${where}`, values))
  expect(values).toEqual(["A1", "a1"])
  expect(plan.join()).toContain("number_folded=?")
  await server.close()
})
