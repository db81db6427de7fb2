/** The server's end of sync, with waiting readers woken by every commit. */
import { Context } from "effect"
import { syncSlice } from "../sync/ends/api.ts"
import { makeTail, Tail } from "../sync/ends/tail.ts"
import type { ServerSlice } from "./server-slice.ts"

export const syncing: ServerSlice = {
  ...syncSlice,
  services: (hosting) => {
    const { tail, wake } = makeTail()
    hosting.onCommit(wake)
    return Context.make(Tail, tail) as Context.Context<never>
  }
}
