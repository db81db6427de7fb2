/** Answers that show rows which are not given to this device: the server knows which of them its person may be shown. */
import { Effect } from "effect"
import type { Catalogue } from "../../../core/kernel/catalogue.ts"
import { type Endpoint, type Request, resourceOf } from "../../../core/kernel/endpoint.ts"
import { checkPermission } from "../../../core/kernel/engine.ts"
import { includesOf } from "../../../core/kernel/query.ts"
import { restrictToToken } from "../../../core/kernel/token-permissions.ts"
import { Rejection } from "../../../core/kernel/rejection.ts"
import { visibleColumnsOf } from "../../../core/kernel/visibility.ts"
import type { Viewer } from "../../../core/kernel/viewer.ts"
import { at_server } from "./history.ts"
import { wordsOf } from "../../../core/kernel/words.ts"

export const requireReferencedRows = Effect.fnUntraced(function* (
  catalogue: Catalogue,
  endpoint: Endpoint,
  { query }: Pick<Request, "query">,
  viewer: Viewer
): Effect.fn.Return<void, Rejection> {
  // Whoever may not ask at all is told so first.
  if ((yield* Effect.result(checkPermission(endpoint, viewer)))._tag === "Failure") return
  const includes = catalogue.resources.find(({ plural }) => plural === resourceOf(endpoint))?.includes ?? {}
  const lacking = includesOf(query).find((name) => {
    const include = includes[name]
    const table = include?.kind === "one" ? include.resource().table : undefined
    return (
      table?.visibility?.shown_by_reference === true &&
      visibleColumnsOf(table, restrictToToken(catalogue, viewer)) !== "whole"
    )
  })
  if (lacking === undefined) return
  return yield* new Rejection({
    kind: "unavailable",
    message: `The ${wordsOf(lacking)} is not kept on this device: leave the include ${lacking} out, or ask the server (--remote).`,
    errors: { [at_server]: [lacking] }
  })
})
