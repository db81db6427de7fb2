/** Resolutions of a shortage that arose meanwhile: they are applied as offered, entirely or not at all. */
import { beforeAll, describe, expect, it } from "vitest"
import type { ResolutionRequest } from "../../../../sync/device/device.ts"
import { engines } from "../../../app.ts"
import { serverOfSuite, type TestDevice } from "../../opening.ts"

type Lines = ReadonlyArray<readonly [product: number, quantity: number]>

describe.each(engines)("an order refused for a shortage, server on %s", (engine) => {
  const server = serverOfSuite(engine)
  const { must } = server
  let sam: string, customer: number
  beforeAll(async () => {
    await must("PUT", "/stores/1", { shortage_policy: "block" })
    sam = (await server.person({ name: "Sam", roles: ["Sales"] })).secret
    customer = await server.customer({ name: "Acme Ltd" })
  })
  const product = async (name: string, held: number): Promise<number> => {
    const id = await server.product({ name, stock_method: 1 })
    await server.hold(id, held)
    return id
  }
  const quotation = async (lines: Lines, month: number, more: object = {}): Promise<string> => {
    const dates = { starts_at: `2030-${month}-03T09:00:00Z`, ends_at: `2030-${month}-05T17:00:00Z` }
    const path = `/opportunities/${(await server.opportunity({ ...dates, ...more })).id}`
    for (const [item_id, quantity] of lines) await server.create(`${path}/items`, { name: "Goods", item_id, quantity })
    await must("POST", `${path}/convert_to_quotation`)
    return path
  }
  const order = async (lines: Lines, month = 12) => must("POST", `${await quotation(lines, month)}/convert_to_order`)
  /** Sam's order, refused by the server as another user reserved the goods meanwhile. */
  const refused = async (mine: Lines, theirs: Lines) => {
    const path = await quotation(mine, 12, { subject: "Summer Fest", member_id: customer })
    const device = await server.enrol(undefined, sam)
    await device.must("POST", `${path}/convert_to_order`, {})
    await order(theirs)
    expect(await device.sync()).toMatchObject({ rejected: 1 })
    const [conflict] = await device.conflicts()
    const resolve = (how: ResolutionRequest, plan = false) => device.resolve(conflict!.id, how, { plan })
    const shown = () => device.show(`${path}?include=items`)
    return { device, path, conflict: conflict!, resolve, shown }
  }
  /** Six in stock, all needed by Sam's order; another user orders two before it is sent. */
  const sixRefused = async () => {
    const robe = await product("Robe Pointe", 6)
    return refused([[robe, 6]], [[robe, 2]])
  }
  const settled = async ({ device, path, resolve }: Awaited<ReturnType<typeof refused>>, how: ResolutionRequest) => {
    const answer = await resolve(how)
    expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(400)
    expect(await device.sync()).toMatchObject({ rejected: 0, conflicts: 0 })
    return (await server.must("GET", `${path}?include=items`)).opportunity
  }
  const isUntouched = async (device: TestDevice) =>
    expect(await device.status()).toMatchObject({ pending: 0, conflicts: 1 })

  it("is reported with user, customer and order, and with the quantity and dates that are free", async () => {
    const { conflict } = await sixRefused()
    expect(conflict.about).toMatchObject({
      person: "Sam",
      order: { name: "Summer Fest" },
      customer: { name: "Acme Ltd" }
    })
    const resolve = "flightcase sync resolve 1"
    expect(conflict.ways_out).toMatchObject([
      { way: "reduce", command: `${resolve} --reduce-to 4`, quantity: 4 },
      {
        way: "dates",
        command: expect.stringMatching(/^flightcase sync resolve 1 --dates 2030-12-0\d.+[.][.]2030-12-/)
      },
      { way: "waitlist", command: `${resolve} --waitlist` },
      { way: "drop", command: `${resolve} --drop` }
    ])
  })
  it("can have each resolution planned, which writes nothing", async () => {
    const { conflict, device, resolve, shown } = await sixRefused()
    const before = [await device.status(), await shown()]
    const confirmed = "opportunity.converted_to_order"
    for (const [how, types] of [
      [{ reduce_to: "free" }, ["opportunity.item_quantity_changed", confirmed]],
      [{ reduce_to: 4 }, ["opportunity.item_quantity_changed", confirmed]],
      [
        { dates: { starts_at: "2030-12-13T09:00:00Z", ends_at: "2030-12-15T17:00:00Z" } },
        ["opportunity.extended", confirmed]
      ],
      [{ waitlist: true }, []],
      [{ drop: true }, []]
    ] as const) {
      const planned = await resolve(how, true)
      expect(planned.status, JSON.stringify(planned.body)).toBeLessThan(300)
      expect(planned.command).toBeUndefined()
      expect(planned.events!.map(({ type }) => type)).toEqual(expect.arrayContaining([...types]))
      expect([await device.status(), await shown()]).toEqual(before)
      expect(await device.conflicts()).toEqual([conflict])
    }
    expect((await resolve({ reduce_to: 5 }, true)).status).toBe(422)
    await isUntouched(device)
    expect(await device.sync()).toMatchObject({ sent: 0, rejected: 0, conflicts: 1 })
  })
  it("can be confirmed with the quantity that is free", async () => {
    const order = await settled(await sixRefused(), { reduce_to: 4 })
    expect([order.state, order.has_shortage, order.items[0].quantity]).toEqual([2, false, "4.00"])
  })
  it("can be confirmed for dates on which all goods are free", async () => {
    const six = await sixRefused()
    const { ends_at = "", starts_at = "" } = six.conflict.ways_out.find(({ way }) => way === "dates")!
    expect(await settled(six, { dates: { starts_at, ends_at } })).toMatchObject({
      state: 2,
      has_shortage: false,
      starts_at
    })
    expect(Date.parse(ends_at) - Date.parse(starts_at)).toBe(56 * 3_600_000)
  })
  it("can stay a quotation, with its missing goods on the waiting list", async () => {
    const { id, state } = await settled(await sixRefused(), { waitlist: true })
    expect(state).toBe(1)
    expect(await server.show("/shortage_waits")).toMatchObject([{ opportunity_id: id, quantity: 2 }])
  })
  it.each<ResolutionRequest>([
    { reduce_to: "free" },
    { dates: { starts_at: "2030-11-03T09:00:00Z", ends_at: "2030-11-05T17:00:00Z" } }
  ])("is unchanged by %j if goods are still short", async (how) => {
    const lines: Lines = [
      [await product("Robe", 3), 2],
      [await product("Mac", 1), 1]
    ]
    await order(lines, 11)
    const { device, resolve, shown } = await refused(lines, lines)
    const before = await shown()
    const planned = await resolve(how, true)
    expect(planned).toMatchObject({ status: 422 })
    expect(await resolve(how)).toEqual(planned)
    await isUntouched(device)
    expect(await shown()).toEqual(before)
  })
  it.each([
    { asked: [2, 2], kept: ["2.00", "1.00"], says: "1 × Robe besides the 2 of the other lines" },
    { asked: [3, 3], kept: ["3.00"], says: "no more Robe than the 3 of the other lines" }
  ])("can be reduced to the three units that are free, with lines of $asked", async ({ asked, kept, says }) => {
    const robe = await product("Robe", 6)
    const six = await refused(
      asked.map((quantity) => [robe, quantity] as const),
      [[robe, 3]]
    )
    expect(six.conflict.ways_out).toMatchObject([
      {
        way: "reduce",
        command: "flightcase sync resolve 1 --reduce-to free",
        says: `ask for what is free, ${says}, and record it again`
      },
      { way: "dates" },
      { way: "drop" }
    ])
    const { items, state } = await settled(six, { reduce_to: "free" })
    expect([state, items.map((one) => one.quantity)]).toEqual([2, kept])
  })
})
