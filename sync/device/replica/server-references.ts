/** Refuses reads that include rows shown by reference alone (`shown_by_reference`): devices are not sent those rows. */
import { Effect } from "effect"
import type { Catalogue } from "../../../core/kernel/catalogue.ts"
import { type Endpoint, type Request, resourceOf } from "../../../core/kernel/endpoint.ts"
import { checkPermission } from "../../../core/kernel/engine.ts"
import { includesOf } from "../../../core/kernel/query.ts"
import { restrictToToken } from "../../../core/kernel/token-permissions.ts"
import { at_server, Rejection } from "../../../core/kernel/rejection.ts"
import { visibleColumnsOf } from "../../../core/kernel/visibility.ts"
import type { Viewer } from "../../../core/kernel/viewer.ts"
import { wordsOf } from "../../../core/kernel/words.ts"

export const requireReferencedRows = Effect.fnUntraced(function* (
  catalogue: Catalogue,
  endpoint: Endpoint,
  { query }: Pick<Request, "query">,
  viewer: Viewer
): Effect.fn.Return<void, Rejection> {
  // A missing permission is reported first, where the read itself is carried out.
  if ((yield* Effect.result(checkPermission(endpoint, viewer)))._tag === "Failure") return
  const includes = catalogue.resources.find(({ plural }) => plural === resourceOf(endpoint))?.includes ?? {}
  const missing = includesOf(query).find((name) => {
    const include = includes[name]
    const table = include?.kind === "one" ? include.resource().table : undefined
    return (
      table?.visibility?.shown_by_reference === true &&
      visibleColumnsOf(table, restrictToToken(catalogue, viewer)) !== "whole"
    )
  })
  if (missing === undefined) return
  return yield* new Rejection({
    kind: "unavailable",
    message: `The ${wordsOf(missing)} is not kept on this device: leave the include ${missing} out, or ask the server (--remote).`,
    errors: { [at_server]: [missing] }
  })
})
