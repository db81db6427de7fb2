/** Undo on a device of the tests, for the owner. */
import { Effect } from "effect"
import { catalogue } from "../../core/catalogue.ts"
import { type DeviceUndo, undoOver } from "../../sync/device/undo/undo.ts"
import { owner } from "../app.ts"
import type { Filled } from "./filling.ts"

export const undoOf = (device: Filled): DeviceUndo =>
  undoOver({
    catalogue,
    replica_id: device.id,
    outbox: device.outbox,
    replica: device.replica(),
    viewer: Effect.succeed(owner),
    run: device.run
  })
