import { describe, expect, it } from "vitest"
import { signedBy, type SourceKind } from "../../../../server/ports/server-slice.ts"
import { signedGeneric, signedStandard, signedStripe } from "./signing.ts"

type Signed = NonNullable<ReturnType<typeof signedBy>>

const now = Date.parse("2026-06-18T12:00:00Z")
const secret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`
const other = `whsec_${Buffer.alloc(32, 8).toString("base64")}`
const body = `{"type":"payment.recorded","id":"evt_1","data":{"note":"Stra\\u00dfe ä"}}`
type Given = { readonly [name: string]: string }
const checked = (kind: SourceKind, headers: Given, bytes: string | Uint8Array = body, at = now): Signed | undefined =>
  signedBy(kind, secret, { headers, bytes: typeof bytes === "string" ? Buffer.from(bytes) : bytes }, at)
const signed: { readonly [K in SourceKind]: (secret: string, at: number, text: string) => Given } = {
  generic: (secret, _at, text) => signedGeneric(secret, text),
  standard: (secret, at, text) => signedStandard(secret, "msg_1", at, text),
  stripe: (secret, at, text) => signedStripe(secret, at, text)
}
const kinds: ReadonlyArray<SourceKind> = ["generic", "standard", "stripe"]

describe.each(kinds)("a signature of a source of kind %s", (kind) => {
  const sign = signed[kind]
  it("is valid for its own body", () => {
    expect(checked(kind, sign(secret, now, body))).toBeDefined()
  })
  it("is invalid for any other body, even if its JSON is equal", () => {
    const headers = sign(secret, now, body)
    for (const altered of [
      `${body} `,
      `${body}\n`,
      `\ufeff${body}`,
      body.replace("\\u00df", "ß"),
      body.replace(":", ": "),
      body.replace("evt_1", "evt_2"),
      ""
    ])
      expect(checked(kind, headers, altered), JSON.stringify(altered)).toBeUndefined()
  })
  it("covers a byte order mark, blanks and escapes in the body", () => {
    for (const text of [`\ufeff${body}`, ` \r\n${body}\t`, `{"a":"\\ud800"}`])
      expect(checked(kind, sign(secret, now, text), text), JSON.stringify(text)).toBeDefined()
  })
  it("is invalid if it was made with another secret", () => {
    expect(checked(kind, sign(other, now, body))).toBeUndefined()
  })
  it("is invalid if all its headers are absent, or one is empty", () => {
    expect(checked(kind, {})).toBeUndefined()
    for (const name of Object.keys(sign(secret, now, body)))
      expect(checked(kind, { ...sign(secret, now, body), [name]: "" }), name).toBeUndefined()
  })
  it("is invalid in the form of another kind", () => {
    for (const wrong of kinds.filter((one) => one !== kind))
      expect(checked(kind, signed[wrong](secret, now, body)), wrong).toBeUndefined()
  })
})

describe.each(["standard", "stripe"] as const)("the time in a signature of a source of kind %s", (kind) => {
  const at = (made_millis: number) => checked(kind, signed[kind](secret, made_millis, body))
  it("may differ from now by at most five minutes", () => {
    expect([at(now - 300_000), at(now + 300_000)].map((one) => one !== undefined)).toEqual([true, true])
    expect([at(now - 301_000), at(now + 301_000)]).toEqual([undefined, undefined])
  })
  it("is signed, so that a copy with a later time is refused", () => {
    const old = signed[kind](secret, now - 3_600_000, body)
    const later = Object.fromEntries(
      Object.entries(old).map(([name, value]) => [
        name,
        value.replace(String(now / 1_000 - 3_600), String(now / 1_000))
      ])
    )
    expect(later).not.toEqual(old)
    expect(checked(kind, later)).toBeUndefined()
  })
})

describe("a signature of an inbound webhook", () => {
  it("has the delivery's id: a hash if generic, the message id in Standard Webhooks, and none from Stripe", () => {
    const id = (kind: SourceKind, text = body) => checked(kind, signed[kind](secret, now, text), text)?.delivery_id
    expect(id("generic")).toMatch(/^[0-9a-f]{64}$/)
    expect(id("generic", `${body} `)).not.toBe(id("generic"))
    expect([id("standard"), id("stripe")]).toEqual(["msg_1", null])
  })
  it("may be one of several v1 signatures in Standard Webhooks, but not of 21, and covers the message id", () => {
    const headers = signedStandard(secret, "msg_1", now, body)
    const [, signature = ""] = Object.entries(headers).find(([name]) => name === "webhook-signature") ?? []
    const wrong = signedStandard(other, "msg_1", now, body)["webhook-signature"] ?? ""
    expect(checked("standard", { ...headers, "webhook-signature": `${wrong} ${signature}` })).toBeDefined()
    expect(checked("standard", { ...headers, "webhook-id": "msg_2" })).toBeUndefined()
    expect(checked("standard", { ...headers, "webhook-signature": signature.replace("v1,", "v1a,") })).toBeUndefined()
    expect(
      checked("standard", { ...headers, "webhook-signature": `${"v1,x ".repeat(20)}${signature}` })
    ).toBeUndefined()
  })
  it("from Stripe may be one of several v1 signatures, needs exactly one time, and is invalid as v0", () => {
    const header = signedStripe(secret, now, body)["stripe-signature"] ?? ""
    const [time, right] = header.split(",")
    const wrong = `v1=${"0".repeat(64)}`
    const given = (value: string) => checked("stripe", { "stripe-signature": value })
    expect(given(`${time},${wrong},${right}`)).toBeDefined()
    expect(given(`${time}, ${right}`)).toBeDefined()
    expect(given(`${time},${right?.replace("v1=", "v0=")}`)).toBeUndefined()
    expect(given(`${time},${time},${right}`)).toBeUndefined()
    expect(given(`${right}`)).toBeUndefined()
  })
  it("may be in upper-case hexadecimal from a generic source", () => {
    const value = signedGeneric(secret, body)["x-signals-signature"] ?? ""
    expect(checked("generic", { "x-signals-signature": value.toUpperCase() })).toBeDefined()
  })
})
