/** Rules of quote versions: create, activate, send, answer, relabel, delete (rules/opportunities 13). */
import { Result } from "effect"
import { decision, initialRow, reject, settingNumber, unstamped } from "../../../kernel/index.ts"
import type { DecideContext, Decided, NewEvent, Rejection } from "../../../kernel/index.ts"
import { recalculate, versionTotals, withHeader } from "../state/index.ts"
import type { DecisionState, Opportunity, Recalculated } from "../state/index.ts"
import { versionActivated, versionChanged, versionCreated, versionDeleted } from "../events/versions.ts"
import { opportunity_items, opportunity_versions, requireTransition, version_statuses } from "../tables/index.ts"
import type { ItemRow, OpportunityRow, VersionRow } from "../tables/index.ts"
import { removable } from "../lines/decide.ts"

const revision = 0,
  alternative = 1
export const draft = 0,
  sent = 1,
  accepted = 2,
  declined = 3,
  superseded = 4
/** Whether the version is neither answered nor superseded. */
const isOpen = ({ status }: VersionRow): boolean => status === draft || status === sent
const refuse = (text: string, field = "state"): Result.Result<never, Rejection> => reject(field, text)

/** Whether several versions are not superseded (rules/opportunities 0). */
const hasAlternatives = (versions: ReadonlyArray<VersionRow>): boolean =>
  versions.filter(({ status }) => status !== superseded).length > 1
const supersededBy = (version: VersionRow, by: number): NewEvent =>
  versionChanged(version, "version_superseded", { status: superseded, superseded_by_version_id: by })
const asSuperseded = (version: VersionRow, by: number): VersionRow => ({
  ...version,
  status: superseded,
  superseded_by_version_id: by
})

interface NewVersion {
  readonly version_type?: number | null
  readonly label?: string | null
  readonly notes?: string | null
  readonly source_version_id?: number | null
}
/** 422 if the settings allow no further version or alternative. */
const withinLimits = (
  { opportunity: { header }, versions }: DecisionState,
  version_type: number,
  { settings }: DecideContext
): Result.Result<void, Rejection> => {
  const limit = (name: string): number => settingNumber(settings, "opportunities", name)
  if (header.version_count >= limit("max_versions"))
    return refuse(`An opportunity has at most ${limit("max_versions")} versions.`, "version")
  const alternatives = versions.filter((one) => one.version_type === alternative && one.status !== superseded).length
  return version_type === alternative && alternatives >= limit("max_alternatives")
    ? refuse(`An opportunity has at most ${limit("max_alternatives")} alternatives at a time.`, "version_type")
    : Result.succeed(undefined)
}

/** The version to copy lines from: the requested or the active one; undefined for the first version. */
const sourceOf = (
  { opportunity: { header }, versions }: DecisionState,
  requested_id: number | null | undefined
): Result.Result<VersionRow | undefined, Rejection> => {
  const source = versions.find(({ id }) => id === (requested_id ?? header.active_version_id))
  return source === undefined && requested_id !== undefined && requested_id !== null
    ? refuse("The source version does not belong to this opportunity.", "source_version_id")
    : Result.succeed(source)
}

/** Copies a line to a new version, with nothing dispatched and the id of its original line. */
const copyOf = (line: ItemRow, version_id: number, context: DecideContext): ItemRow => ({
  ...line,
  id: context.id(opportunity_items),
  version_id,
  is_live: true,
  origin_item_id: line.origin_item_id ?? line.id,
  first_made_at: line.first_made_at ?? line.created_at,
  dispatched_quantity: "0.00",
  on_order_quantity: "0.00",
  returned_quantity: "0.00",
  return_store_id: null
})

/**
 * Creates the next version and activates it. The first adopts the existing lines; later ones copy those of their source
 * (by default the active version). A revision supersedes its source unless that is answered.
 */
export const createVersion = (state: DecisionState, body: NewVersion, context: DecideContext): Decided =>
  Result.gen(function* () {
    const { opportunity, versions } = state
    const { header } = opportunity
    yield* requireTransition(header, "versions")
    const version_type = body.version_type ?? revision
    yield* withinLimits(state, version_type, context)
    const source = yield* sourceOf(state, body.source_version_id)
    const row = {
      ...initialRow(opportunity_versions),
      ...unstamped,
      id: context.id(opportunity_versions),
      opportunity_id: header.id,
      version_number: header.version_count + 1,
      parent_version_id: version_type === revision ? (source?.id ?? null) : null,
      version_type: body.version_type ?? revision,
      label: body.label ?? null,
      notes: body.notes ?? null,
      is_active: true,
      currency_code: header.currency_code,
      created_by: context.viewer.user_id === 0 ? null : context.viewer.user_id
    }
    const replaced = version_type === revision && source !== undefined && isOpen(source) ? source : undefined
    const others = versions.map((one) => (one.id === replaced?.id ? asSuperseded(one, row.id) : one))
    const set = {
      active_version_id: row.id,
      version_count: row.version_number,
      has_alternatives: hasAlternatives([...others, row])
    }
    const adopts = source === undefined
    const copies = adopts
      ? []
      : opportunity.lines.filter((line) => line.version_id === source.id).map((line) => copyOf(line, row.id, context))
    const lines = adopts
      ? opportunity.lines.map((line) => ({ ...line, version_id: row.id }))
      : [...opportunity.lines.map((line) => ({ ...line, is_live: false })), ...copies]
    const after = { ...withHeader(opportunity, set), lines }
    const scope: Parameters<typeof recalculate>[2] = adopts ? { totals: false } : { demanded: "all", taxed: true }
    const recalculated = yield* recalculate(state, after, scope, context)
    const copy_ids = new Set(copies.map((line) => line.id))
    const items = recalculated.opportunity.lines.filter((line) => copy_ids.has(line.id))
    return decision(row.id, [
      versionCreated(header, { ...row, ...versionTotals(recalculated.opportunity.header) }, { items, adopts, set }),
      ...(replaced === undefined ? [] : [supersededBy(replaced, row.id)]),
      ...recalculated.events
    ])
  })

/** The opportunity with another active version, whose lines are displayed, charged and take stock. */
const withActive = (opportunity: Opportunity, version_id: number): Opportunity => ({
  ...withHeader(opportunity, { active_version_id: version_id }),
  lines: opportunity.lines.map((line) => ({ ...line, is_live: line.version_id === version_id }))
})
const activated = (header: OpportunityRow, version_id: number, recalculated: Recalculated): NewEvent =>
  versionActivated(header, version_id, versionTotals(recalculated.opportunity.header))

/** Activates a version and updates totals, lines and demands; no effect if it is active. */
export const activateVersion = (state: DecisionState, version: VersionRow, context: DecideContext): Decided =>
  Result.gen(function* () {
    const { header } = state.opportunity
    yield* requireTransition(header, "versions")
    if (version.id === header.active_version_id) return decision(version.id, [])
    const recalculated = yield* recalculate(
      state,
      withActive(state.opportunity, version.id),
      { demanded: "all", taxed: true },
      context
    )
    return decision(version.id, [activated(header, version.id, recalculated), ...recalculated.events])
  })

/** Makes a rule that changes a version's status, if it is one of `from`; otherwise 422 on `state`. */
const changeStatusFrom =
  (name: "version_sent" | "version_accepted" | "version_declined", from: ReadonlyArray<number>, verb: string) =>
  (state: DecisionState, version: VersionRow, set: Partial<VersionRow>): Decided =>
    Result.gen(function* () {
      yield* requireTransition(state.opportunity.header, "edit")
      if (!from.includes(version.status)) {
        const status = (version_statuses[version.status] ?? "").toLowerCase()
        return yield* refuse(`The version is ${status} and cannot be ${verb}.`)
      }
      return decision(version.id, [versionChanged(version, name, set)])
    })
export const sendVersion = changeStatusFrom("version_sent", [draft], "sent")
export const acceptVersion = changeStatusFrom("version_accepted", [draft, sent], "accepted")
export const declineVersion = changeStatusFrom("version_declined", [draft, sent], "declined")

export const relabelVersion = (state: DecisionState, version: VersionRow, label: string | null): Decided =>
  Result.gen(function* () {
    yield* requireTransition(state.opportunity.header, "versions")
    const events = label === version.label ? [] : [versionChanged(version, "version_relabelled", { label })]
    return decision(version.id, events)
  })

/** Removes a version with its lines; versions it superseded reopen. Refused for the active or only version. */
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
    const own_lines = opportunity.lines.filter((line) => line.version_id === version.id)
    yield* removable(opportunity, own_lines)
    const remaining = versions
      .filter(({ id }) => id !== version.id)
      .map((one): VersionRow => ({
        ...one,
        parent_version_id: one.parent_version_id === version.id ? version.parent_version_id : one.parent_version_id,
        ...(one.superseded_by_version_id !== version.id
          ? {}
          : { superseded_by_version_id: null, status: one.sent_at === null ? draft : sent })
      }))
    const restored = remaining
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
    const set = { has_alternatives: hasAlternatives(remaining) }
    const after = {
      ...withHeader(opportunity, set),
      lines: opportunity.lines.filter((line) => line.version_id !== version.id)
    }
    const recalculated = yield* recalculate(
      state,
      after,
      { totals: false, demanded: own_lines.map(({ id }) => id) },
      context
    )
    return decision(version.id, [versionDeleted(header, version, { reason, restored, set }), ...recalculated.events])
  })

/**
 * On conversion to an order, confirms the newest accepted version, else the active one: it becomes active, and open
 * versions are superseded.
 */
export const confirmVersion = (
  state: DecisionState,
  context: DecideContext
): Result.Result<{ readonly opportunity: Opportunity; readonly events: ReadonlyArray<NewEvent> }, Rejection> =>
  Result.gen(function* () {
    const { header } = state.opportunity
    const confirmed = state.versions.filter(({ status }) => status === accepted).at(-1)?.id ?? header.active_version_id
    if (confirmed === 0) return { opportunity: state.opportunity, events: [] }
    const others = state.versions.filter((one) => one.id !== confirmed && isOpen(one))
    const has_alternatives = hasAlternatives(
      state.versions.map((one) => (others.includes(one) ? asSuperseded(one, confirmed) : one))
    )
    const replaced = others.map((one) => supersededBy(one, confirmed))
    if (confirmed === header.active_version_id)
      return { opportunity: withHeader(state.opportunity, { has_alternatives }), events: replaced }
    const recalculated = yield* recalculate(state, withActive(state.opportunity, confirmed), { taxed: true }, context)
    return {
      opportunity: withHeader(recalculated.opportunity, { has_alternatives }),
      events: [activated(header, confirmed, recalculated), ...recalculated.events, ...replaced]
    }
  })
