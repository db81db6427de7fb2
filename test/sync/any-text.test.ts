/** Unusual texts reach a device and come back unchanged, character by character. */
import { describe, expect, it } from "vitest"
import { broken_texts, furnishOddly, odd_text } from "../any-text.ts"
import { engines } from "../app.ts"
import { serverOfEachTest } from "./opening.ts"

describe.each(engines)("unusual characters on a device, server on %s", (engine) => {
  const server = serverOfEachTest(engine)
  it("sync unchanged in both directions, and malformed ones are refused", async () => {
    const device = await server.enrol("van\u0085\u2028\u202e")
    await furnishOddly(async ({ body, method, path }) => {
      const answer = await server.call(method, path.slice("/api/v1".length), body)
      return { status: answer.status, body: answer.body }
    })
    await server.syncedAlike(device)
    const name = `Of the van ${odd_text}`
    await device.create("/product_groups", { name })
    for (const text of broken_texts)
      expect(await device.post("/product_groups", { name: text })).toMatchObject({
        status: 422,
        body: { errors: { name: [expect.stringContaining("broken character")] } }
      })
    expect(await device.sync()).toMatchObject({ accepted: 1, rejected: 0, pending: 0 })
    for (const at of [device, server])
      expect(await at.show(`/product_groups?q[name_eq]=${encodeURIComponent(name)}`)).toMatchObject([{ name }])
  })
})
