/** Undo on a device of the tests, for the owner. */
import { Effect } from "effect"
import { catalogue } from "../../core/catalogue.ts"
import type { Failure, Request } from "../../core/kernel/endpoint.ts"
import { bodyOf, Rejection, statusOf } from "../../core/kernel/rejection.ts"
import type { QueryResult, Rerecording } from "../../sync/device/replica/replica.ts"
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
    run: device.run,
    ask: (request: Request, again: Rerecording) =>
      device.run(
        device
          .replica()
          .ask(request, false, again)
          .pipe(
            Effect.catch((failure): Effect.Effect<QueryResult, Failure> =>
              failure instanceof Rejection
                ? Effect.succeed({ status: statusOf[failure.kind], body: { ...bodyOf(failure) } })
                : Effect.fail(failure)
            )
          )
      )
  })
