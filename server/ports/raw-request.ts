/** A request as it came, for endpoints with `raw_body`: whoever sent it signed its very bytes. */
import { Context } from "effect"

export type Headers = { readonly [lower_case_name: string]: string | ReadonlyArray<string> | undefined }

interface RawRequestShape {
  readonly headers: Headers
  readonly bytes: Uint8Array
}
/** The server provides it to every endpoint with `raw_body`, none of which a device answers. */
export const RawRequest = Context.Reference<RawRequestShape>("flightcase/server/RawRequest", {
  defaultValue: () => {
    throw new Error("this endpoint has no raw_body")
  }
})
