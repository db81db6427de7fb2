/** How containers go out to orders, come back and are checked in (spec 4.15). */
import { Effect } from "effect"
import { assetConflicts } from "../availability/assets-query.ts"
import { command, type Fault } from "../kernel/endpoint.ts"
import { waitFor } from "../kernel/engine.ts"
import { code, list, ref, timestamp } from "../kernel/field.ts"
import { invalidField } from "../kernel/rejection.ts"
import { ok, withMore } from "../kernel/resource.ts"
import type { Settings } from "../kernel/settings.ts"
import { Store } from "../kernel/store/store.ts"
import { knownOf } from "../opportunities/facts.ts"
import { condition_labels } from "../opportunities/parts.ts"
import { opportunities } from "../opportunities/schema.ts"
import { stock_levels } from "../stock/schema.ts"
import { openEnd } from "../values/time.ts"
import { loadTarget } from "./facts.ts"
import { type BackFacts, dispatchContainer, dispatchedResult, returnContainer, verifiedResult, verifyCheckin } from "./outing.ts"
import type { ContainerRow } from "../packing/schema.ts"
import { containerShown, moving, oneContainer, shownContainer, writing } from "./shared.ts"
import * as Shown from "../kernel/shown.ts"
import { heldBackShown } from "../opportunities/decide/progress.ts"
import { verificationShown } from "./shown.ts"

const one = "/api/v1/containers/{container}"

const dispatching = command("POST", `${one}/dispatch`, {
  answer: { ...containerShown, meta: Shown.optional(Shown.keys(heldBackShown)) },
  name: "containers.dispatch", summary: "Send a sealed kit out to an order", ...writing("dispatch"), params: oneContainer,
  fields: { opportunity_id: ref("opportunities", { required: true }), dispatched_at: timestamp({ nullable: true }) },
  streams: (params, body) => [...moving()(params, body), `opportunity:${String(body["opportunity_id"])}`],
  facts: (input) => Effect.gen(function*() {
    const store = yield* Store
    const { now, rows: { container }, values } = input
    const header = yield* store.get(opportunities, values.opportunity_id ?? 0)
    if (header === undefined) return yield* invalidField("opportunity_id", "The selected opportunity does not exist.")
    const ids = container.serialised_item_id === null ? [] : [container.serialised_item_id]
    yield* waitFor(ids.map((id) => `stock_level:${id}`))
    const from = values.dispatched_at ?? now
    return {
      target: yield* loadTarget(container),
      known: yield* knownOf(header, input, { stock: true, level_ids: ids }),
      housing: container.serialised_item_id === null ? undefined : yield* store.get(stock_levels, container.serialised_item_id),
      housing_claims: yield* assetConflicts(ids, { from, to: header.ends_at === null || header.ends_at < from ? openEnd : header.ends_at }, now)
    }
  }),
  decide: (facts, { values }, context) => dispatchContainer(facts, values.dispatched_at ?? context.now, context),
  result: dispatchedResult,
  respond: ({ id, meta }, input) => Effect.map(shownContainer(input, id, ok), (answer) => withMore(answer, meta === null ? {} : { meta }))
})

/** The container and the order it is out on. */
const backFacts = Effect.fnUntraced(function*(
  container: ContainerRow, now: { readonly now: string; readonly settings: Settings }
): Effect.fn.Return<BackFacts, Fault, Store> {
  const store = yield* Store
  const header = container.opportunity_id === null ? undefined : yield* store.get(opportunities, container.opportunity_id)
  if (header !== undefined) yield* waitFor([`opportunity:${header.id}`])
  const current = header === undefined ? undefined : yield* store.get(opportunities, header.id)
  return {
    target: yield* loadTarget(container),
    known: current === undefined || current.deleted_at !== null ? undefined : yield* knownOf(current, now, { stock: true })
  }
})

const returning = command("POST", `${one}/return`, {
  answer: containerShown,
  name: "containers.return", summary: "Take a kit back from its order", ...writing("dispatch"), params: oneContainer, streams: moving(),
  fields: { returned_at: timestamp({ nullable: true }), condition: code(condition_labels, { nullable: true }) },
  facts: (input) => backFacts(input.rows.container, input),
  decide: (facts, { values }, context) => returnContainer(facts, values.returned_at ?? context.now, values.condition ?? null, context),
  respond: (result, input) => shownContainer(input, result.id, ok)
})

const verifying = command("POST", `${one}/verify-checkin`, {
  answer: { verification: verificationShown },
  name: "containers.verify_checkin", summary: "Check what came back against what went out", ...writing("repack"), params: oneContainer, streams: moving(),
  fields: {
    scanned: list(ref("stock_levels"), { nullable: true, max_items: 1_000, distinct: true }),
    serialised_item_id: ref("stock_levels", { nullable: true })
  },
  check: ({ scanned, serialised_item_id }, body) =>
    (scanned ?? serialised_item_id ?? null) === null && body["scanned"] == null && body["serialised_item_id"] == null
      ? { serialised_item_id: ["The serialised item field is required when scanned is not given."] } : {},
  facts: (input) => backFacts(input.rows.container, input),
  decide: (facts, { values }, context) => verifyCheckin(facts,
    [...new Set([...values.scanned ?? [], ...(values.serialised_item_id == null ? [] : [values.serialised_item_id])])], context),
  result: verifiedResult,
  respond: ({ verification }) => Effect.succeed(ok({ verification }))
})

export const outingEndpoints = [dispatching, returning, verifying]
