/**
 * Conflicts: commands the server refused, what others changed since they were recorded, and how a person can resolve
 * them. Every resolution but dropping records a command anew with the ids of the old one, so that commands which build
 * on it stay valid; those held with it follow at once. No command is lost: each is accepted, refused, held or pending,
 * and a resolved conflict names its successor.
 */
import { catalogue } from "../../../core/catalogue.ts"
import type { Alternative, Request } from "../../../core/kernel/endpoint.ts"
import { canonicalJson, isJsonObject, type Json, type JsonObject } from "../../../core/kernel/json.ts"
import type { WireCommand, WireError } from "../../protocol/wire.ts"
import { readOutcome } from "../outcomes/outcome.ts"
import {
  type Change,
  changeInWords,
  type Difference,
  differenceInWords,
  type OverwrittenField,
  overwrittenInWords
} from "../outcomes/wording.ts"
import { isRefusal, payloadOf, commandRequest, rowsOf } from "../recovery/lost-rows.ts"
import { referencesOfCommand, rowReference } from "../replica/references.ts"
import type { Outbox } from "../outbox/outbox.ts"
import type { OutboxCommand, ResolutionRecorded } from "../outbox/command.ts"
import type { Rerecording, QueryResult } from "../replica/replica.ts"
import { findAlternatives, replaceableReference, withId } from "./alternatives.ts"
import { dependentsOf, nextStepOf, pendingRestFor, summaryOf } from "./blocked-commands.ts"
import { splitCommand } from "./split.ts"

export type { Change, Difference, OverwrittenField }
export type ResolutionKind = "retry" | "amend" | "substitute" | "split" | "drop"
export interface Resolution {
  readonly way: ResolutionKind
  /** What to type. */
  readonly command: string
  readonly says: string
}
export interface BlockedCommand {
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
  /** The endpoint's name. */
  readonly name: string
  /** What it does, in words. */
  readonly summary: string
  readonly payload: WireCommand["payload"]
  readonly issued_at: string
  /** The API's own error. */
  readonly error: WireError
  /** What others changed between its recording and its refusal. */
  readonly changes: ReadonlyArray<Change>
  readonly ways_out: ReadonlyArray<Resolution>
  /** Commands that build on it and wait for it. */
  readonly held: ReadonlyArray<BlockedCommand>
}
/** An accepted command that overwrote others' values, or whose outcome is not what was shown here. */
export interface CommandReport {
  readonly id: string
  readonly n: number
  readonly name: string
  readonly summary: string
  readonly issued_at: string
  readonly merged: ReadonlyArray<OverwrittenField>
  readonly differences: ReadonlyArray<Difference>
}
export type ResolutionRequest =
  | { readonly retry: true }
  | { readonly amend: JsonObject }
  /** Another row in place of the refused one: the one with this id, or the first that can be had. */
  | { readonly substitute: number | true }
  | { readonly split: true }
  | { readonly drop: true; readonly with_dependants?: boolean }
export interface ResolutionResult extends QueryResult {
  /** Held commands recorded anew along with it, by number. */
  readonly released?: ReadonlyArray<number>
}

export interface ConflictParts {
  readonly outbox: Outbox
  readonly ask: (request: Request, plan: boolean, again?: Rerecording) => Promise<QueryResult>
  /** Decides here what was recorded without being decided first. */
  readonly runDue: () => Promise<void>
  readonly base: () => Promise<number>
  readonly commandId: () => string
  /** The present instant. */
  readonly now: () => string
}
/** With more conflicts than this the resolutions are not tried out: all that are possible in principle are listed. */
const tried_max = 25

export const conflictsOver = (parts: ConflictParts) => {
  const { outbox } = parts
  const recorder = recorderOver(parts)
  return {
    list: async (): Promise<ReadonlyArray<Conflict>> => {
      const found: Array<Conflict> = []
      const refused = outbox.byState("rejected")
      for (const command of refused)
        found.push(conflictOf(outbox, command, await resolutionsOf(parts, command, refused.length <= tried_max)))
      return found
    },
    release: () => releaseHeld(outbox, recorder),
    alternatives: async (id: string): Promise<ReadonlyArray<Alternative>> => {
      const command = outbox.find(id)
      return command === undefined ? [] : alternativesFor(parts, command)
    },
    resolve: async (id: string, how: ResolutionRequest): Promise<ResolutionResult> => {
      const command = outbox.find(id)
      if (command === undefined || (command.state !== "rejected" && command.state !== "held"))
        return { status: 404, body: { message: `There is no unresolved conflict ${id}.` } }
      if ("drop" in how) return drop(outbox, recorder, command, how.with_dependants === true)
      const answer = await resolveAnew(parts, recorder, command, how)
      return answer.status >= 400 ? answer : { ...answer, released: await releaseHeld(outbox, recorder) }
    },
    told: (all: boolean): ReadonlyArray<CommandReport> =>
      outbox
        .told(all)
        .map(reportOf)
        // One that was refused once, and accepted by a server put back from a backup, has only what changed then.
        .filter(({ merged, differences }) => merged.length + differences.length > 0),
    seen: (n: number): void => outbox.seen(n)
  }
}
export type Conflicts = ReturnType<typeof conflictsOver>

/** Records a refused or held command anew; `fits` tries whether it would be accepted here, and records nothing. */
interface Recorder {
  readonly record: (
    command: OutboxCommand,
    body: JsonObject,
    how: ResolutionRecorded,
    ids?: WireCommand["ids"]
  ) => Promise<QueryResult>
  readonly fits: (command: OutboxCommand, body: JsonObject) => Promise<boolean>
}
const recorderOver = ({ ask, outbox }: ConflictParts): Recorder => {
  const rerecord = async (
    command: OutboxCommand,
    body: JsonObject,
    plan: boolean,
    how: ResolutionRecorded,
    ids: WireCommand["ids"]
  ): Promise<QueryResult> => {
    const request = commandRequest(outbox, command, body)
    return isRefusal(request)
      ? request
      : ask(request, plan, { replaces: command.id, how, ids: outbox.leasedAmong(command, ids) })
  }
  return {
    record: (command, body, how, ids = command.ids) => rerecord(command, body, false, how, ids),
    fits: async (command, body) => (await rerecord(command, body, true, "retried", command.ids)).status < 400
  }
}
const alternativesFor = ({ ask, outbox }: ConflictParts, command: OutboxCommand): Promise<ReadonlyArray<Alternative>> =>
  findAlternatives({ ...command, payload: payloadOf(outbox, command, command.payload.body) }, (request) =>
    ask(request, false)
  )

const conflictOf = (outbox: Outbox, command: OutboxCommand, ways_out: ReadonlyArray<Resolution>): Conflict => {
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

/** The resolutions a person may choose from; with `try_out` only those that would be accepted here now. */
const resolutionsOf = async (
  parts: ConflictParts,
  command: OutboxCommand,
  try_out: boolean
): Promise<ReadonlyArray<Resolution>> => {
  const { outbox } = parts
  const { fits } = recorderOver(parts)
  const { body } = command.payload
  const type = `flightcase sync resolve ${command.n}`
  const { lost } = rowsOf(outbox, command, body)
  const fits_now = try_out && (await fits(command, body))
  const is_searched = try_out && !fits_now && lost.length === 0
  const alternatives = is_searched ? await alternativesFor(parts, command) : []
  const part = is_searched ? await splitCommand(command, (one) => fits(command, one)) : undefined
  const ways: Array<Resolution> = []
  if (lost.length === 0 && (!try_out || fits_now))
    ways.push({
      way: "retry",
      command: `${type} --retry`,
      says: fits_now ? "record it again as it is: here it holds now" : "record it again as it is"
    })
  if (alternatives.length > 0) {
    const names = alternatives.slice(0, 5).map(({ name }) => name)
    const more = alternatives.length > names.length ? " and more" : ""
    ways.push({
      way: "substitute",
      command: `${type} --substitute`,
      says: `take another unit; free are ${names.join(", ")}${more}`
    })
  }
  if (part !== undefined) ways.push({ way: "split", command: `${type} --split`, says: part.says })
  if (Object.keys(body).length > 0 && lost.every((row) => row.field !== undefined))
    ways.push({
      way: "amend",
      command: `${type} --set FIELD=VALUE`,
      says: "record it again with other values; --edit opens an editor, --amend takes JSON"
    })
  const builds_on_it = outbox.heldBy(command.id).length > 0
  ways.push({
    way: "drop",
    command: `${type} --drop`,
    says: builds_on_it ? "give it up; --with-dependants gives up what builds on it, too" : "give it up"
  })
  return ways
}

/** Carries out a resolution that records the command anew. */
const resolveAnew = async (
  parts: ConflictParts,
  recorder: Recorder,
  command: OutboxCommand,
  how: Exclude<ResolutionRequest, { drop: true }>
): Promise<QueryResult> => {
  if ("split" in how) return split(parts, recorder, command)
  if ("substitute" in how) return substitute(parts, recorder, command, how.substitute)
  const answer = await ("amend" in how
    ? recorder.record(command, how.amend, "amended", idsForAmended(command, how.amend))
    : recorder.record(command, command.payload.body, "retried"))
  // The data is as the command wanted it: no new command is needed.
  if (answer.status < 400 && answer.command === undefined)
    parts.outbox.resolve(command.id, "amend" in how ? "amended" : "retried")
  return answer
}

const split = async (parts: ConflictParts, recorder: Recorder, command: OutboxCommand): Promise<QueryResult> => {
  const { outbox } = parts
  const endpoint = catalogue.endpoint(command.name)
  const part = await splitCommand(command, (body) => recorder.fits(command, body))
  if (part === undefined || endpoint === undefined)
    return refusal("Nothing of it can be had by itself as things stand here.")
  const answer = await recorder.record(command, part.body, "split", part.ids)
  if (answer.status >= 400 || answer.command === undefined) return answer
  const payload = payloadOf(outbox, command, part.rest)
  // The rest goes to the outbox without being decided here, where it would be refused: the server decides it.
  outbox.append(
    {
      id: parts.commandId(),
      name: command.name,
      payload,
      ids: outbox.leasedAmong(command, part.rest_ids),
      issued_at: parts.now()
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

/** Gives a command up. Held commands that build on it are dropped too, or become conflicts of their own. */
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
  const dependants = dependents.map(({ id, n, name }) => ({ id, n, name, state: outbox.find(id)?.state ?? "dropped" }))
  return { status: 200, body: { conflict: { id: command.id, state: "dropped", dependants } } }
}

/**
 * Records held commands anew, in order, whose cause was resolved, and gives their numbers; what no longer holds becomes
 * a conflict of its own. Safe to repeat.
 */
const releaseHeld = async (outbox: Outbox, recorder: Recorder): Promise<ReadonlyArray<number>> => {
  const released: Array<number> = []
  for (const held of outbox.byState("held")) {
    const next = nextStepOf(outbox, held)
    if (next.kind === "refuse") outbox.unhold(held.id, next.error)
    else if (next.kind === "wait") {
      if (next.cause !== undefined) outbox.holdFor(held.id, next.cause)
    } else {
      const answer = await recorder.record(held, held.payload.body, "released")
      // A row it names may be one that the pending rest of a split command creates: it waits for that.
      const rest = answer.status >= 400 ? pendingRestFor(outbox, held) : undefined
      if (rest !== undefined) outbox.holdFor(held.id, rest)
      else if (answer.status >= 400) outbox.unhold(held.id, errorOf(answer))
      else if (answer.command === undefined) outbox.resolve(held.id, "released")
      else released.push(answer.command.n)
    }
  }
  return released
}

const refusal = (message: string): QueryResult => ({ status: 422, body: { message } })
const errorOf = ({ status, body }: QueryResult): WireError => ({
  status,
  message: "Refused.",
  ...(isJsonObject(body) ? body : {})
})

/**
 * The ids an amended command keeps. Where a list made a row for each entry, an entry that is still there keeps its row.
 */
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
