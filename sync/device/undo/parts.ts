/** What undo is made from, what it answers, and what its parts share. */
import { Clock, Effect } from "effect"
import type { Catalogue } from "../../../core/kernel/catalogue.ts"
import type { CommandRuntime } from "../../../core/kernel/command-runtime.ts"
import type { Failure } from "../../../core/kernel/endpoint.ts"
import type { JsonObject } from "../../../core/kernel/json.ts"
import type { Store } from "../../../core/kernel/store/store.ts"
import type { Viewer } from "../../../core/kernel/viewer.ts"
import { instantOf } from "../../../core/values/time.ts"
import { deedOf } from "../../../core/conflicts/intent.ts"
import { sentence, type UndoRequest } from "../../../core/undo/compensation.ts"
import type { OutboxCommand } from "../outbox/command.ts"
import type { Outbox } from "../outbox/outbox.ts"
import type { LocalEffect, QueryResult, Replica } from "../replica/replica.ts"
import { refusedOf } from "../resolutions/ways-out.ts"
import type { Later, UndoGuard } from "./guards.ts"

export interface Named {
  readonly id: string
  readonly n: number
  /** The endpoint's name. */
  readonly name: string
  readonly summary: string
  readonly issued_at: string
}
/** What undoing one command does. */
export interface UndoStep extends Named {
  /**
   * `withdraw`: it was not sent; `compensate`: commands follow it; `nothing`: its effects are gone already; `refused`:
   * somebody changed it since, or the rules refuse what would follow; `cannot`: nothing takes such a command back.
   */
  readonly way: "withdraw" | "compensate" | "nothing" | "refused" | "cannot"
  readonly says: string
  readonly instead: string | null
  readonly requests: ReadonlyArray<UndoRequest>
  readonly later: Later | null
  /** What the rules answered to the commands that would take it back; null where they were not refused. */
  readonly refusal: { readonly status: number; readonly message: string; readonly errors: JsonObject } | null
  /** What must still be as it is here once the requests arrive at the server. */
  readonly guard: UndoGuard | null
}
export interface UndoPlan {
  readonly steps: ReadonlyArray<UndoStep>
  /** Unsent commands that do not hold without those to be withdrawn. */
  readonly dependants: ReadonlyArray<Named>
}
export type UndoFailure =
  | { readonly kind: "nothing" }
  | { readonly kind: "unknown" }
  | { readonly kind: "undone" | "conflict" | "settled"; readonly command: Named }
  | { readonly kind: "cannot" | "refused" | "dependants" | "changed"; readonly plan: UndoPlan }
  | { readonly kind: "answer"; readonly answer: QueryResult; readonly step: Named }
export type UndoResult =
  | { readonly ok: true; readonly plan: UndoPlan; readonly recorded: ReadonlyArray<number> }
  | { readonly ok: false; readonly failure: UndoFailure }
export interface UndoListed extends UndoStep {
  readonly run: string | null
}
/** `given`: a command's number or id; undefined for what the last run of the program recorded. */
export interface DeviceUndo {
  readonly list: (limit: number) => Promise<ReadonlyArray<UndoListed>>
  readonly plan: (given: string | undefined) => Promise<UndoResult>
  /** `agreed`: the plan a person has seen; nothing is done where undoing would do anything else by now. */
  readonly undo: (given: string | undefined, with_dependants: boolean, agreed?: UndoPlan) => Promise<UndoResult>
  /** Records again what was undone. */
  readonly redo: (given: string | undefined) => Promise<UndoResult>
}

export interface UndoParts {
  readonly catalogue: Catalogue
  readonly replica_id: number
  readonly outbox: Outbox
  readonly replica: Replica
  readonly viewer: Effect.Effect<Viewer, Failure, Store>
  readonly run: <A>(effect: Effect.Effect<A, Failure, Store | CommandRuntime>) => Promise<A>
  /** Names this run of the program. */
  readonly run_id?: string
}

export const named = async ({ outbox, run }: UndoParts, command: OutboxCommand): Promise<Named> => {
  const { id, ids, issued_at, n, name } = command
  const refused = refusedOf(outbox, command)
  // What it made is what it is about, too.
  const made = Object.entries(ids).flatMap(([table, of]) => of.map((one) => ({ table, id: one })))
  const about = { ...refused, named: [...refused.named, ...made] }
  const summary = await run(Effect.flatMap(Clock.currentTimeMillis, (now) => deedOf(about, instantOf(now))))
  return { id, n, name, summary, issued_at }
}
export const failed = (failure: UndoFailure): UndoResult => ({ ok: false, failure })
/** What a step has where nothing more is to be said. */
export const plain = { instead: null, requests: [], later: null, refusal: null, guard: null } as const

export const insteadOf = ({ n }: Later): string =>
  n === null ? "agree on it, and set it by hand" : `undo that first: flightcase undo ${n}`
export const laterText = ({ field, n, what, when, who }: Later): string => {
  const by = n !== null ? `command ${n} of this device` : (who ?? "somebody else")
  const at = when === null ? "" : ` (${when})`
  return sentence(`${what}${field === null ? "" : `: ${field.replaceAll("_", " ")}`} was changed since by ${by}${at}`)
}

/** Ends a transaction of which nothing is kept. */
class Abandoned extends Error {
  readonly result: UndoResult
  constructor(result: UndoResult) {
    super("abandoned")
    this.result = result
  }
}
/** Does all of it, or none where it fails. */
export const allOrNone = async ({ replica, run }: UndoParts, work: LocalEffect<UndoResult>): Promise<UndoResult> => {
  const done = Effect.tap(work, (result) => (result.ok ? Effect.void : Effect.die(new Abandoned(result))))
  const result = await run(
    Effect.catchDefect(replica.together(done), (defect) =>
      defect instanceof Abandoned ? Effect.succeed(defect.result) : Effect.die(defect)
    )
  )
  await run(replica.rebase)
  return result
}
