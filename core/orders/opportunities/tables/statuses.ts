/** States, statuses, and the actions allowed in each, for rules and `available_actions` (rules/opportunities 1). */
import { Result } from "effect"
import { keysOf, reject, type ColumnValues, type Rejection } from "../../../kernel/index.ts"

export const draft = 0,
  quotation = 1,
  order = 2
export const states: { readonly [code: number]: string } = {
  [draft]: "Draft",
  [quotation]: "Quotation",
  [order]: "Order"
}

interface Status {
  readonly state: number
  readonly status: number
  readonly label: string
  readonly is_closed: boolean
}
const status = (state: number, code: number, label: string, is_closed = false): Status => ({
  state,
  status: code,
  label,
  is_closed
})

export const statuses = {
  open: status(draft, 0, "Open"),
  provisional: status(quotation, 0, "Provisional"),
  reserved: status(quotation, 1, "Reserved"),
  lost: status(quotation, 2, "Lost", true),
  dead: status(quotation, 3, "Dead", true),
  postponed: status(quotation, 4, "Postponed"),
  active: status(order, 0, "Active"),
  dispatched: status(order, 1, "Dispatched"),
  on_hire: status(order, 2, "On Hire"),
  returned: status(order, 3, "Returned"),
  checked: status(order, 4, "Checked"),
  complete: status(order, 5, "Complete", true),
  cancelled: status(order, 6, "Cancelled", true)
} as const satisfies { readonly [name: string]: Status }
export type StatusName = keyof typeof statuses

/** Conditions on opportunity rows that are neither deleted nor closed. */
export const open_status_conditions: ReadonlyArray<ColumnValues> = [draft, quotation, order].map((state) => ({
  deleted_at: null,
  state,
  status: Object.values(statuses)
    .filter((one) => one.state === state && !one.is_closed)
    .map((one) => one.status)
}))

/** Actions that a status may forbid. */
export type Transition =
  | "edit"
  | "allocate"
  | "dispatch"
  | "check_in"
  | "convert_to_quotation"
  | "convert_to_order"
  | "change_status"
  | "reinstate"
  | "reopen"
  | "revert_to_quotation"
  | "revert_to_draft"
  | "versions"
  | "locks"
  | "clone"
  | "delete"
  | "participants"

/** Result of an action: a status, the same status (`stays`), any of the same state (`sibling`), or `refused`. */
type Outcome = StatusName | "stays" | "sibling" | "refused"
type Cells = { readonly [M in Transition]: Outcome }

const always = { locks: "stays", clone: "stays", delete: "stays", participants: "stays" } as const
const never = {
  edit: "refused",
  allocate: "refused",
  dispatch: "refused",
  check_in: "refused",
  convert_to_quotation: "refused",
  convert_to_order: "refused",
  change_status: "refused",
  reinstate: "refused",
  reopen: "refused",
  revert_to_quotation: "refused",
  revert_to_draft: "refused",
  versions: "refused"
} as const
const closed: Cells = { ...always, ...never }
const underway: Cells = { ...closed, edit: "stays", allocate: "stays", check_in: "stays", change_status: "sibling" }
const offered: Cells = { ...underway, convert_to_order: "active", versions: "stays" }
const ordered: Cells = { ...underway, dispatch: "stays", revert_to_quotation: "provisional" }

export const transitions: { readonly [S in StatusName]: Cells } = {
  open: { ...underway, convert_to_quotation: "provisional" },
  provisional: { ...offered, revert_to_draft: "open" },
  reserved: offered,
  lost: { ...closed, reinstate: "provisional" },
  dead: { ...closed, reinstate: "provisional" },
  postponed: { ...offered, reinstate: "provisional" },
  active: ordered,
  dispatched: ordered,
  on_hire: ordered,
  returned: ordered,
  checked: ordered,
  complete: { ...closed, reopen: "active" },
  cancelled: { ...closed, reinstate: "active" }
}

/** Statuses by name for filters: names, unlike numbers, are unique over all states. */
export const statusNames = Object.values(statuses).map(({ label, state, status }) => ({
  name: label,
  where: { state, status }
}))

interface OpportunityStatus {
  readonly state: number
  readonly status: number
}

const names = keysOf(statuses)
/** Names by state and number: lists look them up for each row. */
const numbered = new Map<number, Map<number, StatusName>>()
for (const name of names) {
  const { state, status } = statuses[name]
  numbered.set(state, (numbered.get(state) ?? new Map<number, StatusName>()).set(status, name))
}
/** The status of a state by number; undefined if the state has no such number. */
export const statusNamed = (state: number, code: number): StatusName | undefined => numbered.get(state)?.get(code)
export const statusNameOf = (opportunity: OpportunityStatus): StatusName => {
  const name = statusNamed(opportunity.state, opportunity.status)
  if (name === undefined) throw new RangeError(`State ${opportunity.state} has no status ${opportunity.status}.`)
  return name
}
export const isClosed = (opportunity: OpportunityStatus): boolean => statuses[statusNameOf(opportunity)].is_closed
export const statusLabelOf = (opportunity: OpportunityStatus): string => statuses[statusNameOf(opportunity)].label

/** Whether the opportunity will not take place: nothing may be out when such a status is set. */
export const isAbandoned = (name: StatusName): boolean => name === "lost" || name === "dead" || name === "cancelled"

const refusals: { readonly [M in Transition]: string } = {
  edit: "It can no longer be changed.",
  allocate: "Nothing can be allocated to it.",
  dispatch: "Only an open order can be dispatched.",
  check_in: "Nothing can be checked in on it.",
  convert_to_quotation: "Only a draft can be converted to a quotation.",
  convert_to_order: "Only an open quotation can be converted to an order.",
  change_status: "Its status can no longer be changed; reinstate or reopen it first.",
  reinstate: "Only a lost, dead or postponed quotation or a cancelled order can be reinstated.",
  reopen: "Only a complete order can be reopened.",
  revert_to_quotation: "Only an open order can go back to being a quotation.",
  revert_to_draft: "Only a provisional quotation can go back to being a draft.",
  versions: "Only an open quotation has versions to make and choose from.",
  locks: "Its locks cannot be changed.",
  clone: "It cannot be cloned.",
  delete: "It cannot be deleted.",
  participants: "Its participants cannot be changed."
}

/** Why the status forbids an action; undefined if it allows it. */
export const transitionRefusal = (opportunity: OpportunityStatus, move: Transition): string | undefined => {
  const name = statusNameOf(opportunity)
  return transitions[name][move] === "refused"
    ? `This ${(states[opportunity.state] ?? "").toLowerCase()} is ${statuses[name].label.toLowerCase()}. ${refusals[move]}`
    : undefined
}
/** 422 on `state` if the status forbids the action. */
export const requireTransition = (opportunity: OpportunityStatus, move: Transition): Result.Result<void, Rejection> => {
  const refusal = transitionRefusal(opportunity, move)
  return refusal === undefined ? Result.succeed(undefined) : reject("state", refusal)
}
export const targetStatus = (opportunity: OpportunityStatus, move: Transition): Status => {
  const end = transitions[statusNameOf(opportunity)][move]
  return end === "stays" || end === "sibling" || end === "refused" ? statuses[statusNameOf(opportunity)] : statuses[end]
}
