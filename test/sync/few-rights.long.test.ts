/**
 * What people with few rights ask of their own device is answered as the server answers them: what is kept from a device
 * is nothing that its person would have been shown, and what rules need is there. Nor does it hold anything beyond that.
 */
import { describe, it } from "vitest"
import { share } from "../share.ts"
import { commanders, fewRights, people, tokens } from "./few-rights.ts"

describe("users with few permissions, at a device and at the server", () => {
  const rights = fewRights()
  it.each(share(people))(
    "%s: every query has one answer, and the device has nothing beyond what its user may see",
    (_, held) => rights.sameAnswers(held)
  )
  it.each(share(tokens))(
    "a token to %s: every question has one answer, though its person may do everything",
    (_, abilities) => rights.sameAnswersWithToken(abilities)
  )
  it.each(share(commanders))(
    "%s: the server accepts what a device accepts, and the device refused what the server refuses, for the same reason",
    (_, held) => rights.sameVerdicts(held)
  )
  it("the checks would find data beyond their permissions", () => rights.findsWhatIsBeyond())
})
