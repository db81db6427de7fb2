/** That the source does not become less tidy, and that the list of what is allowed shrinks with it. */
import { describe, expect, it } from "vitest"
import { tidinessToday } from "./found.ts"
import { differences, isMore, readRatchets, told } from "./ratchets.ts"

const today = tidinessToday(),
  ratchets = readRatchets()
const changed = differences(ratchets, today)

describe("the source", () => {
  it("has no count above its ceiling", () => {
    expect(changed.filter(isMore).map(told).join("\n")).toBe("")
  })
  it("has no ceiling above its count", () => {
    expect(
      changed
        .filter((one) => !isMore(one))
        .map(told)
        .join("\n")
    ).toBe("")
  })
})
