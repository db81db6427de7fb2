/** Quote versions: made, chosen, sent, answered, put aside (rules/opportunities 13). */
import { Result } from "effect"
import type { DecideContext, Decided } from "../../kernel/endpoint.ts"
import type { NewEvent } from "../../kernel/event.ts"
import { initialRow } from "../../kernel/crud-resource.ts"
import { invalidField, type Rejection } from "../../kernel/rejection.ts"
import { settingNumber } from "../../kernel/settings.ts"
import { type Opportunity, type DecisionState, withHeader } from "../aggregate.ts"
import { versionActivated, versionChanged, versionCreated, versionDeleted } from "./events.ts"
import { type ItemRow, opportunity_items } from "../lines/schema.ts"
import { opportunity_versions, type VersionRow, version_statuses } from "./schema.ts"
import type { OpportunityRow } from "../schema.ts"
import { recalculate, type Recalculated, versionTotals } from "../recalculate.ts"
import { requireTransition } from "../status/statuses.ts"
import { removable } from "../lines/decide.ts"

export const revision = 0,
  alternative = 1
export const draft = 0,
  sent = 1,
  accepted = 2,
  declined = 3,
  superseded = 4
/** Not answered and not replaced. */
const isOpen = ({ status }: VersionRow): boolean => status === draft || status === sent
const refuse = (text: string, field = "state"): Result.Result<never, Rejection> =>
  Result.fail(invalidField(field, text))

/** More than one version still counts (rules/opportunities 0). */
export const hasAlternatives = (versions: ReadonlyArray<VersionRow>): boolean =>
  versions.filter(({ status }) => status !== superseded).length > 1
const supersededBy = (version: VersionRow, by: number): NewEvent =>
  versionChanged(version, "version_superseded", { status: superseded, superseded_by_version_id: by })
const asSuperseded = (version: VersionRow, by: number): VersionRow => ({
  ...version,
  status: superseded,
  superseded_by_version_id: by
})

export interface NewVersion {
  readonly version_type?: number | null
  readonly label?: string | null
  readonly notes?: string | null
  readonly source_version_id?: number | null
}
/**
 * The next version, active at once. The first adopts the lines there are; a later one copies those of its source (the
 * active version unless named). A revision supersedes its source, unless that was answered already.
 */
export const createVersion = (state: DecisionState, body: NewVersion, context: DecideContext): Decided =>
  Result.gen(function* () {
    const { opportunity, versions } = state
    const { header } = opportunity
    yield* requireTransition(header, "versions")
    const version_type = body.version_type ?? revision
    const limit = (name: string): number => settingNumber(context.settings, "opportunities", name)
    if (header.version_count >= limit("max_versions"))
      return yield* refuse(`An opportunity has at most ${limit("max_versions")} versions.`, "version")
    const alternatives = versions.filter((one) => one.version_type === alternative && one.status !== superseded).length
    if (version_type === alternative && alternatives >= limit("max_alternatives")) {
      return yield* refuse(
        `An opportunity has at most ${limit("max_alternatives")} alternatives at a time.`,
        "version_type"
      )
    }
    const source_id = body.source_version_id ?? header.active_version_id
    const source = versions.find(({ id }) => id === source_id)
    if (source === undefined && body.source_version_id !== undefined && body.source_version_id !== null) {
      return yield* refuse("The source version does not belong to this opportunity.", "source_version_id")
    }
    const id = context.id(opportunity_versions)
    const replaced = version_type === revision && source !== undefined && isOpen(source) ? source : undefined
    const row: VersionRow = {
      ...(initialRow(opportunity_versions, {}) as VersionRow),
      id,
      opportunity_id: header.id,
      version_number: header.version_count + 1,
      parent_version_id: version_type === revision ? (source?.id ?? null) : null,
      version_type,
      label: body.label ?? null,
      notes: body.notes ?? null,
      is_active: true,
      currency_code: header.currency_code,
      created_by: context.viewer.user_id === 0 ? null : context.viewer.user_id
    }
    const others = versions.map((one) => (one.id === replaced?.id ? asSuperseded(one, id) : one))
    const set = {
      active_version_id: id,
      version_count: row.version_number,
      has_alternatives: hasAlternatives([...others, row])
    }
    const copies =
      source === undefined
        ? []
        : opportunity.lines
            .filter((line) => line.version_id === source.id)
            .map((line): ItemRow => ({
              ...line,
              id: context.id(opportunity_items),
              version_id: id,
              is_live: true,
              origin_item_id: line.origin_item_id ?? line.id,
              first_made_at: line.first_made_at ?? line.created_at,
              dispatched_quantity: "0.00",
              returned_quantity: "0.00",
              return_store_id: null
            }))
    const lines =
      source === undefined
        ? opportunity.lines.map((line) => ({ ...line, version_id: id }))
        : [...opportunity.lines.map((line) => ({ ...line, is_live: false })), ...copies]
    const after = { ...withHeader(opportunity, set), lines }
    const recalculated = yield* recalculate(
      state,
      after,
      source === undefined ? { totals: false } : { demanded: "all", taxed: true },
      context
    )
    const ids = new Set(copies.map((line) => line.id))
    return {
      events: [
        versionCreated(
          header,
          { ...row, ...versionTotals(recalculated.opportunity.header) },
          {
            items: recalculated.opportunity.lines.filter((line) => ids.has(line.id)),
            adopts: source === undefined,
            set
          }
        ),
        ...(replaced === undefined ? [] : [supersededBy(replaced, id)]),
        ...recalculated.events
      ],
      result: { id }
    }
  })

/** The opportunity with another version showing, counting and claiming. */
export const withActive = (opportunity: Opportunity, version_id: number): Opportunity => ({
  ...withHeader(opportunity, { active_version_id: version_id }),
  lines: opportunity.lines.map((line) => ({ ...line, is_live: line.version_id === version_id }))
})
export const activated = (header: OpportunityRow, version_id: number, recalculated: Recalculated): NewEvent =>
  versionActivated(header, version_id, versionTotals(recalculated.opportunity.header))

/** Totals, lines and claims follow; the version active already stays so. */
export const activateVersion = (state: DecisionState, version: VersionRow, context: DecideContext): Decided =>
  Result.gen(function* () {
    const { header } = state.opportunity
    yield* requireTransition(header, "versions")
    if (version.id === header.active_version_id) return { events: [], result: { id: version.id } }
    const recalculated = yield* recalculate(
      state,
      withActive(state.opportunity, version.id),
      { demanded: "all", taxed: true },
      context
    )
    return { events: [activated(header, version.id, recalculated), ...recalculated.events], result: { id: version.id } }
  })

/** A version's way to its answer, from where it may come. */
const answerOf =
  (name: "version_sent" | "version_accepted" | "version_declined", from: ReadonlyArray<number>, verb: string) =>
  (state: DecisionState, version: VersionRow, set: Partial<VersionRow>): Decided =>
    Result.gen(function* () {
      yield* requireTransition(state.opportunity.header, "edit")
      if (!from.includes(version.status)) {
        return yield* refuse(
          `The version is ${(version_statuses[version.status as keyof typeof version_statuses] ?? "").toLowerCase()} and cannot be ${verb}.`
        )
      }
      return { events: [versionChanged(version, name, set)], result: { id: version.id } }
    })
export const sendVersion = answerOf("version_sent", [draft], "sent")
export const acceptVersion = answerOf("version_accepted", [draft, sent], "accepted")
export const declineVersion = answerOf("version_declined", [draft, sent], "declined")

export const relabelVersion = (state: DecisionState, version: VersionRow, label: string | null): Decided =>
  Result.gen(function* () {
    yield* requireTransition(state.opportunity.header, "versions")
    const events = label === version.label ? [] : [versionChanged(version, "version_relabelled", { label })]
    return { events, result: { id: version.id } }
  })

/** Neither the active version nor the last; its lines go with it, and what it had superseded is open again. */
export const deleteVersion = (
  state: DecisionState,
  version: VersionRow,
  reason: string | null,
  context: DecideContext
): Decided =>
  Result.gen(function* () {
    const { opportunity, versions } = state
    const { header } = opportunity
    yield* requireTransition(header, "versions")
    if (versions.length <= 1) return yield* refuse("It is the only version.", "version")
    if (version.id === header.active_version_id)
      return yield* refuse("The version is active; activate another one first.", "version")
    const gone = opportunity.lines.filter((line) => line.version_id === version.id)
    yield* removable(opportunity, gone)
    const left = versions
      .filter(({ id }) => id !== version.id)
      .map((one): VersionRow => ({
        ...one,
        parent_version_id: one.parent_version_id === version.id ? version.parent_version_id : one.parent_version_id,
        ...(one.superseded_by_version_id !== version.id
          ? {}
          : { superseded_by_version_id: null, status: one.sent_at === null ? draft : sent })
      }))
    const restored = left
      .filter((one) => {
        const before = versions.find(({ id }) => id === one.id)
        return before?.status !== one.status || before.parent_version_id !== one.parent_version_id
      })
      .map(({ id, parent_version_id, status, superseded_by_version_id }) => ({
        id,
        status,
        parent_version_id,
        superseded_by_version_id
      }))
    const set = { has_alternatives: hasAlternatives(left) }
    const after = {
      ...withHeader(opportunity, set),
      lines: opportunity.lines.filter((line) => line.version_id !== version.id)
    }
    const recalculated = yield* recalculate(
      state,
      after,
      { totals: false, demanded: gone.map(({ id }) => id) },
      context
    )
    return {
      events: [versionDeleted(header, version, { reason, restored, set }), ...recalculated.events],
      result: { id: version.id }
    }
  })

/**
 * What a conversion to an order does to versions: the newest accepted one is confirmed, else the active one; what is
 * still open beside it is superseded. The opportunity is as the confirmed version has it.
 */
export const confirmVersion = (
  state: DecisionState,
  context: DecideContext
): Result.Result<{ readonly deal: Opportunity; readonly events: ReadonlyArray<NewEvent> }, Rejection> =>
  Result.gen(function* () {
    const { header } = state.opportunity
    const confirmed = state.versions.filter(({ status }) => status === accepted).at(-1)?.id ?? header.active_version_id
    if (confirmed === 0) return { deal: state.opportunity, events: [] }
    const others = state.versions.filter((one) => one.id !== confirmed && isOpen(one))
    const has_alternatives = hasAlternatives(
      state.versions.map((one) => (others.includes(one) ? asSuperseded(one, confirmed) : one))
    )
    const replaced = others.map((one) => supersededBy(one, confirmed))
    if (confirmed === header.active_version_id)
      return { deal: withHeader(state.opportunity, { has_alternatives }), events: replaced }
    const recalculated = yield* recalculate(state, withActive(state.opportunity, confirmed), { taxed: true }, context)
    return {
      deal: withHeader(recalculated.opportunity, { has_alternatives }),
      events: [activated(header, confirmed, recalculated), ...recalculated.events, ...replaced]
    }
  })
