/** Who asks at a public address: what endpoints are not told, as most of them know a token instead. */
import { Context, Effect, Option } from "effect"
import type { Headers } from "../../raw-request.ts"

export interface PublicCallShape {
  readonly headers: Headers
  readonly remote_address: string
}
export class PublicCall extends Context.Service<PublicCall, PublicCallShape>()("flightcase/server/PublicCall") {}

/** The slice provides it to every endpoint below /d. */
export const publicCall: Effect.Effect<PublicCallShape> = Effect.map(
  Effect.serviceOption(PublicCall),
  Option.getOrThrow
)
export const headerOf = ({ headers }: PublicCallShape, name: string): string => {
  const value = headers[name]
  return typeof value === "string" ? value : (value?.join(", ") ?? "")
}
