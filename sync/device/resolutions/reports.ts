/** Commands that were accepted, and changed more than was shown here when they were recorded. */
import { catalogue } from "../../../core/catalogue.ts"
import type { OutboxCommand } from "../outbox/rows.ts"
import type { Outbox } from "../outbox/outbox.ts"
import { readOutcome } from "../outbox/outcome.ts"
import { type Difference, differenceInWords, type OverwrittenField, overwrittenInWords } from "../outcomes/wording.ts"
import { summaryOf } from "./blocked-commands.ts"

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
