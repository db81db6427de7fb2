/** Vehicles (rules/conventions 18): fields, plates, permissions, and work without the server. */
import { describe, expect, it } from "vitest"
import { permissionsOfArea } from "../../../../core/kernel/endpoints/endpoint.ts"
import { grantToSystemRoles } from "../../../../core/people/users/decide.ts"
import { engines, type Reply, viewerWith } from "../../../app.ts"
import { appHouse, itFoldsAgain } from "../../../app-house.ts"
import { serverOfSuite } from "../../../sync/opening.ts"

const path = "/vehicles"
const permissions = permissionsOfArea("vehicles", "view create edit delete").map(({ key }) => key)
const refusedOn = ({ body, status }: Reply): unknown => [status, Object.keys(body.errors ?? {})]

describe.each(engines)("vehicles on %s", (engine) => {
  const w = appHouse(engine)
  const make = async (body: object) => {
    return (await w.must("POST", path, body)).vehicle
  }
  const names = async (query: string): Promise<ReadonlyArray<string>> =>
    (await w.show(`${path}?${query}`)).map(({ name }: { readonly name: string }) => name)

  it("are vans in use by default, and return the entered values", async () => {
    const plain = await make({ name: "Old faithful" })
    expect(plain).toEqual({
      id: plain.id,
      name: "Old faithful",
      registration: null,
      vehicle_type: "van",
      store_id: null,
      payload_kg: null,
      load_volume_m3: null,
      seats: null,
      is_active: true,
      inspection_due_on: null,
      notes: null,
      tag_list: [],
      custom_fields: {},
      store: null,
      created_at: plain.created_at,
      updated_at: plain.updated_at
    })
    const entered = {
      name: "Truck 1",
      registration: "AB12 CDE",
      vehicle_type: "truck",
      store_id: 1,
      seats: 3,
      inspection_due_on: "2027-02-28",
      notes: "Tail lift: 750 kg",
      tag_list: ["tail lift"]
    }
    const truck = await make({ ...entered, payload_kg: 2800, load_volume_m3: "36.5" })
    expect(truck).toMatchObject({ ...entered, payload_kg: "2800.00", load_volume_m3: "36.500" })
    expect((await w.show(`${path}/${truck.id}?include=store`)).store).toEqual({ id: 1, name: "Main Warehouse" })
    const moved = await w.put(`${path}/${truck.id}`, { inspection_due_on: null })
    expect(moved.body.vehicle).toMatchObject({ ...entered, inspection_due_on: null })
  })

  it.each([
    ["name", {}],
    ["name", { name: "" }],
    ["registration", { name: "V", registration: "X".repeat(21) }],
    ["vehicle_type", { name: "V", vehicle_type: "boat" }],
    ["store_id", { name: "V", store_id: 999 }],
    ["payload_kg", { name: "V", payload_kg: -1 }],
    ["payload_kg", { name: "V", payload_kg: "1.234" }],
    ["load_volume_m3", { name: "V", load_volume_m3: "1.2345" }],
    ["seats", { name: "V", seats: 2.5 }],
    ["inspection_due_on", { name: "V", inspection_due_on: "2027-02-29" }]
  ])("are rejected at %s: %j", async (field, body) => {
    expect(refusedOn(await w.post(path, body))).toEqual([422, [field]])
  })

  it("have a unique plate among the vehicles in use, whatever its case, spaces and hyphens", async () => {
    const first = await make({ name: "First", registration: "KA-RL 123" })
    expect(refusedOn(await w.post(path, { name: "Second", registration: "ka rl-123" }))).toEqual([
      422,
      ["registration"]
    ])
    expect((await w.put(`${path}/${first.id}`, { name: "First of all" })).status).toBe(200)
    const inactive = await make({ name: "Second", registration: "KARL123", is_active: false })
    const activate = () => w.put(`${path}/${inactive.id}`, { is_active: true })
    expect(refusedOn(await activate())).toEqual([422, ["registration"]])
    expect((await w.put(`${path}/${first.id}`, { is_active: false })).status).toBe(200)
    expect((await activate()).status).toBe(200)
    // Deleting a vehicle frees its plate, and any number of vehicles may have none.
    expect((await w.remove(`${path}/${inactive.id}`)).status).toBe(204)
    expect((await w.put(`${path}/${first.id}`, { is_active: true })).status).toBe(200)
    for (const registration of [null, "", " - "]) await make({ name: "Trailer", registration })
  })

  it("have a unique plate even if many are entered concurrently", async () => {
    const got = await Promise.all(
      Array.from({ length: 5 }, (_, at) => w.post(path, { name: `Race ${at}`, registration: "RA 1" }))
    )
    expect(got.map(({ status }) => status).toSorted()).toEqual([201, 422, 422, 422, 422])
  })

  it("are filtered and sorted", async () => {
    await make({ name: "List small", payload_kg: 600, inspection_due_on: "2026-07-01" })
    await make({ name: "List large", payload_kg: 3500, inspection_due_on: "2026-09-01" })
    await make({ name: "List sold", payload_kg: 900, is_active: false })
    expect(await names("q[name_start]=list&sort=-payload_kg")).toEqual(["List large", "List sold", "List small"])
    expect(await names("q[name_start]=list&q[active_true]=1")).toEqual(["List large", "List small"])
    expect(await names("q[inspection_due_on_lt]=2026-08-01")).toEqual(["List small"])
    expect(await names("q[registration_cont]=b12&q[vehicle_type_eq]=truck&q[store_id_eq]=1")).toEqual(["Truck 1"])
  })

  it("are kept without a store when their store is deleted", async () => {
    const { store } = (await w.post("/stores", { name: "North" })).body
    const van = await make({ name: "Van of the north", store_id: store.id })
    expect((await w.remove(`/stores/${store.id}`)).status).toBe(204)
    expect((await w.show(`${path}/${van.id}`)).store_id).toBeNull()
  })

  it("require a permission to be listed, added or changed, and vehicles:write to be added or changed", async () => {
    const van = await make({ name: "Guarded" })
    const asked = async (held: ReadonlyArray<string>, abilities: ReadonlyArray<string>): Promise<unknown> => {
      const viewer = viewerWith(held, abilities)
      const replies = [
        await w.get(path, viewer),
        await w.post(path, { name: "Mine" }, viewer),
        await w.put(`${path}/${van.id}`, { seats: 2 }, viewer)
      ]
      return replies.map(({ status }) => status)
    }
    expect(await asked(permissions, ["vehicles:read", "vehicles:write"])).toEqual([200, 201, 200])
    expect(await asked(permissions, ["vehicles:read"])).toEqual([200, 403, 403])
    expect(await asked(["vehicles.edit"], ["*"])).toEqual([403, 403, 200])
    expect(await asked([], ["*"])).toEqual([403, 403, 403])
  })

  it("have permissions that system roles hold and custom roles can be given", async () => {
    const { roles } = (await w.get("/roles")).body
    const held = (name: string): ReadonlyArray<string> =>
      roles.find((role) => role.name === name)!.permissions.filter((key) => key.startsWith("vehicles."))
    expect(held("Admin")).toEqual(permissions)
    expect(held("Operations Manager")).toEqual(permissions)
    expect(held("Warehouse")).toEqual(["vehicles.view", "vehicles.create", "vehicles.edit"])
    expect(held("Sales")).toEqual(["vehicles.view"])
    expect(held("Read Only")).toEqual(["vehicles.view"])
    expect((await w.post("/roles", { name: "Drivers", permissions: ["vehicles.view"] })).status).toBe(201)
    const unknown = await w.post("/roles", { name: "Sailors", permissions: ["vehicles.sail"] })
    expect(refusedOn(unknown)).toEqual([422, ["permissions.0"]])
  })

  it("have missing permissions added to a system role once; the role keeps its others", async () => {
    const sales = (await w.show("/roles?q[name_eq]=Sales"))[0]
    await w.put(`/roles/${sales.id}`, { permissions: ["members.view"] })
    const seed = grantToSystemRoles({ Sales: ["vehicles.view", "members.view"], Nobody: ["vehicles.edit"] })
    const events = await w.app.run(seed("2026-06-18T12:00:00.000Z"))
    expect(events).toMatchObject([
      { type: "role.updated", data: { id: sales.id, permissions: ["members.view", "vehicles.view"] } }
    ])
    await w.put(`/roles/${sales.id}`, { permissions: ["members.view", "vehicles.view"] })
    expect(await w.app.run(seed("2026-06-18T12:00:00.000Z"))).toEqual([])
  })

  itFoldsAgain(w)
})

describe.each(engines)("vehicles entered offline, on %s", (engine) => {
  const server = serverOfSuite(engine)

  it("keep their ids, and become a conflict if their plate was taken meanwhile", async () => {
    const yard = await server.enrol()
    const kept = await yard.create(path, { name: "Kept", registration: "KEPT 1" })
    await yard.must("PUT", `${path}/${kept.id}`, { seats: 3 })
    await yard.create(path, { name: "Late", registration: "TAKEN 1" })
    await server.create(path, { name: "Early", registration: "taken-1" })
    expect(await yard.sync()).toMatchObject({ sent: 3, accepted: 2, rejected: 1, pending: 0, conflicts: 1 })
    const error = { status: 422, errors: { registration: [expect.any(String)] } }
    expect(await yard.conflicts()).toMatchObject([{ error }])
    const vehicles = await server.show(`${path}?sort=name`)
    expect(vehicles).toMatchObject([{ name: "Early" }, { id: kept.id, name: "Kept", seats: 3 }])
    await server.sameOn(yard)
  })
})
