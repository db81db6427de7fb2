/** Vehicles (rules/conventions 18): fields, plates, permissions, and work without the server. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { permissionsOfArea } from "../../../core/kernel/catalogue.ts"
import { grantToSystemRoles } from "../../../core/users/seed.ts"
import { type App, engines, openApp, type Reply, viewerWith } from "../../app.ts"
import { type DeviceTestServer, openDeviceTestServer } from "../../sync/server.ts"

const path = "/api/v1/vehicles"
const permissions = permissionsOfArea("vehicles", "view create edit delete").map(({ key }) => key)
const refusedOn = ({ body, status }: Reply): unknown => [status, Object.keys(body.errors ?? {})]

describe.each(engines)("vehicles on %s", (engine) => {
  let app: App
  beforeAll(async () => {
    app = await openApp(engine)
  })
  afterAll(() => app.close())
  const make = async (body: object): Promise<any> => {
    const made = await app.call("POST", path, body)
    expect(made.status, JSON.stringify(made.body)).toBe(201)
    return made.body.vehicle
  }
  const names = async (query: string): Promise<ReadonlyArray<string>> =>
    (await app.call("GET", `${path}?${query}`)).body.vehicles.map(({ name }: { readonly name: string }) => name)

  it("are vans in use unless said otherwise, and show what was entered", async () => {
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
    expect((await app.call("GET", `${path}/${truck.id}?include=store`)).body.vehicle.store).toEqual({
      id: 1,
      name: "Main Warehouse"
    })
    const moved = await app.call("PUT", `${path}/${truck.id}`, { inspection_due_on: null })
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
  ])("refuse %s in %j", async (field, body) => {
    expect(refusedOn(await app.call("POST", path, body))).toEqual([422, [field]])
  })

  it("hold a plate once among those in use, however it is written", async () => {
    const first = await make({ name: "First", registration: "KA-RL 123" })
    expect(refusedOn(await app.call("POST", path, { name: "Second", registration: "ka rl-123" }))).toEqual([
      422,
      ["registration"]
    ])
    expect((await app.call("PUT", `${path}/${first.id}`, { name: "First of all" })).status).toBe(200)
    const inactive = await make({ name: "Second", registration: "KARL123", is_active: false })
    const activate = () => app.call("PUT", `${path}/${inactive.id}`, { is_active: true })
    expect(refusedOn(await activate())).toEqual([422, ["registration"]])
    expect((await app.call("PUT", `${path}/${first.id}`, { is_active: false })).status).toBe(200)
    expect((await activate()).status).toBe(200)
    // Deleted, its plate is free; and any number of vehicles have none.
    expect((await app.call("DELETE", `${path}/${inactive.id}`)).status).toBe(204)
    expect((await app.call("PUT", `${path}/${first.id}`, { is_active: true })).status).toBe(200)
    for (const registration of [null, "", " - "]) await make({ name: "Trailer", registration })
  })

  it("hold a plate once, too, when many are entered at the same time", async () => {
    const got = await Promise.all(
      Array.from({ length: 5 }, (_, at) => app.call("POST", path, { name: `Race ${at}`, registration: "RA 1" }))
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

  it("stay when their store is deleted", async () => {
    const { store } = (await app.call("POST", "/api/v1/stores", { name: "North" })).body
    const van = await make({ name: "Van of the north", store_id: store.id })
    expect((await app.call("DELETE", `/api/v1/stores/${store.id}`)).status).toBe(204)
    expect((await app.call("GET", `${path}/${van.id}`)).body.vehicle.store_id).toBeNull()
  })

  it("are for whom their permissions and abilities open them", async () => {
    const van = await make({ name: "Guarded" })
    const asked = async (held: ReadonlyArray<string>, abilities: ReadonlyArray<string>): Promise<unknown> => {
      const viewer = viewerWith(held, abilities)
      const replies = [
        await app.call("GET", path, undefined, viewer),
        await app.call("POST", path, { name: "Mine" }, viewer),
        await app.call("PUT", `${path}/${van.id}`, { seats: 2 }, viewer)
      ]
      return replies.map(({ status }) => status)
    }
    expect(await asked(permissions, ["vehicles:read", "vehicles:write"])).toEqual([200, 201, 200])
    expect(await asked(permissions, ["vehicles:read"])).toEqual([200, 403, 403])
    expect(await asked(["vehicles.edit"], ["*"])).toEqual([403, 403, 200])
    expect(await asked([], ["*"])).toEqual([403, 403, 403])
  })

  it("are granted to the system roles, and a role takes their permissions", async () => {
    const { roles } = (await app.call("GET", "/api/v1/roles")).body
    const held = (name: string): ReadonlyArray<string> =>
      roles
        .find((role: { readonly name: string }) => role.name === name)
        .permissions.filter((key: string) => key.startsWith("vehicles."))
    expect(held("Admin")).toEqual(permissions)
    expect(held("Operations Manager")).toEqual(permissions)
    expect(held("Warehouse")).toEqual(["vehicles.view", "vehicles.create", "vehicles.edit"])
    expect(held("Sales")).toEqual(["vehicles.view"])
    expect(held("Read Only")).toEqual(["vehicles.view"])
    expect((await app.call("POST", "/api/v1/roles", { name: "Drivers", permissions: ["vehicles.view"] })).status).toBe(
      201
    )
    const unknown = await app.call("POST", "/api/v1/roles", { name: "Sailors", permissions: ["vehicles.sail"] })
    expect(refusedOn(unknown)).toEqual([422, ["permissions.0"]])
  })

  it("grants add to what a role holds by then, once", async () => {
    const sales = (await app.call("GET", "/api/v1/roles?q[name_eq]=Sales")).body.roles[0]
    await app.call("PUT", `/api/v1/roles/${sales.id}`, { permissions: ["members.view"] })
    const seed = grantToSystemRoles({ Sales: ["vehicles.view", "members.view"], Nobody: ["vehicles.edit"] })
    const events = await app.run(seed("2026-06-18T12:00:00.000Z"))
    expect(events).toMatchObject([
      { type: "role.updated", data: { id: sales.id, permissions: ["members.view", "vehicles.view"] } }
    ])
    await app.call("PUT", `/api/v1/roles/${sales.id}`, { permissions: ["members.view", "vehicles.view"] })
    expect(await app.run(seed("2026-06-18T12:00:00.000Z"))).toEqual([])
  })

  it("folding the journal again gives the same rows", async () => {
    const before = await app.dump()
    await app.rebuild()
    expect(await app.dump()).toEqual(before)
  })
})

describe.each(engines)("vehicles entered without the server, on %s,", (engine) => {
  let server: DeviceTestServer
  beforeEach(async () => {
    server = await openDeviceTestServer(engine)
  })
  afterEach(() => server.close())

  it("keep their ids, and one whose plate was taken meanwhile is a conflict", async () => {
    const yard = await server.enrol("yard")
    const ask = (method: string, target: string, body: object) =>
      yard.ask({ method, path: target, query: [], body: body as never })
    const { vehicle: kept } = (await ask("POST", path, { name: "Kept", registration: "KEPT 1" })).body as any
    await ask("PUT", `${path}/${kept.id}`, { seats: 3 })
    await ask("POST", path, { name: "Late", registration: "TAKEN 1" })
    expect((await server.ask("POST", path, { name: "Early", registration: "taken-1" })).status).toBe(201)
    expect(await yard.sync()).toMatchObject({ sent: 3, accepted: 2, rejected: 1, pending: 0, conflicts: 1 })
    expect((await yard.conflicts())[0]).toMatchObject({
      error: { status: 422, errors: { registration: [expect.any(String)] } }
    })
    const { vehicles } = (await server.ask("GET", `${path}?sort=name`)).body
    expect(vehicles).toMatchObject([{ name: "Early" }, { id: kept.id, name: "Kept", seats: 3 }])
    expect(await server.replicaTables("yard")).toEqual(await server.serverTables())
  })
})
