/**
 * A stocktake of 50,000 units, one in ten counted, read in full, and availability with 1,000 open transfers, each
 * against one handwritten statement that finds the same figures.
 */
import { inTurns, print, timed } from "./measure.ts"
import { multiply, onBoth, saidOn } from "./sql.ts"

const units = 50_000
const rounds = 5
const scans_at_once = 1_000

export const stocktake = (): Promise<void> =>
  onBoth(async (sql, ask, send) => {
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
    if (lines.length !== units || totals?.found !== counted) throw new Error("other lines by hand")
    let kept = 0
    print(
      `stocktake of ${units.toLocaleString("en")} units with all its lines, ${sql.engine}`,
      await inTurns(
        [
          timed("flightcase", 1, () => send("GET", shown)),
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

const transfer_count = 1_000
const days = 14
const dayMillis = 86_400_000

export const transfers = (): Promise<void> =>
  onBoth(async (sql, ask, send) => {
    const { moment } = saidOn(sql)
    const today = Math.floor(Date.now() / dayMillis) * dayMillis
    const instant = (day: number): string => new Date(today + day * dayMillis).toISOString()
    const made = async (path: string, body: object) => ask("POST", `/api/v1/${path}`, body)
    const [from, to] = [(await made("stores", { name: "Hull" })).store, (await made("stores", { name: "Leeds" })).store]
    const { product } = await made("products", { name: "Cable", sku: "CABLE" })
    await made("stock_levels", { product_id: product.id, store_id: from.id, quantity_held: "9000" })
    const place = { from_store_id: from.id, to_store_id: to.id, starts_at: instant(2), arrives_at: instant(3) }
    const { transfer } = await made("transfers", { ...place, items: [{ product_id: product.id, quantity: 3 }] })
    const rowOf = async (table: string, column: string): Promise<number> =>
      (await sql.all(`select id from ${table} where ${column} = ${transfer.id}`))[0].id
    // Transfers leave and arrive on different days of the next weeks.
    const leaves = moment("(i % 20) * 1440", instant(2))
    const arrives = moment("(i % 20) * 1440", instant(3))
    const item = await rowOf("transfer_items", "transfer_id")
    const [claim, supply] = [await rowOf("claims", "source_id"), await rowOf("supplies", "source_id")]
    const source_id = `${transfer.id} + i`
    const more = transfer_count - 1
    await multiply(sql, "transfers", transfer.id, more, { id: source_id, starts_at: leaves, arrives_at: arrives })
    await multiply(sql, "transfer_items", item, more, { id: `${item} + i`, transfer_id: source_id })
    const demanded = { id: `${claim} + i`, source_id, starts_at: leaves, buffered_starts_at: leaves }
    await multiply(sql, "claims", claim, more, demanded)
    await multiply(sql, "supplies", supply, more, { id: `${supply} + i`, source_id, starts_at: arrives })
    await sql.all("analyze")
    const numbers = sql.is_pg
      ? `select i from generate_series(0, ${days - 1}) as n(i)`
      : `select i from (with recursive n(i) as (select 0 union all select i + 1 from n where i < ${days - 1}) select i from n)`
    const held = sql.is_pg ? "quantity_held" : "quantity_held / 100"
    const by_hand =
      `with day as (select ${moment("i * 1440", instant(0))} as starts, ${moment("(i + 1) * 1440", instant(0))} as ends from (${numbers}) as n) ` +
      `select d.starts, coalesce((select sum(${held}) from stock_levels where product_id = $1 and store_id = $2), 0) + ` +
      "coalesce((select sum(quantity) from supplies s where s.product_id = $1 and s.store_id = $2 and s.starts_at < d.ends " +
      "and (s.ends_at is null or s.ends_at > d.starts)), 0) - " +
      "coalesce((select sum(quantity) from claims c where c.product_id = $1 and c.store_id = $2 and c.is_active = true " +
      "and c.buffered_starts_at < d.ends and c.buffered_ends_at > d.starts), 0) as available from day d order by 1"
    for (const store of [from, to]) {
      const span = `from=${instant(0).slice(0, 10)}&to=${instant(days).slice(0, 10)}`
      const path = `/api/v1/availability?product_id=${product.id}&store_id=${store.id}&${span}`
      const ours = (await ask("GET", path)).availability.slots.slice(0, days).map(({ available }) => available)
      const theirs = (await sql.all(by_hand, [product.id, store.id])).map((row) => Number(row.available))
      if (JSON.stringify(ours) !== JSON.stringify(theirs)) throw new Error(`${ours} is ${theirs} by hand`)
      print(
        `${days} days of availability with ${transfer_count.toLocaleString("en")} transfers under way, ` +
          `${store === from ? "sending" : "receiving"} store, ${sql.engine}`,
        await inTurns(
          [
            timed("flightcase", 20, () => send("GET", path)),
            timed(sql.driver, 20, async () => {
              await sql.all(by_hand, [product.id, store.id])
            })
          ],
          rounds
        ),
        { unit: "answers", as: "duration" }
      )
    }
  })
