/** Events about devices: the verdicts on their commands, which reach them through the journal. */
import { Schema } from "effect"
import { type DataOf, eventType } from "../../core/kernel/events/event-type.ts"
import type { JsonObject } from "../../core/kernel/fields/field.ts"

const verdictError = () =>
  Schema.Struct({
    status: Schema.Int,
    message: Schema.String,
    errors: Schema.optionalKey(Schema.Record(Schema.String, Schema.Array(Schema.String))),
    // The refused command this one builds on, which is why it was not decided (status 424).
    cause: Schema.optionalKey(Schema.String)
  })

/** Belongs in the stream of the device. */
export const commandDecided = eventType("command.decided", {
  meaning: "The server decided a command that a device had recorded: accepted, or refused with the error.",
  data: () =>
    Schema.Struct({
      // The command's number in the device's sequence.
      n: Schema.Int,
      command_id: Schema.String,
      name: Schema.String,
      status: Schema.Literals(["accepted", "rejected"]),
      error: Schema.optionalKey(verdictError())
    }),
  project: "changes_no_table"
})
type DecidedData = DataOf<typeof commandDecided>
export const decidedIn = (data: JsonObject): DecidedData => commandDecided.read(data)
