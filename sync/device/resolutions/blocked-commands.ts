/** Commands waiting for a refused one (state `held`): their causes, and whether they can be recorded again. */
import { catalogue } from "../../../core/catalogue.ts"
import { blocked_status, type WireError } from "../../protocol/wire.ts"
import { referencesOfCommand, rowReference } from "../outbox/references.ts"
import type { Outbox } from "../outbox/outbox.ts"
import type { OutboxCommand } from "../outbox/rows.ts"
import { readOutcome } from "../outbox/outcome.ts"
import type { Difference, OverwrittenField } from "../outcomes/describe-event.ts"
import { differenceInWords, overwrittenInWords } from "../outcomes/describe-event.ts"

/** The command in words. */
export const summaryOf = (name: string): string => catalogue.endpoint(name)?.summary ?? name

interface Blocking<Kind> {
  readonly kind: Kind
  readonly id: string
  readonly n: number
  readonly name: string
}
type CommandStatus = { readonly kind: "valid" } | Blocking<"refused"> | Blocking<"dropped">
/** State of a command or of its replacement; of several parts one valid part suffices. */
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
/** The commands a held one waits for. */
const awaitedBy = ({ cause, needs }: OutboxCommand): ReadonlyArray<string> => [
  ...new Set([...needs, ...(cause === null ? [] : [cause])])
]

/**
 * Next step of a held command: record it again; wait for another refused command (undefined: the present one); or, if
 * its cause was dropped, become a conflict with an error of its own.
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
/** Its own reason where it has one, else that there is nothing left to build on. */
const ownError = ({ error }: OutboxCommand, { n, name }: Blocking<"dropped">): WireError =>
  error !== null && error.status !== blocked_status && error.cause === undefined
    ? error
    : {
        status: blocked_status,
        message: `It builds on command ${n} (${summaryOf(name).toLowerCase()}), which was dropped.`
      }

/** The pending rest of a split command, where the held command names a row that the rest is to create. */
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

/** Held commands that build on this one, directly or by way of others, in order. */
export const dependentsOf = (outbox: Outbox, id: string): ReadonlyArray<OutboxCommand> => {
  const ids = new Set([id])
  return outbox.byState("held").filter((held) => {
    const builds = held.cause === id || held.needs.some((one) => ids.has(one))
    if (builds) ids.add(held.id)
    return builds
  })
}

// Commands that were accepted, and changed more than was shown here when they were recorded.

/** An accepted command that overwrote others' values, or with another outcome than shown here. */
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

/** Unseen reports, or all of them. */
export const toldReports = (outbox: Outbox, all: boolean): ReadonlyArray<CommandReport> =>
  outbox
    .told(all)
    .map(reportOf)
    // One that was refused once, and accepted by a server put back from a backup, has only what changed then.
    .filter(({ merged, differences }) => merged.length + differences.length > 0)
