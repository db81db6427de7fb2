/** The sessions once more, each command in a process of its own, as people start them. */
import { describe, it } from "vitest"
import { share } from "../share.ts"
import { openPlace, play, run, sessions } from "./session.ts"

describe("sessions at the command line, a process each", () => {
  it.each(share(sessions))(
    "each command prints what the script says, $file: $title",
    async ({ text }) => {
      const place = await openPlace()
      try {
        await play(place, text, run)
      } finally {
        await place.close()
      }
    },
    600_000
  )
})
