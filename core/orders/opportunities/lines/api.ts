/** Lines of an opportunity: add, change, remove, restructure (rules/opportunities 7). */
import { Effect, Result } from "effect"
import { boolean, command, decision, integer, later, list, object, reject, Store } from "../../../kernel/index.ts"
import { withRules, type DecideContext, type Decided, type Endpoint, type Input } from "../../../kernel/index.ts"
import type { Settings } from "../../../kernel/index.ts"
import { demandSettings, hasShortageCheck, inActiveVersion, liveLines, loadDecisionState } from "../state/index.ts"
import { opportunityAnswer, opportunityShown, recalculate, restructured, warnedOpportunity } from "../state/index.ts"
import { warnedResult, withParts, type DecisionState, type Node } from "../state/index.ts"
import { edit, item, one, path, requireTransition, type ItemRow, type OpportunityRow } from "../tables/index.ts"
import { addItemFields, addLine, changeItemFields, idsOfLines, removable, subtreeOf, windowOf } from "./decide.ts"
import { lineRemoved, linesRestructured } from "../events/lines.ts"
import type { LineAtStore } from "../../availability/api/window.ts"
import { lineWindow } from "../../availability/rules/line-demands.ts"
import { product_accessories } from "../../../products/kits/schema.ts"
import type { ChangeLine } from "./change.ts"

// Reorders and nests all lines (rules/opportunities 7.5).

/** Takes every line once, in display order. With `prune`, omitted lines are removed under the rules of removal. */
const restructure = (
  state: DecisionState,
  nodes: ReadonlyArray<Node>,
  prune: boolean,
  context: DecideContext
): Decided =>
  Result.gen(function* () {
    const { opportunity } = state
    yield* requireTransition(opportunity.header, "edit")
    const lines = liveLines(opportunity)
    const refuse = (text: string) => reject("nodes", text)
    const ids = new Set(nodes.map(({ id }) => id))
    if (ids.size !== nodes.length) return yield* refuse("A line is listed twice.")
    const byId = new Map(lines.map((line) => [line.id, line]))
    const foreign = nodes.find(({ id }) => !byId.has(id))
    if (foreign !== undefined) return yield* refuse(`Line ${foreign.id} does not belong to this opportunity.`)
    const unlisted = lines.filter(({ id }) => !ids.has(id))
    if (unlisted.length > 0 && !prune)
      return yield* refuse(`Lines are missing: ${unlisted.map(({ id }) => id).join(", ")}. List every line once.`)
    yield* removable(opportunity, unlisted)
    const paths = yield* restructured(nodes, byId)
    const places = new Map(paths.map(({ id, path }) => [id, path]))
    const removed_ids = new Set(unlisted.map(({ id }) => id))
    const moved = paths.filter(({ id, path }) => byId.get(id)?.path !== path).map(({ id }) => id)
    const remaining = opportunity.lines
      .filter(({ id }) => !removed_ids.has(id))
      .map((line) => {
        const path = places.get(line.id) ?? line.path
        return path === line.path ? line : { ...line, path }
      })
    const recalculated = yield* recalculate(
      state,
      { ...opportunity, lines: remaining },
      { demanded: [...removed_ids], ...(unlisted.length === 0 ? { totals: false } : {}) },
      context
    )
    return decision(opportunity.header.id, [
      ...unlisted.map(lineRemoved),
      ...(moved.length > 0 ? [linesRestructured(opportunity.header.id, paths, moved)] : []),
      ...recalculated.events
    ])
  })

const shown = (_result: unknown, input: Input<typeof one>) => opportunityAnswer(input.rows.id.id, input, withParts)

/** Which stock to read: none if the opportunity needs no more of it, otherwise also that of the changed line. */
const stockOptions = (
  header: OpportunityRow,
  given: { readonly settings: Settings; readonly now: string },
  product_ids: ReadonlyArray<number>,
  sent: { readonly starts_at?: string | null; readonly ends_at?: string | null }
): { readonly stock: boolean; readonly lines: ReadonlyArray<LineAtStore> } => {
  const { store_id } = header
  const window = lineWindow(windowOf(header, sent, given.now), header, demandSettings(given.settings, given.now))
  return {
    stock: hasShortageCheck(header, given.settings),
    lines:
      store_id === null || window.ends_at < window.starts_at
        ? []
        : product_ids.map((product_id) => ({ id: 0, product_id, store_id, quantity: 1, ...window }))
  }
}

/** Units that a line and its accessories take at most, of all products together. */
const takenBy = (quantity = "1.00", included: ReadonlyArray<{ readonly quantity: string }> = []): number =>
  ["1", ...included.map((one) => one.quantity)].reduce(
    (sum, each) => sum + Math.ceil(Number(each) * Number(quantity)) + 1,
    0
  )

const add = command("POST", `${path}/{id}/items`, {
  answer: opportunityShown,
  success_status: 201,
  name: "opportunities.add_item",
  summary: "Add a line to an opportunity",
  ...edit,
  params: one,
  fields: addItemFields,
  split_by: "quantity",
  facts: (input) =>
    Effect.gen(function* () {
      const header = input.rows.id
      const sent: Parameters<typeof addLine>[1] = input.values
      const item_id = sent.item_id ?? sent.itemable_id ?? null
      const included =
        item_id === null || (sent.item_type ?? "product") !== "product"
          ? []
          : yield* Store.find(
              product_accessories,
              { product_id: item_id, included: true },
              { order: ["sort_order", "id"] }
            )
      const product_ids = [...(item_id === null ? [] : [item_id]), ...included.map((one) => one.accessory_product_id)]
      return {
        included,
        state: yield* loadDecisionState(header, input, {
          product_ids,
          rated_product_ids: product_ids,
          live_only: true,
          touched_line_ids: [],
          taken_max: takenBy(sent.quantity, included),
          ...stockOptions(header, input, product_ids, sent)
        })
      }
    }),
  expects: (facts, input) => idsOfLines(facts, input.values),
  decide: (facts, input, context) => addLine(facts, input.values, context),
  result: warnedResult,
  respond: (result, input) => warnedOpportunity(result, input, withParts, 201)
})

const changing = later(() => import("./change.ts"))

const change = command("PATCH", `${path}/{id}/items/{item}`, {
  answer: opportunityShown,
  name: "opportunities.update_item",
  summary: "Update a line of an opportunity",
  ...edit,
  params: item,
  fields: changeItemFields,
  together: [
    ["starts_at", "ends_at"],
    ["item_id", "itemable_type", "name"]
  ],
  facts: (input) => {
    const sent: ChangeLine = input.values
    const header = input.rows.id
    const ids = [sent.item_id, input.rows.item.item_id].filter((id) => typeof id === "number")
    return withRules(changing, () =>
      loadDecisionState(header, input, {
        product_ids: ids,
        rated_product_ids: ids,
        live_only: true,
        touched_line_ids: [input.rows.item.id],
        taken_max: Math.max(takenBy(sent.quantity), takenBy(input.rows.item.quantity)),
        ...stockOptions(header, input, ids, sent)
      })
    )
  },
  decide: ({ known, rules }, input, context) =>
    rules.changeLine(known, input.rows.item, input.values, input.body, context),
  result: warnedResult,
  respond: (result, input) => warnedOpportunity(result, input, withParts)
})

/** Removes a group with its subtree, or a product with its accessories; siblings keep their paths. */
const removeLine = (state: DecisionState, line: ItemRow, context: DecideContext): Decided =>
  Result.gen(function* () {
    const { opportunity } = state
    yield* requireTransition(opportunity.header, "edit")
    yield* inActiveVersion(line)
    // Deepest first, so that the activity lists children before their parents.
    const removed_lines = subtreeOf(opportunity, line).toSorted(
      (one, other) => other.path.length - one.path.length || (one.path < other.path ? -1 : 1)
    )
    yield* removable(opportunity, removed_lines)
    const ids = removed_lines.map(({ id }) => id)
    const recalculated = yield* recalculate(
      state,
      { ...opportunity, lines: opportunity.lines.filter(({ id }) => !ids.includes(id)) },
      { demanded: ids },
      context
    )
    return decision(opportunity.header.id, [...removed_lines.map(lineRemoved), ...recalculated.events])
  })

const remove = command("DELETE", `${path}/{id}/items/{item}`, {
  answer: opportunityShown,
  name: "opportunities.remove_item",
  summary: "Remove a line of an opportunity, with all lines below it",
  ...edit,
  params: item,
  success_status: 200,
  facts: (input) =>
    loadDecisionState(input.rows.id, input, {
      live_only: true,
      taken_max: 0,
      stock: hasShortageCheck(input.rows.id, input.settings),
      touched_line_ids: (opportunity) => subtreeOf(opportunity, input.rows.item).map(({ id }) => id)
    }),
  decide: (state, input, context) => removeLine(state, input.rows.item, context),
  respond: shown
})

const tree = command("PATCH", `${path}/{id}/items/tree`, {
  answer: opportunityShown,
  name: "opportunities.restructure_items",
  summary: "Reorder and nest all lines of an opportunity",
  ...edit,
  params: one,
  mode: "create",
  fields: {
    nodes: list(
      object({ id: integer({ required: true, min: 1 }), depth: integer({ required: true, min: 1, max: 100 }) }),
      { required: true, min_items: 1 }
    ),
    prune_orphans: boolean({ default: false })
  },
  // A new order of lines changes neither charges nor demands, unless lines are pruned.
  facts: (input) =>
    loadDecisionState(
      input.rows.id,
      input,
      input.values.prune_orphans === true
        ? { live_only: true, stock: hasShortageCheck(input.rows.id, input.settings) }
        : { live_only: true, touched_line_ids: [] }
    ),
  decide: (state, input, context) =>
    restructure(state, input.values.nodes ?? [], input.values.prune_orphans ?? false, context),
  respond: shown
})

export const lineEndpoints: ReadonlyArray<Endpoint> = [add, tree, change, remove]
