/**
 * Conflicts: commands the server refused, with what changed meanwhile and the ways out. Every way but dropping records a
 * command anew, with the ids of the old one, so that what builds on it still holds; what was held with it follows at once.
 * Nothing is forgotten: submitted is accepted, refused, held and pending, and each settled conflict names its successor.
 */
import { catalogue } from "../../../core/catalogue.ts"
import type { Request } from "../../../core/kernel/endpoint.ts"
import { canonicalJson, isJsonObject, type Json, type JsonObject } from "../../../core/kernel/json.ts"
import { blocked_status, type WireCommand, type WireError } from "../../protocol/wire.ts"
import type { CommandOutcome, Change, Difference, OverwrittenField } from "../outcomes/describe-event.ts"
import { isRefusal, payloadOf, commandRequest, rowsOf } from "../recovery/lost-rows.ts"
import { referencesOfCommand, rowReference } from "../replica/references.ts"
import type { Outbox } from "../outbox/outbox.ts"
import type { OutboxCommand, ResolutionRecorded } from "../outbox/command.ts"
import type { Rerecording, QueryResult } from "../replica/replica.ts"
import { freeUnits, type FreeUnit, splitCommand, refusedUnits, substituteUnit } from "./alternatives.ts"

export type { Change, Difference, FreeUnit, OverwrittenField }
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
/** An accepted command with something to tell. */
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
  /** Another unit: this one, or the first that is free. */
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
/** Beyond so many conflicts none is tried out to see which ways would hold. */
const tried_max = 25

export const conflictsOver = (parts: ConflictParts) => {
  const { outbox, ask } = parts
  const again = (
    command: OutboxCommand,
    body: JsonObject,
    how: ResolutionRecorded,
    ids: WireCommand["ids"] = command.ids
  ): Promise<QueryResult> => {
    const request = commandRequest(outbox, command, body)
    return isRefusal(request)
      ? Promise.resolve(request)
      : ask(request, false, { replaces: command.id, how, ids: outbox.leasedAmong(command, ids) })
  }
  /** Would it be recorded here now? */
  const holds = async (command: OutboxCommand, body: JsonObject): Promise<QueryResult> => {
    const request = commandRequest(outbox, command, body)
    return isRefusal(request)
      ? request
      : ask(request, true, { replaces: command.id, how: "retried", ids: outbox.leasedAmong(command, command.ids) })
  }
  const fits = async (command: OutboxCommand, body: JsonObject): Promise<boolean> =>
    (await holds(command, body)).status < 400
  const freeFor = (command: OutboxCommand) =>
    freeUnits({ ...command, payload: payloadOf(outbox, command, command.payload.body) }, (request) =>
      ask(request, false)
    )

  const waysOf = async (command: OutboxCommand, try_out: boolean): Promise<ReadonlyArray<Resolution>> => {
    const type = `flightcase sync resolve ${command.n}`
    const ways: Array<Resolution> = []
    const lost = rowsOf(outbox, command, command.payload.body).lost
    const stands = try_out && (await fits(command, command.payload.body))
    if (lost.length === 0 && (!try_out || stands))
      ways.push({
        way: "retry",
        command: `${type} --retry`,
        says: stands ? "record it again as it is: here it holds now" : "record it again as it is"
      })
    const free = try_out && !stands && lost.length === 0 ? await freeFor(command) : []
    if (free.length > 0)
      ways.push({
        way: "substitute",
        command: `${type} --substitute`,
        says: `take another unit; free are ${free
          .slice(0, 5)
          .map((unit) => unit.name)
          .join(", ")}${free.length > 5 ? " and more" : ""}`
      })
    const part =
      try_out && !stands && lost.length === 0 ? await splitCommand(command, (body) => fits(command, body)) : undefined
    if (part !== undefined) ways.push({ way: "split", command: `${type} --split`, says: part.says })
    if (Object.keys(command.payload.body).length > 0 && lost.every((row) => row.field !== undefined))
      ways.push({
        way: "amend",
        command: `${type} --set FIELD=VALUE`,
        says: "record it again with other values; --edit opens an editor, --amend takes JSON"
      })
    ways.push({
      way: "drop",
      command: `${type} --drop`,
      says:
        outbox.heldBy(command.id).length > 0
          ? "give it up; --with-dependants gives up what builds on it, too"
          : "give it up"
    })
    return ways
  }

  const list = async (): Promise<ReadonlyArray<Conflict>> => {
    const found: Array<Conflict> = []
    const refused = outbox.byState("rejected")
    for (const command of refused) {
      const { id, n, name, payload, issued_at } = command
      found.push({
        id,
        n,
        name,
        summary: summaryOf(name),
        payload,
        issued_at,
        error: command.error ?? { status: 422, message: "Refused." },
        changes: (command.account as CommandOutcome | null)?.changes ?? [],
        ways_out: await waysOf(command, refused.length <= tried_max),
        held: outbox.heldBy(id).map(waitingOf)
      })
    }
    return found
  }

  const split = async (command: OutboxCommand): Promise<QueryResult> => {
    const part = await splitCommand(command, (body) => fits(command, body))
    if (part === undefined) return refusal("Nothing of it can be had by itself as things stand here.")
    const answer = await again(command, part.body, "split", part.ids)
    if (answer.status >= 400 || answer.command === undefined) return answer
    const endpoint = catalogue.endpoint(command.name)!
    const payload = payloadOf(outbox, command, part.rest)
    // Decided by the server alone: here it does not hold, which is why it was parted.
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
  const substitute = async (command: OutboxCommand, unit: number | true): Promise<QueryResult> => {
    const [refused] = refusedUnits(command)
    if (refused === undefined)
      return refusal("This command was not refused for a unit that is taken; there is nothing to substitute.")
    const candidates = unit === true ? (await freeFor(command)).map((one) => one.id) : [unit]
    for (const candidate of candidates) {
      const body = substituteUnit(command.payload.body, refused.field, candidate)
      if (unit !== true || (await fits(command, body))) return again(command, body, "substituted")
    }
    return refusal("No other unit of the product is free in that time.")
  }
  const record = async (
    command: OutboxCommand,
    how: Exclude<ResolutionRequest, { drop: true }>
  ): Promise<QueryResult> => {
    if ("split" in how) return split(command)
    if ("substitute" in how) return substitute(command, how.substitute)
    const body = "amend" in how ? how.amend : command.payload.body
    const way = "amend" in how ? "amended" : "retried"
    const answer = await again(command, body, way, "amend" in how ? idsFor(command, how.amend) : command.ids)
    // What it wanted stands already: no new command is needed.
    if (answer.status < 400 && answer.command === undefined) outbox.resolve(command.id, way)
    return answer
  }

  /** Held commands whose cause was settled: recorded anew, in order, or conflicts of their own. Safe to repeat. */
  const release = async (): Promise<ReadonlyArray<number>> => {
    const released: Array<number> = []
    for (const held of outbox.byState("held")) {
      const position = [...new Set([...held.needs, ...(held.cause === null ? [] : [held.cause])])].map((id) =>
        standingOf(outbox, id)
      )
      const gone = position.find((one) => one.kind === "gone")
      if (gone !== undefined) {
        outbox.unhold(held.id, ownError(held, gone))
        continue
      }
      const blocked = position.find((one) => one.kind === "refused")
      if (blocked !== undefined) {
        if (blocked.id !== held.cause) outbox.holdFor(held.id, blocked.id)
        continue
      }
      const answer = await again(held, held.payload.body, "released")
      // What it names may be in the part that is asked for again: that one is waited for.
      const rest = answer.status >= 400 ? restOf(outbox, held) : undefined
      if (rest !== undefined) outbox.holdFor(held.id, rest)
      else if (answer.status >= 400) outbox.unhold(held.id, errorOf(answer))
      else if (answer.command === undefined) outbox.resolve(held.id, "released")
      else released.push(answer.command.n)
    }
    return released
  }

  const drop = async (command: OutboxCommand, with_dependants: boolean): Promise<ResolutionResult> => {
    const dependants = dependentsOf(outbox, command.id)
    for (const one of with_dependants ? [...dependants].reverse() : []) outbox.resolve(one.id, "dropped")
    outbox.resolve(command.id, "dropped")
    await release()
    const told = dependants.map(({ id, n, name }) => ({ id, n, name, state: outbox.find(id)?.state ?? "dropped" }))
    return { status: 200, body: { conflict: { id: command.id, state: "dropped", dependants: told } } }
  }

  return {
    list,
    release,
    free: async (id: string): Promise<ReadonlyArray<FreeUnit>> => {
      const command = outbox.find(id)
      return command === undefined ? [] : freeFor(command)
    },
    resolve: async (id: string, how: ResolutionRequest): Promise<ResolutionResult> => {
      const command = outbox.find(id)
      if (command === undefined || (command.state !== "rejected" && command.state !== "held"))
        return { status: 404, body: { message: `There is no unresolved conflict ${id}.` } }
      if ("drop" in how) return drop(command, how.with_dependants === true)
      const answer = await record(command, how)
      return answer.status >= 400 ? answer : { ...answer, released: await release() }
    },
    told: (all: boolean): ReadonlyArray<CommandReport> =>
      outbox
        .told(all)
        .map(({ id, n, name, issued_at, account }) => ({
          id,
          n,
          name,
          summary: summaryOf(name),
          issued_at,
          merged: (account as CommandOutcome | null)?.merged ?? [],
          differences: (account as CommandOutcome | null)?.differences ?? []
          // One that was refused once, and accepted by a server that had forgotten so, has only what changed then.
        }))
        .filter(({ merged, differences }) => merged.length + differences.length > 0),
    seen: (n: number): void => outbox.seen(n)
  }
}
export type Conflicts = ReturnType<typeof conflictsOver>

const refusal = (message: string): QueryResult => ({ status: 422, body: { message } })
const summaryOf = (name: string): string => catalogue.endpoint(name)?.summary ?? name
const waitingOf = ({ id, n, name, payload, issued_at, error }: OutboxCommand): BlockedCommand => ({
  id,
  n,
  name,
  payload,
  issued_at,
  error
})
const errorOf = ({ status, body }: QueryResult): WireError => ({
  status,
  message: "Refused.",
  ...(isJsonObject(body) ? body : {})
})

interface Blocking<K> {
  readonly kind: K
  readonly id: string
  readonly n: number
  readonly name: string
}
type BlockState = { readonly kind: "stands" } | Blocking<"refused"> | Blocking<"gone">
/** Where a command stands by now, or what was recorded in its place: of several parts one that stands is enough. */
const standingOf = (outbox: Outbox, id: string): BlockState => {
  const command = outbox.find(id)
  if (command === undefined || command.state === "pending" || command.state === "accepted") return { kind: "stands" }
  const { n, name } = command
  if (command.state === "rejected") return { kind: "refused", id, n, name }
  if (command.state === "held") return { kind: "refused", id: command.cause ?? id, n, name }
  if (command.state === "dropped") return { kind: "gone", id, n, name }
  const after = outbox.successors(id).map((one) => standingOf(outbox, one.id))
  return (
    after.find((one) => one.kind === "stands") ??
    after.find((one) => one.kind === "refused") ??
    after[0] ?? { kind: "stands" }
  )
}
/** The unsettled rest of a command that was parted, when a held one names a row which that rest is to make. */
const restOf = (outbox: Outbox, held: OutboxCommand): string | undefined => {
  const endpoint = catalogue.endpoint(held.name)
  const named = new Set(endpoint === undefined ? [] : referencesOfCommand(endpoint, held.payload).map(rowReference))
  const pending = (id: string): ReadonlyArray<OutboxCommand> => {
    const command = outbox.find(id)
    return [
      ...(command?.state === "pending" && command.replaces !== null ? [command] : []),
      ...outbox.successors(id).flatMap((one) => pending(one.id))
    ]
  }
  const makes = ({ ids }: OutboxCommand): boolean =>
    Object.entries(ids).some(([table, made]) => made.some((id) => named.has(rowReference({ table, id }))))
  return [...held.needs, ...(held.cause === null ? [] : [held.cause])].flatMap(pending).find(makes)?.id
}
/** Its own reason where it has one, else that there is nothing left to build on. */
const ownError = ({ error }: OutboxCommand, gone: { readonly n: number; readonly name: string }): WireError =>
  error !== null && error.status !== blocked_status && error.cause === undefined
    ? error
    : {
        status: blocked_status,
        message: `It builds on command ${gone.n} (${summaryOf(gone.name).toLowerCase()}), which was dropped.`
      }

/** Held commands that build on this one, directly or by way of others. */
export const dependentsOf = (outbox: Outbox, id: string): ReadonlyArray<OutboxCommand> => {
  const ids = new Set([id])
  return outbox.byState("held").filter((held) => {
    const builds = held.cause === id || held.needs.some((one) => ids.has(one))
    if (builds) ids.add(held.id)
    return builds
  })
}

/** The ids an amended command keeps. Where a list made a row per entry and entries left it, each other keeps its own row. */
const idsFor = (command: OutboxCommand, body: JsonObject): WireCommand["ids"] => {
  const lists = Object.entries(command.payload.body).filter((entry): entry is [string, ReadonlyArray<Json>] =>
    Array.isArray(entry[1])
  )
  return Object.fromEntries(
    Object.entries(command.ids).flatMap(([table, ids]): ReadonlyArray<[string, ReadonlyArray<number>]> => {
      const [name, before] = lists.find(([, list]) => list.length === ids.length && list.length > 1) ?? []
      const after = name === undefined ? undefined : body[name]
      if (before === undefined || !Array.isArray(after) || after.length === before.length) return [[table, ids]]
      const places = after.map((entry: Json) => before.findIndex((one) => canonicalJson(one) === canonicalJson(entry)))
      return places.includes(-1) ? [] : [[table, places.map((at) => ids[at]!)]]
    })
  )
}
