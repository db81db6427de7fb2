/** How people get in who hold no token yet: codes sent by mail (rules/conventions 11). */
import { Clock, Context, Effect, Schema } from "effect"
import { AccountMail } from "../../core/users/account-mail.ts"
import { instantOf } from "../../core/values/time.ts"
import { jobKind } from "../jobs/job-kind.ts"
import { dropOldSecrets } from "../mail/secrets.ts"
import type { ServerSlice } from "../server-slice.ts"
import { accountMails, dropMails, isMailed, mailAccount } from "./account-mail.ts"
import { dropExpired, endCodes } from "./codes.ts"
import { redeem } from "./redeem.ts"
import { reset } from "./reset.ts"
import { login_codes } from "./schema.ts"

/** Longer than the job of a message is known, which would be queued anew once its secret is forgotten. */
const sent_kept_millis = 30 * 86_400_000

const dropOldDaily = {
  cron: "41 3 * * *",
  kind: jobKind({
    kind: "access.cleanup",
    meaning: "forgets codes to log in with that have expired",
    data: Schema.Struct({ due_at: Schema.String }),
    attempts_max: 5,
    waits_seconds: [60, 600],
    at_a_time: 1,
    run: () =>
      Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        yield* dropExpired(instantOf(now))
        yield* dropOldSecrets(instantOf(now), instantOf(now - sent_kept_millis))
      })
  })
}

export const accessSlice: ServerSlice = {
  name: "access",
  server_tables: [login_codes],
  endpoints: [reset, redeem],
  jobs: [mailAccount, dropOldDaily.kind],
  processes: [accountMails],
  timed: [dropOldDaily],
  recorded: (events) => Effect.andThen(endCodes(events), dropMails(events)),
  services: () => Context.make(AccountMail, { invites: isMailed("invited") })
}
