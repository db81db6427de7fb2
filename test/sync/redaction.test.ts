/** What a person may not see never reaches their device, and what they may see no longer leaves it, down to the bytes of its files. */
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { catalogue } from "../../core/catalogue.ts"
import { redactionFor } from "../../sync/ends/redaction.ts"
import { cutTo } from "../../sync/replica/cut-kept.ts"
import { RemoteError } from "../../sync/replica/remote.ts"
import { engines, viewerWith } from "../app.ts"
import { type Business, enrolled, type Filled, type Hooks, openBusiness } from "./filling.ts"

/** As a JSON document holds it, and as a row of SQLite does: 8,765,432,1 in minor units. */
const price = "876543.21", minor_units = 87_654_321
const asText = String(minor_units), asBytes = Buffer.from([0x05, 0x39, 0x7f, 0xb1])

describe.each(engines)("devices of people with few rights, on %s", (engine) => {
  let business: Business
  const devices: Array<Filled> = []
  beforeEach(async () => { business = await openBusiness(engine) })
  afterEach(async () => {
    for (const device of devices.splice(0)) await device.close()
    await business.close()
  })
  const make = async (path: string, body: object): Promise<any> => {
    const answer = await business.ask("POST", path, body)
    expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300)
    return Object.values(answer.body)[0]
  }
  const person = async (permissions: ReadonlyArray<string>) => {
    const role = await make("roles", { name: "Counter", permissions })
    const user = await make("users", { name: "Robin", email: "robin@example.com", roles: ["Counter"], active: true })
    const token = await make("tokens", { name: "Robin", abilities: ["*"], user_id: user.id })
    return { role, token: token.secret as string, grant: (now: ReadonlyArray<string>) => business.ask("PUT", `roles/${role.id}`, { permissions: now }) }
  }
  const enrol = async (token: string, hooks: Hooks): Promise<Filled> => {
    const device = await enrolled(business, "device", hooks, token)
    devices.push(device)
    return device
  }
  const basics = ["products.access", "products.view", "products.edit", "members.access", "members.view"]

  describe.each([["from rows", 0], ["from events", Number.POSITIVE_INFINITY]])("filled %s", (_, snapshot_beyond) => {
    it("a device never holds what costs nobody showed its user", async () => {
      const product = await make("products", { name: "Lamp", purchase_price: price })
      await business.ask("PUT", `products/${product.id}`, { sub_rental_price: price })
      const { token } = await person(basics)
      const device = await enrol(token, { snapshot_beyond })
      await device.sync()
      await business.ask("PUT", `products/${product.id}`, { name: "Lamp 2", purchase_price: price })
      await device.sync()
      expect((await device.ask("GET", `products/${product.id}`)).body.product).toMatchObject({ name: "Lamp 2" })
      expect((await device.ask("GET", `products/${product.id}`)).body.product).not.toHaveProperty("purchase_price")
      expect([device.holds(asText), device.holds(asBytes)]).toEqual([[], []])
    })

    it("a right taken away takes the data with it, the right given again brings it back, under handles never had before", async () => {
      for (let at = 0; at < 40; at++) await make("products", { name: `Lamp ${at}`, purchase_price: price })
      await make("activities", { subject: "Buy the Frobnicator quietly" })
      const { token, grant } = await person([...basics, "costs.view", "activities.access", "activities.view"])
      const device = await enrol(token, { snapshot_beyond })
      await device.sync()
      const handles = [(await device.run(device.replica().standing)).handle]
      expect([device.holds(asText).length + device.holds(asBytes).length, device.holds("Frobnicator").length]).toEqual([expect.toSatisfy((n: number) => n > 0), expect.toSatisfy((n: number) => n > 0)])
      expect((await device.ask("PUT", "products/1", { description: "Unsent work" })).status).toBe(200)

      expect((await grant(basics)).status).toBe(200)
      await device.sync()
      expect([device.holds(asText), device.holds(asBytes), device.holds("Frobnicator")]).toEqual([[], [], []])
      expect((await device.tables())["activities"]).toEqual([])
      expect((await device.tables())["products"]).toHaveLength(40)
      expect(device.outbox.counts()).toEqual({ accepted: 1 })
      handles.push((await device.run(device.replica().standing)).handle)

      await grant([...basics, "costs.view", "activities.access", "activities.view"])
      await device.sync()
      expect((await device.ask("GET", "products/1")).body.product).toMatchObject({ purchase_price: price, description: "Unsent work" })
      expect(await device.tables()).toEqual(await business.tables())
      handles.push((await device.run(device.replica().standing)).handle)
      expect(new Set(handles).size).toBe(3)
    })
  })

  it.each([["from rows", 0], ["from events", Number.POSITIVE_INFINITY]])("nor do accounts of commands that wait keep what may be seen no more, filled %s", async (_, snapshot_beyond) => {
    const product = await make("products", { name: "Lamp", purchase_price: price })
    const { token, grant } = await person([...basics, "costs.view", "activities.access", "activities.view", "activities.edit"])
    const device = await enrol(token, {
      snapshot_beyond, before_push: () => { throw new RemoteError(500, { message: "The server is out of order." }) }
    })
    await device.sync()
    const subject = "Buy the Frobnicator quietly"
    const activity = await make("activities", { subject })
    expect((await device.ask("PUT", `products/${product.id}`, { description: "Unsent work" })).status).toBe(200)
    await expect(device.sync()).rejects.toThrow("out of order")
    expect((await device.ask("PUT", `activities/${activity.id}`, { location: "Depot" })).status).toBe(200)
    const inOutbox = (bytes: string | Buffer) => device.holds(bytes, "").filter((file) => file.startsWith("outbox"))
    expect([inOutbox(asText).length > 0, inOutbox(subject).length > 0]).toEqual([true, true])

    expect((await grant(basics)).status).toBe(200)
    await expect(device.sync()).rejects.toThrow("out of order")
    expect(device.outbox.counts()).toEqual({ pending: 2 })
    expect([device.holds(asText, ""), device.holds(asBytes, ""), device.holds(subject, "")]).toEqual([[], [], []])
    expect(device.outbox.recordedOf(1)?.rows[`products/${product.id}`]).toMatchObject({ name: "Lamp" })
  })

  it("a right taken away while rows travel stops them, and what has come is gone", async () => {
    for (let at = 0; at < 40; at++) await make("products", { name: `Lamp ${at}`, purchase_price: price })
    const { token, grant } = await person([...basics, "costs.view"])
    let taken = false
    const device = await enrol(token, {
      limit: 20,
      before_page: async ({ after }) => {
        if (taken || !after.startsWith("products:")) return
        taken = true
        await grant(basics)
      }
    })
    await device.sync()
    expect(taken).toBe(true)
    expect((await device.tables())["products"]).toHaveLength(40)
    expect([device.holds(asText), device.holds(asBytes)]).toEqual([[], []])
  })

  it("a person erased leaves no trace in a device's files", async () => {
    const { token } = await person([...basics, "members.edit"])
    const device = await enrol(token, { snapshot_beyond: Number.POSITIVE_INFINITY })
    const member = await make("members", { name: "Zacharias Quill", membership_type: "contact" })
    await device.sync()
    expect(device.holds("Zacharias").length).toBeGreaterThan(0)
    expect((await business.ask("POST", `members/${member.id}/anonymise`, {})).status).toBe(200)
    await device.sync()
    expect(device.holds("Zacharias")).toEqual([])
  })
})

describe("accounts of commands", () => {
  it("tell only of what their person may still see", () => {
    const { account } = cutTo(catalogue, redactionFor(catalogue, viewerWith(["products.view"], ["*"]), 7))
    const lamp = { what: "product 7 Lamp 2", field: "name", from: "Lamp", to: "Lamp 2" }
    expect(account({
      changes: [lamp, { ...lamp, field: "purchase_price", from: "1.00", to: "2.00" }, { ...lamp, what: "activity participant 3", field: null }],
      merged: [{ ...lamp, what: "activity 7 Buy it quietly", field: "subject" }]
    })).toEqual({ changes: [lamp] })
  })
})

describe("redaction of events", () => {
  const seller = redactionFor(catalogue, viewerWith(["products.view"], ["*"]), 7)
  it.each([
    ["product.created", { id: 1, name: "Lamp", purchase_price: 5 }, { id: 1, name: "Lamp" }],
    ["product.merged", { primary: { id: 1, purchase_price: 5 }, lines: [{ sub_rental_price: 6, note: "x" }] }, { primary: { id: 1 }, lines: [{ note: "x" }] }],
    ["store.created", { id: 1, purchase_price: 5 }, { id: 1, purchase_price: 5 }],
    ["activity.created", { id: 1 }, undefined],
    ["activity_participant.deleted", { id: 1 }, undefined],
    ["email.created", { id: 1 }, undefined]
  ])("%s %j is seen as %j", (type, data, seen) => {
    expect(seller.see({ type, data: data as never, replica_id: null })).toEqual(seen)
  })
  it("every guarded column of every table is cut from the rows of whoever lacks its permission", () => {
    const guarded = catalogue.tables.flatMap((table) => Object.entries(table.columns).filter(([, field]) => field.visible_to !== undefined).map(([name]) => ({ table, name })))
    expect(guarded.length).toBeGreaterThan(0)
    for (const { table, name } of guarded) expect(seller.columns(table) ?? []).not.toContain(name)
  })
  it("owners see all of it", () => {
    const owner = redactionFor(catalogue, { ...viewerWith([], ["*"]), is_owner: true }, 7)
    for (const table of catalogue.tables) expect(owner.columns(table)).toEqual(Object.keys(table.columns))
  })
})
