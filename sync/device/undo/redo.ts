/** What was undone is recorded once more (rules/undo 6). */
import { Effect } from "effect"
import type { CommandRuntime } from "../../../core/kernel/command-runtime.ts"
import type { Failure, Params } from "../../../core/kernel/endpoint.ts"
import type { Store } from "../../../core/kernel/store/store.ts"
import { itemAt } from "../../../core/values/lists.ts"
import { asAnswer } from "../answer.ts"
import type { OutboxCommand } from "../outbox/command.ts"
import { commandRequest, isRefusal } from "../recovery/lost-rows.ts"
import type { QueryResult } from "../replica/replica.ts"
import { lastUndone, redoable, undoersOf } from "./history.ts"
import { allOrNone, failed, named, plain, type UndoParts, type UndoResult, type UndoStep } from "./parts.ts"

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

export const redo = async (parts: UndoParts, given: string | undefined): Promise<UndoResult> => {
  const { outbox } = parts
  const command = given === undefined ? undefined : outbox.byIdOrNumber(given)
  if (given !== undefined && command === undefined) return failed({ kind: "unknown" })
  const all = redoable(outbox)
  const wanted = command === undefined ? lastUndone(outbox) : all.filter(({ id }) => id === command.id)
  if (wanted.length === 0)
    return failed(
      command === undefined ? { kind: "nothing" } : { kind: "settled", command: await named(parts, command) }
    )
  const steps: Array<UndoStep> = []
  for (const one of wanted)
    steps.push({ ...(await named(parts, one)), ...plain, way: "nothing", says: "Recorded again." })
  return allOrNone(parts, recordedAgain(parts, wanted, steps))
}
const recordedAgain = Effect.fnUntraced(function* (
  parts: UndoParts,
  wanted: ReadonlyArray<OutboxCommand>,
  steps: ReadonlyArray<UndoStep>
): Effect.fn.Return<UndoResult, Failure, Store | CommandRuntime> {
  const { outbox, replica } = parts
  const recorded: Array<number> = []
  for (const [at, one] of [...wanted.entries()].reverse()) {
    const request = commandRequest(outbox, withIdsOfToday(parts, one), one.payload.body)
    const withdrawn = one.state === "withdrawn"
    const answer: QueryResult = isRefusal(request)
      ? request
      : one.payload.files !== undefined
        ? { status: 422, body: { message: "Its file is not on this device any more: attach it again." } }
        : yield* asAnswer(
            replica.ask(request, false, {
              ids: withdrawn ? outbox.leasedAmong(one, one.ids) : {},
              undoes: withdrawn ? [one.id] : undoersOf(outbox, one).map(({ id }) => id)
            })
          )
    if (answer.status >= 400) return failed({ kind: "answer", answer, step: itemAt(steps, at) })
    if (answer.command !== undefined) recorded.push(answer.command.n)
  }
  return { ok: true, plan: { steps, dependants: [] }, recorded }
})
