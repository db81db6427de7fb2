/** The source does not become less tidy, and allowed counts fall with it. */
import { describe, expect, it } from "vitest"
import { tidinessToday } from "./found.ts"
import { differences, isMore, readRatchets, told } from "./ratchets.ts"

const today = tidinessToday(),
  ratchets = readRatchets()
const changed = differences(ratchets, today)

describe("the source", () => {
  it("exceeds no ceiling of ratchets.json", () => {
    expect(changed.filter(isMore).map(told).join("\n")).toBe("")
  })
  it("leaves no ceiling of ratchets.json higher than its count", () => {
    expect(
      changed
        .filter((one) => !isMore(one))
        .map(told)
        .join("\n")
    ).toBe("")
  })
})
