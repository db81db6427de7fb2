/** Commands of devices, from the network or bundles: validated alike and decided in order. */
import { Effect } from "effect"
import { body_depth_max, integer, invalid, json, list, object, Rejection, text } from "../../core/kernel/index.ts"
import { timestamp, type CommandRuntime, type JsonObject, type ValueOf, type Viewer } from "../../core/kernel/index.ts"
import type { Verdict, WireCommand } from "../protocol/wire.ts"
import { dependencies_max, optionalDecoderOf, rowsSeen, unlessChanged, wireIds, wirePayload } from "../protocol/wire.ts"
import { decidePushed } from "./push.ts"

export const command_fields = object({
  n: integer({ required: true, min: 1 }),
  id: text({ required: true, max: 64 }),
  name: text({ required: true }),
  payload: json<JsonObject>({ required: true, levels: body_depth_max + 1 }),
  ids: json<JsonObject>({ default: {} }),
  issued_at: timestamp({ required: true }),
  needs: list(text({ max: 64 }), { default: [], max_items: dependencies_max }),
  rows_seen: json<JsonObject>({ default: {} }),
  unless_changed: json<JsonObject>({ nullable: true })
})

/** Decoders of a command's documents; each returns undefined for invalid data. */
const parts = {
  payload: optionalDecoderOf("the payload", () => wirePayload),
  ids: optionalDecoderOf("the ids", () => wireIds),
  rows_seen: optionalDecoderOf("the rows seen", () => rowsSeen),
  unless_changed: optionalDecoderOf("what must not have changed", () => unlessChanged)
}
/** The given commands with validated documents; fails with 422 naming `commands.N.…`. */
export const wireCommands = (
  given: ReadonlyArray<ValueOf<typeof command_fields>>
): Effect.Effect<ReadonlyArray<WireCommand>, Rejection> => {
  const errors: { [path: string]: ReadonlyArray<string> } = {}
  const commands = given.flatMap(({ unless_changed: guarded, ...command }, at): ReadonlyArray<WireCommand> => {
    const { params, body, files } = command.payload
    const payload = parts.payload({ params: params ?? {}, body: body ?? {}, ...(files === undefined ? {} : { files }) })
    const ids = parts.ids(command.ids)
    const rows_seen = parts.rows_seen(command.rows_seen)
    const is_guarded = guarded !== undefined && guarded !== null
    const unless_changed = is_guarded ? parts.unless_changed(guarded) : undefined
    if (payload === undefined)
      errors[`commands.${at}.payload`] = [
        "The payload must hold params (texts), a body (object) and, with files, what they are."
      ]
    if (ids === undefined) errors[`commands.${at}.ids`] = ["The ids must be lists of integers by table."]
    if (rows_seen === undefined)
      errors[`commands.${at}.rows_seen`] = ["The rows seen must be instants by table and id."]
    if (is_guarded && unless_changed === undefined)
      errors[`commands.${at}.unless_changed`] = ["It must hold since (a position), streams and columns by row."]
    return payload === undefined || ids === undefined || rows_seen === undefined
      ? []
      : [{ ...command, payload, ids, rows_seen, ...(unless_changed === undefined ? {} : { unless_changed }) }]
  })
  return Object.keys(errors).length > 0 ? Effect.fail(invalid(errors)) : Effect.succeed(commands)
}

/**
 * Verdicts in order. Stops before a command that cannot be decided, so that the device sends the rest again; fails if
 * that is the first one.
 */
export const decideInOrder = Effect.fnUntraced(function* (
  replica_id: number,
  commands: ReadonlyArray<WireCommand>,
  viewer: Viewer,
  lost_files: ReadonlyArray<string> = []
): CommandRuntime.Reads<ReadonlyArray<Verdict>> {
  const verdicts: Array<Verdict> = []
  const lost = new Set(lost_files)
  for (const command of commands) {
    const verdict = yield* Effect.result(decidePushed(replica_id, command, viewer, lost))
    if (verdict._tag === "Success") {
      verdicts.push(verdict.success)
      continue
    }
    if (verdicts.length > 0 && verdict.failure instanceof Rejection) break
    return yield* verdict.failure
  }
  return verdicts
})

/** The answer to a device whose command schema is no longer supported. */
export const upgradeRequired = (schema_version: number, least: number) => ({
  status: 426,
  body: {
    message: `This device runs a release with schema ${schema_version}; the server takes commands from schema ${least} on. They stay on the device: update it, then sync.`,
    errors: { schema_version: [`at least ${least}`] }
  }
})
