/** Progress on standard error: a moving line on a terminal, silence elsewhere. */
import type { CommandContext } from "../context.ts"
import { clearMoving, showMoving } from "./out.ts"

export interface Progress {
  readonly at: (what: string, done: number, total: number | undefined) => void
  /** Removes the moving line. */
  readonly end: () => void
}

const width = 24
const pause_ms = 80

export const progressOf = (context: CommandContext): Progress => {
  if (!context.terminal.progress) return { at: () => {}, end: () => {} }
  let last = 0
  return {
    at: (what, done, total) => {
      const now = Date.now()
      if (now - last < pause_ms && done !== total) return
      last = now
      const share = total === undefined || total === 0 ? undefined : Math.min(1, done / total)
      const bar =
        share === undefined ? `${done}` : `${"█".repeat(Math.round(share * width)).padEnd(width, "░")} ${done}/${total}`
      showMoving(`${what} ${bar}`)
    },
    end: clearMoving
  }
}
