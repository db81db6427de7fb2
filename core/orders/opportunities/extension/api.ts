/** Endpoints that extend a hire, or end it early for what came back (rules/opportunities 4.3, 4.5). */
import { Effect } from "effect"
import { boolean, code, command, decimal, integer, json, later, list, lockStreams } from "../../../kernel/index.ts"
import { longText, object, ok, postQuery, ref, Shown, Store, timestamp, withMore } from "../../../kernel/index.ts"
import { type DecideContext, type Endpoint, type Now, picked, withRules } from "../../../kernel/index.ts"
import { acknowledgements, asset_assignments, condition_labels, edit, one, opportunity_items } from "../tables/index.ts"
import { path, read, type OpportunityRow } from "../tables/index.ts"
import { loadDecisionState, opportunityShown, plainAnswer, warned, withParts, withUnits } from "../state/index.ts"
import {
  dateFields,
  extendedResult,
  extensionErrors,
  extensionShown,
  returnedResult,
  returnedShown,
  seenFields,
  type WhichLines
} from "./plan.ts"

const extending = later(() => import("./facts.ts"))

/** A part of a line in a request: bulk goods by quantity, units by their assignments. */
const partField = object({
  opportunity_item_id: integer({ required: true, min: 1, names: "opportunity_items" }),
  quantity: decimal({
    scale: 2,
    min: "0.01",
    max: "1000000000",
    nullable: true,
    describe: "Quantity of the part; default: the number of units named, else all"
  }),
  asset_ids: list(ref("asset_assignments"), {
    nullable: true,
    max_items: 1_000,
    describe: "Assignments of the part's units, if the line has units"
  })
})

const fields = {
  ...dateFields,
  lines: json<WhichLines>({
    form: "any",
    nullable: true,
    describe: "Lines to move: follow (those with the old dates; default), keep (none), or ids"
  }),
  parts: list(partField, {
    nullable: true,
    max_items: 200,
    describe: "Parts of lines to move, each as a line of its own; lines then defaults to keep"
  }),
  ...seenFields,
  reason: longText({ nullable: true, max: 1_000 })
}

const extend = command("POST", `${path}/{id}/extend`, {
  answer: { ...opportunityShown, extension: extensionShown },
  name: "opportunities.extend",
  summary: "Extend or shorten an opportunity's hire, with its lines",
  ...edit,
  params: one,
  fields,
  seen: { was_starts_at: "starts_at", was_ends_at: "ends_at" },
  success_status: 200,
  check: extensionErrors,
  creates: [acknowledgements],
  facts: (input) => withRules(extending, ({ extensionFacts }) => extensionFacts(input.rows.id, input)),
  decide: ({ known, rules }, input, context) => rules.extendHire(known, input.values.reason ?? null, context),
  result: extendedResult,
  respond: ({ extension, id, warnings }, input) =>
    Effect.map(plainAnswer(id, input, withParts), (answer) => withMore(warned(answer, warnings), { extension }))
})

const preview = postQuery(`${path}/{id}/extend/preview`, {
  answer: { extension: extensionShown, meta: Shown.warnings() },
  name: "opportunities.extend_preview",
  summary: "Preview an extension of an opportunity's hire; writes nothing",
  ...read,
  params: one,
  fields,
  check: extensionErrors,
  run: Effect.fnUntraced(function* (input) {
    const { extendHire, extensionFacts } = yield* extending
    let last = 0
    // Context for deciding without recording: ids are placeholders.
    const context: DecideContext = {
      ...picked(input, ["now", "happened_at", "viewer", "settings"]),
      id: () => --last,
      number: () => null
    }
    const facts = yield* extensionFacts(input.rows.id, input)
    const { result } = yield* Effect.fromResult(extendHire(facts, input.values.reason ?? null, context))
    return ok({ extension: result.extension, meta: { warnings: result.warnings } })
  })
})

const returning = later(() => import("./return-early.ts"))

/** State for returns of these lines; serialises writers of their units across opportunities. */
const returnFacts = Effect.fnUntraced(function* (header: OpportunityRow, line_ids: ReadonlyArray<number>, input: Now) {
  const units = yield* Store.find(asset_assignments, { opportunity_id: header.id, opportunity_item_id: line_ids })
  yield* lockStreams(units.map((unit) => `stock_level:${unit.stock_level_id}`))
  const lines = yield* Store.getMany(opportunity_items, line_ids)
  return yield* loadDecisionState(header, input, {
    live_only: true,
    stock: true,
    rated_product_ids: [...new Set(lines.flatMap((line) => line.item_id ?? []))]
  })
})

const returnEarly = command("POST", `${path}/{id}/return_early`, {
  answer: { ...opportunityShown, returned: returnedShown },
  name: "opportunities.return_early",
  summary: "Check in goods before the hire ends, and charge them only until their return",
  ...edit,
  params: one,
  success_status: 200,
  fields: {
    items: list(partField, { required: true, min_items: 1, max_items: 200 }),
    returned_at: timestamp({
      nullable: true,
      describe: "Time the goods came back; default: now, or when their units were checked in"
    }),
    already_back: boolean({
      default: false,
      describe: "True if bulk goods are checked in already: only splits off and charges the part"
    }),
    received_by: ref("users", { nullable: true }),
    return_store_id: ref("stores", { nullable: true }),
    condition: code(condition_labels, {
      nullable: true,
      describe: "Condition, with which the goods are checked at once; null: check them later"
    }),
    damage_notes: longText({ nullable: true })
  },
  split_by: "items",
  facts: (input) =>
    withRules(returning, () =>
      returnFacts(
        input.rows.id,
        input.values.items.map(({ opportunity_item_id }) => opportunity_item_id),
        input
      )
    ),
  decide: ({ known, rules }, { values }, context) =>
    rules.returnEarly(
      known,
      {
        items: values.items,
        returned_at: values.returned_at ?? null,
        received_by: values.received_by ?? null,
        return_store_id: values.return_store_id ?? null,
        condition: values.condition ?? null,
        damage_notes: values.damage_notes ?? null,
        already_back: values.already_back ?? false
      },
      context
    ),
  result: returnedResult,
  respond: ({ id, returned, warnings }, input) =>
    Effect.map(plainAnswer(id, input, withUnits), (answer) => withMore(warned(answer, warnings), { returned }))
})

export const extensionEndpoints: ReadonlyArray<Endpoint> = [extend, preview, returnEarly]
