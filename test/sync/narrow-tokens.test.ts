/** A device holds no more than its token opens, however much its person may do; and addresses only where members are seen. */
import { beforeEach, describe, expect, it } from "vitest"
import { engines } from "../app.ts"
import type { Filled } from "./filling.ts"
import { businessOfEachTest } from "./business.ts"

describe.each(engines)("what a token lets its device hold, on %s", (engine) => {
  const of = businessOfEachTest(engine)
  const { business, make } = of
  beforeEach(async () => {
    await make("products", { name: "Frobnicator" })
    const member = await make("members", { name: "Quuxcorp", membership_type: "organisation" })
    const address = await make(`members/${member.id}/addresses`, { street: "Plover Street 7" })
    await make(`members/${member.id}/addresses`, { street: "Xyzzy Lane 1" })
    await make("opportunities", { subject: "Wumpus Gala", member_id: member.id, delivery_address_id: address.id })
    await make("activities", { subject: "Ring Zork" })
  })
  const enrol = async (token: object, snapshot_beyond: number): Promise<Filled> =>
    of.filled({ snapshot_beyond }, (await make("tokens", { name: "t", ...token })).secret)
  const words = ["Frobnicator", "Quuxcorp", "Plover", "Xyzzy", "Wumpus", "Zork"]
  const heldBy = (device: Filled): ReadonlyArray<string> => words.filter((word) => device.holds(word).length > 0)
  const user_id = async (permissions: ReadonlyArray<string>): Promise<number> => (await of.person(permissions)).user_id

  describe.each([
    ["from rows", 0],
    ["from events", Number.POSITIVE_INFINITY]
  ])("filled %s", (_, snapshot_beyond) => {
    it.each([
      ["of the owner, for sync alone", [], []],
      ["of the owner, for products", ["products:read"], ["Frobnicator"]],
      ["of the owner, for members", ["members:read"], ["Quuxcorp", "Plover", "Xyzzy"]],
      ["of the owner, for activities", ["activities:read"], ["Frobnicator", "Quuxcorp", "Wumpus", "Zork"]],
      ["of the owner, for everything", ["*"], words]
    ] as const)("a token %s", async (_, abilities, expected) => {
      const device = await enrol({ abilities: ["sync:read", "sync:write", ...abilities] }, snapshot_beyond)
      expect(heldBy(device)).toEqual(expected)
      await make("activities", { subject: "Ring Gnusto" })
      await device.sync()
      expect(device.holds("Gnusto").length > 0).toBe((expected as ReadonlyArray<string>).includes("Zork"))
    })

    it("addresses of members are for those who see members; a quote's is asked of the server", async () => {
      const device = await enrol(
        { abilities: ["*"], user_id: await user_id(["opportunities.view", "opportunities.create"]) },
        snapshot_beyond
      )
      expect(heldBy(device)).toEqual(["Frobnicator", "Quuxcorp", "Wumpus"])
      const [id] = (await device.tables())["opportunities"]!.map((row) => row["id"])
      expect((await device.ask("GET", `opportunities/${id}`)).status).toBe(200)
      expect(await device.ask("GET", `opportunities/${id}?include=delivery_address`)).toMatchObject({
        status: 503,
        body: { errors: { at_server: ["delivery_address"] } }
      })
      // Whose an address is can be told without what stands in it.
      const [member] = (await business.tables())["members"]!.filter((row) => row["name"] === "Quuxcorp")
      const [, other] = (await business.tables())["addresses"]!
      const quote = { subject: "Offline", member_id: member!["id"], delivery_address_id: other!["id"] }
      const answer = await device.ask("POST", "opportunities?include=delivery_address", quote)
      expect([
        answer.status,
        answer.body.opportunity?.delivery_address_id,
        answer.body.opportunity?.delivery_address
      ]).toEqual([201, other!["id"], null])
      expect((await device.ask("POST", "opportunities", { ...quote, member_id: 1 })).body.errors).toHaveProperty(
        "delivery_address_id"
      )
      await device.sync()
      expect(device.outbox.counts()).toEqual({ accepted: 1 })
      expect(heldBy(device)).not.toContain("Xyzzy")
    })
  })

  it("two tokens of one person stand side by side: neither sends the other's device back to the beginning", async () => {
    const [wide, narrow] = [
      await enrol({ abilities: ["*"] }, 0),
      await enrol({ abilities: ["sync:read", "sync:write", "products:read"] }, 0)
    ]
    const handleOf = async (device: Filled) => (await device.run(device.replica().position)).handle
    const before = [await handleOf(wide), await handleOf(narrow)]
    for (let time = 0; time < 3; time++) {
      await make("products", { name: `More ${time}` })
      await wide.sync()
      await narrow.sync()
    }
    expect([await handleOf(wide), await handleOf(narrow)]).toEqual(before)
    expect((await narrow.tables())["products"]).toHaveLength(4)
  })
})
