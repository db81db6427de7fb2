/** A request as it came, for endpoints with `raw_body`: whoever sent it signed its very bytes. */
import { Context, Effect, Option } from "effect"

export type Headers = { readonly [lower_case_name: string]: string | ReadonlyArray<string> | undefined }

interface RawRequestShape {
  readonly headers: Headers
  readonly bytes: Uint8Array
}
export class RawRequest extends Context.Service<RawRequest, RawRequestShape>()("flightcase/server/RawRequest") {}

/** The server provides it to every endpoint with `raw_body`, none of which a device answers. */
export const rawRequest: Effect.Effect<RawRequestShape> = Effect.map(
  Effect.serviceOption(RawRequest),
  Option.getOrThrow
)
