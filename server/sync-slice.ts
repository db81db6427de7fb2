/** The server side of sync; every commit wakes waiting readers. */
import { Context } from "effect"
import { syncSlice } from "../sync/server/api.ts"
import { BundleKey, DeviceFiles, DeviceTokens } from "../sync/server/device-tokens.ts"
import { eraseFromDevices } from "../sync/server/erasure.ts"
import { makeJournalTail, JournalTail } from "../sync/server/tail.ts"
import { seedFrom } from "../sync/protocol/signature.ts"
import type { ServerSlice } from "./server-slice.ts"
import { deviceFiles } from "./files/device-files.ts"
import { deviceTokens } from "./tokens/devices.ts"

export const serverSyncSlice: ServerSlice = {
  ...syncSlice,
  recorded: eraseFromDevices,
  services: (server) => {
    const { tail, wake } = makeJournalTail()
    server.onCommit(wake)
    return Context.make(JournalTail, tail).pipe(
      Context.add(DeviceTokens, deviceTokens),
      Context.add(DeviceFiles, deviceFiles),
      Context.add(BundleKey, { seed: seedFrom(server.key, "flightcase bundles") })
    ) as Context.Context<never>
  }
}
