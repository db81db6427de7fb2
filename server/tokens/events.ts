/** What happens to tokens. Their secrets are in no event. */
import { Schema } from "effect"
import { type AnyEventType, eventType } from "../../core/kernel/event-type.ts"

export const tokenIssued = eventType("token.issued", {
  meaning: "A token was given to a user, or to a device of theirs.",
  data: () =>
    Schema.Struct({
      id: Schema.Int,
      name: Schema.String,
      user_id: Schema.NullOr(Schema.Int),
      abilities: Schema.Array(Schema.String),
      expires_at: Schema.NullOr(Schema.String)
    }),
  project: "changes_no_table"
})
export const tokenChanged = eventType("token.changed", {
  meaning: "A token was renamed or given other limits: what it has from then on.",
  data: () =>
    Schema.Struct({
      id: Schema.Int,
      user_id: Schema.NullOr(Schema.Int),
      name: Schema.String,
      rate_limit_per_minute: Schema.NullOr(Schema.Int),
      monthly_units: Schema.NullOr(Schema.Int)
    }),
  project: "changes_no_table"
})
export const tokenRevoked = eventType("token.revoked", {
  meaning: "A token was taken away: it opens nothing any more.",
  data: () => Schema.Struct({ id: Schema.Int, user_id: Schema.NullOr(Schema.Int) }),
  project: "changes_no_table"
})

export const tokenEvents: ReadonlyArray<AnyEventType> = [tokenIssued, tokenChanged, tokenRevoked]
