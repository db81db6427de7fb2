/**
 * A week at the command line: three users with default roles, two stores, thirty jobs, half of the time offline;
 * damage, losses, late returns, extensions, sub-hire, conflicts and undo. Each evening all output is compared with an
 * independent ledger. WEEK_TOLD=1 prints commands and output.
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
