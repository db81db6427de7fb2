/**
 * Undo on a device. Unsent commands are withdrawn from the outbox, and the replica is reverted. Sent ones are undone by
 * compensating commands, which the server decides like any other (rules/undo 2).
 */
import { Clock, Effect } from "effect"
import { type Catalogue, type CommandRuntime, isJsonObject, type JsonObject } from "../../../core/kernel/index.ts"
import { bodyOf, type Failure, type Json, Rejection, type Request, statusOf } from "../../../core/kernel/index.ts"
import { itemAt } from "../../../core/values/text.ts"
import { cannot, sentence, type Undoing, type UndoRequest } from "../../../core/offline/undo/compensation.ts"
import type { WireCommand } from "../../protocol/wire.ts"
import { asAnswer, type PlannedRequest, type QueryResult, type Replica, type Rerecording } from "../replica/replica.ts"
import { instantOf } from "../../../core/values/time.ts"
import { compensationOf } from "../../../core/offline/undo/compensations.ts"
import type { OutboxCommand } from "../outbox/rows.ts"
import { doneOf, undoContext } from "./facts.ts"
import type { DeviceUndo, Later, UndoFailure, UndoListed, UndoParts, UndoPlan, UndoResult, UndoStep } from "./guards.ts"
import { allOrNone, failed, guardOf, insteadOf, laterChange, laterText, latestChange, named, plain } from "./guards.ts"
import { isInEffect, isUndone, isUnsent, lastRun, redo, refusedUndoerOf, undoable } from "./redo.ts"

// Plans are tried out first: the compensating commands are decided on the replica and rolled back, so that a plan
// reports what the rules refuse, and what others changed meanwhile.

/** Builds a compensating request, with the ids that earlier ones created. */
const requestOf = (
  catalogue: Catalogue,
  { body = {}, name, params }: UndoRequest,
  made: ReadonlyArray<WireCommand["ids"] | undefined>
): Request => {
  const valueOf = (value: Json | UndoRequest["params"][string]): Json => {
    if (!isJsonObject(value) || typeof value["made_by"] !== "number") return value
    return made[value["made_by"]]?.[String(value["table"])]?.[0] ?? null
  }
  const endpoint = catalogue.endpoint(name)
  if (endpoint === undefined) throw new Error(`no endpoint ${name} in the catalogue`)
  const { method, path } = endpoint
  const values: JsonObject = Object.fromEntries(Object.entries(body).map(([field, one]) => [field, valueOf(one)]))
  return {
    method,
    path: path.replace(/\{(\w+)\}/g, (_, param: string) => encodeURIComponent(String(valueOf(params[param] ?? "")))),
    query: [],
    body: values
  }
}

/**
 * The earlier command that a request depends on. Required requests depend on required ones only; optional ones also on
 * each other.
 */
export const neededBy = <C>(
  { otherwise }: UndoRequest,
  recorded: ReadonlyArray<{ readonly request: UndoRequest; readonly command: C }>
): C | undefined =>
  recorded.findLast(({ request }) => otherwise !== undefined || request.otherwise === undefined)?.command

/** The first refusal among several compensations tried in order, and its index. */
interface TriedRefusal {
  readonly place: number
  readonly answer: QueryResult
}
const firstRefusal = Effect.fnUntraced(function* (
  catalogue: Catalogue,
  replica: Pick<Replica, "plan">,
  compensations: ReadonlyArray<ReadonlyArray<UndoRequest>>
) {
  let count = 0
  const places: Array<number> = []
  const requests = compensations.flatMap((all, place) => {
    // The refusal of an optional request does not affect the others.
    const needed = all.flatMap((one, at) => (one.otherwise === undefined ? [at] : []))
    const from = count
    count += needed.length
    places.push(...needed.map(() => place))
    return needed.map(
      (at): PlannedRequest =>
        (made) =>
          requestOf(
            catalogue,
            itemAt(all, at),
            all.map((_, n) => (needed.includes(n) ? made[from + needed.indexOf(n)] : undefined))
          )
    )
  })
  if (requests.length === 0) return undefined
  const answers = yield* replica
    .plan(requests)
    .pipe(
      Effect.catch((failure): Effect.Effect<ReadonlyArray<QueryResult>, Failure> =>
        failure instanceof Rejection
          ? Effect.succeed([{ status: statusOf[failure.kind], body: bodyOf(failure) }])
          : Effect.fail(failure)
      )
    )
  const at = answers.findIndex(({ status }) => status >= 400)
  const answer = answers[at]
  return answer === undefined ? undefined : ({ place: places[at] ?? 0, answer } satisfies TriedRefusal)
})

export type { DeviceUndo, UndoFailure, UndoListed, UndoParts, UndoPlan, UndoResult, UndoStep } from "./guards.ts"

/** Selects the commands to undo, newest first, or the reason why there are none. */
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
  // A partly refused undo: the rest is in effect, and the refusal is resolved as a conflict.
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
      // Each command is planned separately, as it would be undone.
      for (const step of await stepsOf(parts, undoable(outbox, limit)))
        for (const one of await triedOut(parts, [step], new Set()))
          listed.push({ ...one, run: outbox.find(one.id)?.run ?? null })
      return listed
    },
    undo: async (given, with_dependants, agreed) => {
      const result = agreed === undefined ? await planned(given) : await plannedAgain(parts, agreed)
      return result.ok ? carryOut(parts, result.plan, with_dependants, agreed) : result
    },
    redo: (given) => redo(parts, given)
  }
}

/** Plans the commands of an earlier plan again, regardless of commands recorded since. */
const plannedAgain = async (parts: UndoParts, agreed: UndoPlan): Promise<UndoResult> => {
  const commands = agreed.steps.flatMap(({ id }) => parts.outbox.find(id) ?? [])
  const isLeft = (one: OutboxCommand): boolean =>
    !isUndone(parts.outbox, one) || refusedUndoerOf(parts.outbox, one) !== undefined
  return commands.every((one) => isInEffect(one) && isLeft(one))
    ? { ok: true, plan: await planOf(parts, commands), recorded: [] }
    : failed({ kind: "changed", plan: agreed })
}
/** Whether two plans have the same effects. */
const isSame = (one: UndoPlan, other: UndoPlan): boolean => {
  const [first, second] = [one, other].map(({ dependants, steps }) =>
    JSON.stringify([dependants.map(({ id }) => id), steps.map(({ id, requests, way }) => [id, way, requests])])
  )
  return first === second
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
/** Plans each command. `with_it`: ids of commands undone together. */
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

/**
 * The steps after trying them out: the first one that the rules refuse is marked. Nothing is tried if a step is refused
 * anyway.
 */
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
  const later = known === undefined ? undefined : await parts.run(latestChange(known, parts.outbox, with_it))
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
/** Plans the undo of a command that has left the device. */
const compensating = Effect.fnUntraced(function* (
  parts: UndoParts,
  command: OutboxCommand,
  about: Omit<UndoStep, "way" | "says">,
  with_it: ReadonlySet<string>
): CommandRuntime.Reads<UndoStep> {
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
  const later = yield* laterChange(known, outbox, undoing, with_it)
  if (later !== undefined) return { ...about, way: "refused", says: laterText(later), instead: insteadOf(later), later }
  const guard = (yield* guardOf(context, command, effects, undoing)) ?? null
  return { ...stepOf(about, undoing), guard }
})
/** The command's undo data; undefined if it is not stored, or no compensation is declared. */
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
  return { command, compensation, context, effects, done: yield* doneOf(context, command, endpoint, effects) }
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
const carryOut = async (
  parts: UndoParts,
  plan: UndoPlan,
  with_dependants: boolean,
  agreed: UndoPlan | undefined
): Promise<UndoResult> => {
  if (plan.steps.some(({ way }) => way === "cannot")) return failed({ kind: "cannot", plan })
  if (plan.steps.some(({ way }) => way === "refused")) return failed({ kind: "refused", plan })
  if (agreed !== undefined && !isSame(agreed, plan)) return failed({ kind: "changed", plan })
  if (plan.dependants.length > 0 && !with_dependants) return failed({ kind: "dependants", plan })
  return allOrNone(parts, carriedOut(parts, plan))
}
const carriedOut = Effect.fnUntraced(function* (parts: UndoParts, plan: UndoPlan): CommandRuntime.Reads<UndoResult> {
  const recorded: Array<OutboxCommand> = []
  const steps: Array<UndoStep> = []
  for (const step of plan.steps) {
    const { answer, left } = step.way === "compensate" ? yield* compensate(parts, step, recorded) : {}
    if (answer !== undefined) return failed({ kind: "answer", answer, step })
    steps.push(left === undefined ? step : { ...step, says: left })
  }
  const withdrawn = [...plan.steps.filter(({ way }) => way === "withdraw"), ...plan.dependants].map(({ id }) => id)
  // Another process may have sent one of them meanwhile.
  if (withdrawn.length > 0 && !parts.outbox.withdraw([...new Set(withdrawn)], parts.run_id))
    return failed({ kind: "changed", plan })
  parts.outbox.foundNothingLeft(plan.steps.filter(({ way }) => way === "nothing").map(({ id }) => id))
  return { ok: true, plan: { ...plan, steps }, recorded: recorded.map(({ n }) => n) }
})
/** Result of a step: the refusal that ended it, or a message if an optional part was left out. */
interface Compensated {
  readonly answer?: QueryResult
  readonly left?: string
}
/**
 * Records the requests of a step, each depending on earlier ones, so that the server decides none after a refused
 * required one. A refusal ends the step, unless the refused part is optional.
 */
const compensate = Effect.fnUntraced(function* (
  { catalogue, outbox, replica }: UndoParts,
  step: UndoStep,
  recorded: Array<OutboxCommand>
): CommandRuntime.Reads<Compensated> {
  const made: Array<OutboxCommand | undefined> = []
  const kept: Array<{ readonly request: UndoRequest; readonly command: OutboxCommand }> = []
  let left: string | undefined
  for (const one of step.requests) {
    const { otherwise } = one
    if (otherwise !== undefined && left !== undefined) {
      made.push(undefined)
      continue
    }
    const ids = made.map((command) => command?.ids)
    const again = rerecordingOf(step, neededBy(one, kept))
    const answer = yield* asAnswer(replica.ask(requestOf(catalogue, one, ids), false, again))
    if (answer.status >= 400 && otherwise === undefined) return { answer }
    if (answer.status >= 400 && otherwise !== "") left = `${sentence(otherwise ?? "")} ${messageOf(answer)}`
    const command = answer.command === undefined ? undefined : outbox.find(answer.command.id)
    made.push(command)
    if (command === undefined) continue
    kept.push({ request: one, command })
    recorded.push(command)
  }
  return left === undefined ? {} : { left }
})
const rerecordingOf = ({ guard, id }: UndoStep, before: OutboxCommand | undefined): Rerecording => ({
  ids: {},
  undoes: [id],
  ...(before === undefined ? {} : { needs: [before.id] }),
  ...(guard === null ? {} : { unless_changed: guard })
})
const messageOf = ({ body }: QueryResult): string =>
  isJsonObject(body) && typeof body["message"] === "string" ? body["message"] : ""
