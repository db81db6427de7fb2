/** A new code for somebody who cannot get in any more, or who must not with what they have. */
import { Effect, Schema } from "effect"
import { command } from "../../core/kernel/endpoint.ts"
import { streamOf } from "../../core/kernel/event.ts"
import { boolean, text, timestamp } from "../../core/kernel/field.ts"
import { journal } from "../../core/kernel/journal.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { factsFor } from "../../core/users/api.ts"
import { access_resets_max, resetAccess, type ResetFacts } from "../../core/users/decide.ts"
import { userAccessReset } from "../../core/users/events.ts"
import { grants } from "../../core/users/roles.ts"
import { users, type UserRow } from "../../core/users/schema.ts"
import { expiryAt, minutesFor } from "./account-mail.ts"

const beforeOf = Effect.fnUntraced(function* (user: UserRow) {
  const resets = yield* (yield* Store).find(
    journal,
    { stream: streamOf("user", user.id), type: userAccessReset.type },
    { order: ["-version"], limit: access_resets_max }
  )
  return resets.map(({ recorded_at }) => recorded_at)
})

export const reset = command("POST", "/api/v1/users/{id}/reset_password", {
  answer: {
    message: text(),
    sent_to: text({ describe: "The address the code goes to" }),
    expires_at: timestamp({ describe: "Until when the code holds" })
  },
  name: "users.reset_password",
  summary: "Send somebody a new code to log in with; with end_sessions what they hold ends now",
  ability: "users:write",
  permission: "users.reset-password",
  server_only: true,
  success_status: 202,
  params: { id: { table: users } },
  streams: ({ id }) => [`user:${id}`, grants],
  fields: { end_sessions: boolean({ default: false, describe: "Their tokens, and those of their devices, end now" }) },
  facts: ({ rows, viewer }): Effect.Effect<ResetFacts, Effect.Error<ReturnType<typeof factsFor>>, Store> =>
    Effect.gen(function* () {
      return { ...(yield* factsFor(viewer)), before: yield* beforeOf(rows.id) }
    }),
  decide: (facts, { now, rows, values, viewer }) =>
    resetAccess(rows.id, values.end_sessions === true, viewer, facts, now),
  result: Schema.Struct({ id: Schema.Int, sent_to: Schema.String }),
  respond: ({ sent_to }, { now, rows }) =>
    Effect.succeed({
      status: 202,
      body: {
        message: `A code is sent to ${sent_to}.`,
        sent_to,
        expires_at: expiryAt(now, minutesFor("reset", rows.id))
      }
    })
})
