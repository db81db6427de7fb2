/** What a person may not see never reaches their device, and what they may see no longer leaves it, down to the bytes of its files. */
import { describe, expect, it } from "vitest"
import { catalogue } from "../../../core/catalogue.ts"
import { redactionFor } from "../../../sync/protocol/redaction.ts"
import { redactionOfOutbox } from "../../../sync/device/outbox/redact-outbox.ts"
import { RemoteError } from "../../../sync/device/remote.ts"
import { engines, viewerWith } from "../../app.ts"
import type { Viewer } from "../../../core/kernel/viewer.ts"
import { enrolled, type Filled, type Hooks } from "../filling.ts"
import { businessOfEachTest } from "../business.ts"

/** As a JSON document holds it, and as a row of SQLite does: 8,765,432,1 in minor units. */
const price = "876543.21",
  minor_units = 87_654_321
const asText = String(minor_units),
  asBytes = Buffer.from([0x05, 0x39, 0x7f, 0xb1])

describe.each(engines)("devices of people with few rights, on %s", (engine) => {
  const of = businessOfEachTest(engine)
  const { business, devices, make, person } = of
  const enrol = (token: string, hooks: Hooks): Promise<Filled> => of.enrol(hooks, token)
  const basics = ["products.access", "products.view", "products.edit", "members.access", "members.view"]

  describe.each([
    ["from rows", 0],
    ["from events", Number.POSITIVE_INFINITY]
  ])("filled %s", (_, snapshot_beyond) => {
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
      const handles = [(await device.run(device.replica().position)).handle]
      expect([device.holds(asText).length + device.holds(asBytes).length, device.holds("Frobnicator").length]).toEqual([
        expect.toSatisfy((n: number) => n > 0),
        expect.toSatisfy((n: number) => n > 0)
      ])
      expect((await device.ask("PUT", "products/1", { description: "Unsent work" })).status).toBe(200)

      expect((await grant(basics)).status).toBe(200)
      await device.sync()
      expect([device.holds(asText), device.holds(asBytes), device.holds("Frobnicator")]).toEqual([[], [], []])
      expect((await device.tables())["activities"]).toEqual([])
      expect((await device.tables())["products"]).toHaveLength(40)
      expect(device.outbox.counts()).toEqual({ accepted: 1 })
      handles.push((await device.run(device.replica().position)).handle)

      await grant([...basics, "costs.view", "activities.access", "activities.view"])
      await device.sync()
      expect((await device.ask("GET", "products/1")).body.product).toMatchObject({
        purchase_price: price,
        description: "Unsent work"
      })
      const [here, there] = [await device.tables(), await business.tables()]
      for (const table of ["products", "activities", "stores", "tax_rates"]) expect(here[table]).toEqual(there[table])
      handles.push((await device.run(device.replica().position)).handle)
      expect(new Set(handles).size).toBe(3)
    })
  })

  it.each([
    ["from rows", 0],
    ["from events", Number.POSITIVE_INFINITY]
  ])("nor do accounts of commands that wait keep what may be seen no more, filled %s", async (_, snapshot_beyond) => {
    const product = await make("products", { name: "Lamp", purchase_price: price })
    const { token, grant } = await person([
      ...basics,
      "costs.view",
      "activities.access",
      "activities.view",
      "activities.edit"
    ])
    const device = await enrol(token, {
      snapshot_beyond,
      before_push: () => {
        throw new RemoteError(500, { message: "The server is out of order." })
      }
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

  it.each([
    ["from rows", 0],
    ["from events", Number.POSITIVE_INFINITY]
  ])(
    "a device never holds what its user is not shown: addresses of colleagues, prices of jobs, views of others, filled %s",
    async (_, snapshot_beyond) => {
      await make("users", { name: "Kim", email: "kim.secret@example.com", roles: [], active: true })
      await make("custom_views", { name: "Troublesome customers", entity_type: "members", columns: ["name"] })
      await make("members", { name: "Quillon Industries", membership_type: "organisation", description: "Pays late" })
      const deal = await make("opportunities", {
        subject: "Gala night",
        description: "Hush-hush",
        store_id: 1,
        starts_at: "2026-07-01T09:00:00Z",
        ends_at: "2026-07-04T09:00:00Z"
      })
      await make(`opportunities/${deal.id}/items`, {
        name: "Stage",
        quantity: 1,
        unit_price: minor_units,
        transaction_type: 2
      })
      const packs = ["containers.view", "containers.dispatch", "availability.view"]
      const { token, grant } = await person([...packs, "users.view", "members.view", "opportunities.view"])
      const device = await enrol(token, { snapshot_beyond })
      const secrets = ["kim.secret@example.com", "Quillon", "Pays late", "Hush-hush", asBytes, asText]
      const held = () => secrets.map((secret) => device.holds(secret, "").length > 0)
      await device.sync()
      expect(held()).toEqual([true, true, true, true, true, snapshot_beyond > 0])
      expect(device.holds("Troublesome", "")).toEqual([])
      expect((await grant(packs)).status).toBe(200)
      await device.sync()
      expect(held()).toEqual(secrets.map(() => false))
      expect(device.holds("Gala night").length).toBeGreaterThan(0)
      await business.ask("PUT", `opportunities/${deal.id}`, {
        description: "Hush-hush, really",
        subject: "Gala evening"
      })
      await business.ask("PUT", "users/2", { email: "kim.secret@example.com" })
      await device.sync()
      expect(held()).toEqual(secrets.map(() => false))
      expect(device.holds("Gala evening").length).toBeGreaterThan(0)
    }
  )

  it("a device of a release that cannot tell what is left out is told to be updated, unless nothing is", async () => {
    const { token } = await person(basics)
    const [few, all] = [await enrol(token, {}), await enrolled(business, "owner's", {})]
    devices.push(all)
    const hello = (device: Filled, schema_version: number, by?: string) =>
      business.ask("POST", `sync/replicas/${device.id}/hello`, { schema_version, last_n: 0, pending: [] }, by)
    expect(await hello(few, 1, token)).toMatchObject({
      status: 426,
      body: { message: expect.stringContaining("update Flightcase"), errors: { schema_version: ["at least 2"] } }
    })
    expect([(await hello(few, 2, token)).status, (await hello(all, 1)).status]).toEqual([200, 200])
  })

  it("a view is there while it is shared with one's role", async () => {
    const { role_id, token } = await person(["members.view"])
    const device = await enrol(token, {})
    const view = await make("custom_views", {
      name: "Troublesome customers",
      entity_type: "members",
      columns: ["name"]
    })
    await device.sync()
    const shown = async () => (await device.ask("GET", `custom_views/${view.id}`)).status
    expect(await shown()).toBe(404)
    expect(
      (await business.ask("PUT", `custom_views/${view.id}`, { visibility: "shared", role_ids: [role_id] })).status
    ).toBe(200)
    await device.sync()
    expect((await device.ask("GET", `custom_views/${view.id}`)).body).toEqual(
      (await business.ask("GET", `custom_views/${view.id}`, undefined, token)).body
    )
    expect((await business.ask("PUT", `custom_views/${view.id}`, { role_ids: [] })).status).toBe(200)
    await device.sync()
    expect(await shown()).toBe(404)
  })

  it.each([
    ["who may see it whole", ["members.access", "members.view", "members.edit"]],
    ["who sees a name alone", ["activities.access", "activities.view"]]
  ])("a person erased leaves no trace in a device's files, of somebody %s", async (_, basics) => {
    const { token } = await person(basics)
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

describe("redaction of events", () => {
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
  ])("%s %j is seen as %j", (type, data, seen) => {
    expect(seller.see({ type, data: data as never, replica_id: null })).toEqual(
      seen === undefined ? undefined : { type, data: seen }
    )
  })
  it("every guarded column of every table is cut from the rows of whoever lacks its permission", () => {
    const guarded = catalogue.tables.flatMap((table) =>
      Object.entries(table.columns)
        .filter(([, field]) => field.visible_to !== undefined)
        .map(([name]) => ({ table, name }))
    )
    expect(guarded.length).toBeGreaterThan(0)
    for (const { table, name } of guarded) expect(seller.columns(table) ?? []).not.toContain(name)
  })
  const recorded_at = "2026-06-18T12:00:00.000Z"
  const seenBy = (held: ReadonlyArray<string>, type: string, data: object, viewer: Partial<Viewer> = {}) =>
    redactionFor(catalogue, { ...viewerWith(held, ["*"]), ...viewer }, 7).see({
      type,
      data: data as never,
      replica_id: null,
      recorded_at
    })
  const changes = (...args: Parameters<typeof seenBy>) => {
    const told = seenBy(...args)
    expect(told?.type).toBe("rows.told")
    return told?.data["changes"]
  }
  const robin = {
    id: 9,
    name: "Robin",
    email: "robin@example.com",
    member_id: 4,
    role_ids: [3],
    is_owner: false,
    is_active: true
  }
  it("a colleague is told by name, without how to write to them or what they may do", () => {
    expect(changes(["stock.view"], "user.invited", robin)).toEqual([
      {
        op: "insert",
        table: "users",
        row: {
          id: 9,
          name: "Robin",
          email: "withheld 9",
          member_id: 4,
          role_ids: [],
          is_owner: false,
          is_active: true,
          email_verified_at: null,
          invited_at: null,
          invitation_accepted_at: null,
          last_login_at: null,
          deactivated_at: null,
          created_at: recorded_at,
          updated_at: "1970-01-01T00:00:00.000Z",
          deleted_at: null
        }
      }
    ])
    expect(changes(["stock.view"], "user.updated", { id: 9, name: "Robyn", email: "robyn@example.com" })).toEqual([
      { op: "update", table: "users", key: 9, set: { name: "Robyn" } }
    ])
    expect(seenBy(["stock.view"], "user.updated", { id: 9, email: "robyn@example.com" })).toBeUndefined()
    expect(seenBy(["roles.view"], "user.updated", { id: 9, role_ids: [4] })?.data["changes"]).toEqual([
      { op: "update", table: "users", key: 9, set: { role_ids: [4] } }
    ])
  })
  it("oneself and one's own roles are told whole", () => {
    expect(seenBy([], "user.invited", robin, { user_id: 9 })).toEqual({ type: "user.invited", data: robin })
    const role = {
      id: 3,
      name: "Counter",
      description: null,
      permissions: ["stock.view"],
      level: 0,
      sort_order: 100,
      is_system: false
    }
    expect(seenBy([], "role.created", role, { role_ids: [3] })).toEqual({ type: "role.created", data: role })
    expect(JSON.stringify(seenBy([], "role.created", role, { role_ids: [4] }))).not.toContain("Counter")
  })
  it("whoever packs a job sees what it is called and when, not whose it is nor what it costs", () => {
    const set = {
      subject: "Gala",
      starts_at: "2026-07-01T09:00:00.000Z",
      member_id: 5,
      charge_total: 123_456,
      description: "Secret guest"
    }
    expect(
      changes(["containers.pack"], "opportunity.updated", { id: 8, set, was: { description: "None" }, also: {} })
    ).toEqual([
      { op: "update", table: "opportunities", key: 8, set: { subject: "Gala", starts_at: "2026-07-01T09:00:00.000Z" } }
    ])
    expect(seenBy(["opportunities.view"], "opportunity.updated", { id: 8, set, was: {}, also: {} })?.type).toBe(
      "opportunity.updated"
    )
    expect(seenBy(["products.view"], "opportunity.updated", { id: 8, set, was: {}, also: {} })).toBeUndefined()
  })
  const view = {
    id: 6,
    name: "My rivals",
    description: null,
    entity_type: "members",
    visibility: "personal",
    columns: ["name"],
    filters: [],
    sort_column: null,
    sort_direction: "asc",
    per_page: 20,
    role_ids: [],
    user_id: 9,
    is_default: false,
    config: {}
  }
  it("a personal view is for its maker, a shared one for its roles, and what is shared no more is taken away", () => {
    expect(seenBy([], "custom_view.created", view)).toBeUndefined()
    expect(seenBy([], "custom_view.created", view, { user_id: 9 })?.type).toBe("custom_view.created")
    const shared = { ...view, visibility: "shared", user_id: null, role_ids: [3], created_at: recorded_at }
    expect(changes([], "custom_view.updated", shared, { role_ids: [3] })).toEqual([
      { op: "delete", table: "custom_views", key: 6 },
      { op: "insert", table: "custom_views", row: { ...shared, updated_at: recorded_at } }
    ])
    expect(changes([], "custom_view.updated", { ...view, created_at: recorded_at }, { role_ids: [3] })).toEqual([
      { op: "delete", table: "custom_views", key: 6 }
    ])
  })
  it("how the interface is guarded is for those who keep the settings", () => {
    const guarded = { group: "api", values: { rate_limit: 5 } }
    expect(seenBy(["stock.view"], "settings.updated", guarded)).toBeUndefined()
    expect(seenBy(["settings.view"], "settings.updated", guarded)).toEqual({ type: "settings.updated", data: guarded })
    expect(seenBy(["stock.view"], "settings.updated", { group: "company", values: { timezone: "UTC" } })?.type).toBe(
      "settings.updated"
    )
  })
  it("owners see all of it", () => {
    const owner = redactionFor(catalogue, { ...viewerWith([], ["*"]), is_owner: true }, 7)
    for (const table of catalogue.tables) expect(owner.columns(table)).toEqual(Object.keys(table.columns))
  })
})
