/**
 * Undo on a device. What was not sent yet is withdrawn from the outbox, and the replica is as it was before it. What
 * left the device is taken back by compensating commands, which the server decides like any other (rules/undo 2).
 */
import { Clock, Effect } from "effect"
import type { Catalogue } from "../../../core/kernel/catalogue.ts"
import type { CommandRuntime } from "../../../core/kernel/command-runtime.ts"
import type { Failure, Params, Request } from "../../../core/kernel/endpoint.ts"
import { isJsonObject, type JsonObject } from "../../../core/kernel/json.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import type { Viewer } from "../../../core/kernel/viewer.ts"
import { instantOf } from "../../../core/values/time.ts"
import { deedOf } from "../../../core/conflicts/intent.ts"
import { cannot, sentence, type Undoing, type UndoRequest } from "../../../core/undo/compensation.ts"
import { compensationOf } from "../../../core/undo/compensations.ts"
import type { OutboxCommand } from "../outbox/command.ts"
import type { Outbox } from "../outbox/outbox.ts"
import { commandRequest, isRefusal } from "../recovery/lost-rows.ts"
import type { QueryResult, Replica, Rerecording } from "../replica/replica.ts"
import { refusedOf } from "../resolutions/ways-out.ts"
import { doneOf, undoContext } from "./facts.ts"
import { guardOf, type Later, laterChange, latestChange, type UndoGuard } from "./guards.ts"
import {
  isInEffect,
  isUndone,
  isUnsent,
  lastRun,
  lastUndone,
  redoable,
  refusedRedoOf,
  refusedUndoerOf,
  undoable,
  undoersOf
} from "./history.ts"
import { firstRefusal, requestOf } from "./tried.ts"

interface Named {
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
  | { readonly kind: "cannot" | "refused" | "dependants"; readonly plan: UndoPlan }
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
  readonly undo: (given: string | undefined, with_dependants: boolean) => Promise<UndoResult>
  /** Records again what was undone. */
  readonly redo: (given: string | undefined) => Promise<UndoResult>
}

export interface UndoParts {
  readonly catalogue: Catalogue
  readonly replica_id: number
  readonly outbox: Outbox
  readonly replica: Replica
  readonly viewer: Effect.Effect<Viewer, Failure, Store>
  readonly ask: (request: Request, again: Rerecording) => Promise<QueryResult>
  readonly run: <A>(effect: Effect.Effect<A, Failure, Store | CommandRuntime>) => Promise<A>
  /** Names this run of the program. */
  readonly run_id?: string
}

const named = async ({ outbox, run }: UndoParts, command: OutboxCommand): Promise<Named> => {
  const { id, ids, issued_at, n, name } = command
  const refused = refusedOf(outbox, command)
  // What it made is what it is about, too.
  const made = Object.entries(ids).flatMap(([table, of]) => of.map((one) => ({ table, id: one })))
  const about = { ...refused, named: [...refused.named, ...made] }
  const summary = await run(Effect.flatMap(Clock.currentTimeMillis, (now) => deedOf(about, instantOf(now))))
  return { id, n, name, summary, issued_at }
}
const failed = (failure: UndoFailure): UndoResult => ({ ok: false, failure })

/** The commands a person means, newest first, or why there are none. */
const chosen = async (
  parts: UndoParts,
  given: string | undefined
): Promise<ReadonlyArray<OutboxCommand> | UndoFailure> => {
  const { outbox } = parts
  if (given === undefined) {
    const last = lastRun(undoable(outbox))
    return last.length === 0 ? { kind: "nothing" } : last
  }
  const command = outbox.byIdOrNumber(given)
  if (command === undefined) return { kind: "unknown" }
  // Of an undo of which a part was refused, the rest is in effect: that is settled as the conflict it is.
  if (isInEffect(command) && refusedUndoerOf(outbox, command) !== undefined) return [command]
  if (isUndone(outbox, command)) return { kind: "undone", command: await named(parts, command) }
  if (command.state === "rejected" || command.state === "held")
    return { kind: "conflict", command: await named(parts, command) }
  return isInEffect(command) ? [command] : { kind: "settled", command: await named(parts, command) }
}
const isChosen = (chosen: ReadonlyArray<OutboxCommand> | UndoFailure): chosen is ReadonlyArray<OutboxCommand> =>
  Array.isArray(chosen)

export const undoOver = (parts: UndoParts): DeviceUndo => {
  const { outbox } = parts
  const planned = async (given: string | undefined): Promise<UndoResult> => {
    const commands = await chosen(parts, given)
    return isChosen(commands) ? { ok: true, plan: await planOf(parts, commands), recorded: [] } : failed(commands)
  }
  return {
    plan: planned,
    list: async (limit) => {
      const listed: Array<UndoListed> = []
      // Each by itself, as it would be undone.
      for (const step of await stepsOf(parts, undoable(outbox, limit)))
        for (const one of await triedOut(parts, [step], new Set()))
          listed.push({ ...one, run: outbox.find(one.id)?.run ?? null })
      return listed
    },
    undo: async (given, with_dependants) => {
      const result = await planned(given)
      return result.ok ? carryOut(parts, result.plan, with_dependants) : result
    },
    redo: (given) => redo(parts, given)
  }
}

const planOf = async (parts: UndoParts, commands: ReadonlyArray<OutboxCommand>): Promise<UndoPlan> => {
  const all = new Set(commands.map(({ id }) => id))
  const steps = await triedOut(parts, await stepsOf(parts, commands, all), all)
  const withdrawn = steps.filter(({ way }) => way === "withdraw").map(({ id }) => id)
  const stalled = withdrawn.length === 0 ? [] : await parts.run(parts.replica.stalledWithout(withdrawn))
  const building = stalled.flatMap((n) => parts.outbox.byIdOrNumber(String(n)) ?? [])
  const dependants = await Promise.all(building.map((one) => named(parts, one)))
  return { steps, dependants }
}
/** `with_it`: commands that are undone in one go. */
const stepsOf = async (
  parts: UndoParts,
  commands: ReadonlyArray<OutboxCommand>,
  with_it: ReadonlySet<string> = new Set()
): Promise<ReadonlyArray<UndoStep>> => {
  const steps: Array<UndoStep> = []
  for (const command of commands) {
    const about = { ...(await named(parts, command)), ...plain }
    const undoer = refusedUndoerOf(parts.outbox, command)
    steps.push(
      undoer !== undefined
        ? inConflict(about, undoer)
        : isUnsent(parts.outbox, command)
          ? { ...about, way: "withdraw", says: "It was not sent yet: it is withdrawn." }
          : await parts.run(compensating(parts, command, about, with_it))
    )
  }
  return steps
}
const inConflict = (about: Omit<UndoStep, "way" | "says">, { n }: OutboxCommand): UndoStep => ({
  ...about,
  way: "refused",
  says: `Undoing it was refused by the server, and waits as command ${n}.`,
  instead: `settle that: flightcase sync resolve ${n}`
})
const plain = { instead: null, requests: [], later: null, refusal: null, guard: null } as const

/** The same steps, of which the first that the rules refuse says so; nothing is tried where one is refused anyway. */
const triedOut = async (
  parts: UndoParts,
  steps: ReadonlyArray<UndoStep>,
  with_it: ReadonlySet<string>
): Promise<ReadonlyArray<UndoStep>> => {
  if (steps.some(({ way }) => way === "cannot" || way === "refused")) return steps
  const tried = steps.filter(({ way }) => way === "compensate")
  const all = tried.map(({ requests }) => requests)
  const refused = await parts.run(firstRefusal(parts.catalogue, parts.replica, all))
  const step = refused === undefined ? undefined : tried[refused.place]
  if (refused === undefined || step === undefined) return steps
  const command = parts.outbox.find(step.id)
  const known = command === undefined ? undefined : await parts.run(doneHere(parts, command))
  const later =
    command === undefined || known === undefined
      ? undefined
      : await parts.run(latestChange(known.context, parts.outbox, command, known.effects, known.done, with_it))
  const told = refusedStep(step, refused.answer, later ?? null)
  return steps.map((one) => (one === step ? told : one))
}
const refusedStep = (step: UndoStep, { body, status }: QueryResult, later: Later | null): UndoStep => {
  const { errors, message } = isJsonObject(body) ? body : { errors: undefined, message: undefined }
  const text = typeof message === "string" ? message : `The answer was ${status}.`
  return {
    ...step,
    way: "refused",
    says: later === null ? text : `${text} ${laterText(later)}`,
    instead: later === null ? null : insteadOf(later),
    later,
    refusal: { status, message: text, errors: isJsonObject(errors) ? errors : {} }
  }
}
const insteadOf = ({ n }: Later): string =>
  n === null ? "agree on it, and set it by hand" : `undo that first: flightcase undo ${n}`

/** What takes back a command that left the device. */
const compensating = Effect.fnUntraced(function* (
  parts: UndoParts,
  command: OutboxCommand,
  about: Omit<UndoStep, "way" | "says">,
  with_it: ReadonlySet<string>
): Effect.fn.Return<UndoStep, Failure, Store | CommandRuntime> {
  const { catalogue, outbox } = parts
  const known = yield* doneHere(parts, command)
  if (known === undefined)
    return stepOf(about, cannot("What it changed is not remembered on this device", "put it right by hand"))
  const { compensation, context, done, effects } = known
  const undoing = compensation(done, catalogue)
  if (undoing.kind === "cannot") return stepOf(about, undoing)
  const unknown = undoing.requests.find(({ name }) => catalogue.endpoint(name) === undefined)
  if (unknown !== undefined)
    return stepOf(about, cannot(`This release knows no command ${unknown.name}`, "put it right by hand"))
  const later = yield* laterChange(context, outbox, command, effects, done, undoing, with_it)
  if (later !== undefined) return { ...about, way: "refused", says: laterText(later), instead: insteadOf(later), later }
  const guard = (yield* guardOf(context, command, effects, undoing)) ?? null
  return { ...stepOf(about, undoing), guard }
})
/** What the command did, as far as it is remembered here; undefined where it is not. */
const doneHere = Effect.fnUntraced(function* (
  { catalogue, outbox, replica_id, viewer }: UndoParts,
  command: OutboxCommand
) {
  const endpoint = catalogue.endpoint(command.name)
  const effects = outbox.doneOf(command.n)
  const compensation = endpoint === undefined ? undefined : compensationOf(catalogue, endpoint)
  if (endpoint === undefined || compensation === undefined || effects === undefined) return undefined
  const now = instantOf(yield* Clock.currentTimeMillis)
  const context = yield* undoContext(catalogue, replica_id, yield* viewer, now)
  return { compensation, context, effects, done: yield* doneOf(context, command, endpoint, effects) }
})
const stepOf = (about: Omit<UndoStep, "way" | "says">, undoing: Undoing): UndoStep =>
  undoing.kind === "cannot"
    ? { ...about, way: "cannot", says: sentence(undoing.because), instead: undoing.instead }
    : {
        ...about,
        way: undoing.requests.length === 0 ? "nothing" : "compensate",
        says: undoing.says,
        requests: undoing.requests
      }
const laterText = ({ field, n, what, when, who }: Later): string => {
  const by = n !== null ? `command ${n} of this device` : (who ?? "somebody else")
  const at = when === null ? "" : ` (${when})`
  return sentence(`${what}${field === null ? "" : `: ${field.replaceAll("_", " ")}`} was changed since by ${by}${at}`)
}

const carryOut = async (parts: UndoParts, plan: UndoPlan, with_dependants: boolean): Promise<UndoResult> => {
  const { outbox, replica, run } = parts
  if (plan.steps.some(({ way }) => way === "cannot")) return failed({ kind: "cannot", plan })
  if (plan.steps.some(({ way }) => way === "refused")) return failed({ kind: "refused", plan })
  if (plan.dependants.length > 0 && !with_dependants) return failed({ kind: "dependants", plan })
  const withdrawn = [...plan.steps.filter(({ way }) => way === "withdraw"), ...plan.dependants].map(({ id }) => id)
  // All or nothing: what is compensated first can still be withdrawn itself.
  const recorded: Array<OutboxCommand> = []
  const steps: Array<UndoStep> = []
  for (const step of plan.steps) {
    if (step.way !== "compensate") {
      steps.push(step)
      continue
    }
    const { answer, left } = await compensate(parts, step, recorded)
    steps.push(left === undefined ? step : { ...step, says: left })
    if (answer === undefined) continue
    outbox.withdraw(recorded.map(({ id }) => id))
    await run(replica.rebase)
    return failed({ kind: "answer", answer, step })
  }
  if (withdrawn.length > 0) outbox.withdraw([...new Set(withdrawn)], parts.run_id)
  await run(replica.rebase)
  return { ok: true, plan: { ...plan, steps }, recorded: recorded.map(({ n }) => n) }
}
/** What came of a step: the refusal that ended it, or what it says where a part was left out. */
interface Compensated {
  readonly answer?: QueryResult
  readonly left?: string
}
/**
 * Records the requests of a step, each building on the one before: the server decides none after a refused one. A
 * refusal ends it, unless the step says what it is without that part.
 */
const compensate = async (
  { ask, catalogue, outbox }: UndoParts,
  step: UndoStep,
  recorded: Array<OutboxCommand>
): Promise<Compensated> => {
  const made: Array<OutboxCommand | undefined> = []
  let left: string | undefined
  for (const one of step.requests) {
    const { otherwise } = one
    if (otherwise !== undefined && left !== undefined) {
      made.push(undefined)
      continue
    }
    const ids = made.map((command) => command?.ids)
    const before = made.findLast((command) => command !== undefined)
    const answer = await ask(requestOf(catalogue, one, ids), {
      ids: {},
      undoes: [step.id],
      ...(before === undefined ? {} : { needs: [before.id] }),
      ...(step.guard === null ? {} : { unless_changed: step.guard })
    })
    if (answer.status >= 400 && otherwise === undefined) return { answer }
    if (answer.status >= 400) left = `${sentence(otherwise ?? "")} ${messageOf(answer)}`
    const command = answer.command === undefined ? undefined : outbox.find(answer.command.id)
    made.push(command)
    if (command !== undefined) recorded.push(command)
  }
  return left === undefined ? {} : { left }
}
const messageOf = ({ body }: QueryResult): string =>
  isJsonObject(body) && typeof body["message"] === "string" ? body["message"] : ""

/** A row that was deleted and made again has a new id, by which it is deleted once more. */
const withIdsOfToday = ({ catalogue, outbox }: UndoParts, command: OutboxCommand): OutboxCommand => {
  const endpoint = catalogue.endpoint(command.name)
  const name = endpoint?.method === "DELETE" ? Object.keys(endpoint.params).at(-1) : undefined
  if (endpoint === undefined || name === undefined) return command
  const table = (endpoint.params as Params)[name]?.table.name ?? ""
  const [made] = undoersOf(outbox, command).flatMap(({ ids }) => ids[table] ?? [])
  const { payload } = command
  return made === undefined
    ? command
    : { ...command, payload: { ...payload, params: { ...payload.params, [name]: String(made) } } }
}

const redo = async (parts: UndoParts, given: string | undefined): Promise<UndoResult> => {
  const { ask, outbox } = parts
  const command = given === undefined ? undefined : outbox.byIdOrNumber(given)
  if (given !== undefined && command === undefined) return failed({ kind: "unknown" })
  const all = redoable(outbox)
  const wanted = command === undefined ? lastUndone(outbox) : all.filter(({ id }) => id === command.id)
  if (wanted.length === 0)
    return failed(
      command === undefined ? { kind: "nothing" } : { kind: "settled", command: await named(parts, command) }
    )
  const refused = wanted.flatMap((one) => refusedRedoOf(outbox, one) ?? [])[0]
  if (refused !== undefined) return failed({ kind: "conflict", command: await named(parts, refused) })
  const recorded: Array<OutboxCommand> = []
  for (const one of [...wanted].reverse()) {
    const request = commandRequest(outbox, withIdsOfToday(parts, one), one.payload.body)
    const withdrawn = one.state === "withdrawn"
    const answer: QueryResult = isRefusal(request)
      ? request
      : one.payload.files !== undefined
        ? { status: 422, body: { message: "Its file is not on this device any more: attach it again." } }
        : await ask(request, {
            ids: withdrawn ? outbox.leasedAmong(one, one.ids) : {},
            undoes: withdrawn ? [one.id] : undoersOf(outbox, one).map(({ id }) => id)
          })
    if (answer.status >= 400) {
      outbox.withdraw(recorded.map(({ id }) => id))
      await parts.run(parts.replica.rebase)
      return failed({ kind: "answer", answer, step: await named(parts, one) })
    }
    const again = answer.command === undefined ? undefined : outbox.find(answer.command.id)
    if (again !== undefined) recorded.push(again)
  }
  const steps: Array<UndoStep> = []
  for (const one of wanted)
    steps.push({ ...(await named(parts, one)), ...plain, way: "nothing", says: "Recorded again." })
  return { ok: true, plan: { steps, dependants: [] }, recorded: recorded.map(({ n }) => n) }
}
