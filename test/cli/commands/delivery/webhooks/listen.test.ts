/** `webhooks listen` reports whether a delivery's signature is valid. */
import { describe, expect, it } from "vitest"
import { signatureProblem } from "../../../../../cli/commands/delivery/webhooks.ts"
import { headersOf, newSecret } from "../../../../../server/delivery/webhooks/schema.ts"
import { placeOfSuite } from "../../../place.ts"

describe("the signature of a delivery", () => {
  const signedBy = async (...secrets: ReadonlyArray<string>) => {
    const body = JSON.stringify({ type: "member.created" })
    const signed = { event: "member.created", event_id: "msg_1", body, secrets, now_millis: Date.now() }
    return { headers: await headersOf(signed), text: body }
  }
  it("is valid for its own secret, and for either while one is rotated", async () => {
    const [present, previous] = [newSecret(), newSecret()]
    expect(await signatureProblem(await signedBy(present), present)).toBeUndefined()
    for (const secret of [present, previous])
      expect(await signatureProblem(await signedBy(present, previous), secret)).toBeUndefined()
  })
  it("is invalid for another secret, another body or another time", async () => {
    const secret = newSecret()
    const delivered = await signedBy(secret)
    expect(await signatureProblem(delivered, newSecret())).toMatch(/signature/i)
    expect(await signatureProblem({ ...delivered, text: "{}" }, secret)).toMatch(/signature/i)
    const old = { ...delivered.headers, "webhook-timestamp": "1" }
    expect(await signatureProblem({ ...delivered, headers: old }, secret)).toMatch(/timestamp/i)
  })
})

const place = placeOfSuite()
it("webhooks listen validates port and status, and names the setting that lets the server reach it", async () => {
  expect(await place.type("webhooks listen --port x")).toMatchObject({ code: 2 })
  expect(await place.type("webhooks listen --status 99")).toMatchObject({ code: 2 })
  await place.login()
  const refused = await place.type("webhooks listen --port 0")
  expect([refused.code, refused.err]).toEqual([5, expect.stringContaining("FLIGHTCASE_WEBHOOKS_PRIVATE=1")])
})
