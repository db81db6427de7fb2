/**
 * One scan, one verdict (rules/opportunities 9.6): a unit is allocated where it has to be, prepared and booked out, or
 * nothing happens; a case goes with all that is in it; what comes back is checked in.
 */
import { Result } from "effect"
import { labelOf } from "../containers/seal.ts"
import type { DecideContext } from "../kernel/endpoint.ts"
import { invalidField } from "../kernel/rejection.ts"
import { returnQuantity } from "../opportunities/units/decide-bulk.ts"
import { bulkOut, moveBulk } from "./bulk.ts"
import { caseOut } from "./cases.ts"
import { caseIn, unitIn } from "./coming-in.ts"
import type { Named } from "./codes.ts"
import type { ScanFacts } from "./facts.ts"
import { unitOut } from "./unit-out.ts"
import { decidedAs, refuse, type ScanDecided, scannedOf, type Wanted } from "./wanted.ts"
import { dispatchedAt, timeTold } from "./when.ts"

/**
 * A refusal on the field that named what was scanned: rules name fields of the bodies they were made for. Those that
 * say more than a text (a dispatch that is blocked, a seal) stay as they are.
 */
const named = (decided: ScanDecided, { field }: Wanted): ScanDecided =>
  Result.mapError(decided, (rejection) => {
    const { errors } = rejection
    return errors === undefined ||
      ["break_seal", "quantity", "scanned_at", "shortages", field].some((key) => key in errors)
      ? rejection
      : invalidField(field, Object.values(errors).flat().join(" "))
  })
export const scanOut = (facts: ScanFacts, wanted: Wanted, context: DecideContext): ScanDecided =>
  named(
    Result.flatMap(timeTold(wanted, context.now), () =>
      Result.flatMap(leftAt(facts, wanted, context.now), (at) => out(facts, { ...wanted, at }, context))
    ),
    wanted
  )
export const scanIn = (facts: ScanFacts, wanted: Wanted, context: DecideContext): ScanDecided =>
  named(
    Result.flatMap(timeTold(wanted, context.now), () => back(facts, wanted, context)),
    wanted
  )

/** When the unit, or all that is in the case, went out: never before any of it came back the last time. */
const leftAt = ({ as_case, returned, unit }: ScanFacts, wanted: Wanted, now: string) => {
  const levels = [
    ...(unit === undefined ? [] : [unit.level]),
    ...[...(as_case?.units.values() ?? [])].map(({ level }) => level),
    ...(as_case?.housing === undefined ? [] : [as_case.housing])
  ]
  let latest: { readonly name: string; readonly at: string } | undefined
  for (const level of levels) {
    const at = returned.get(level.id)
    if (at !== undefined && (latest === undefined || at > latest.at)) latest = { name: labelOf(level), at }
  }
  return latest === undefined ? Result.succeed(wanted.at) : dispatchedAt(wanted, latest.name, latest.at, now)
}

/** What is no counted product is one piece, and no quantity of it is passed over. */
const moreThanOne = (named: Exclude<Named, { kind: "product" }>, { quantity }: Wanted) =>
  quantity === null || quantity === 1
    ? undefined
    : refuse("quantity", `${named.kind === "unit" ? labelOf(named.level) : named.container.name} is one piece.`)

/** Books what was scanned out to the order, or refuses it whole. */
const out = (facts: ScanFacts, wanted: Wanted, context: DecideContext): ScanDecided => {
  const { as_case, found, known } = facts
  const { named } = found
  if (named === undefined || known === undefined) return refuse(wanted.field, found.problem ?? "Name an order.")
  if (named.kind === "product") return bulkOut(facts, known, named.product, wanted, context)
  const more = moreThanOne(named, wanted)
  if (more !== undefined) return more
  const is_closed_case = as_case !== undefined && as_case.target.container.status !== "open"
  if (as_case !== undefined && (named.kind === "container" || is_closed_case || as_case.target.items.length > 0))
    return Result.map(caseOut(as_case, known, wanted, context), ({ _meta, events, pieces }) =>
      decidedAs(
        known,
        events,
        scannedOf(facts, {
          direction: "out",
          kind: "container",
          name: as_case.target.container.name,
          container_id: as_case.target.container.id,
          stock_level_id: as_case.housing?.id ?? null,
          product_id: as_case.target.container.product_id,
          quantity: pieces
        }),
        _meta
      )
    )
  return named.kind === "container"
    ? refuse(wanted.field, `${named.container.name} is no longer in use.`)
    : unitOut(facts, known, named.level, wanted, context)
}

/** Checks in what was scanned, on the order that has it, or refuses it whole. */
const back = (facts: ScanFacts, wanted: Wanted, context: DecideContext): ScanDecided => {
  const { as_case, found, known } = facts
  const { named } = found
  if (named === undefined) return refuse(wanted.field, found.problem ?? "Scan a code.")
  if (named.kind === "product")
    return known === undefined
      ? refuse(wanted.field, "no unit has this code; for a bulk product name the order: scan in ORDER")
      : moveBulk(facts, known, named.product, wanted, "in", (state, line, quantity) =>
          returnQuantity(
            state,
            line,
            quantity,
            { received_by: context.viewer.user_id || null, condition: wanted.condition },
            context
          )
        )
  const more = moreThanOne(named, wanted)
  if (more !== undefined) return more
  if (as_case !== undefined && as_case.target.container.status === "dispatched")
    return caseIn(facts, as_case, wanted, context)
  if (named.kind === "container")
    return refuse(wanted.field, `${named.container.name} is not out: it is ${named.container.status}.`)
  return unitIn(facts, named.level, wanted, context)
}
