/** The server's end of sync, with waiting readers woken by every commit. */
import { Context } from "effect"
import { syncSlice } from "../sync/ends/api.ts"
import { BundleKey, DeviceTokens } from "../sync/ends/device-tokens.ts"
import { eraseFromDevices } from "../sync/ends/erasing.ts"
import { makeTail, Tail } from "../sync/ends/tail.ts"
import { seedFrom } from "../sync/signature.ts"
import type { ServerSlice } from "./server-slice.ts"
import { deviceTokens } from "./tokens/devices.ts"

export const syncing: ServerSlice = {
  ...syncSlice,
  recorded: eraseFromDevices,
  services: (hosting) => {
    const { tail, wake } = makeTail()
    hosting.onCommit(wake)
    return Context.make(Tail, tail).pipe(
      Context.add(DeviceTokens, deviceTokens), Context.add(BundleKey, { seed: seedFrom(hosting.key, "flightcase bundles") })) as Context.Context<never>
  }
}
