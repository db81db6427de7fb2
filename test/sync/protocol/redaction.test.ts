/**
 * Data a user may not see never reaches their device, and data they may no longer see leaves it, down to the bytes of
 * its files.
 */
import { beforeAll, describe, expect, it } from "vitest"
import { catalogue } from "../../../core/catalogue.ts"
import { redactionFor } from "../../../sync/protocol/redaction.ts"
import { redactionOfOutbox } from "../../../sync/device/outbox/redact-outbox.ts"
import { RemoteError } from "../../../sync/device/exchange/remote.ts"
import { engines, viewerWith } from "../../app.ts"
import type { Viewer } from "../../../core/kernel/fields/rejection.ts"
import { fills, type InspectedDevice } from "../inspected-device.ts"
import { serverOfEachTest, serverOfSuite } from "../opening.ts"

/** The price in JSON, and in a row of SQLite: 87,654,321 minor units. */
const price = "876543.21",
  minor_units = 87_654_321
const asText = String(minor_units),
  asBytes = Buffer.from([0x05, 0x39, 0x7f, 0xb1])
const holdsPrice = (device: InspectedDevice, files?: "") => [
  ...device.holds(asText, files),
  ...device.holds(asBytes, files)
]
const basics = ["products.access", "products.view", "products.edit", "members.access", "members.view"]
const with_activities = [...basics, "costs.view", "activities.access", "activities.view", "activities.edit"]

describe.each(engines)("devices of users with few permissions, server on %s", (engine) => {
  const server = serverOfEachTest(engine)
  const { create, filled, grant, person } = server
  const lamps = async (): Promise<void> => {
    for (let at = 0; at < 40; at++) await server.product({ purchase_price: price })
  }

  describe.each(fills)("filled %s", (_, snapshot_beyond) => {
    it("never hold costs their user may not see", async () => {
      const path = `/products/${await server.product({ purchase_price: price })}`
      await server.put(path, { sub_rental_price: price })
      const device = await filled({ snapshot_beyond }, (await person({ permissions: basics })).secret)
      await server.put(path, { name: "Lamp 2", purchase_price: price })
      await device.sync()
      expect((await device.show(path)).name).toBe("Lamp 2")
      expect(await device.show(path)).not.toHaveProperty("purchase_price")
      expect(holdsPrice(device)).toEqual([])
    })
    it("drop the names of goods from their files when the permission is withdrawn", async () => {
      await server.product({ name: "Qzx prototype" })
      const ann = await person({ permissions: ["products.view", "stock.view", "members.view"] })
      const device = await filled({ snapshot_beyond }, ann.secret)
      expect(device.holds("qzx", "")).not.toEqual([])
      await grant(ann, ["members.view"])
      await device.sync()
      expect(device.holds("qzx", "")).toEqual([])
    })
    it("lose data with a permission and get it back with the permission, each time under a new handle", async () => {
      await lamps()
      await create("/activities", { subject: "Buy the Frobnicator quietly" })
      const ann = await person({ permissions: with_activities })
      const device = await filled({ snapshot_beyond }, ann.secret)
      const handle = async () => (await device.run(device.replica().position)).handle
      const handles = [await handle()]
      expect([holdsPrice(device).length > 0, device.holds("Frobnicator").length > 0]).toEqual([true, true])
      await device.must("PUT", "/products/1", { description: "Unsent work" })

      await grant(ann, basics)
      await device.sync()
      expect([holdsPrice(device), device.holds("Frobnicator")]).toEqual([[], []])
      const { activities, products } = await device.tables()
      expect([activities, products!.length]).toEqual([[], 40])
      expect(device.outbox.counts()).toEqual({ accepted: 1 })
      handles.push(await handle())

      await grant(ann, with_activities)
      await device.sync()
      expect(await device.show("/products/1")).toMatchObject({ purchase_price: price, description: "Unsent work" })
      const [here, there] = [await device.tables(), await server.tables()]
      for (const table of ["products", "activities", "stores", "tax_rates"]) expect(here[table]).toEqual(there[table])
      expect(new Set([...handles, await handle()]).size).toBe(3)
    })
    it("keep no hidden data in the outcomes of pending commands", async () => {
      const product = await server.product({ purchase_price: price })
      const ann = await person({ permissions: with_activities })
      const before_push = () => {
        throw new RemoteError(500, { message: "The server is out of order." })
      }
      const device = await filled({ snapshot_beyond, before_push }, ann.secret)
      const subject = "Buy the Frobnicator quietly"
      const activity = await create("/activities", { subject })
      await device.must("PUT", `/products/${product}`, { description: "Unsent work" })
      await expect(device.sync()).rejects.toThrow("out of order")
      await device.must("PUT", `/activities/${activity.id}`, { location: "Depot" })
      for (const bytes of [asText, subject])
        expect(device.holds(bytes, "").some((file) => file.startsWith("outbox"))).toBe(true)

      await grant(ann, basics)
      await expect(device.sync()).rejects.toThrow("out of order")
      expect(device.outbox.counts()).toEqual({ pending: 2 })
      expect([holdsPrice(device, ""), device.holds(subject, "")]).toEqual([[], []])
      expect(device.outbox.recordedOf(1)?.rows[`products/${product}`]).toHaveProperty("name")
    })
    it("drop colleagues' addresses, customers and prices when the permission is withdrawn, and never hold others' views", async () => {
      await create("/users", { name: "Kim", email: "kim.secret@example.com", roles: [], active: true })
      await create("/custom_views", { name: "Troublesome customers", entity_type: "members", columns: ["name"] })
      await server.customer({ name: "Quillon Industries", description: "Pays late" })
      const { id } = await server.withLine(
        { subject: "Gala night", description: "Hush-hush" },
        { quantity: 1, unit_price: minor_units, transaction_type: 2 }
      )
      const packs = ["containers.view", "containers.dispatch", "availability.view"]
      const packer = await person({ permissions: [...packs, "users.view", "members.view", "opportunities.view"] })
      const device = await filled({ snapshot_beyond }, packer.secret)
      const secrets = ["kim.secret@example.com", "Quillon", "Pays late", "Hush-hush", asBytes, asText]
      const held = () => secrets.map((secret) => device.holds(secret, "").length > 0)
      expect(held()).toEqual([true, true, true, true, true, snapshot_beyond > 0])
      expect(device.holds("Troublesome", "")).toEqual([])
      await grant(packer, packs)
      await device.sync()
      expect(held()).toEqual(secrets.map(() => false))
      expect(device.holds("Gala night").length).toBeGreaterThan(0)
      await server.put(`/opportunities/${id}`, { description: "Hush-hush, really", subject: "Gala evening" })
      await server.put("/users/2", { email: "kim.secret@example.com" })
      await device.sync()
      expect(held()).toEqual(secrets.map(() => false))
      expect(device.holds("Gala evening").length).toBeGreaterThan(0)
    })
  })

  it("hold no costs that they received before the permission was removed during the fill", async () => {
    await lamps()
    const ann = await person({ permissions: [...basics, "costs.view"] })
    let taken = false
    const before_page = async ({ after }: { readonly after: string }) => {
      if (taken || !after.startsWith("products:")) return
      taken = true
      await grant(ann, basics)
    }
    const device = await filled({ limit: 20, before_page }, ann.secret)
    expect(taken).toBe(true)
    expect((await device.tables())["products"]).toHaveLength(40)
    expect(holdsPrice(device)).toEqual([])
  })
})

describe.each(engines)("a device of a user with few permissions, server on %s", (engine) => {
  const server = serverOfSuite(engine)
  const { create, filled, person } = server
  let few: string
  beforeAll(async () => {
    few = (await person({ permissions: basics })).secret
  })

  it("is refused with schema version 1, unlike an owner's device", async () => {
    const [fews, owners] = [await server.inspected({}, few), await server.inspected()]
    const hello = ({ id }: InspectedDevice, schema_version: number, by?: string) =>
      server.post(`/sync/replicas/${id}/hello`, { schema_version, last_n: 0, pending: [] }, by)
    expect(await hello(fews, 1, few)).toMatchObject({
      status: 426,
      body: { message: expect.stringContaining("update Flightcase"), errors: { schema_version: ["at least 2"] } }
    })
    expect([(await hello(fews, 2, few)).status, (await hello(owners, 1)).status]).toEqual([200, 200])
  })
  it("holds a view while it is shared with the user's role", async () => {
    const { role_id, secret } = await person({ permissions: ["members.view"] })
    const device = await filled({}, secret)
    const { id } = await create("/custom_views", { name: "Troublesome", entity_type: "members", columns: ["name"] })
    const path = `/custom_views/${id}`
    await device.sync()
    expect((await device.get(path)).status).toBe(404)
    await server.must("PUT", path, { visibility: "shared", role_ids: [role_id] })
    await device.sync()
    expect((await device.get(path)).body).toEqual((await server.get(path, secret)).body)
    await server.must("PUT", path, { role_ids: [] })
    await device.sync()
    expect((await device.get(path)).status).toBe(404)
  })
  it.each([
    ["who may see the person in full", ["members.access", "members.view", "members.edit"]],
    ["who may see only the name", ["activities.access", "activities.view"]]
  ])("keeps no bytes of an anonymised person, for a user %s", async (who, permissions) => {
    const device = await filled({ snapshot_beyond: Number.POSITIVE_INFINITY }, (await person({ permissions })).secret)
    const name = `Zacharias ${who}`
    const id = await server.contact({ name })
    await device.sync()
    expect(device.holds(name).length).toBeGreaterThan(0)
    await server.must("POST", `/members/${id}/anonymise`, {})
    await device.sync()
    expect(device.holds(name)).toEqual([])
  })
})

describe("outcomes of commands", () => {
  it("include only rows and columns the user may still see", () => {
    const { account } = redactionOfOutbox(catalogue, redactionFor(catalogue, viewerWith(["products.view"], ["*"]), 7))
    const about = { actor: { id: 2, name: "Kim" }, when: "2026-06-18T12:00:00.000Z", event: "product.updated" }
    const lamp = {
      ...about,
      row: { table: "products", key: 7, name: "Lamp 2" },
      field: "name",
      from: "Lamp",
      to: "Lamp 2"
    }
    const activity = { table: "activities", key: 7, name: "Buy it quietly" }
    expect(
      account({
        changes: [
          lamp,
          { ...lamp, field: "purchase_price", from: "1.00", to: "2.00" },
          { ...lamp, row: { table: "activity_participants", key: 3, name: null }, field: null, from: null, to: null }
        ],
        merged: [
          { row: activity, field: "subject", was: "A", theirs: "B", mine: "C", actor: about.actor, when: about.when }
        ]
      })
    ).toEqual({ changes: [lamp] })
  })
})

describe("redaction of events before they reach a device", () => {
  const seller = redactionFor(catalogue, viewerWith(["products.view"], ["*"]), 7)
  it.each([
    ["product.created", { id: 1, name: "Lamp", purchase_price: 5 }, { id: 1, name: "Lamp" }],
    [
      "product.deleted",
      { id: 1, primary: { id: 1, purchase_price: 5 }, lines: [{ sub_rental_price: 6, note: "x" }] },
      { id: 1, primary: { id: 1 }, lines: [{ note: "x" }] }
    ],
    ["store.created", { id: 1, purchase_price: 5 }, { id: 1, purchase_price: 5 }],
    ["activity.created", { id: 1 }, undefined],
    ["activity_participant.deleted", { id: 1 }, undefined],
    ["email.created", { id: 1 }, undefined]
  ])("turns %s %j into %j", (type, data, seen) => {
    expect(seller.see({ type, data: data as never, replica_id: null })).toEqual(
      seen === undefined ? undefined : { type, data: seen }
    )
  })
  it("removes every guarded column for readers without its permission", () => {
    const guarded = catalogue.tables.flatMap((table) =>
      Object.entries(table.columns)
        .filter(([, field]) => field.visible_to !== undefined)
        .map(([name]) => ({ table, name }))
    )
    expect(guarded.length).toBeGreaterThan(0)
    for (const { table, name } of guarded) expect(seller.columns(table) ?? []).not.toContain(name)
  })
  const recorded_at = "2026-06-18T12:00:00.000Z"
  type See = readonly [held: ReadonlyArray<string>, type: string, data: object, viewer?: Partial<Viewer>]
  const seenBy = (...[held, type, data, viewer = {}]: See) =>
    redactionFor(catalogue, { ...viewerWith(held, ["*"]), ...viewer }, 7).see({
      ...{ type, data: data as never, replica_id: null, recorded_at }
    })
  /** Rows sent instead of the event. */
  const changes = (...see: See) => {
    const told = seenBy(...see)
    expect(told?.type).toBe("rows.told")
    return told?.data["changes"]
  }
  const robin = {
    ...{ id: 9, name: "Robin", email: "robin@example.com", member_id: 4, role_ids: [3] },
    ...{ is_owner: false, is_active: true }
  }
  it("shows a colleague's name, without e-mail address and roles", () => {
    const row = {
      ...{ ...robin, email: "withheld 9", role_ids: [], email_verified_at: null, invited_at: null },
      ...{ invitation_accepted_at: null, last_login_at: null, deactivated_at: null, deleted_at: null },
      ...{ created_at: recorded_at, updated_at: "1970-01-01T00:00:00.000Z" }
    }
    expect(changes(["stock.view"], "user.invited", robin)).toEqual([{ op: "insert", table: "users", row }])
    const updated = (held: string, data: object) => seenBy([held], "user.updated", { id: 9, ...data })?.data["changes"]
    const update = { op: "update", table: "users", key: 9 }
    expect(updated("stock.view", { name: "Robyn", email: "robyn@example.com" })).toEqual([
      { ...update, set: { name: "Robyn" } }
    ])
    expect(updated("stock.view", { email: "robyn@example.com" })).toBeUndefined()
    expect(updated("roles.view", { role_ids: [4] })).toEqual([{ ...update, set: { role_ids: [4] } }])
  })
  it("shows users themselves and their own roles in full", () => {
    expect(seenBy([], "user.invited", robin, { user_id: 9 })).toEqual({ type: "user.invited", data: robin })
    const role = {
      ...{ id: 3, name: "Counter", description: null, permissions: ["stock.view"], level: 0 },
      ...{ sort_order: 100, is_system: false }
    }
    expect(seenBy([], "role.created", role, { role_ids: [3] })).toEqual({ type: "role.created", data: role })
    expect(JSON.stringify(seenBy([], "role.created", role, { role_ids: [4] }))).not.toContain("Counter")
  })
  it("shows users who pack an order its subject and dates, not its customer or price", () => {
    const shown = { subject: "Gala", starts_at: "2026-07-01T09:00:00.000Z" }
    const set = { ...shown, member_id: 5, charge_total: 123_456, description: "Secret guest" }
    const data = { id: 8, set, was: { description: "None" }, also: {} }
    const update = { op: "update", table: "opportunities", key: 8, set: shown }
    expect(changes(["containers.pack"], "opportunity.updated", data)).toEqual([update])
    expect(seenBy(["opportunities.view"], "opportunity.updated", data)?.type).toBe("opportunity.updated")
    expect(seenBy(["products.view"], "opportunity.updated", data)).toBeUndefined()
  })
  it("shows a personal view to its owner and a shared one to its roles, and removes it when no longer shared", () => {
    const view = {
      ...{ id: 6, name: "My rivals", description: null, entity_type: "members", visibility: "personal" },
      ...{ columns: ["name"], filters: [], sort_column: null, sort_direction: "asc", per_page: 20 },
      ...{ role_ids: [], user_id: 9, is_default: false, config: {} }
    }
    expect(seenBy([], "custom_view.created", view)).toBeUndefined()
    expect(seenBy([], "custom_view.created", view, { user_id: 9 })?.type).toBe("custom_view.created")
    const shared = { ...view, visibility: "shared", user_id: null, role_ids: [3], created_at: recorded_at }
    const gone = { op: "delete", table: "custom_views", key: 6 }
    const row = { ...shared, updated_at: recorded_at }
    const updated = (data: object) => changes([], "custom_view.updated", data, { role_ids: [3] })
    expect(updated(shared)).toEqual([gone, { op: "insert", table: "custom_views", row }])
    expect(updated({ ...view, created_at: recorded_at })).toEqual([gone])
    // An old event with changed columns only.
    expect(updated({ id: 6, name: "My rivals" })).toEqual([gone])
    expect(updated({ id: 6, visibility: "shared", user_id: null, role_ids: [3] })).toEqual([gone])
  })
  it("shows API settings only to users who may see settings", () => {
    const guarded = { group: "api", values: { rate_limit: 5 } }
    expect(seenBy(["stock.view"], "settings.updated", guarded)).toBeUndefined()
    expect(seenBy(["settings.view"], "settings.updated", guarded)).toEqual({ type: "settings.updated", data: guarded })
    expect(seenBy(["stock.view"], "settings.updated", { group: "company", values: { timezone: "UTC" } })?.type).toBe(
      "settings.updated"
    )
  })
  it("shows owners every column", () => {
    const owner = redactionFor(catalogue, { ...viewerWith([], ["*"]), is_owner: true }, 7)
    for (const table of catalogue.tables) expect(owner.columns(table)).toEqual(Object.keys(table.columns))
  })
})
