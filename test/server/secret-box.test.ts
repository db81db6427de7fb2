import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { secretBox } from "../../server/ports/secret-box.ts"

const key = "a key of more than twenty characters"
const box = secretBox(key, "tests")

describe("a secret box", () => {
  it("decrypts its own texts, whatever their content", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", maxLength: 200 }), (text) => {
        const sealed = box.seal(text)
        expect(box.open(sealed)).toBe(text)
        if (text.length > 4) expect(sealed).not.toContain(text)
      })
    )
  })
  it("encrypts equal texts differently", () => {
    expect(box.seal("whsec_1")).not.toBe(box.seal("whsec_1"))
  })
  it("decrypts nothing encrypted under another key or for another purpose", () => {
    expect(secretBox(`${key}.`, "tests").open(box.seal("a"))).toBeUndefined()
    expect(secretBox(key, "others").open(box.seal("a"))).toBeUndefined()
    expect(secretBox(key, "tests").open(box.seal("a"))).toBe("a")
  })
  it("decrypts nothing altered, truncated or invalid", () => {
    const sealed = box.seal("smtp://store:password@mail.example")
    const bytes = Buffer.from(sealed.slice(3), "base64url")
    for (let at = 0; at < bytes.length; at++) {
      const altered = Buffer.from(bytes)
      altered[at] = (altered[at] ?? 0) ^ 1
      expect(box.open(`v1.${altered.toString("base64url")}`)).toBeUndefined()
      expect(box.open(`v1.${bytes.subarray(0, at).toString("base64url")}`)).toBeUndefined()
    }
    for (const none of ["", "v1.", "v2.abc", "whsec_1"]) expect(box.open(none)).toBeUndefined()
  })
})
