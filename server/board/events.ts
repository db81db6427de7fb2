/** What is done to boards, for the journal: who let whom see the day without a login. No address is in these events. */
import { Schema } from "effect"
import { type AnyEventType, eventType } from "../../core/kernel/event-type.ts"

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
  meaning: "An address was made that shows the day without a login.",
  data: what,
  project: "changes_no_table"
})
export const boardReaddressed = eventType("board.address_changed", {
  meaning: "A board has a new address; the one before opens nothing.",
  data: which,
  project: "changes_no_table"
})
export const boardDeleted = eventType("board.deleted", {
  meaning: "A board was removed: its address opens nothing.",
  data: which,
  project: "changes_no_table"
})
export const boardEvents: ReadonlyArray<AnyEventType> = [boardCreated, boardReaddressed, boardDeleted]
