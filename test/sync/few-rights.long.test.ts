/**
 * What people with few rights ask of their own device is answered as the server answers them: what is kept from a device
 * is nothing that its person would have been shown, and what rules need is there. Nor does it hold anything beyond that.
 */
import { describe, it } from "vitest"
import { share } from "../share.ts"
import { commanders, fewRights, people, tokens } from "./few-rights.ts"

describe("a device of a user with few permissions", () => {
  const rights = fewRights()
  it.each(share(people))(
    "(%s) answers queries like the server, and holds nothing beyond what its user may see",
    (_, held) => rights.sameAnswers(held)
  )
  it.each(share(tokens))("(all permissions, but a token to %s) answers queries like the server", (_, abilities) =>
    rights.sameAnswersWithToken(abilities)
  )
  it.each(share(commanders))("(%s) accepts and refuses commands like the server, for the same reasons", (_, held) =>
    rights.sameVerdicts(held)
  )
  it("that held data beyond its user's permissions would be detected", () => rights.findsWhatIsBeyond())
})
