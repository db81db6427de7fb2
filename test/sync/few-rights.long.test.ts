/**
 * What people with few rights ask of their own device is answered as the server answers them: what is kept from a device
 * is nothing that its person would have been shown, and what rules need is there. Nor does it hold anything beyond that.
 */
import { describe, it } from "vitest"
import { share } from "../share.ts"
import { commanders, fewRights, people, tokens } from "./few-rights.ts"

describe("people with few rights, at a device and at the server", () => {
  const rights = fewRights()
  it.each(share(people))(
    "%s: every question has one answer, and the device holds nothing beyond what its person may see",
    (_, held) => rights.sameAnswers(held)
  )
  it.each(share(tokens))(
    "a token to %s: every question has one answer, though its person may do everything",
    (_, abilities) => rights.sameAnswersWithToken(abilities)
  )
  it.each(share(commanders))(
    "%s: what a device takes, the server takes, and what the server refuses, the device refused for the same reason",
    (_, held) => rights.sameVerdicts(held)
  )
  it("what is looked for beyond their rights would be found", () => rights.findsWhatIsBeyond())
})
