/**
 * A whole week at the command line: three people with the roles as shipped, two stores, thirty jobs, without a network
 * half of the time; damage, losses, late returns, extensions, sub-hire, conflicts and undo. Each evening all that is
 * shown anywhere is held against a ledger of its own. WEEK_TOLD=1 prints what is typed and answered.
 */
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import { engines } from "../../app.ts"
import { share } from "../../share.ts"
import { atPeace, faultsOf } from "./evening.ts"
import { openScript, type Script } from "./script.ts"
import { friday, monday, saturday, sunday, thursday, tuesday, wednesday } from "./days.ts"

vi.setConfig({ testTimeout: 600_000, hookTimeout: 600_000 })

describe.each(share(engines))("a rental house's week, server on %s,", (engine) => {
  let script: Script
  beforeAll(async () => {
    script = await openScript(engine)
  })
  afterAll(() => script?.close())
  const days = { monday, tuesday, wednesday, thursday, friday, saturday, sunday }
  it.each(Object.entries(days))(
    "ends with the state that an independent ledger computes, on the evening of %s",
    async (_name, day) => {
      await day(script)
      await atPeace(script.house)
      expect(await faultsOf(script.house, script.ledger)).toEqual([])
    }
  )
})
