/**
 * How commands are decided on a replica: with ids from the outbox's leases, without document numbers, provisionally.
 */
import { Effect, Layer } from "effect"
import { CommandRuntime } from "../../../core/kernel/command-runtime.ts"
import { type CommandMetadata, decideInSavepoint, type EndpointCall } from "../../../core/kernel/engine.ts"
import { Rejection } from "../../../core/kernel/rejection.ts"
import { storedSettings } from "../../../core/kernel/server-runtime.ts"
import { projectProvisionally, recordProvisionally } from "./provisional.ts"
import type { ReplicaOptions, ReplicaParts } from "./replica-parts.ts"

/** Raised when the leased ids of a table are used up. */
const outOfIds = (table: string): Rejection =>
  new Rejection({
    kind: "unavailable",
    message: `This device has no ids left for ${table.replaceAll("_", " ")}; run flightcase sync to get more.`
  })

export const localRuntime = ({
  catalogue,
  commandId,
  outbox,
  public_url,
  replica_id
}: ReplicaOptions): { readonly runtime: Layer.Layer<CommandRuntime>; readonly decide: ReplicaParts["decide"] } => {
  /** Ids used by the command being decided, by table; recording the command takes them from the lease. */
  const used = new Map<string, number>()
  const runtime = Layer.succeed(
    CommandRuntime,
    CommandRuntime.of({
      role: "replica",
      catalogue,
      commandId: Effect.sync(commandId),
      allocateIds: (table, count) =>
        Effect.suspend(() => {
          const skip = used.get(table) ?? 0
          const ids = outbox.peekIds(table, skip, count)
          if (ids.length === 0) return Effect.fail(outOfIds(table))
          used.set(table, skip + ids.length)
          return Effect.succeed(ids)
        }),
      releaseIds: (table, ids) =>
        Effect.sync(() => {
          used.set(table, (used.get(table) ?? 0) - ids.length)
        }),
      nextNumber: () => Effect.succeed(null),
      project: (events, recording) => projectProvisionally(catalogue, events, recording),
      append: recordProvisionally,
      settings: storedSettings(catalogue),
      ...(public_url === undefined ? {} : { public_url })
    })
  )
  return {
    runtime,
    decide: Effect.fnUntraced(function* (
      call: EndpointCall,
      command_id: string,
      { ids = {}, issued_at }: Pick<CommandMetadata, "ids" | "issued_at">,
      continues = false
    ) {
      if (!continues) used.clear()
      return yield* decideInSavepoint(call, { command_id, replica_id, ids, issued_at })
    })
  }
}
