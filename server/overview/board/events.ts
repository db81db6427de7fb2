import { Schema } from "effect"
import { eventType, type AnyEventType } from "../../../core/kernel/index.ts"

// Journal events of boards: who made a day visible without a login. They never contain addresses.

const what = () =>
  Schema.Struct({
    id: Schema.Int,
    name: Schema.String,
    store_id: Schema.NullOr(Schema.Int),
    shows_money: Schema.Boolean,
    expires_at: Schema.NullOr(Schema.String),
    user_id: Schema.Int
  })
const which = () => Schema.Struct({ id: Schema.Int, name: Schema.String, user_id: Schema.Int })
export const boardCreated = eventType("board.created", {
  meaning: "A board was created: a link that shows the day without a login.",
  data: what,
  project: "changes_no_table"
})
export const boardReaddressed = eventType("board.address_changed", {
  meaning: "A board got a new link; the earlier one stopped working.",
  data: which,
  project: "changes_no_table"
})
export const boardDeleted = eventType("board.deleted", {
  meaning: "A board was removed: its link stopped working.",
  data: which,
  project: "changes_no_table"
})
export const boardEvents: ReadonlyArray<AnyEventType> = [boardCreated, boardReaddressed, boardDeleted]
