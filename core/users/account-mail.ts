/** What the server says of the mail about accounts; a device does not know, and takes it that mail is sent. */
import { Context, Effect, Option } from "effect"
import type { Failure } from "../kernel/failure.ts"
import type { Store } from "../kernel/store/store.ts"

export interface AccountMailShape {
  /** Whether invitations are sent, as the house has set it. */
  readonly invites: Effect.Effect<boolean, Failure, Store>
}
export class AccountMail extends Context.Service<AccountMail, AccountMailShape>()("flightcase/core/AccountMail") {}

export const sendsInvitations: AccountMailShape["invites"] = Effect.flatMap(
  Effect.serviceOption(AccountMail),
  (service) => (Option.isNone(service) ? Effect.succeed(true) : service.value.invites)
)
