import { beforeAll, describe, expect, it } from "vitest"
import { changesOf } from "../../../../core/people/activity-log.ts"
import type { StoredEvent } from "../../../../core/kernel/events/event-type.ts"
import type { JsonObject } from "../../../../core/kernel/fields/field.ts"
import { both_engines, owner, viewerWith } from "../../../app.ts"
import { appHouse } from "../../../app-house.ts"
import { words } from "../../../words.ts"

const stored = (position: number, type: string, data: JsonObject): StoredEvent => ({
  position,
  type,
  data,
  stream: "opportunity:1",
  version: position,
  command_id: "c",
  actor_id: null,
  replica_id: null,
  recorded_at: "2026-01-01T00:00:00.000Z"
})

describe("changes of an event", () => {
  it("are the old and new values that the event records", () => {
    const moved = stored(7, "opportunity.status_changed", {
      id: 1,
      set: { status: 1 },
      was: { status: 0 },
      also: { reason: "deposit paid" }
    })
    expect(changesOf([moved], new Set([7])).get(7)).toEqual({
      old_values: { status: 0 },
      new_values: { status: 1, reason: "deposit paid" }
    })
  })
  it("are the event's data as new values if it records no old ones", () => {
    expect(
      changesOf([stored(7, "opportunity.cloned", { id: 1, source_opportunity_id: 3 })], new Set([7])).get(7)
    ).toEqual({ old_values: {}, new_values: { source_opportunity_id: 3 } })
  })
})

describe.each(both_engines)("the action log on %s", (engine) => {
  const w = appHouse(engine)
  let member: number, user: number
  const log = async (query = "", viewer = owner) => (await w.get(`/actions?${query}`, viewer)).body
  beforeAll(async () => {
    // The first user gets id 1, the id of the owner in these tests.
    await w.create("/users", { name: "Owner", email: "owner@example.com", active: true })
    user = (await w.create("/users", { name: "Pat", email: "pat@example.com", active: true })).id
    const asPat = { ...owner, user_id: user }
    member = await w.customer({ name: "Acme", rating: 1 })
    await w.put(`/members/${member}`, { name: "Acme Ltd" }, asPat)
    const address = await w.create(`/members/${member}/addresses`, { street: "1 High St" })
    await w.remove(`/members/${member}/addresses/${address.id}`)
    await w.put(`/members/${member}`, { name: "Acme plc", rating: 2 }, asPat)
    const product = await w.product({ name: "Desk", purchase_price: 5000 })
    await w.put(`/products/${product}`, { purchase_price: 6000, sku: "D" })
    await w.put("/settings/company", { settings: { name: "Us" } })
  })

  it("shows the user, the old and the new value of each changed field, newest first", async () => {
    const { actions, meta } = await log(`q[auditable_type_eq]=member&q[auditable_id_eq]=${member}`)
    expect(actions.map((one) => one.action)).toEqual(
      words("member.updated address.deleted address.created member.updated member.created")
    )
    expect(actions[0]).toEqual({
      id: expect.any(Number),
      user_id: user,
      user_name: "Pat",
      action: "member.updated",
      auditable_type: "member",
      auditable_id: member,
      old_values: { name: "Acme Ltd", rating: 1 },
      new_values: { name: "Acme plc", rating: 2 },
      ip_address: null,
      created_at: expect.stringMatching(/Z$/)
    })
    expect(actions[1]).toMatchObject({ old_values: { street: "1 High St" }, new_values: {} })
    expect(actions[3]).toMatchObject({ old_values: { name: "Acme" }, new_values: { name: "Acme Ltd" } })
    expect(actions[4]).toMatchObject({ old_values: {}, new_values: { name: "Acme", membership_type: "organisation" } })
    expect(meta).toEqual({ total: 5, per_page: 20, page: 1 })
  })
  it("shows an action's old values even if the action before is on another page", async () => {
    const { actions, meta } = await log(`q[auditable_type_eq]=Member&q[auditable_id_eq]=${member}&per_page=1`)
    expect(actions).toMatchObject([{ old_values: { name: "Acme Ltd", rating: 1 } }])
    expect(meta.total).toBe(5)
  })
  it("filters by action, type, id, user and time, alone and together", async () => {
    const total = async (query: string) => (await log(query)).meta.total
    expect(await total("q[action_eq]=member.updated")).toBe(2)
    expect(await total("q[action_in]=member.updated,address.created")).toBe(3)
    expect(await total(`q[user_id_eq]=${user}`)).toBe(2)
    expect(await total(`q[auditable_type_eq]=StockLevel`)).toBe(1)
    expect(await total(`q[auditable_type_in]=stock_level,settings`)).toBe(2)
    expect(await total("q[auditable_id_eq]=company")).toBe(1)
    expect(await total(`q[auditable_type_eq]=member&q[auditable_id_eq]=${member}&q[action_start]=address`)).toBe(2)
    expect(await total("q[auditable_type_eq]=nothing")).toBe(0)
    expect(await total("q[auditable_type_eq]=mem%25")).toBe(0)
    expect(await total("q[created_at_lt]=2001-01-01")).toBe(0)
    expect(await total("q[ip_address_eq]=x")).toBe(await total(""))
  })
  it("pages without overlap, and sorts the oldest first on request", async () => {
    const ids = async (query: string) => (await log(query)).actions.map((one: { id: number }) => one.id)
    const [first, second] = [await ids("per_page=3"), await ids("per_page=3&page=2")]
    expect(new Set([...first, ...second]).size).toBe(6)
    expect(Math.min(...first)).toBeGreaterThan(Math.max(...second))
    expect(await ids("sort=created_at&per_page=2")).toEqual([1, 2])
  })
  it("hides costs from users without costs.view", async () => {
    const query = "q[action_eq]=product.updated"
    expect((await log(query)).actions[0]).toMatchObject({
      old_values: { purchase_price: 5000, sku: null },
      new_values: { purchase_price: 6000, sku: "D" }
    })
    const auditor = viewerWith(["action-log.view"], ["action-log:read"])
    expect((await log(query, auditor)).actions[0]).toMatchObject({
      old_values: { sku: null },
      new_values: { sku: "D" }
    })
    expect(JSON.stringify(await log("per_page=100", auditor))).not.toContain("purchase_price")
  })
  it("requires action-log.view and action-log:read", async () => {
    const status = async (permissions: ReadonlyArray<string>, abilities: ReadonlyArray<string>) =>
      (await w.get("/actions", viewerWith(permissions, abilities))).status
    expect(await status(["action-log.view"], ["action-log:read"])).toBe(200)
    expect(await status(["members.view"], ["*"])).toBe(403)
    expect(await status(["action-log.view"], ["members:read"])).toBe(403)
  })
})

describe.each(both_engines)("the log of a value overwritten later, on %s", (engine) => {
  const w = appHouse(engine)
  it("shows both changes with their users", async () => {
    const someone = async (name: string): Promise<typeof owner> => {
      const { id } = await w.create("/users", { name, email: `${name}@example.com`, active: true })
      return { ...owner, user_id: id }
    }
    const [ann, bert] = [await someone("Ann"), await someone("Bert")]
    const id = await w.product({ name: "Lamp" })
    await w.put(`/products/${id}`, { name: "Ann's lamp" }, ann)
    await w.put(`/products/${id}`, { name: "Bert's lamp" }, bert)
    const actions = await w.show(`/actions?q[auditable_type_eq]=product&q[auditable_id_eq]=${id}`)
    expect(actions.map((one) => [one.user_name, one.old_values?.["name"], one.new_values?.["name"]])).toEqual([
      ["Bert", "Ann's lamp", "Bert's lamp"],
      ["Ann", "Lamp", "Ann's lamp"],
      [expect.anything(), undefined, "Lamp"]
    ])
  })
})
