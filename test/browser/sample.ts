/** A small rental company with an example of everything a picture can show, created over HTTP. */
import { callOf, type Place } from "../cli/session.ts"
import { rentalHouse } from "../rental-house.ts"

const day_ms = 86_400_000
/** Date a number of days after `now`. */
export const dayFrom = (now: number, days: number): string => new Date(now + days * day_ms).toISOString().slice(0, 10)
/** Hostile input, and text in other scripts. */
export const hostile = {
  markup: `<script>alert("x")</script> & 'Sons' <img src=http://evil.example/x onerror=alert(1)>`,
  arabic:
    "\u0645\u0647\u0631\u062c\u0627\u0646 \u0627\u0644\u0635\u064a\u0641 2026 (\u0627\u0644\u0645\u0633\u0631\u062d)",
  emoji: "\u{1f3aa} Zirkus \u{1f469}\u200d\u{1f680} \u00dcber-Gala"
} as const

/** Products with bookings of every phase around `now`, and a packed flight case with another inside. */
export const makeSample = async (place: Place, now: number): Promise<void> => {
  const house = rentalHouse(callOf(place))
  const { create, must: send, show } = house
  const at = (days: number, hour: string): string => `${dayFrom(now, days)}T${hour}:00Z`
  await send("PATCH", "/stores/1", { name: "Main Store <London>", timezone: "Europe/London" })
  const product = (name: string, sku: string, more: object = {}) => house.product({ name, sku, ...more })
  const unit = async (product_id: number, asset_number: string, more: object = {}): Promise<number> =>
    (await house.labelled(product_id, { asset_number, ...more })).id

  const spiider = await product("Robe Spiider", "SPIIDER", {
    stock_method: 2,
    buffer_before_minutes: 720,
    post_rent_unavailability: 1440
  })
  const units = []
  for (let n = 1; n <= 6; n++) units.push(await unit(spiider, `SPI-00${n}`, { serial_number: `RS-77${n}21` }))
  const [first, second, third, fourth, fifth] = units as [number, number, number, number, number]
  const bulk: Array<number> = []
  for (const [name, sku, held] of [
    ["Cable XLR 10 m", "XLR10", 120],
    ["Truss H30V 2 m", "TRUSS2", 24],
    [hostile.markup, "HOSTILE", 8],
    [hostile.arabic, "ARABIC", 5],
    [hostile.emoji, "EMOJI", 3],
    ["Shure SM58", "SM58", 30],
    ["d&b V8 loudspeaker with a very long name that never ends and goes on", "V8", 12],
    ["Stage deck 2\u00d71 m", "DECK", 48]
  ] as const) {
    const id = await product(name, sku)
    bulk.push(id)
    await house.hold(id, held)
  }
  const [cable, truss, odd, arabic, emoji, mics] = bulk as [number, number, number, number, number, number]
  const customers: Array<number> = []
  for (const name of ["Northern Lights Ltd", hostile.markup, hostile.arabic])
    customers.push(await house.customer({ name }))

  const of = (item_id: number, quantity: number, ...chosen: ReadonlyArray<number>) => ({ item_id, quantity, chosen })
  /** Creates an order of some products; units are allocated and optionally booked out. */
  const deal = async (
    subject: string,
    customer: number,
    [from, to]: readonly [number, number],
    end: "order" | "out" | "held",
    ...lines: ReadonlyArray<ReturnType<typeof of>>
  ): Promise<void> => {
    const dates = { starts_at: at(from, "09:00"), ends_at: at(to, "18:00") }
    const { id } = await house.opportunity({ subject, member_id: customers[customer]!, ...dates })
    const items: Array<readonly [number, ReadonlyArray<number>, number]> = []
    for (const { chosen, item_id, quantity } of lines) {
      const added = await create(`/opportunities/${id}/items`, { name: "Line", item_id, quantity })
      items.push([added.items.at(-1).id, chosen, quantity])
    }
    await send("POST", `/opportunities/${id}/convert_to_quotation`, {})
    if (end === "held") return void (await send("POST", `/opportunities/${id}/change_status`, { status: 4 }))
    await send("POST", `/opportunities/${id}/convert_to_order`, { shortage_notes: "known" })
    const allocations = items.flatMap(([opportunity_item_id, chosen]) =>
      chosen.map((stock_level_id) => ({ opportunity_item_id, stock_level_id }))
    )
    if (allocations.length > 0) await send("POST", `/opportunities/${id}/quick_allocate`, { allocations })
    if (end !== "out") return
    const out = await show(`/opportunities/${id}?include=items,items.assets`)
    const asset_ids = out.items.flatMap((item) => (item.assets ?? []).map((one) => one.id))
    if (asset_ids.length > 0) await send("POST", `/opportunities/${id}/quick_book_out`, { asset_ids })
    for (const [item, chosen, quantity] of items)
      if (chosen.length === 0)
        await send("PATCH", `/opportunities/${id}/items/${item}/fulfilment`, { action: "dispatch", quantity })
  }
  await deal("Harbour Festival", 0, [-9, -2], "out", of(spiider, 1, first), of(cable, 20))
  await deal("Gala Night", 1, [-1, 4], "out", of(spiider, 2, second, third), of(cable, 60), of(odd, 3))
  await deal(hostile.markup, 1, [6, 9], "order", of(spiider, 2, second, fourth), of(cable, 70), of(odd, 8))
  await deal(hostile.arabic, 2, [8, 12], "order", of(spiider, 3), of(cable, 40), of(arabic, 5), of(truss, 20))
  await deal(hostile.emoji, 0, [11, 13], "held", of(spiider, 2), of(cable, 30), of(emoji, 2), of(mics, 24))
  const all_but_one = of(spiider, 4, second, third, fourth, fifth)
  await deal("Theatre run", 0, [16, 30], "order", all_but_one, of(mics, 28), of(truss, 24))
  await deal("One-day seminar", 2, [20, 20], "order", of(mics, 6), of(spiider, 1))

  const head = await product("Moving head in a case", "HEAD", { stock_method: 2 })
  const box = await product("Flight case, large", "CASE", { stock_method: 2 })
  await send("PUT", `/products/${box}/container_template`, { is_containerable: true })
  const housing = await unit(box, "CASE-0007", { barcode: "5012345678900" })
  const inner_housing = await unit(box, "CASE-0008")
  const packed = [
    await unit(head, "MH-001", { serial_number: "SN 42/7", barcode: "4006381333931" }),
    await unit(head, "MH-002", { serial_number: "s/n*2" }),
    await unit(head, "MH-003 \u00dcber")
  ]
  const loose = [await unit(head, "MH-004"), await unit(head, "MH-005")]
  const container = async (name: string, serialised_item_id: number): Promise<number> =>
    (await create("/containers", { name, product_id: box, serialised_item_id, store_id: 1, scan_mode: "free" })).id
  const outer = await container(`Case 7 ${hostile.markup.slice(0, 31)}`, housing),
    inner = await container("Case 8, accessories", inner_housing)
  for (const [at_, serialised_item_id] of packed.entries())
    await send("POST", `/containers/${outer}/pack`, { serialised_item_id, position: `Slot ${at_ + 1}` })
  for (const serialised_item_id of loose) await send("POST", `/containers/${inner}/pack`, { serialised_item_id })
  await send("POST", `/containers/${outer}/pack`, { serialised_item_id: inner_housing, position: "Drawer" })

  const kit = await product("Stage sound kit", "KIT")
  for (const [component_product_id, quantity] of [
    [mics, 4],
    [cable, 10]
  ] as const)
    await send("POST", `/products/${kit}/components`, { component_product_id, quantity })
}
