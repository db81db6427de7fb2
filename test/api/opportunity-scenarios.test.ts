import { opp, scenarios, sceneOf } from "./opportunity-scenarios.ts"
import { type Ask, playEverywhere } from "./playing.ts"

/** Final opportunities without ids, dates and timestamps, which differ by runtime. */
const endOf = async (ask: Ask): Promise<ReadonlyArray<string>> => {
  const ends: Array<string> = []
  for (let page = 1; ; page++) {
    const { opportunities } = (
      await ask("GET", `${opp}?per_page=100&page=${page}&include=items,items.assets,costs,versions`)
    ).body
    if (opportunities.length === 0) return ends.sort()
    for (const one of opportunities) {
      ends.push(
        JSON.stringify([
          one.subject,
          one.state,
          one.status,
          one.charge_total,
          one.tax_total,
          one.deal_total,
          one.pricing_locked,
          one.has_shortage,
          one.has_alternatives,
          one.version_count,
          one.tag_list,
          one.items.map((item) => [
            item.path,
            item.name,
            item.quantity,
            item.dispatched_quantity,
            item.returned_quantity,
            item.total,
            item.assets.map((asset) => asset.status)
          ]),
          one.costs.map((cost) => [cost.description, cost.amount, cost.cost_type]),
          one.versions.map((version) => [
            version.version_number,
            version.status,
            version.is_active,
            version.charge_total
          ])
        ])
      )
    }
  }
}

// `everywhere`: only these scenarios combine stock going out and coming back, prices, costs and moves.
playEverywhere({ title: "opportunities", scenarios, sceneOf, endOf, typed: true, everywhere: true })
