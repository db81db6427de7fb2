/** Responses for opportunities and their child rows (rules/opportunities 7.1, 9.1, 11 to 13). */
import { firstOf } from "../../../values/text.ts"
import { Effect } from "effect"
import { phase_labels, phaseOf } from "../../availability/rules/demand.ts"
import { releasePointIn } from "../../availability/facts/load.ts"
import { boolean, choice, hasOnePermission, includesOfOne, integer, list, render } from "../../../kernel/index.ts"
import { resource, Shown, Store, text, viewContext } from "../../../kernel/index.ts"
import type { Answer, AnyRow, Input, Resource, Viewer } from "../../../kernel/index.ts"
import { addresses, members } from "../../../people/members/schema.ts"
import { stock_levels } from "../../../products/stock/schema.ts"
import { stores } from "../../../setup/stores.ts"
import { exact, formatDecimal, fromScaled, multiplyDivide, plainDecimal, wholeUnits } from "../../../values/decimal.ts"
import { asset_assignments, assignment_statuses, charge_period_labels, condition_labels } from "../tables/index.ts"
import { cost_type_labels, isClosed, opportunities, opportunity_costs, opportunity_items } from "../tables/index.ts"
import { opportunity_participants, opportunity_versions, phases, states, statusLabelOf } from "../tables/index.ts"
import { statusNames, transaction_type_labels, version_statuses, version_types } from "../tables/index.ts"
import type { ItemRow, OpportunityRow } from "../tables/index.ts"
import { loadLinePieces, sumOfPieces } from "./pieces.ts"
import { depthOf, parentPath, type Warned } from "./aggregate.ts"
import { untaxedWarnings } from "./warnings.ts"
import { dispatch_meta_fields, type HeldBack } from "./progress.ts"

const named = (labels: { readonly [code: number]: string }, value: number | null): string | null =>
  value === null ? null : (labels[value] ?? null)

/**
 * Periods that a line charges: its total over the price of one period for all its units, so that multipliers and
 * factors count. Null if nothing is charged.
 */
const chargedPeriods = (row: ItemRow): string | null => {
  const plain = plainDecimal(row.discount_percent ?? 0)
  if (plain !== undefined) {
    const divisor = (100 * plain.per_one - plain.parts) * wholeUnits(row.quantity) * row.unit_price
    if (divisor === 0) return null
    const hundredths = divisor < 0 ? undefined : multiplyDivide(row.discounted_total, 10_000 * plain.per_one, divisor)
    if (hundredths !== undefined) return fromScaled(hundredths, 2).replace(/\.?0+$/, "")
  }
  const paid = exact(row.discount_percent ?? 0)
    .negated()
    .plus(100)
    .times(wholeUnits(row.quantity))
    .times(row.unit_price)
  return paid.isZero() ? null : exact(row.discounted_total).times(100).dividedBy(paid).toDecimalPlaces(2).toFixed()
}

/** Progress of an opportunity: pieces requested, prepared or further, out now, and returned. */
export const pieces_shown = {
  wanted: Shown.number({ describe: "Pieces requested; a kit counts as one" }),
  packed: Shown.number({ describe: "Pieces prepared or dispatched" }),
  out: Shown.number({ describe: "Pieces out now" }),
  back: Shown.number({ describe: "Pieces returned" })
}

export const assignmentResource = resource({
  singular: "asset",
  plural: "assets",
  table: asset_assignments,
  shows: { status_label: text(), condition_on_return_label: text({ nullable: true }), stock_level: Shown.brief() },
  filters: ["status", "opportunity_item_id", "stock_level_id", "container_stock_level_id", "created_at", "updated_at"],
  sorts: ["status", "dispatched_at", "allocated_at", "created_at", "returned_at", "updated_at"],
  order: ["created_at", "id"],
  lookups: { level: { via: "stock_level_id", table: stock_levels, columns: ["item_name", "asset_number"] } },
  view: (base, row, { level }) => ({
    ...base,
    status_label: named(assignment_statuses, row.status),
    condition_on_return_label: named(condition_labels, row.condition_on_return),
    stock_level:
      level === undefined
        ? null
        : { id: row.stock_level_id, name: String(level["item_name"] ?? level["asset_number"] ?? row.stock_level_id) }
  })
})

export const itemResource = resource({
  singular: "item",
  plural: "items",
  table: opportunity_items,
  shows: {
    parent_path: text({ nullable: true }),
    depth: integer(),
    charge_period_label: text({ nullable: true }),
    transaction_type_label: text({ nullable: true }),
    charged_periods: text({ nullable: true, describe: "Multiplier of the unit price besides the quantity" })
  },
  order: ["path", "id"],
  includes: { assets: { kind: "many", via: "opportunity_item_id", resource: () => assignmentResource } },
  view: (base, row) => ({
    ...base,
    parent_path: parentPath(row.path),
    depth: depthOf(row.path),
    // Two decimals for display; tax is computed with all four.
    tax_rate: row.tax_rate === null ? null : formatDecimal(row.tax_rate, 2),
    charge_period_label: named(charge_period_labels, row.charge_period),
    charged_periods: chargedPeriods(row),
    transaction_type_label: named(transaction_type_labels, row.transaction_type)
  })
})

export const costResource = resource({
  singular: "cost",
  plural: "costs",
  table: opportunity_costs,
  shows: { cost_type_label: text({ nullable: true }), transaction_type_label: text({ nullable: true }) },
  order: ["sort_order", "id"],
  view: (base, row) => ({
    ...base,
    cost_type_label: named(cost_type_labels, row.cost_type),
    transaction_type_label: named(transaction_type_labels, row.transaction_type)
  })
})

export const participantResource = resource({
  singular: "participant",
  table: opportunity_participants,
  plural: "participants",
  shows: { member: Shown.brief() },
  lookups: { who: { via: "member_id", table: members } },
  includes: { member: { kind: "always", key: "member" } },
  view: (base, row, { who }) => ({
    ...base,
    member: who === undefined ? null : { id: row.member_id, name: String(who["name"]) }
  })
})

export const versionResource = resource({
  singular: "version",
  plural: "versions",
  table: opportunity_versions,
  shows: { version_type_label: text({ nullable: true }), status_label: text({ nullable: true }) },
  order: ["version_number"],
  includes: { items: { kind: "many", via: "version_id", resource: () => itemResource } },
  view: (base, row) => ({
    ...base,
    version_type_label: named(version_types, row.version_type),
    status_label: named(version_statuses, row.status)
  })
})

/** Real addresses have a street: on devices, hidden addresses, which a rule needs, are stored with an empty one. */
const is_known = (address: AnyRow): boolean => address["street"] !== ""
/** An address embedded in an opportunity, as in members endpoints but without its member. */
const addressResource: Resource<typeof addresses> = resource({
  singular: "address",
  plural: "addresses",
  table: addresses,
  title: "EmbeddedAddress",
  hides: ["member_id"],
  view: (base) => {
    const { member_id: _member, ...address } = base
    return address
  }
})

const windows = phases.flatMap((phase) => [`${phase}_starts_at`, `${phase}_ends_at`] as const)
export const opportunityResource = resource({
  singular: "opportunity",
  called: { by: ["number"] },
  plural: "opportunities",
  table: opportunities,
  shows: {
    state_label: text(),
    state_name: text(),
    status_label: text(),
    status_name: text(),
    availability_phase: choice(phase_labels, { describe: "Effect of its status on stock" }),
    pricing_locked: boolean()
  },
  custom_module: "Opportunity",
  filters: [
    "subject",
    "number",
    "reference",
    "state",
    "status",
    "member_id",
    "venue_id",
    "store_id",
    "owned_by",
    "invoiced",
    "has_shortage",
    "use_chargeable_days",
    "open_ended_rental",
    "customer_collecting",
    "customer_returning",
    "source_opportunity_id",
    "tag_list",
    "starts_at",
    "ends_at",
    "charge_starts_at",
    "charge_ends_at",
    ...windows,
    "ordered_at",
    "quote_invalid_at",
    "created_at",
    "updated_at",
    "charge_total",
    "rating"
  ],
  sorts: [
    "created_at",
    "starts_at",
    "subject",
    "charge_total",
    "state",
    "status",
    "number",
    "reference",
    "ends_at",
    "charge_starts_at",
    "charge_ends_at",
    ...windows,
    "ordered_at",
    "quote_invalid_at",
    "updated_at"
  ],
  value_names: { status: statusNames },
  related: {
    "member.name": { via: "member_id", table: members, column: "name" },
    "store.name": { via: "store_id", table: stores, column: "name" }
  },
  includes: {
    member: { kind: "brief", via: "member_id", table: members },
    venue: { kind: "brief", via: "venue_id", table: members },
    store: { kind: "brief", via: "store_id", table: stores },
    owner: { kind: "brief", via: "owned_by", table: members },
    delivery_address: { kind: "one", via: "delivery_address_id", resource: () => addressResource, is_known },
    collection_address: { kind: "one", via: "collection_address_id", resource: () => addressResource, is_known },
    items: { kind: "many", via: "opportunity_id", resource: () => itemResource, where: { is_live: true } },
    costs: { kind: "many", via: "opportunity_id", resource: () => costResource },
    versions: { kind: "many", via: "opportunity_id", resource: () => versionResource },
    participants: { kind: "many", via: "opportunity_id", resource: () => participantResource },
    pieces: {
      kind: "worked_out",
      shown: Shown.keys(pieces_shown),
      of: (rows, { settings }) =>
        Effect.map(
          loadLinePieces(
            rows.map((row) => Number(row["id"])),
            settings
          ),
          (piecesOf) => (row) => ({ ...sumOfPieces(piecesOf(Number(row["id"]))) })
        )
    }
  },
  view: (base, row, _found, { settings }) => {
    const state = states[row.state] ?? null
    const status = statusLabelOf(row)
    // Added to the object itself: a spread of more than 50 keys takes ten times as long.
    return Object.assign(base, {
      state_label: state,
      state_name: state,
      status_label: status,
      status_name: status,
      availability_phase: phaseOf(row.state, row.status, releasePointIn(settings)),
      pricing_locked: row.exchange_rate_locked || row.tax_locked
    })
  }
})

// Response of opportunity endpoints: the opportunity, and the actions this viewer may take (rules/opportunities 4,
// 4.1).

export const opportunityShown = {
  opportunity: Shown.row(() => opportunityResource),
  meta: Shown.keys({
    can_edit: boolean(),
    can_destroy: boolean(),
    warnings: Shown.optional(list(text(), { describe: "Warnings, such as untaxed lines; absent if none" }))
  })
}
type OpportunityAnswer = Answer<Shown.KeysShown<typeof opportunityShown>>
/** Schema of `_meta`: lines that were short on a dispatch which the policy let pass with a warning. */
export const dispatchMetaShown = { _meta: Shown.optional(Shown.keys(dispatch_meta_fields)) }

/** The key `_meta` of a response; empty if no dispatched line was short, or the policy allows it. */
export const dispatchMeta = (_meta: HeldBack | null) => (_meta === null ? {} : { _meta })

/**
 * `can_edit`: permission and an open status; `can_destroy`: permission. Locks and token abilities are not considered.
 */
const metaOf = (row: OpportunityRow, viewer: Viewer) => ({
  can_edit: hasOnePermission(viewer, "opportunities.edit") && !isClosed(row),
  can_destroy: hasOnePermission(viewer, "opportunities.delete")
})

/** Adds `meta.warnings` to a response; unchanged without warnings. */
export const warned = (answer: OpportunityAnswer, warnings: ReadonlyArray<string>): OpportunityAnswer =>
  answer.body === undefined || warnings.length === 0
    ? answer
    : {
        ...answer,
        body: {
          ...answer.body,
          meta: { ...answer.body.meta, warnings: [...warnings, ...(answer.body.meta.warnings ?? [])] }
        }
      }

/** Schema of the result of commands with warnings, which results stored by earlier releases may lack. */
export const warnedResult = Shown.keys({ id: integer(), warnings: Shown.optional(list(text())) })
export const warnedOpportunity = (
  { id, warnings = [] }: Pick<Warned, "id"> & { readonly warnings?: Warned["warnings"] | undefined },
  input: Input,
  embedded?: ReadonlyArray<string>,
  status?: 200 | 201
) => Effect.map(opportunityAnswer(id, input, embedded, status), (answer) => warned(answer, warnings))

/** Includes that responses to writes always have. */
export const withParts: ReadonlyArray<string> = ["items", "costs"]
export const withUnits: ReadonlyArray<string> = ["items", "items.assets", "costs"]

/** The opportunity in a response, without warnings about untaxed lines. */
export const plainAnswer = Effect.fnUntraced(function* (
  id: number,
  input: Input,
  embedded: ReadonlyArray<string> = [],
  status: 200 | 201 = 200
): Store.Reads<OpportunityAnswer> {
  const row = yield* Store.get(opportunities, id)
  if (row === undefined) return yield* Effect.die(new Error(`opportunity ${id} vanished while it was being shown`))
  const context = viewContext(input)
  const rendered = yield* render(
    opportunityResource,
    [row],
    [...new Set([...embedded, ...includesOfOne(opportunityResource, input.query, context)])],
    context
  )
  return { status, body: { opportunity: firstOf(rendered), meta: metaOf(row, input.viewer) } }
})
/** `plainAnswer` with `meta.warnings` about untaxed lines. */
export const opportunityAnswer = Effect.fnUntraced(function* (
  ...asked: Parameters<typeof plainAnswer>
): Store.Reads<OpportunityAnswer> {
  const answer = yield* plainAnswer(...asked)
  const row = yield* Store.get(opportunities, asked[0])
  return row === undefined ? answer : warned(answer, yield* untaxedWarnings(row))
})
