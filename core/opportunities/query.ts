/**
 * Reading opportunities: the list and one of them, its units, what is free for its lines, its activity, and what may be
 * done with it (rules/opportunities 2, 4, 9.1, 10, 15).
 */
import { Effect } from "effect"
import { loadStockedProducts } from "../availability/load-products.ts"
import { type DecideContext, type Endpoint, type Failure, get, type Input } from "../kernel/endpoint.ts"
import type { StoredEvent } from "../kernel/event.ts"
import { later } from "../kernel/later.ts"
import { journal } from "../kernel/journal.ts"
import { pageOf } from "../kernel/query.ts"
import { listOf, ok, unpagedMeta, viewContext, withMore } from "../kernel/resource.ts"
import { bindings, columnList } from "../kernel/store/statement.ts"
import { CommandRuntime } from "../kernel/command-runtime.ts"
import { Store } from "../kernel/store/store.ts"
import { users } from "../users/schema.ts"
import { withOwed } from "./standing.ts"
import { activityEntry, activityKinds } from "./activity.ts"
import { availabilityOf } from "./demands.ts"
import { opportunityStream } from "./event-families.ts"
import { loadDecisionState } from "./load.ts"
import { one, path, read } from "./paths.ts"
import { assignmentResource, opportunityResource } from "./resources.ts"
import { opportunityAnswer, opportunityShown } from "./responses.ts"
import { loadWithDemands, stockFactsOf } from "./shortages/load.ts"
import { stepShown } from "../pricing/explain-step.ts"
import { isExplained } from "../rates/explained.ts"
import { boolean, integer, list as list_of, text, timestamp } from "../kernel/field.ts"
import * as Shown from "../kernel/answer-schema.ts"
import { auditShown } from "../activity-log/answers.ts"

const explaining = later(() => import("./money/explain.ts"))
const acting = later(() => import("./status/actions.ts"))

const list = get(path, {
  answer: Shown.page(() => opportunityResource),
  name: "opportunities.list",
  summary: "List opportunities",
  ...read,
  run: (input: Input) => Effect.map(listOf(opportunityResource, input.query, viewContext(input)), ok)
})
const show = get(`${path}/{id}`, {
  answer: {
    ...opportunityShown,
    explanation: Shown.optional(Shown.objects(stepShown, { describe: "With explain=1" }))
  },
  name: "opportunities.show",
  summary: "Show one opportunity",
  ...read,
  params: one,
  fields: { explain: text({ nullable: true, describe: "1: say in words how each figure came about, too" }) },
  run: (input) =>
    isExplained(input.query)
      ? Effect.gen(function* () {
          const { explanationOf } = yield* explaining
          const explanation = yield* explanationOf(input.rows.id, input)
          return withMore(yield* opportunityAnswer(input.rows.id.id, input), { explanation })
        })
      : opportunityAnswer(input.rows.id.id, input)
})

const assets = get(`${path}/{id}/assets`, {
  answer: Shown.page(() => assignmentResource),
  name: "opportunities.assets",
  summary: "List the units on all lines",
  ...read,
  params: one,
  run: (input) =>
    Effect.map(
      listOf(assignmentResource, input.query, viewContext(input), { where: { opportunity_id: input.rows.id.id } }),
      ok
    )
})

/** One entry for each line with a product that exists, at its store; none for lines without a store. */
const availability = get(`${path}/{id}/availability`, {
  answer: {
    availability: Shown.objects({
      opportunity_item_id: integer(),
      product_id: integer(),
      product_name: text({ nullable: true }),
      store_id: integer(),
      requested_quantity: integer({ describe: "What the line still asks for" }),
      available_for_item: integer({ describe: "Negative where others are overbooked" }),
      shortage_quantity: integer({ describe: "By how much the store falls short with the line: its severity" }),
      shortfall: integer({ describe: "What cannot be had of the line" }),
      has_shortage: boolean(),
      from: timestamp(),
      to: timestamp()
    }),
    meta: Shown.meta
  },
  name: "opportunities.availability",
  summary: "What is free for each line, and by how much it is short",
  ...read,
  params: one,
  run: (input) =>
    Effect.gen(function* () {
      const found = yield* loadWithDemands([input.rows.id], input, true)
      const stocked = yield* loadStockedProducts(
        found.loaded.flatMap(({ opportunity }) => opportunity.lines.flatMap(({ item_id }) => item_id ?? []))
      )
      const entries = found.loaded
        .flatMap((one) =>
          availabilityOf(stockFactsOf(one, found), one.opportunity, one.demands, input.settings, input.now)
        )
        .filter(({ product_id }) => stocked.has(product_id))
      return ok({
        availability: entries.map((entry) => ({ ...entry })),
        meta: unpagedMeta(entries.length, input.query)
      })
    })
})

/** The entries of one opportunity's stream, newest first: one page and how many there are. */
const entriesOf = Effect.fnUntraced(function* (
  id: number,
  types: ReadonlyArray<string>,
  page: { readonly page: number; readonly per_page: number }
): Effect.fn.Return<{ readonly rows: ReadonlyArray<StoredEvent>; readonly total: number }, Failure, Store> {
  const store = yield* Store
  const where = (bind: (value: unknown) => string): string =>
    `from journal where stream = ${bind(opportunityStream(id))} and type in (${types.map(bind).join(", ")})`
  const rows = bindings(store.dialect),
    count = bindings(store.dialect)
  const found = yield* store.run(
    `select ${columnList(journal)} ${where(rows.bind)} order by position desc limit ${page.per_page} offset ${(page.page - 1) * page.per_page}`,
    rows.values
  )
  const [counted] = yield* store.run<{ total: number }>(`select count(*) as total ${where(count.bind)}`, count.values)
  return { rows: found.map((row) => store.decode(journal, row) as StoredEvent), total: Number(counted?.total ?? 0) }
})

const activity = get(`${path}/{id}/activity`, {
  answer: { activity: Shown.objects(auditShown), meta: Shown.meta },
  name: "opportunities.activity",
  summary: "What happened to the opportunity, newest first",
  reads_history: { of: "id" },
  ability: "action-log:read",
  permission: "action-log.view",
  params: one,
  run: (input) =>
    Effect.gen(function* () {
      const { id } = input.rows.id
      const page = pageOf(input.query)
      const kinds = activityKinds((yield* CommandRuntime).catalogue)
      const { rows, total } = yield* entriesOf(id, [...kinds.keys()], page)
      const actors = yield* (yield* Store).getMany(
        users,
        rows.map((row) => row.actor_id).filter((actor) => actor !== null)
      )
      const names = new Map(actors.map((user) => [user.id, user.name]))
      return ok({
        activity: rows.map((row) =>
          activityEntry(row, kinds.get(row.type), id, row.actor_id === null ? null : (names.get(row.actor_id) ?? null))
        ),
        meta: { total, per_page: page.per_page, page: page.page }
      })
    })
})

const actions = get(`${path}/{id}/available_actions`, {
  answer: {
    available_actions: Shown.objects({
      key: text(),
      label: text(),
      allowed: boolean(),
      reason: text({ nullable: true }),
      code: text({ nullable: true })
    }),
    meta: Shown.keys({
      warnings: list_of(text(), { describe: "What to know before it becomes an order: the customer's standing, stock" })
    })
  },
  name: "opportunities.available_actions",
  summary: "What may be done with the opportunity now",
  ...read,
  params: one,
  run: (input) =>
    Effect.gen(function* () {
      const state = yield* withOwed(yield* loadDecisionState(input.rows.id, input, { stock: true }), input.settings)
      const { availableActions, orderWarnings } = yield* acting
      let last = 0
      // Decides without recording anything, so ids are placeholders and no document number is taken.
      const context: DecideContext = {
        now: input.now,
        happened_at: input.happened_at,
        viewer: input.viewer,
        settings: input.settings,
        id: () => --last,
        number: () => null
      }
      return ok({
        available_actions: availableActions(state, context).map((action) => ({ ...action })),
        meta: { warnings: orderWarnings(state, context) }
      })
    })
})

export const readEndpoints: ReadonlyArray<Endpoint> = [list, show, assets, availability, activity, actions]
