/** What nests too deep, or is too long for one request: refused in words where it comes in, so that it never stands in anybody's way. */
import { afterEach, beforeEach, expect, it } from "vitest"
import { body_depth_max, json_body_bytes_max } from "../../core/kernel/body-limits.ts"
import type { Json, JsonObject } from "../../core/kernel/json.ts"
import { BundleError, type Device } from "../../sync/device/device.ts"
import { readBundle } from "../../sync/protocol/bundle-format.ts"
import { type DeviceTestServer, openDeviceTestServer, token } from "./server.ts"

let test_server: DeviceTestServer
beforeEach(async () => {
  test_server = await openDeviceTestServer()
})
afterEach(async () => {
  await test_server.close()
})
const nested = (levels: number): Json => JSON.parse("[".repeat(levels) + "]".repeat(levels)) as Json
const group = (device: Device, more: JsonObject) =>
  device.ask({ method: "POST", path: "/api/v1/product_groups", query: [], body: { name: "Lighting", ...more } })
const deliver = (text: string) =>
  fetch(`${test_server.url()}/api/v1/sync/bundles`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: `{"bundle":${text}}`
  })

it("a device records what the server would take of a request, and the server takes it, pushed and carried", async () => {
  const van = await test_server.enrol("van")
  // Nothing reads it, but it is part of what was recorded.
  expect((await group(van, { notes_of_a_script: nested(body_depth_max - 1) })).status).toBe(201)
  expect(await van.sync()).toMatchObject({ accepted: 1, pending: 0, conflicts: 0 })
  expect((await group(van, { notes_of_a_script: nested(body_depth_max - 1) })).status).toBe(201)
  const answer = await deliver((await van.bundleOut()).text)
  expect(answer.status).toBe(200)
  const { bundle } = (await answer.json()) as { readonly bundle: JsonObject }
  expect(await van.bundleIn(JSON.stringify(bundle))).toMatchObject({ accepted: 1, pending: 0, conflicts: 0 })
})

it("a device refuses to record what the server would never take", async () => {
  const van = await test_server.enrol("van")
  for (const more of [{ notes_of_a_script: nested(body_depth_max) }, { notes_of_a_script: nested(3_000) }]) {
    expect(await group(van, more)).toMatchObject({
      status: 422,
      body: { errors: { body: [expect.stringContaining("The body must not")] } }
    })
  }
  expect(await group(van, { notes_of_a_script: "\u0000" })).toMatchObject({
    status: 422,
    body: { errors: { notes_of_a_script: [expect.stringContaining("broken character")] } }
  })
  expect(await group(van, { notes_of_a_script: "x".repeat(json_body_bytes_max) })).toMatchObject({ status: 413 })
  expect(await van.pending()).toEqual([])
})

it("a bundle nested three thousand levels deep is refused in words on both ends", async () => {
  const van = await test_server.enrol("van")
  await group(van, {})
  const deep = `${"[".repeat(3_000)}1${"]".repeat(3_000)}`
  const text = (await van.bundleOut()).text.trim().replace(/"commands":\[/, `"commands":[${deep},`)
  expect(text).toContain(deep)
  expect(() => readBundle(text)).toThrow(BundleError)
  await expect(van.bundleIn(text)).rejects.toThrow("nests deeper")
  const answer = await deliver(text)
  expect([answer.status, await answer.json()]).toMatchObject([
    422,
    { errors: { body: [expect.stringContaining("nest deeper")] } }
  ])
})
