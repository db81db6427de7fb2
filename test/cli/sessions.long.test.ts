/**
 * The sessions with each command in its own process. Where a share is run, commands of a kind that already ran in a
 * process run in this one, as in `sessions.test.ts`.
 */
import { describe, it } from "vitest"
import { parts, share } from "../share.ts"
import { openPlace, play, run, type Run, runHere, sessions } from "./session.ts"

const played = new Set<string>()
const runOnce: Run = (place, args, given) => {
  const at = args.findIndex((word) => !/^[a-z][a-z-]*$/.test(word))
  const words = args.slice(0, at < 0 ? args.length : at)
  const flags = args.filter((word) => word.startsWith("-")).map((word) => word.split("=")[0])
  const kind = [...words, ...new Set(flags.toSorted()), given?.input ?? ""].join(" ")
  const is_new = parts === 1 || !played.has(kind)
  played.add(kind)
  return (is_new ? run : runHere)(place, args, given)
}

describe("sessions at the command line, a process for each kind of command", () => {
  it.each(share(sessions))(
    "each command prints what the script says, $file: $title",
    async ({ text }) => {
      const place = await openPlace()
      try {
        await play(place, text, runOnce)
      } finally {
        await place.close()
      }
    },
    600_000
  )
})
