import fc from "fast-check"
import { expect, it } from "vitest"
import { catalogue } from "../../../../../core/catalogue.ts"
import { initialRow } from "../../../../../core/kernel/index.ts"
import { viewContext } from "../../../../../core/kernel/lists/render.ts"
import { itemResource } from "../../../../../core/orders/opportunities/state/index.ts"
import { opportunity_items } from "../../../../../core/orders/opportunities/tables/index.ts"
import { exact, wholeUnits } from "../../../../../core/values/decimal.ts"
import { openShop } from "../../../kernel/lamp-shop.ts"
import { owner } from "../../../../app.ts"

it("shows as charged periods the total over the price of one period, to two decimals", async () => {
  const shop = await openShop("sqlite")
  const context = viewContext({ viewer: owner, settings: {}, now: "", composed: catalogue.composed })
  const amount = fc.oneof(fc.integer({ min: -1_000_000, max: 1_000_000 }), fc.maxSafeInteger())
  const line = fc.record({
    quantity: fc.constantFrom("1.00", "0.40", "2.50", "7.00", "99999.00"),
    unit_price: amount,
    discounted_total: amount,
    discount_percent: fc.constantFrom(null, "0.00", "10.00", "33.33", "100.00")
  })
  const lines = fc.sample(line, 3_000)
  const rows = lines.map((one) => ({ ...initialRow(opportunity_items), path: "0001", name: "", ...one }))
  const view = await shop.run(itemResource.views(rows as never, context))
  lines.forEach((sent, at) => {
    const paid = exact(100)
      .minus(sent.discount_percent ?? 0)
      .times(wholeUnits(sent.quantity))
      .times(sent.unit_price)
    const periods = paid.isZero() ? null : exact(sent.discounted_total).times(100).dividedBy(paid)
    const shown = view({}, at, {})["charged_periods"]
    expect([sent, shown]).toEqual([sent, periods?.toDecimalPlaces(2).toFixed() ?? null])
  })
  await shop.close()
})
