/** Answers over 1 kB are sent as br or gzip if the client accepts it; streams and binary content are not compressed. */
import { brotliCompress, constants, gzip } from "node:zlib"
import { Effect, Semaphore } from "effect"
import type { HttpRequest, HttpResponse } from "./http-message.ts"

const compressed_from_bytes = 1_024
const is_text = /^(text\/(?!event-stream)|application\/(json|javascript|xml)|image\/svg)/

/** The client's preferred coding; undefined for none. `br;q=0` is a refusal. */
const codingFor = (accepted: string): "br" | "gzip" | undefined => {
  const takes = (coding: string): boolean =>
    accepted.split(",").some((one) => {
      const [name = "", ...parameters] = one.split(";").map((part) => part.trim().toLowerCase())
      return name === coding && !parameters.some((part) => /^q=0(\.0*)?$/.test(part))
    })
  return takes("br") ? "br" : takes("gzip") ? "gzip" : undefined
}

/** Each takes megabytes that the process keeps; two keep both cores of a small server busy. */
const at_once = Semaphore.makeUnsafe(2)

/** In a thread of its own: a description of 2 MB keeps no other request waiting. */
const compress = (coding: "br" | "gzip", body: string | Uint8Array): Effect.Effect<Uint8Array | undefined> =>
  Effect.callback((resume) => {
    const bytes = typeof body === "string" ? Buffer.from(body) : body
    const done = (error: Error | null, made: Uint8Array): void =>
      resume(Effect.succeed(error === null ? made : undefined))
    if (coding === "gzip") return gzip(bytes, { level: 6 }, done)
    const params = {
      [constants.BROTLI_PARAM_QUALITY]: 4,
      [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
      // A window as large as the text, not the usual 4 MB, which every answer over 64 kB would take.
      [constants.BROTLI_PARAM_LGWIN]: Math.min(22, Math.max(16, Math.ceil(Math.log2(bytes.length))))
    }
    return brotliCompress(bytes, { params }, done)
  })

export const compressed = (
  { headers: asked, method }: Pick<HttpRequest, "headers" | "method">,
  reply: HttpResponse
): Effect.Effect<HttpResponse> => {
  const { body, headers } = reply
  const has_text = typeof body === "string" || body instanceof Uint8Array
  if (!has_text || body.length < compressed_from_bytes || !is_text.test(headers["content-type"] ?? ""))
    return Effect.succeed(reply)
  const vary = { ...headers, vary: [headers["vary"] ?? [], "accept-encoding"].flat().join(", ") }
  const coding = codingFor([asked["accept-encoding"] ?? []].flat().join(","))
  if (coding === undefined || method === "HEAD") return Effect.succeed({ ...reply, headers: vary })
  return Effect.map(at_once.withPermit(compress(coding, body)), (made) =>
    made === undefined ? reply : { ...reply, headers: { ...vary, "content-encoding": coding }, body: made }
  )
}
