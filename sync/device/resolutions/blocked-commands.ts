/** Commands held by a refused one: their causes, and whether they can be recorded again. */
import { catalogue } from "../../../core/catalogue.ts"
import { blocked_status, type WireError } from "../../protocol/wire.ts"
import { referencesOfCommand, rowReference } from "../outbox/references.ts"
import type { Outbox } from "../outbox/outbox.ts"
import type { OutboxCommand } from "../outbox/rows.ts"
import { readOutcome } from "../outbox/outcome.ts"
import type { Difference, OverwrittenField } from "../outcomes/describe-event.ts"
import { differenceInWords, overwrittenInWords } from "../outcomes/describe-event.ts"

/** Summary of a command's endpoint; its name if this release does not know it. */
export const summaryOf = (name: string): string => catalogue.endpoint(name)?.summary ?? name

interface Blocking<Kind> {
  readonly kind: Kind
  readonly id: string
  readonly n: number
  readonly name: string
}
type CommandStatus = { readonly kind: "valid" } | Blocking<"refused"> | Blocking<"dropped">
/** Status of a command or its replacement; if it was split, one valid part suffices. */
const statusOf = (outbox: Outbox, id: string): CommandStatus => {
  const command = outbox.find(id)
  if (command === undefined || command.state === "pending" || command.state === "accepted") return { kind: "valid" }
  const { n, name } = command
  if (command.state === "rejected") return { kind: "refused", id, n, name }
  if (command.state === "held") return { kind: "refused", id: command.cause ?? id, n, name }
  if (command.state === "dropped") return { kind: "dropped", id, n, name }
  const successors = outbox.successors(id).map((one) => statusOf(outbox, one.id))
  return (
    successors.find((one) => one.kind === "valid") ??
    successors.find((one) => one.kind === "refused") ??
    successors[0] ?? { kind: "valid" }
  )
}
/** Ids of the commands that a held one waits for. */
const awaitedBy = ({ cause, needs }: OutboxCommand): ReadonlyArray<string> => [
  ...new Set([...needs, ...(cause === null ? [] : [cause])])
]

/**
 * Next step of a held command: record it again; wait for another refused command (undefined: the current one); or, if
 * its cause was dropped, become a conflict.
 */
type NextStep =
  | { readonly kind: "record" }
  | { readonly kind: "wait"; readonly cause: string | undefined }
  | { readonly kind: "refuse"; readonly error: WireError }
export const nextStepOf = (outbox: Outbox, held: OutboxCommand): NextStep => {
  const awaited = awaitedBy(held).map((id) => statusOf(outbox, id))
  const dropped = awaited.find((one) => one.kind === "dropped")
  if (dropped !== undefined) return { kind: "refuse", error: ownError(held, dropped) }
  const refused = awaited.find((one) => one.kind === "refused")
  if (refused === undefined) return { kind: "record" }
  return { kind: "wait", cause: refused.id === held.cause ? undefined : refused.id }
}
/** Error of a held command that becomes a conflict: its own if it has one, else that its cause was dropped. */
const ownError = ({ error }: OutboxCommand, { n, name }: Blocking<"dropped">): WireError =>
  error !== null && error.status !== blocked_status && error.cause === undefined
    ? error
    : {
        status: blocked_status,
        message: `It builds on command ${n} (${summaryOf(name).toLowerCase()}), which was dropped.`
      }

/** Id of the pending rest of a split command that is to create a row the held command references; undefined if none. */
export const pendingRestFor = (outbox: Outbox, held: OutboxCommand): string | undefined => {
  const endpoint = catalogue.endpoint(held.name)
  const named = new Set(endpoint === undefined ? [] : referencesOfCommand(endpoint, held.payload).map(rowReference))
  const pendingAfter = (id: string): ReadonlyArray<OutboxCommand> => {
    const command = outbox.find(id)
    return [
      ...(command?.state === "pending" && command.replaces !== null ? [command] : []),
      ...outbox.successors(id).flatMap((one) => pendingAfter(one.id))
    ]
  }
  const createsNamed = ({ ids }: OutboxCommand): boolean =>
    Object.entries(ids).some(([table, created]) => created.some((id) => named.has(rowReference({ table, id }))))
  return awaitedBy(held).flatMap(pendingAfter).find(createsNamed)?.id
}

// Reports of accepted commands that changed more than was shown here when they were recorded.

/** Report of an accepted command that overwrote others' values or had another outcome than shown here. */
export interface CommandReport {
  readonly id: string
  readonly n: number
  readonly name: string
  readonly summary: string
  readonly issued_at: string
  readonly merged: ReadonlyArray<OverwrittenField>
  readonly differences: ReadonlyArray<Difference>
}
const reportOf = ({ id, n, name, issued_at, account }: OutboxCommand): CommandReport => {
  const { merged = [], differences = [] } = readOutcome(catalogue, account)
  return {
    id,
    n,
    name,
    summary: summaryOf(name),
    issued_at,
    merged: merged.map((one) => overwrittenInWords(catalogue, one)),
    differences: differences.map((one) => differenceInWords(catalogue, one))
  }
}

const reportsIn = (commands: ReadonlyArray<OutboxCommand>): ReadonlyArray<CommandReport> =>
  commands
    .map(reportOf)
    // A command accepted again by a restored server has only the later changes.
    .filter(({ merged, differences }) => merged.length + differences.length > 0)

/** Reports of a device: unread ones, or all; and those added since a moment. */
export const reportsOf = (outbox: Outbox) => ({
  told: (all: boolean): ReadonlyArray<CommandReport> => reportsIn(outbox.told(all)),
  reportsFromNow: () => {
    const before = outbox.toldNumbers()
    return () => reportsIn(outbox.told(true, before))
  }
})
