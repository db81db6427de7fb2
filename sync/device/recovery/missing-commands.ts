/**
 * Commands that were acknowledged here and are not in the outbox any more: its write-ahead log was lost, or an older
 * copy of it was put in its place. The replica keeps the highest number it ever ran, so that this is noticed. Nothing
 * is recorded or synced until a person has decided: a pull would delete what the replica still knows of those commands.
 */
import { Effect } from "effect"
import type { Catalogue } from "../../../core/kernel/catalogue.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import { DeviceFailure } from "../device-failure.ts"
import { writeMeta } from "../replica/local-tables.ts"
import type { Outbox } from "../outbox/outbox.ts"
import { revertProvisional } from "../replica/provisional.ts"

/** The numbers the outbox has lost. */
export interface MissingCommands {
  readonly from: number
  readonly to: number
}

/** The highest number ever run here; earlier releases kept only the last one run (`run_n`). */
export const highestKnown =
  "select max(cast(value as integer)) as n from replica_meta where key in ('acknowledged_n', 'run_n')"

/** Keeps that the command was run here: from now on it is noticed when the outbox loses it. */
export const saveLastRun = Effect.fnUntraced(function* (n: number) {
  const store = yield* Store
  yield* writeMeta(store, "run_n", String(n))
  yield* store.run(
    "insert into replica_meta (key, value) values ('acknowledged_n', ?) on conflict (key) do update set value = max(cast(value as integer), cast(excluded.value as integer))",
    [String(n)]
  )
})

/** Reads the replica before the outbox: a command recorded in between is in the outbox first. */
export const missingNow = Effect.fnUntraced(function* (outbox: Pick<Outbox, "lastN">) {
  const [row] = yield* (yield* Store).run<{ n: number | null }>(highestKnown)
  return missingBetween(row?.n ?? 0, outbox.lastN())
})
export const missingBetween = (known: number, last: number): MissingCommands | undefined =>
  known > last ? { from: last + 1, to: known } : undefined

/** Dies with a `DeviceFailure` where the outbox has lost commands. */
export const refuseWhileMissing = Effect.fnUntraced(function* (outbox: Pick<Outbox, "lastN">) {
  const missing = yield* missingNow(outbox)
  if (missing !== undefined) return yield* Effect.die(missingFailure(missing))
})
/**
 * Goes on without the lost commands: their changes are reverted, and the next number follows the last one in the
 * outbox.
 */
export const acceptMissing = Effect.fnUntraced(function* (catalogue: Catalogue, outbox: Pick<Outbox, "lastN">) {
  const store = yield* Store
  yield* store.transaction(
    Effect.gen(function* () {
      yield* revertProvisional(catalogue)
      yield* store.run("delete from verdicts where n > ?", [outbox.lastN()])
      yield* writeMeta(store, "run_n", "0")
      yield* writeMeta(store, "acknowledged_n", String(outbox.lastN()))
    })
  )
})

export const missingText = ({ from, to }: MissingCommands): string =>
  `${from === to ? `Command ${from} was` : `Commands ${from} to ${to} were`} acknowledged here, and the outbox does not have ${from === to ? "it" : "them"} any more`
export const missing_advice =
  "Put outbox.sqlite with its -wal file back from a backup. Without one, flightcase sync export-pending FILE writes out what is there and what is " +
  "still known of the lost ones; then flightcase doctor --accept-loss goes on without them."
export const missingFailure = (missing: MissingCommands): DeviceFailure =>
  new DeviceFailure(
    "commands missing",
    `${missingText(missing)}: its file or its -wal was lost or replaced. Nothing was recorded or sent.`,
    missing_advice
  )
