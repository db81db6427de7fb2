/** The slice of opportunities: its tables, events and endpoints, facet by facet. */
import { Effect, Schema } from "effect"
import { loadStockedProducts } from "../availability/facts/load-products.ts"
import { boolean, command, CommandRuntime, created, decided, decodeData, follow, get } from "../../kernel/index.ts"
import { initialRow, integer, journal, later, list as list_of, listOf, noContent, ok } from "../../kernel/index.ts"
import { pageOf, ref, referredRows, reject, removeWhere, renderById, Shown, Store, text } from "../../kernel/index.ts"
import { timestamp, unpagedMeta, viewContext, withMore } from "../../kernel/index.ts"
import type { AnyEventType, AnyRow, DecideContext, Endpoint, Input, Slice } from "../../kernel/index.ts"
import type { StoredEvent } from "../../kernel/index.ts"
import { users } from "../../people/users/permissions.ts"
import { assignmentResource, availabilityOf, loadDecisionState, opportunityAnswer } from "./state/index.ts"
import { opportunityResource, opportunityShown, participantResource, warned, withOwed } from "./state/index.ts"
import { opportunityStream } from "./events/event-families.ts"
import { acknowledgements, asset_assignments, edit, one, opportunities, opportunity_costs } from "./tables/index.ts"
import { opportunity_items, opportunity_participants, opportunity_versions, participant, path } from "./tables/index.ts"
import { read, shortage_waits } from "./tables/index.ts"
import { loadWithDemands, shortageEndpoints, stockFactsOf } from "./shortages/api.ts"
import { stepShown } from "../../pricing/explain/explain-step.ts"
import { isAsked, isExplained } from "../../products/rates/engine-api.ts"
import { type AuditEntry, auditShown } from "../../people/activity-log.ts"
import { opportunityEvents, participantAdded, participantRemoved, participantUpdated } from "./events/participants.ts"
import { extensionEndpoints } from "./extension/api.ts"
import { headerEndpoints } from "./header/api.ts"
import { lineEndpoints } from "./lines/api.ts"
import { moneyEndpoints } from "./money/decide.ts"
import { shortagesSeenAgain } from "./shortages/reactions.ts"
import { statusEndpoints } from "./status/api.ts"
import { unitEndpoints } from "./units/api.ts"
import { versionEndpoints } from "./versions/api.ts"
import { waitingEndpoints } from "./waiting/api.ts"

// The activity of an opportunity: each event of its stream as an entry with old and new values (rules/opportunities
// 15).

/**
 * One entry. `user_name`: the user's current name, null for the system. `ip_address` is always null, as the journal
 * holds none.
 */
const activityEntry = (
  event: StoredEvent,
  kind: AnyEventType | undefined,
  opportunity_id: number,
  user_name: string | null
): AuditEntry => {
  return {
    id: event.position,
    user_id: event.actor_id,
    user_name,
    action: event.type,
    auditable_type: "opportunity",
    auditable_id: opportunity_id,
    ...(kind?.activity?.(decodeData(kind, event.data)) ?? { old_values: null, new_values: null }),
    ip_address: null,
    created_at: event.recorded_at
  }
}

// Endpoints of an opportunity's participants (rules/opportunities 12).

const participantShown = { participant: Shown.row(() => participantResource) }
const participantFields = {
  role: text({ nullable: true, max: 100, on_null: "clear" }),
  mute: boolean({ default: false })
}
const participantEndpoints: ReadonlyArray<Endpoint> = [
  command("POST", `${path}/{id}/participants`, {
    answer: participantShown,
    success_status: 201,
    name: "opportunities.add_participant",
    summary: "Add a participant to an opportunity",
    ...edit,
    params: one,
    creates: [opportunity_participants],
    fields: { member_id: ref("members", { required: true }), ...participantFields },
    facts: (input) =>
      Store.exists(opportunity_participants, { opportunity_id: input.rows.id.id, member_id: input.values.member_id }),
    decide: (takesPart, input, context) => {
      if (takesPart) return reject("member_id", "The member takes part already.")
      const opportunity_id = input.rows.id.id
      const row = {
        ...initialRow(opportunity_participants),
        ...input.values,
        id: context.id(opportunity_participants),
        opportunity_id
      }
      return decided(row.id, [participantAdded(row)])
    },
    respond: (result, input) =>
      Effect.map(renderById(participantResource, result.id, input.query, viewContext(input)), created)
  }),
  command("PATCH", `${path}/{id}/participants/{participant}`, {
    answer: participantShown,
    name: "opportunities.update_participant",
    summary: "Update the role or mute flag of an opportunity's participant",
    ...edit,
    params: participant,
    fields: participantFields,
    facts: () => Effect.succeed(undefined),
    decide: (_facts, input) => {
      const row = input.rows.participant
      const columns: AnyRow = row
      const set = Object.fromEntries(Object.entries(input.values).filter(([name, value]) => columns[name] !== value))
      return decided(row.id, Object.keys(set).length === 0 ? [] : [participantUpdated(row, set)])
    },
    respond: (result, input) =>
      Effect.map(renderById(participantResource, result.id, input.query, viewContext(input)), ok)
  }),
  command("DELETE", `${path}/{id}/participants/{participant}`, {
    name: "opportunities.remove_participant",
    summary: "Remove a participant from an opportunity",
    ...edit,
    params: participant,
    facts: () => Effect.succeed(undefined),
    decide: (_facts, input) => {
      const row = input.rows.participant
      return decided(row.id, [participantRemoved(row)])
    },
    respond: () => Effect.succeed(noContent)
  })
]

// Reading opportunities: the list and single ones, their units, availability of their lines, activity and allowed
// actions (rules/opportunities 2, 4, 9.1, 10, 15).

const explaining = later(() => import("./money/explain.ts"))
const repricing = later(() => import("./money/reprice.ts"))
const acting = later(() => import("./status/actions.ts"))

/** Context for deciding without recording: ids are placeholders and no document number is taken. */
const decidingOnly = ({ happened_at, now, settings, viewer }: Input): DecideContext => {
  let last = 0
  return { now, happened_at, viewer, settings, id: () => --last, number: () => null }
}

const list = get(path, {
  answer: Shown.page(() => opportunityResource),
  name: "opportunities.list",
  summary: "List opportunities",
  ...read,
  run: (input: Input) => listOf(opportunityResource, input)
})
const show = get(`${path}/{id}`, {
  answer: {
    ...opportunityShown,
    explanation: Shown.optional(Shown.objects(stepShown, { describe: "Explanation of each figure" }))
  },
  name: "opportunities.show",
  summary: "Show one opportunity",
  ...read,
  params: one,
  fields: {
    explain: text({ nullable: true, describe: "Value 1 adds an explanation of each figure" }),
    outdated: text({ nullable: true, describe: "Value 1 adds meta.warnings with figures that would differ today" })
  },
  run: Effect.fnUntraced(function* (input) {
    const header = input.rows.id
    const explanation = isExplained(input.query) ? yield* (yield* explaining).explanationOf(header, input) : undefined
    const { outdatedWarnings, repriceFacts } = yield* repricing
    const outdated = isAsked(input.query, "outdated")
      ? outdatedWarnings(yield* repriceFacts(header, input), decidingOnly(input))
      : []
    const answer = warned(yield* opportunityAnswer(header.id, input), outdated)
    return explanation === undefined ? answer : withMore(answer, { explanation })
  })
})

const assets = get(`${path}/{id}/assets`, {
  answer: Shown.page(() => assignmentResource),
  name: "opportunities.assets",
  summary: "List an opportunity's allocated units",
  ...read,
  params: one,
  run: (input) => listOf(assignmentResource, input, { where: { opportunity_id: input.rows.id.id } })
})

/** One entry per line with an existing product, at the line's store; none for lines without a store. */
const availability = get(`${path}/{id}/availability`, {
  answer: {
    availability: Shown.objects({
      opportunity_item_id: integer(),
      product_id: integer(),
      product_name: text({ nullable: true }),
      store_id: integer(),
      requested_quantity: integer({ describe: "Quantity the line still needs" }),
      available_for_item: integer({ describe: "Quantity available to the line; negative if others overbook it" }),
      shortage_quantity: integer({ describe: "Store's total shortage, this line included" }),
      shortfall: integer({ describe: "Quantity of the line that is unavailable" }),
      has_shortage: boolean(),
      from: timestamp(),
      to: timestamp()
    }),
    meta: Shown.meta
  },
  name: "opportunities.availability",
  summary: "Show the availability and shortfall of an opportunity's lines",
  ...read,
  params: one,
  run: Effect.fnUntraced(function* (input) {
    const found = yield* loadWithDemands([input.rows.id], input, true)
    const stocked = yield* loadStockedProducts(
      found.loaded.flatMap(({ opportunity }) => opportunity.lines.flatMap(({ item_id }) => item_id ?? []))
    )
    const entries = found.loaded
      .flatMap((one) =>
        availabilityOf(stockFactsOf(one, found), one.opportunity, one.demands, input.settings, input.now)
      )
      .filter(({ product_id }) => stocked.has(product_id))
    return ok({ availability: entries.map((entry) => ({ ...entry })), meta: unpagedMeta(entries.length, input.query) })
  })
})

/** Activity entries of one opportunity, newest first: one page and the total. */
const entriesOf = Effect.fnUntraced(function* (
  id: number,
  types: ReadonlyArray<string>,
  page: { readonly page: number; readonly per_page: number }
): Store.Reads<{ readonly rows: ReadonlyArray<StoredEvent>; readonly total: number }> {
  const { sql } = yield* Store
  const where = sql`where stream = ${opportunityStream(id)} and type in ${sql.in(types)}`
  const rows = yield* Store.select(
    journal,
    () => sql`${where} order by position desc limit ${page.per_page} offset ${(page.page - 1) * page.per_page}`
  )
  const [counted] = yield* sql<{ total: number }>`select count(*) as total from journal ${where}`
  return { rows, total: Number(counted?.total ?? 0) }
})

const activity = get(`${path}/{id}/activity`, {
  answer: { activity: Shown.objects(auditShown), meta: Shown.meta },
  name: "opportunities.activity",
  summary: "List an opportunity's changes, newest first",
  reads_history: { of: "id" },
  ability: "action-log:read",
  permission: "action-log.view",
  params: one,
  run: Effect.fnUntraced(function* (input) {
    const { id } = input.rows.id
    const page = pageOf(input.query)
    const kinds = new Map(
      [...(yield* CommandRuntime).catalogue.events].filter(([, { activity }]) => activity !== undefined)
    )
    const { rows, total } = yield* entriesOf(id, [...kinds.keys()], page)
    const actors = yield* referredRows(users, rows, "actor_id")
    return ok({
      activity: rows.map((row) =>
        activityEntry(row, kinds.get(row.type), id, actors.get(row.actor_id ?? 0)?.name ?? null)
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
      warnings: list_of(text(), { describe: "Warnings before conversion to an order: credit status, stock" })
    })
  },
  name: "opportunities.available_actions",
  summary: "List an opportunity's actions, and whether each is allowed now",
  ...read,
  params: one,
  run: Effect.fnUntraced(function* (input) {
    const state = yield* withOwed(yield* loadDecisionState(input.rows.id, input, { stock: true }), input.settings)
    const { availableActions, orderWarnings } = yield* acting
    const context = decidingOnly(input)
    return ok({
      available_actions: availableActions(state, context).map((action) => ({ ...action })),
      meta: { warnings: orderWarnings(state, context) }
    })
  })
})

const readEndpoints: ReadonlyArray<Endpoint> = [list, show, assets, availability, activity, actions]

export const opportunitiesSlice: Slice = {
  name: "opportunities",
  tables: [
    opportunities,
    opportunity_items,
    opportunity_costs,
    opportunity_participants,
    asset_assignments,
    opportunity_versions,
    acknowledgements,
    shortage_waits
  ],
  resources: [opportunityResource],
  events: opportunityEvents,
  endpoints: [
    ...readEndpoints,
    ...headerEndpoints,
    ...extensionEndpoints,
    ...statusEndpoints,
    ...lineEndpoints,
    ...moneyEndpoints,
    ...participantEndpoints,
    ...unitEndpoints,
    ...versionEndpoints,
    ...shortageEndpoints,
    ...waitingEndpoints
  ],
  react: [shortagesSeenAgain],
  // A removed line's waiting list entry is removed with it.
  follows: [
    follow(
      "opportunity.item_removed",
      () => Schema.Struct({ item_id: Schema.Int }),
      ({ item_id }) => [removeWhere(shortage_waits, { opportunity_item_id: item_id })]
    )
  ]
}
