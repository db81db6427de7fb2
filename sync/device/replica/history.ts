/** A replica that was filled from rows lacks the events before them: reads that need those are refused. */
import { Effect } from "effect"
import type { Endpoint, Params, Request } from "../../../core/kernel/endpoint.ts"
import { streamOf } from "../../../core/kernel/event.ts"
import { isJsonObject } from "../../../core/kernel/json.ts"
import { at_server, Rejection } from "../../../core/kernel/rejection.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import { readMeta } from "./local-tables.ts"

/** Refuses a read that needs the whole journal where the replica has only a part of it. */
export const requireHistory = Effect.fnUntraced(function* (
  endpoint: Endpoint,
  request: Request,
  params: { readonly [name: string]: string }
) {
  const in_the_past =
    request.query.some(([name]) => name === "as_of") ||
    (isJsonObject(request.body) && (request.body["as_of"] ?? null) !== null)
  if (!in_the_past && endpoint.reads_history === undefined) return
  const store = yield* Store
  const journal_from = Number((yield* readMeta(store, "journal_from")) ?? 0)
  if (journal_from === 0) return
  const about = in_the_past ? undefined : endpoint.reads_history
  if (about !== undefined && about !== "everything") {
    const { table } = (endpoint.params as Params)[about.of]!
    const stream = streamOf(table.entity, params[about.of] ?? "")
    const [first] = yield* store.run<{ version: number | null }>(
      "select min(version) as version from journal where stream = ?",
      [stream]
    )
    // Its stream begins after the fill, so all of its events are here.
    if (first?.version === 1) return
  }
  return yield* new Rejection({
    kind: "unavailable",
    message: `What happened before event ${journal_from} is on the server: this device was filled with how things stood then. Ask the server (--remote).`,
    errors: { [at_server]: ["history"] }
  })
})
