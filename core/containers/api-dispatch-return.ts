/** Endpoints for dispatching containers to orders, returning them and checking them in (rules/availability 8.6). */
import { withHolders } from "../opportunities/called.ts"
import { Effect } from "effect"
import { assetConflicts } from "../availability/assets-query.ts"
import { command, type Failure } from "../kernel/endpoint.ts"
import { lockStreams } from "../kernel/engine.ts"
import { code, list, ref, timestamp } from "../kernel/field.ts"
import { invalidField } from "../kernel/rejection.ts"
import { ok, withMore } from "../kernel/resource.ts"
import type { Settings } from "../kernel/settings.ts"
import { Store } from "../kernel/store/store.ts"
import { loadDecisionState } from "../opportunities/load.ts"
import { condition_labels } from "../opportunities/units/schema.ts"
import { opportunities } from "../opportunities/schema.ts"
import { stock_levels } from "../stock/schema.ts"
import { openEnd } from "../values/time.ts"
import { loadTarget } from "./facts.ts"
import {
  type ReturnFacts,
  dispatchContainer,
  dispatchedResult,
  returnContainer,
  verifiedResult,
  verifyCheckin
} from "./dispatch-return.ts"
import type { ContainerRow } from "../packing/schema.ts"
import { containerShown, streamsOfMovement, oneContainer, renderContainer, write_access } from "./endpoint-parts.ts"
import * as Shown from "../kernel/answer-schema.ts"
import { dispatch_meta_fields } from "../opportunities/status/progress.ts"
import { verificationShown } from "./answers.ts"

const one = "/api/v1/containers/{container}"

const dispatching = command("POST", `${one}/dispatch`, {
  answer: { ...containerShown, meta: Shown.optional(Shown.keys(dispatch_meta_fields)) },
  name: "containers.dispatch",
  summary: "Send a sealed kit out to an order",
  ...write_access("dispatch"),
  params: oneContainer,
  fields: { opportunity_id: ref("opportunities", { required: true }), dispatched_at: timestamp({ nullable: true }) },
  streams: (params, body) => [...streamsOfMovement()(params, body), `opportunity:${String(body["opportunity_id"])}`],
  facts: (input) =>
    Effect.gen(function* () {
      const store = yield* Store
      const {
        happened_at,
        now,
        rows: { container },
        values
      } = input
      const header = yield* store.get(opportunities, values.opportunity_id ?? 0)
      if (header === undefined) return yield* invalidField("opportunity_id", "The selected opportunity does not exist.")
      const ids = container.serialised_item_id === null ? [] : [container.serialised_item_id]
      yield* lockStreams(ids.map((id) => `stock_level:${id}`))
      const from = values.dispatched_at ?? happened_at
      return {
        target: yield* loadTarget(container),
        known: yield* loadDecisionState(header, input, { stock: true, level_ids: ids }),
        housing:
          container.serialised_item_id === null
            ? undefined
            : yield* store.get(stock_levels, container.serialised_item_id),
        housing_demands: yield* withHolders(
          yield* assetConflicts(
            ids,
            { from, to: header.ends_at === null || header.ends_at < from ? openEnd : header.ends_at },
            now
          )
        )
      }
    }),
  decide: (facts, { values }, context) =>
    dispatchContainer(facts, values.dispatched_at ?? context.happened_at, context),
  result: dispatchedResult,
  respond: ({ id, meta }, input) =>
    Effect.map(renderContainer(input, id, ok), (answer) => withMore(answer, meta === null ? {} : { meta }))
})

/** The container and the order it is out on, which is locked. */
const returnFacts = Effect.fnUntraced(function* (
  container: ContainerRow,
  now: { readonly now: string; readonly settings: Settings }
): Effect.fn.Return<ReturnFacts, Failure, Store> {
  const store = yield* Store
  const header =
    container.opportunity_id === null ? undefined : yield* store.get(opportunities, container.opportunity_id)
  if (header !== undefined) yield* lockStreams([`opportunity:${header.id}`])
  const current = header === undefined ? undefined : yield* store.get(opportunities, header.id)
  return {
    target: yield* loadTarget(container),
    known:
      current === undefined || current.deleted_at !== null
        ? undefined
        : yield* loadDecisionState(current, now, { stock: true })
  }
})

const returning = command("POST", `${one}/return`, {
  answer: containerShown,
  name: "containers.return",
  summary: "Take a kit back from its order",
  ...write_access("dispatch"),
  params: oneContainer,
  streams: streamsOfMovement(),
  fields: { returned_at: timestamp({ nullable: true }), condition: code(condition_labels, { nullable: true }) },
  facts: (input) => returnFacts(input.rows.container, input),
  decide: (facts, { values }, context) =>
    returnContainer(facts, values.returned_at ?? context.happened_at, values.condition ?? null, context),
  respond: (result, input) => renderContainer(input, result.id, ok)
})

const verifying = command("POST", `${one}/verify-checkin`, {
  answer: { verification: verificationShown },
  name: "containers.verify_checkin",
  summary: "Check what came back against what went out",
  ...write_access("repack"),
  params: oneContainer,
  streams: streamsOfMovement(),
  fields: {
    scanned: list(ref("stock_levels"), { nullable: true, max_items: 1_000, distinct: true }),
    serialised_item_id: ref("stock_levels", { nullable: true })
  },
  check: ({ scanned, serialised_item_id }, body) =>
    (scanned ?? serialised_item_id ?? null) === null && body["scanned"] == null && body["serialised_item_id"] == null
      ? { serialised_item_id: ["The serialised item field is required when scanned is not given."] }
      : {},
  facts: (input) => returnFacts(input.rows.container, input),
  decide: (facts, { values }, context) =>
    verifyCheckin(
      facts,
      [
        ...new Set([
          ...(values.scanned ?? []),
          ...(values.serialised_item_id == null ? [] : [values.serialised_item_id])
        ])
      ],
      context
    ),
  result: verifiedResult,
  respond: ({ verification }) => Effect.succeed(ok({ verification }))
})

export const dispatchReturnEndpoints = [dispatching, returning, verifying]
