/**
 * Conflicts: refused commands, changes by others since they were recorded, and their resolutions. Most record the
 * command again with its old ids, so that dependent commands stay valid; the new command names the conflict. Then held
 * commands are recorded again.
 */
import { catalogue } from "../../../core/catalogue.ts"
import { Effect } from "effect"
import { canonicalJson, isJsonObject } from "../../../core/kernel/index.ts"
import type { Alternative, AskEndpoint, Failure, Json, JsonObject, Request, Store } from "../../../core/kernel/index.ts"
import type { WireCommand, WireError } from "../../protocol/wire.ts"
import { readOutcome } from "../outbox/outcome.ts"
import { type Change, changeInWords } from "../outcomes/describe-event.ts"
import { payloadOf } from "../replica/lost-rows.ts"
import { referencesOfCommand, rowReference } from "../outbox/references.ts"
import type { Outbox } from "../outbox/outbox.ts"
import type { CommandState, OutboxCommand } from "../outbox/rows.ts"
import type { QueryResult } from "../replica/replica.ts"
import type { Recorder, RecorderParts } from "./recorder.ts"
import { planningOver, recorderOver, replaceableReference, withId } from "./recorder.ts"
import { type CommandReport, nextStepOf, pendingRestFor, summaryOf } from "./blocked-commands.ts"
import { type About, billLeft, damageOf, quarantineFor } from "../../../core/offline/conflicts/short-lines.ts"
import { intentOf } from "../../../core/offline/conflicts/intent.ts"
import { type HireDates, settleByOrder } from "../../../core/offline/conflicts/settle.ts"
import { type AskFacts, refusedOf, type Resolution, splitCommand, waysOut } from "./ways-out.ts"

export type { Change }
export type { About, CommandReport, Resolution }
interface BlockedCommand {
  readonly id: string
  readonly n: number
  readonly name: string
  readonly payload: WireCommand["payload"]
  readonly issued_at: string
  readonly error: WireError | null
}
export interface Conflict {
  readonly id: string
  readonly n: number
  readonly name: string
  readonly summary: string
  /** The user's intent in a sentence: whose order, which goods, how many, when. */
  readonly intent: string
  readonly about: About
  readonly payload: WireCommand["payload"]
  readonly issued_at: string
  /** Error of the refusal, as returned by the API. */
  readonly error: WireError
  /** Changes by others between its recording and its refusal. */
  readonly changes: ReadonlyArray<Change>
  readonly ways_out: ReadonlyArray<Resolution>
  /** Commands that depend on it and wait for it. */
  readonly held: ReadonlyArray<BlockedCommand>
}
/** A report with its command's subject. */
export interface NamedReport extends CommandReport {
  readonly intent: string
  readonly about: About
}
export type ResolutionRequest =
  | { readonly retry: true }
  /** Request this quantity instead; "free": the available quantity of each short line. */
  | { readonly reduce_to: number | "free" }
  | { readonly dates: HireDates }
  /** Put short lines on the waiting list instead. */
  | { readonly waitlist: true }
  /** Record the damage that a refused check-in reports, without the check-in. */
  | { readonly quarantine: true }
  /** Bill the remainder of an opportunity that another invoice bills. */
  | { readonly bill_left: true }
  | { readonly amend: JsonObject }
  /** Replace the refused row: by the one with this id, or by the first available one. */
  | { readonly substitute: number | true }
  | { readonly split: true }
  | { readonly drop: true; readonly with_dependants?: boolean }
export interface ResolutionResult extends QueryResult {
  /** Numbers of held commands recorded again with it. */
  readonly released?: ReadonlyArray<number>
}

interface ConflictParts extends RecorderParts {
  /** Decides commands that were recorded without being decided. */
  readonly runDue: () => Promise<void>
  readonly base: () => Promise<number>
  readonly commandId: () => string
  /** Returns the current instant. */
  readonly now: () => string
  /** Reads the replica's rows. */
  readonly read: <A>(reading: Effect.Effect<A, Failure, Store>) => Promise<A>
  /** Id of the device's user. */
  readonly user_id: () => number
}
/** Number of conflicts above which resolutions are listed without checking that they would be accepted. */
const tried_max = 25

export const conflictsOver = (parts: ConflictParts) => {
  const { outbox } = parts
  const recorder = recorderOver(parts)
  const intentOfCommand = (command: OutboxCommand) =>
    parts.read(intentOf(refusedOf(outbox, command), parts.user_id(), parts.now()))
  return {
    /** Open conflicts. `facts` answers reads of stock; by default from the replica. */
    list: async (facts: AskFacts = (request) => parts.ask(request, false)): Promise<ReadonlyArray<Conflict>> => {
      const found: Array<Conflict> = []
      const refused = outbox.byState("rejected")
      const out = {
        outbox,
        facts,
        fits: recorder.fits,
        alternatives: (one: OutboxCommand) => alternativesFor(parts, one)
      }
      for (const command of refused) {
        const { about, intent } = await intentOfCommand(command)
        const ways = await waysOut(out, command, about, refused.length <= tried_max)
        found.push({ ...conflictOf(outbox, command, ways), about, intent })
      }
      return found
    },
    /** The reports with their commands' subjects. */
    named: async (reports: ReadonlyArray<CommandReport>): Promise<ReadonlyArray<NamedReport>> => {
      const found: Array<NamedReport> = []
      for (const report of reports) {
        const command = outbox.find(report.id)
        if (command !== undefined) found.push({ ...report, ...(await intentOfCommand(command)) })
      }
      return found
    },
    release: () => releaseHeld(outbox, recorder),
    alternatives: async (id: string): Promise<ReadonlyArray<Alternative>> => {
      const command = outbox.find(id)
      return command === undefined ? [] : alternativesFor(parts, command)
    },
    resolve: async (id: string, how: ResolutionRequest, plan: boolean): Promise<ResolutionResult> => {
      const command = outbox.find(id)
      if (command === undefined || (command.state !== "rejected" && command.state !== "held"))
        return { status: 404, body: { message: `There is no unresolved conflict ${id}.` } }
      const with_dependants = "drop" in how && how.with_dependants === true
      if (plan)
        return "drop" in how
          ? plannedDrop(outbox, command, with_dependants)
          : resolveAnew(parts, planningOver(parts), command, how)
      if ("drop" in how) return drop(outbox, recorder, command, with_dependants)
      // A resolution by several commands is planned first: if one is refused, none is recorded.
      if ("reduce_to" in how || "dates" in how || "bill_left" in how) {
        const planned = await resolveAnew(parts, planningOver(parts), command, how)
        if (planned.status >= 400) return planned
      }
      const answer = await resolveAnew(parts, recorder, command, how)
      return answer.status >= 400 ? answer : { ...answer, released: await releaseHeld(outbox, recorder) }
    }
  }
}
export type Conflicts = ReturnType<typeof conflictsOver>

/** Possible replacements of the row, without those the command already references. `ask` answers reads. */
const findAlternatives = async (
  command: OutboxCommand,
  ask: (request: Request) => Promise<QueryResult>
): Promise<ReadonlyArray<Alternative>> => {
  const endpoint = catalogue.endpoint(command.name)
  const replaceable = replaceableReference(command)
  if (endpoint === undefined || replaceable === undefined) return []
  const { row, alternatives } = replaceable
  const askEndpoint: AskEndpoint = (path, query = []) =>
    Effect.promise(async () => {
      const answer = await ask({ method: "GET", path, query, body: undefined })
      return answer.status < 400 && isJsonObject(answer.body) ? answer.body : undefined
    })
  const { body, params } = command.payload
  const found = await Effect.runPromise(alternatives.find({ id: row.id, field: row.field, params, body }, askEndpoint))
  const named = new Set(
    referencesOfCommand(endpoint, command.payload)
      .filter((one) => one.table === row.table)
      .map((one) => one.id)
  )
  return found.filter(({ id }) => !named.has(id))
}

const alternativesFor = ({ ask, outbox }: ConflictParts, command: OutboxCommand): Promise<ReadonlyArray<Alternative>> =>
  findAlternatives({ ...command, payload: payloadOf(outbox, command, command.payload.body) }, (request) =>
    ask(request, false)
  )

const conflictOf = (
  outbox: Outbox,
  command: OutboxCommand,
  ways_out: ReadonlyArray<Resolution>
): Omit<Conflict, "about" | "intent"> => {
  const { id, n, name, payload, issued_at, error, account } = command
  return {
    id,
    n,
    name,
    summary: summaryOf(name),
    payload,
    issued_at,
    error: error ?? { status: 422, message: "Refused." },
    changes: (readOutcome(catalogue, account).changes ?? []).map((one) => changeInWords(catalogue, one)),
    ways_out,
    held: outbox.heldBy(id).map(blockedCommand)
  }
}
const blockedCommand = ({ id, n, name, payload, issued_at, error }: OutboxCommand): BlockedCommand => ({
  id,
  n,
  name,
  payload,
  issued_at,
  error
})
/** Applies a resolution other than dropping. */
const resolveAnew = async (
  parts: ConflictParts,
  recorder: Recorder,
  command: OutboxCommand,
  how: Exclude<ResolutionRequest, { drop: true }>
): Promise<QueryResult> => {
  if ("split" in how) return split(parts, recorder, command)
  if ("quarantine" in how) return quarantine(parts, recorder, command)
  if ("bill_left" in how) {
    const issued = await billLeft((request) => recorder.ask(request), refusedOf(parts.outbox, command))
    if (issued.status < 400) recorder.settle(command, "dropped")
    return issued
  }
  if ("substitute" in how) return substitute(parts, recorder, command, how.substitute)
  if ("reduce_to" in how || "dates" in how || "waitlist" in how)
    return settleByOrder(
      {
        fields: catalogue.endpoint(command.name)?.fields ?? {},
        drop: () => recorder.settle(command, "dropped"),
        ask: (request) => recorder.ask(request),
        retry: (body) =>
          body === undefined
            ? recorder.record(command, command.payload.body, "retried")
            : recorder.record(command, body, "amended", idsForAmended(command, body))
      },
      refusedOf(parts.outbox, command),
      how
    )
  const answer = await ("amend" in how
    ? recorder.record(command, how.amend, "amended", idsForAmended(command, how.amend))
    : recorder.record(command, command.payload.body, "retried"))
  // The data is already as the command intended, so nothing is recorded.
  if (answer.status < 400 && answer.command === undefined)
    recorder.settle(command, "amend" in how ? "amended" : "retried")
  return answer
}

const quarantine = async (parts: ConflictParts, recorder: Recorder, command: OutboxCommand): Promise<QueryResult> => {
  const about = refusedOf(parts.outbox, command)
  const found = await parts.read(intentOf(about, parts.user_id(), parts.now()))
  const answer = await quarantineFor((request) => recorder.ask(request), damageOf(about, found.about))
  if (answer.status < 400) recorder.settle(command, "dropped")
  return answer
}
const split = async (parts: ConflictParts, recorder: Recorder, command: OutboxCommand): Promise<QueryResult> => {
  const { outbox } = parts
  const endpoint = catalogue.endpoint(command.name)
  const part = await splitCommand(command, (body) => recorder.fits(command, body))
  if (part === undefined || endpoint === undefined)
    return refusal("Nothing of it can be had by itself as things stand here.")
  const answer = await recorder.record(command, part.body, "split", part.ids)
  // When planning, the rest is not recorded either.
  if (answer.status >= 400 || answer.command === undefined) return answer
  const payload = payloadOf(outbox, command, part.rest)
  // The rest is added to the outbox without being decided here, where it would be refused; the server decides it.
  outbox.append(
    {
      id: parts.commandId(),
      name: command.name,
      payload,
      ids: outbox.leasedAmong(command, part.rest_ids),
      issued_at: command.issued_at
    },
    {
      base: await parts.base(),
      named: referencesOfCommand(endpoint, payload).map(rowReference),
      replaces: { id: command.id, how: "split" }
    }
  )
  await parts.runDue()
  return answer
}

const substitute = async (
  parts: ConflictParts,
  recorder: Recorder,
  command: OutboxCommand,
  chosen: number | true
): Promise<QueryResult> => {
  const replaceable = replaceableReference(command)
  if (replaceable === undefined)
    return refusal("This command was not refused for a unit that is taken; there is nothing to substitute.")
  const candidates = chosen === true ? (await alternativesFor(parts, command)).map((one) => one.id) : [chosen]
  for (const candidate of candidates) {
    const body = withId(command.payload.body, replaceable.row.field, candidate)
    if (chosen !== true || (await recorder.fits(command, body))) return recorder.record(command, body, "substituted")
  }
  return refusal(replaceable.alternatives.none)
}

const answerOfDrop = (
  command: OutboxCommand,
  dependents: ReadonlyArray<OutboxCommand>,
  stateOf: (dependent: OutboxCommand) => CommandState
): ResolutionResult => {
  const dependants = dependents.map((one) => ({ id: one.id, n: one.n, name: one.name, state: stateOf(one) }))
  return { status: 200, body: { conflict: { id: command.id, state: "dropped", dependants } } }
}
/** Held commands that depend on a command, directly or indirectly, in order. */
const dependentsOf = (outbox: Outbox, id: string): ReadonlyArray<OutboxCommand> => {
  const ids = new Set([id])
  return outbox.byState("held").filter((held) => {
    const builds = held.cause === id || held.needs.some((one) => ids.has(one))
    if (builds) ids.add(held.id)
    return builds
  })
}

/** Result of planning a drop. Direct dependants become conflicts and the others wait, unless all are dropped. */
const plannedDrop = (outbox: Outbox, command: OutboxCommand, with_dependants: boolean): ResolutionResult => ({
  ...answerOfDrop(command, dependentsOf(outbox, command.id), ({ cause, needs }) =>
    with_dependants ? "dropped" : cause === command.id || needs.includes(command.id) ? "rejected" : "held"
  ),
  events: []
})

/** Drops a command. Held commands that depend on it are dropped too, or become conflicts. */
const drop = async (
  outbox: Outbox,
  recorder: Recorder,
  command: OutboxCommand,
  with_dependants: boolean
): Promise<ResolutionResult> => {
  const dependents = dependentsOf(outbox, command.id)
  for (const one of with_dependants ? [...dependents].reverse() : []) outbox.resolve(one.id, "dropped")
  outbox.resolve(command.id, "dropped")
  await releaseHeld(outbox, recorder)
  return answerOfDrop(command, dependents, ({ id }) => outbox.find(id)?.state ?? "dropped")
}

/**
 * Records held commands with a resolved cause again, in order; refused ones become conflicts. Returns the recorded
 * numbers. Safe to repeat.
 */
const releaseHeld = async (outbox: Outbox, recorder: Recorder): Promise<ReadonlyArray<number>> => {
  const released: Array<number> = []
  for (const held of outbox.byState("held")) {
    const next = nextStepOf(outbox, held)
    if (next.kind === "refuse") outbox.unhold(held.id, next.error)
    if (next.kind === "wait" && next.cause !== undefined) outbox.holdFor(held.id, next.cause)
    if (next.kind !== "record") continue
    const answer = await recorder.record(held, held.payload.body, "released")
    // A command that references a row which the pending rest of a split command creates waits for the rest.
    const rest = answer.status >= 400 ? pendingRestFor(outbox, held) : undefined
    if (rest !== undefined) outbox.holdFor(held.id, rest)
    else if (answer.status >= 400) outbox.unhold(held.id, errorOf(answer))
    else if (answer.command === undefined) outbox.resolve(held.id, "released")
    else released.push(answer.command.n)
  }
  return released
}

const refusal = (message: string): QueryResult => ({ status: 422, body: { message } })
const errorOf = ({ status, body }: QueryResult): WireError => ({
  status,
  message: "Refused.",
  ...(isJsonObject(body) ? body : {})
})

/** Ids that an amended command keeps: a list entry that still exists keeps the row created for it. */
const idsForAmended = (command: OutboxCommand, body: JsonObject): WireCommand["ids"] => {
  const lists = Object.entries(command.payload.body).filter((entry): entry is [string, ReadonlyArray<Json>] =>
    Array.isArray(entry[1])
  )
  return Object.fromEntries(
    Object.entries(command.ids).flatMap(([table, ids]): ReadonlyArray<[string, ReadonlyArray<number>]> => {
      const [name, before] = lists.find(([, list]) => list.length === ids.length && list.length > 1) ?? []
      const after = name === undefined ? undefined : body[name]
      if (before === undefined || !Array.isArray(after) || after.length === before.length) return [[table, ids]]
      const texts = before.map((entry) => canonicalJson(entry))
      const places = after.map((entry: Json) => texts.indexOf(canonicalJson(entry)))
      return places.includes(-1) ? [] : [[table, places.flatMap((place) => ids[place] ?? [])]]
    })
  )
}
