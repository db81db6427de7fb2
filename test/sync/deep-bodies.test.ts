/**
 * Bodies nested too deep or too long for one request are refused on arrival, so that they never block a device's sync.
 */
import { expect, it } from "vitest"
import { body_depth_max, json_body_bytes_max } from "../../core/kernel/fields/input.ts"
import type { Json } from "../../core/kernel/fields/field.ts"
import { BundleError } from "../../sync/device/device.ts"
import { readBundle } from "../../sync/protocol/bundle-format.ts"
import { serverOfSuite, type TestDevice, token } from "./opening.ts"
import { bodyRead } from "../answers.ts"

const server = serverOfSuite()
const nested = (levels: number): Json => JSON.parse("[".repeat(levels) + "]".repeat(levels)) as Json
/** No rule reads the note, but it is part of the recorded command. */
const record = (device: TestDevice, notes_of_a_script: Json) =>
  device.post("/product_groups", { name: "Lighting", notes_of_a_script })
const deliver = async (text: string) => {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" }
  const answer = await fetch(`${server.url()}/api/v1/sync/bundles`, {
    ...{ method: "POST", headers, body: `{"bundle":${text}}` }
  })
  return { status: answer.status, body: bodyRead(await answer.json()) }
}

it("a device records bodies as deep as the server accepts, pushed or in a bundle", async () => {
  const van = await server.enrol()
  expect((await record(van, nested(body_depth_max - 1))).status).toBe(201)
  expect(await van.sync()).toMatchObject({ accepted: 1, pending: 0, conflicts: 0 })
  expect((await record(van, nested(body_depth_max - 1))).status).toBe(201)
  const { body, status } = await deliver((await van.bundleOut()).text)
  expect(status).toBe(200)
  expect(await van.bundleIn(JSON.stringify(body.bundle))).toMatchObject({ accepted: 1, pending: 0, conflicts: 0 })
})
it("a device refuses bodies that the server would: too deep, too long or with malformed text", async () => {
  const van = await server.enrol()
  const refused = (field: string, words: string) => ({
    ...{ status: 422, body: { errors: { [field]: [expect.stringContaining(words)] } } }
  })
  for (const levels of [body_depth_max, 3_000])
    expect(await record(van, nested(levels))).toMatchObject(refused("body", "The body must not"))
  expect(await record(van, "\u0000")).toMatchObject(refused("notes_of_a_script", "broken character"))
  expect(await record(van, "x".repeat(json_body_bytes_max))).toMatchObject({ status: 413 })
  expect(await van.pending()).toEqual([])
})
it("a sync bundle nested three thousand levels deep is refused with a message by device and server", async () => {
  const van = await server.enrol()
  await record(van, "short")
  const deep = `${"[".repeat(3_000)}1${"]".repeat(3_000)}`
  const text = (await van.bundleOut()).text.trim().replace(/"commands":\[/, `"commands":[${deep},`)
  expect(text).toContain(deep)
  expect(() => readBundle(text)).toThrow(BundleError)
  await expect(van.bundleIn(text)).rejects.toThrow("nests deeper")
  const errors = { body: [expect.stringContaining("nest deeper")] }
  expect(await deliver(text)).toMatchObject({ status: 422, body: { errors } })
})
