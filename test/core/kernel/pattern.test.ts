import { describe, expect, it } from "vitest"
import { patternFrom } from "../../../core/kernel/fields/pattern.ts"

describe("a user's pattern", () => {
  it.each([
    ["^[A-Z]{2}$", "GB", "gb"],
    ["/^[A-Z]{2}-\\d+$/", "PO-12", "PO12"],
    ["^\\d{4}(-\\d{2})?$", "2026-07", "2026-7"],
    ["^(red|green|blue)$", "red", "mauve"],
    ["^[a-z.]+@[a-z]+\\.[a-z]{2,}$", "a.b@example.com", "a@b"],
    ["^\\p{Lu}\\u{1f4a1}?x$", "Äx", "äx"],
    ["lamp", "a lamp b", "a lam b"],
    ["^(?=.*\\d)\\w{3,8}$", "abc1", "abcd"],
    ["^(?<year>\\d{4})$", "2026", "26"],
    ["^[\\]a]{1,3}$", "]a]", "b"],
    ["^(ab){1,3}$", "abab", "aba"],
    ["^([a-z]{2}){2}$", "abcd", "abc"],
    ["", "anything", undefined]
  ])("is applied as a regular expression: %s matches %s and not %s", (pattern, good, bad) => {
    expect(patternFrom(pattern, 255)?.test(good)).toBe(true)
    if (bad !== undefined) expect(patternFrom(pattern, 255)?.test(bad)).toBe(false)
  })
  it.each([
    "^(a+)+$",
    "^(a|a)*$",
    "^(a|aa)+$",
    "^(?:a?){50}a{50}$",
    "a*a*a*a*b",
    "^.*.*.*.*$",
    "(.?){40}x$",
    "^((a|a))*$",
    "^(([a-z])+.)+[A-Z]$",
    "^([a-z]{2,}){4}$",
    "^(a)\\1*$",
    "^(?<x>a)\\k<x>$",
    "^a+|b+c+d+$",
    "(?=a*a*)a*"
  ])("is rejected if it may be slow: %s", (pattern) => {
    expect(patternFrom(pattern, 255)).toBeUndefined()
  })
  it.each(["(", "[a", "*", "a{2,1}", "\\", "(?<=a", "x".repeat(201)])(
    "is rejected if it is malformed: %s",
    (pattern) => {
      expect(patternFrom(pattern, 255)).toBeUndefined()
    }
  )
  it("is rejected for long texts if it is fast on short ones only", () => {
    expect(patternFrom("^\\w+ \\w+ \\w+$", 255)).toBeDefined()
    expect(patternFrom("^\\w+ \\w+ \\w+$", 100_000)).toBeUndefined()
  })
  it("once accepted, finishes on a text of 255 characters that nearly matches", () => {
    for (const pattern of ["^a*a*a*$", "a*a*b", "^(?:aa?){1,3}a*b$", "^[a-z.]+@[a-z]+\\.[a-z]{2,}$"]) {
      const worst = patternFrom(pattern, 255)
      expect(worst).toBeDefined()
      expect(worst!.test(`${"a".repeat(254)}!`)).toBe(false)
    }
  })
})
