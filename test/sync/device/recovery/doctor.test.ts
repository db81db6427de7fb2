/** The doctor finds what is not as the server has it, fills it anew, and never touches what was not sent. */
import { rmSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { Store } from "../../../../core/kernel/store/store.ts"
import { examineDevice, type Finding } from "../../../../sync/device/recovery/doctor.ts"
import { enrolDevice, openDevice, type Device } from "../../../../sync/device/device.ts"
import { engines } from "../../../app.ts"
import {
  type FillTestServer,
  enrolled,
  type Filled,
  type Hooks,
  openFillTestServer,
  owner_token
} from "../../filling.ts"

describe.each(engines)("a device of a server on %s, examined", (engine) => {
  let business: FillTestServer
  const devices: Array<{ readonly close: () => Promise<void> }> = []
  beforeEach(async () => {
    business = await openFillTestServer(engine)
    for (let at = 0; at < 5; at++)
      await business.ask("POST", "products", {
        name: `Lamp ${at}`,
        purchase_price: "12.50",
        custom_fields: {},
        tag_list: ["b", "a"]
      })
    await business.ask("PUT", "settings/company", { settings: { name: "Ångström & Söhne" } })
  })
  afterEach(async () => {
    for (const device of devices.splice(0)) await device.close()
    await business.close()
  })
  const enrol = async (hooks: Hooks): Promise<Filled> => {
    const device = await enrolled(business, `device-${devices.length}`, hooks)
    devices.push(device)
    await device.sync()
    return device
  }
  const examined = (device: Filled, repair: boolean, snapshot_beyond: number) =>
    examineDevice(
      {
        profile: { replica_id: device.id },
        outbox: device.outbox,
        replica: device.replica(),
        remote: device.remote,
        run: device.run,
        snapshot_beyond
      },
      repair
    )
  const of = (findings: ReadonlyArray<Finding>, check: string): Finding => findings.find((one) => one.check === check)!
  const tamper = (device: Filled, sql: string) =>
    device.run(Effect.flatMap(Store, (store) => store.transaction(store.run(sql))))

  describe.each([
    ["from rows", 0],
    ["from events", Number.POSITIVE_INFINITY]
  ])("filled %s", (_, snapshot_beyond) => {
    it("is found to be as the server has it, unsent work aside", async () => {
      const device = await enrol({ snapshot_beyond })
      await device.ask("PUT", "products/1", { name: "Unsent" })
      // Others write on: a comparison first takes in what is new.
      await business.ask("PUT", "products/2", { name: "Theirs" })
      const findings = await examined(device, false, snapshot_beyond)
      expect(findings.filter((one) => !one.ok)).toEqual([])
      expect(of(findings, "tables against server").detail).toMatch(/^\d+ rows alike at event \d+$/)
      expect((await device.ask("GET", "products/1")).body.product.name).toBe("Unsent")
    })

    it.each([
      ["a value is another", "update products set name = 'Tampered' where id = 3", "products"],
      ["a row is missing", "delete from products where id = 5", "products"],
      [
        "a row is too many",
        "insert into stores select 99, name, name_folded, street, city, county, postcode, country_code, country_id, phone, email, timezone, operating_hours, is_virtual, include_in_default_queries, 0, shortage_policy, shortage_dispatch_policy, shortage_auto_resolve_enabled, shortage_preferred_resolvers, mail_sender_name, mail_sender_address, mail_reply_to, mail_always_bcc, tag_list, custom_fields, custom_fields_folded, created_at, updated_at, deleted_at from stores",
        "stores"
      ]
    ])("says where %s, fills it anew, and keeps the outbox", async (_what, sql, table) => {
      const device = await enrol({ snapshot_beyond })
      await device.ask("POST", "product_groups", { name: "Unsent" })
      await tamper(device, sql)
      const found = await examined(device, false, snapshot_beyond)
      expect(of(found, "tables against server")).toMatchObject({
        ok: false,
        detail: `${table} differ; run flightcase doctor --repair`
      })
      const repaired = await examined(device, true, snapshot_beyond)
      expect(repaired.some((one) => !one.ok && one.detail.includes(table))).toBe(true)
      expect((await examined(device, false, snapshot_beyond)).filter((one) => !one.ok)).toEqual([])
      expect(device.outbox.counts()).toEqual({ pending: 1 })
      expect((await device.ask("GET", "product_groups")).body.product_groups).toMatchObject([{ name: "Unsent" }])
      await device.sync()
      expect(await device.tables()).toEqual(await business.tables())
    })
  })

  it("compares what its user may see, and finds rows that are not theirs", async () => {
    const permissions = ["products.view", "products.access"]
    const { token } = await business.letInWith({ name: "Robin", permissions })
    const device = await enrolled(business, "robin", {}, token)
    devices.push(device)
    await device.sync()
    expect((await examined(device, false, 0)).filter((one) => !one.ok)).toEqual([])
    await tamper(device, "update products set purchase_price = 1250 where id = 1")
    expect(of(await examined(device, false, 0), "tables against server")).toMatchObject({ ok: false })
  })
})

describe("a folder that has lost its replica", () => {
  it("opens, says that it must be filled, keeps what was not sent, and is filled by a sync", async () => {
    const business = await openFillTestServer("sqlite")
    const folder = join(business.folder, "profile")
    const opened: Array<Device> = []
    try {
      opened.push(await enrolDevice(folder, { name: "one", url: business.url, token: owner_token, device: "one" }))
      const ask = (device: Device, method: string, path: string, body?: object) =>
        device.ask({ method, path: `/api/v1/${path}`, query: [], body: body as never })
      expect((await ask(opened[0]!, "POST", "product_groups", { name: "Unsent" })).status).toBe(201)
      await opened.pop()!.close()
      for (const suffix of ["", "-wal", "-shm"]) rmSync(join(folder, `replica.sqlite${suffix}`), { force: true })
      opened.push(await openDevice(folder))
      expect(await ask(opened[0]!, "GET", "product_groups")).toMatchObject({
        status: 503,
        body: { message: expect.stringContaining("flightcase sync") }
      })
      expect(await opened[0]!.status()).toMatchObject({ pending: 1 })
      await opened[0]!.sync()
      expect((await ask(opened[0]!, "GET", "product_groups")).body).toMatchObject({
        product_groups: [{ name: "Unsent" }]
      })
      expect((await business.ask("GET", "product_groups")).body).toMatchObject({ product_groups: [{ name: "Unsent" }] })
      expect((await opened[0]!.doctor(false)).filter((one) => !one.ok)).toEqual([])
    } finally {
      for (const device of opened) await device.close()
      await business.close()
    }
  })
})
