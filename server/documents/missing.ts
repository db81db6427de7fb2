/** A signed address of a document whose PDF is missing from the store of files: it is drawn again before it is read. */
import { Clock, Effect } from "effect"
import { documents } from "../../core/documents/schema.ts"
import type { Answer } from "../../core/kernel/endpoint.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { showFile } from "../files/serve.ts"
import { isSignedFor } from "../files/signature.ts"
import { serverContext } from "../server-context.ts"
import type { ServerCall, ServerEndpoint } from "../server-slice.ts"

const restored = Effect.fnUntraced(function* ({ params, request: { query } }: ServerCall) {
  const { blobs, key } = yield* serverContext
  const uuid = params["uuid"] ?? ""
  if (!isSignedFor(key, uuid, query, yield* Clock.currentTimeMillis)) return
  const [row] = yield* (yield* Store).find(documents, { uuid }, { limit: 1 })
  if (row === undefined || row.sha256 === null || (yield* blobs.has(row.sha256))) return
  const { pdfThere } = yield* Effect.promise(() => import("./snapshot.ts"))
  yield* pdfThere(row)
})
/** What cannot be drawn again is answered like any file that is lost. */
export const drawMissing = (call: ServerCall, next: ServerEndpoint<Answer>): ServerEndpoint<Answer> =>
  call.endpoint.name !== showFile.name
    ? next
    : Effect.andThen(
        Effect.catchCause(restored(call), (cause) =>
          Effect.logWarning("the PDF of a document is missing, and cannot be drawn again", cause)
        ),
        next
      )
