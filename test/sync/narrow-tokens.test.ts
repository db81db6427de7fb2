/**
 * A device holds no more than its token allows, whatever its user's permissions; and addresses only of visible members.
 */
import { beforeAll, describe, expect, it } from "vitest"
import { engines } from "../app.ts"
import { fills, type InspectedDevice } from "./inspected-device.ts"
import { serverOfSuite } from "./opening.ts"

describe.each(engines)("a device enrolled with a token, server on %s", (engine) => {
  const server = serverOfSuite(engine)
  const { create } = server
  let member_id: number, other_address: number
  beforeAll(async () => {
    await server.product({ name: "Frobnicator" })
    member_id = await server.customer({ name: "Quuxcorp" })
    const { id } = await create(`/members/${member_id}/addresses`, { street: "Plover Street 7" })
    other_address = (await create(`/members/${member_id}/addresses`, { street: "Xyzzy Lane 1" })).id
    await create("/opportunities", { subject: "Wumpus Gala", member_id, delivery_address_id: id })
    await create("/activities", { subject: "Ring Zork" })
  })
  const enrol = async (token: object, snapshot_beyond: number): Promise<InspectedDevice> =>
    server.filled({ snapshot_beyond }, (await create("/tokens", { name: "t", ...token })).secret)
  const syncing = ["sync:read", "sync:write"]
  const words = ["Frobnicator", "Quuxcorp", "Plover", "Xyzzy", "Wumpus", "Zork"]
  const heldBy = (device: InspectedDevice) => words.filter((word) => device.holds(word).length > 0)

  describe.each(fills)("filled %s", (fill, snapshot_beyond) => {
    it.each<readonly [string, ReadonlyArray<string>, ReadonlyArray<string>]>([
      ["sync alone", [], []],
      ["products", ["products:read"], ["Frobnicator"]],
      ["members", ["members:read"], ["Quuxcorp", "Plover", "Xyzzy"]],
      ["activities", ["activities:read"], ["Frobnicator", "Quuxcorp", "Wumpus", "Zork"]],
      ["everything", ["*"], words]
    ])("holds only rows that the token's abilities cover: %s", async (what, abilities, expected) => {
      const device = await enrol({ abilities: [...syncing, ...abilities] }, snapshot_beyond)
      expect(heldBy(device)).toEqual(expected)
      const subject = `Ring Gnusto ${fill} ${what}`
      await create("/activities", { subject })
      await device.sync()
      expect(device.holds(subject).length > 0).toBe(expected.includes("Zork"))
    })
    it("holds no addresses its user may not see, and refers to the server for a quote's delivery address", async () => {
      const { user_id } = await server.person({ permissions: ["opportunities.view", "opportunities.create"] })
      const device = await enrol({ abilities: ["*"], user_id }, snapshot_beyond)
      expect(heldBy(device)).toEqual(["Frobnicator", "Quuxcorp", "Wumpus"])
      const { id } = (await device.show("/opportunities")).find((one) => one.subject === "Wumpus Gala")!
      await device.must("GET", `/opportunities/${id}`)
      const errors = { at_server: ["delivery_address"] }
      expect(await device.get(`/opportunities/${id}?include=delivery_address`)).toMatchObject({
        status: 503,
        body: { errors }
      })
      // The owner of an address is visible without its contents.
      const quote = { subject: "Offline", member_id, delivery_address_id: other_address }
      const made = await device.create("/opportunities?include=delivery_address", quote)
      expect([made.delivery_address_id, made.delivery_address]).toEqual([other_address, null])
      const { body } = await device.post("/opportunities", { ...quote, member_id: 1 })
      expect(body.errors).toHaveProperty("delivery_address_id")
      await device.sync()
      expect(device.outbox.counts()).toEqual({ accepted: 1 })
      expect(heldBy(device)).not.toContain("Xyzzy")
    })
  })
  it("keeps its handle while a device with another token of the same user syncs", async () => {
    const wide = await enrol({ abilities: ["*"] }, 0),
      narrow = await enrol({ abilities: [...syncing, "products:read"] }, 0)
    const handles = async () => {
      const places = [await wide.run(wide.replica().position), await narrow.run(narrow.replica().position)]
      return places.map(({ handle }) => handle)
    }
    const before = await handles()
    for (let time = 0; time < 3; time++) {
      await server.product()
      await wide.sync()
      await narrow.sync()
    }
    expect(await handles()).toEqual(before)
    expect((await narrow.tables())["products"]).toHaveLength(4)
  })
})
