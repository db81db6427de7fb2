/** Odd text on its way to a device and back: what is shown here is what was written there, to the letter, on both engines. */
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import type { JsonObject } from "../../core/kernel/json.ts"
import { broken_texts, furnishOddly, odd_text } from "../any-text.ts"
import { engines } from "../app.ts"
import { type DeviceTestServer, openDeviceTestServer } from "./server.ts"

/** A device's name and a folder's. */
const van = "van\u0085\u2028\u202e"

describe.each(engines)("odd text on a device of a server on %s", (engine) => {
  let test_server: DeviceTestServer
  beforeEach(async () => {
    test_server = await openDeviceTestServer(engine)
  })
  afterEach(async () => {
    await test_server.close()
  })

  it("comes event by event as it is at the server, and goes back as it was written", async () => {
    const device = await test_server.enrol(van)
    await furnishOddly(({ method, path, body }) => test_server.ask(method, path, body))
    await device.sync()
    expect(await test_server.replicaTables(van)).toEqual(await test_server.serverTables())
    const write = (body: JsonObject) => device.ask({ method: "POST", path: "/api/v1/product_groups", query: [], body })
    expect((await write({ name: `Of the van ${odd_text}` })).status).toBe(201)
    for (const text of broken_texts)
      expect(await write({ name: text })).toMatchObject({
        status: 422,
        body: { errors: { name: [expect.stringContaining("broken character")] } }
      })
    expect(await device.sync()).toMatchObject({ accepted: 1, rejected: 0, pending: 0 })
    const [filter, value] = ["q[name_eq]", `Of the van ${odd_text}`]
    expect(
      (await device.ask({ method: "GET", path: "/api/v1/product_groups", query: [[filter, value]], body: undefined }))
        .body
    ).toMatchObject({ product_groups: [{ name: value }] })
    expect(
      (await test_server.ask("GET", `/api/v1/product_groups?${filter}=${encodeURIComponent(value)}`)).body
    ).toMatchObject({ product_groups: [{ name: value }] })
  })
})
