/** How commands are recorded that resolve a conflict; or, for a plan, only tried out. */
import type { Request } from "../../../core/kernel/endpoint.ts"
import type { JsonObject } from "../../../core/kernel/json.ts"
import type { WireCommand } from "../../protocol/wire.ts"
import type { OutboxCommand, ResolutionRecorded } from "../outbox/command.ts"
import { commandRequest, isRefusal } from "../recovery/lost-rows.ts"
import type { QueryResult, Rerecording } from "../replica/replica.ts"
import type { Outbox } from "../outbox/outbox.ts"

export interface RecorderParts {
  readonly outbox: Outbox
  readonly ask: (request: Request, plan: boolean, again?: Rerecording) => Promise<QueryResult>
  /** What these would come to one after the other, with these ids; nothing is recorded. */
  readonly plan: (
    requests: ReadonlyArray<Request>,
    ids: ReadonlyArray<WireCommand["ids"]>
  ) => Promise<ReadonlyArray<QueryResult>>
}
export interface Recorder {
  /** Records a refused or held command anew. */
  readonly record: (
    command: OutboxCommand,
    body: JsonObject,
    how: ResolutionRecorded,
    ids?: WireCommand["ids"]
  ) => Promise<QueryResult>
  /** A read, or a command of its own that goes before the one that is recorded anew. */
  readonly ask: (request: Request) => Promise<QueryResult>
  /** Marks a command as resolved for which nothing is recorded. */
  readonly settle: (command: OutboxCommand, how: "dropped" | "retried" | "amended") => void
  /** Whether it would be accepted here with this body; records nothing. */
  readonly fits: (command: OutboxCommand, body: JsonObject) => Promise<boolean>
}

const fitsOver =
  ({ ask, outbox }: RecorderParts): Recorder["fits"] =>
  async (command, body) => {
    const request = commandRequest(outbox, command, body)
    if (isRefusal(request)) return false
    const again = {
      replaces: { id: command.id, how: "retried" },
      ids: outbox.leasedAmong(command, command.ids),
      issued_at: command.issued_at
    } as const
    return (await ask(request, true, again)).status < 400
  }

export const recorderOver = (parts: RecorderParts): Recorder => {
  const { ask, outbox } = parts
  return {
    record: async (command, body, how, ids = command.ids) => {
      const request = commandRequest(outbox, command, body)
      return isRefusal(request)
        ? request
        : ask(request, false, {
            replaces: { id: command.id, how },
            ids: outbox.leasedAmong(command, ids),
            issued_at: command.issued_at
          })
    },
    ask: (request) => ask(request, false),
    settle: ({ id }, how) => outbox.resolve(id, how),
    fits: fitsOver(parts)
  }
}

/** Records nothing: each write is tried out after those before it, and its answer has the events of them all. */
export const planningOver = (parts: RecorderParts): Recorder => {
  const { outbox } = parts
  const planned: Array<{ readonly request: Request; readonly ids: WireCommand["ids"] }> = []
  const plan = async (request: Request, ids: WireCommand["ids"]): Promise<QueryResult> => {
    planned.push({ request, ids })
    const answers = await parts.plan(
      planned.map((one) => one.request),
      planned.map((one) => one.ids)
    )
    const last = answers.at(-1)
    if (last === undefined || last.status >= 400) return last ?? { status: 500 }
    return { ...last, events: answers.flatMap(({ events = [] }) => events) }
  }
  return {
    record: async (command, body, _how, ids = command.ids) => {
      const request = commandRequest(outbox, command, body)
      return isRefusal(request) ? request : plan(request, outbox.leasedAmong(command, ids))
    },
    ask: (request) => (request.method === "GET" ? parts.ask(request, false) : plan(request, {})),
    settle: () => {},
    fits: fitsOver(parts)
  }
}
