/** A code becomes a token, once. Whatever is wrong with a code is answered alike: nobody learns which there were. */
import { Clock, Effect } from "effect"
import { CommandRuntime, recordEvents } from "../../core/kernel/command-runtime.ts"
import { postQuery } from "../../core/kernel/endpoint.ts"
import { lockStreams, retryOnConflict } from "../../core/kernel/engine.ts"
import { streamOf } from "../../core/kernel/event.ts"
import { text } from "../../core/kernel/field.ts"
import { invalidField } from "../../core/kernel/rejection.ts"
import { created } from "../../core/kernel/resource.ts"
import { remove } from "../../core/kernel/row-change.ts"
import type { Settings } from "../../core/kernel/settings.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { userActivated, userLoggedIn } from "../../core/users/events.ts"
import { users } from "../../core/users/schema.ts"
import { instantOf } from "../../core/values/time.ts"
import * as Shown from "../../core/kernel/answer-schema.ts"
import { shownWithSecret } from "../secret-shown-once.ts"
import { issuedResource, tokenResource } from "../tokens/api.ts"
import { issueOwnToken } from "../tokens/issue.ts"
import { codeWith, hashOfCode } from "./codes.ts"
import { login_codes } from "./schema.ts"

const refused = invalidField(
  "code",
  "This code is not valid here: it may have been used, replaced by a later one, or have expired. Ask for a new one."
)

/** Under the lock of the user's stream: of two who redeem a code at once, the second finds it gone. */
const redeemed = Effect.fnUntraced(function* (hash: string, user_id: number, name: string, settings: Settings) {
  const store = yield* Store
  const runtime = yield* CommandRuntime
  yield* lockStreams([streamOf("user", user_id)])
  const now = instantOf(yield* Clock.currentTimeMillis)
  const code = yield* codeWith(hash, now)
  const user = code?.user_id === user_id ? yield* store.get(users, user_id) : undefined
  if (user === undefined || user.deactivated_at !== null) return yield* refused
  const account = { id: user.id, member_id: user.member_id }
  const token = yield* issueOwnToken({ name, user_id }, settings, now)
  yield* store.apply([remove(login_codes, user_id)])
  yield* recordEvents(
    [
      ...(user.is_active ? [] : [userActivated.make({ ...account, first: user.invitation_accepted_at === null })]),
      token.event,
      userLoggedIn.make({ ...account, token_id: token.id, verifies_email: user.email_verified_at === null })
    ],
    { command_id: yield* runtime.commandId, actor_id: user_id, replica_id: null, recorded_at: now }
  )
  return token
})

export const redeem = postQuery("/api/v1/login_codes/redeem", {
  answer: { token: Shown.row(() => issuedResource) },
  name: "login_codes.redeem",
  summary: "Log in with a code that was sent by mail: a token for its person, told in this answer only",
  ability: null,
  permission: null,
  public: true,
  server_only: true,
  success_status: 201,
  fields: {
    code: text({ required: true, input_only: true, max: 200, describe: "With or without hyphens, in any case" }),
    name: text({ default: "Login by code", describe: "What the token is called, such as the machine's name" })
  },
  run: (input) =>
    Effect.gen(function* () {
      const store = yield* Store
      const hash = hashOfCode(input.values.code ?? "")
      const code = hash === undefined ? undefined : yield* codeWith(hash, input.now)
      if (hash === undefined || code === undefined) return yield* refused
      const { name = "" } = input.values
      const { id, secret } = yield* store
        .transaction(redeemed(hash, code.user_id, name, input.settings))
        .pipe(retryOnConflict)
      return created(yield* shownWithSecret(tokenResource, id, secret, input))
    })
})
