/** A stocktake of 50,000 units, one in ten counted, shown whole; and one statement by hand that answers their state. */
import { inTurns, print, timed } from "./measure.ts"
import { multiply, onBoth, saidOn } from "./sql.ts"

const units = 50_000
const rounds = 5
const scans_at_once = 1_000

export const stocktake = (): Promise<void> =>
  onBoth(async (sql, ask) => {
    const { text } = saidOn(sql)
    const { product } = await ask("POST", "/api/v1/products", { name: "Moving head", stock_method: 2, sku: "MH" })
    const first = { product_id: product.id, store_id: 1, asset_number: "A0", quantity_held: "1" }
    const { stock_level } = await ask("POST", "/api/v1/stock_levels", first)
    const asset = `'A' || ${text("i")}`
    await multiply(sql, "stock_levels", stock_level.id, units - 1, {
      id: `${stock_level.id} + i`,
      asset_number: asset,
      asset_number_folded: `'a' || ${text("i")}`
    })
    await sql.all("analyze")
    const { stocktake: open } = await ask("POST", "/api/v1/stocktakes", { store_id: 1 })
    const path = `/api/v1/stocktakes/${open.id}`
    for (let at = 0; at < units / 10; at += scans_at_once) {
      const codes = Array.from({ length: scans_at_once }, (_, index) => `A${at + index}`)
      await ask("POST", `${path}/scans`, { codes })
    }
    const by_hand =
      "select l.id, l.product_id, p.name, l.store_id, l.asset_number, l.location, s.counted_at, s.counted_by_user_id, " +
      "a.opportunity_id, c.container_id from stock_levels l join products p on p.id = l.product_id " +
      `left join stocktake_scans s on s.stock_level_id = l.id and s.stocktake_id = ${open.id} ` +
      "left join asset_assignments a on a.stock_level_id = l.id and a.dispatched_at is not null and a.returned_at is null " +
      "left join container_items c on c.serialised_item_id = l.id and c.unpacked_at is null " +
      "where l.store_id = 1 order by s.counted_at is null, l.id"
    const shown = `${path}?include=stocktake_lines`
    const { totals, stocktake_lines: lines } = (await ask("GET", shown)).stocktake
    const counted = (await sql.all(by_hand)).filter((row) => row.counted_at !== null).length
    if (lines.length !== units || totals.found !== counted) throw new Error("other lines by hand")
    let kept = 0
    print(
      `stocktake of ${units.toLocaleString("en")} units with all its lines, ${sql.engine}`,
      await inTurns(
        [
          timed("flightcase", 1, async () => {
            await ask("GET", shown)
          }),
          timed(sql.driver, 1, async () => {
            kept += JSON.stringify(await sql.all(by_hand)).length
          })
        ],
        rounds
      ),
      { unit: "stocktakes", as: "duration" }
    )
    if (kept < 0) console.log(kept)
  })
