/** Records commands that resolve a conflict or, for a plan, only decides them. */
import { catalogue } from "../../../core/catalogue.ts"
import { isJsonObject } from "../../../core/kernel/index.ts"
import type { Alternatives, Json, JsonObject, Request } from "../../../core/kernel/index.ts"
import { type CommandReference, referencesOfCommand } from "../outbox/references.ts"
import type { OutboxCommand, ResolutionRecorded } from "../outbox/rows.ts"
import type { QueryResult, Rerecording } from "../replica/replica.ts"
import type { WireCommand } from "../../protocol/wire.ts"
import { commandRequest, isRefusal } from "../replica/lost-rows.ts"
import type { Outbox } from "../outbox/outbox.ts"

// Finds rows that can replace one a command was refused for, as its endpoint declares (`alternatives`).

/** The row in the body that caused the refusal, with the endpoint's declaration of alternatives. */
interface ReplaceableReference {
  readonly row: CommandReference & { readonly field: string }
  readonly alternatives: Alternatives
}
/** The first such row; undefined if the command was not refused for a replaceable one. */
export const replaceableReference = (command: OutboxCommand): ReplaceableReference | undefined => {
  const endpoint = catalogue.endpoint(command.name)
  const alternatives = endpoint?.alternatives
  if (endpoint === undefined || alternatives === undefined) return undefined
  const errors = command.error?.errors ?? {}
  const row = referencesOfCommand(endpoint, command.payload).find(
    (one): one is ReplaceableReference["row"] =>
      one.field !== undefined && errors[one.field] !== undefined && one.field.split(".").at(-1) === alternatives.field
  )
  return row === undefined ? undefined : { row, alternatives }
}

/** The body with another id in one field (dotted: `allocations.1.stock_level_id`). */
export const withId = (body: JsonObject, field: string, id: number): JsonObject => {
  const [step = "", ...rest] = field.split(".")
  return { ...body, [step]: withValue(body[step], rest, id) }
}
const withValue = (value: Json | undefined, path: ReadonlyArray<string>, id: number): Json => {
  const [step, ...rest] = path
  if (step === undefined) return id
  if (Array.isArray(value))
    return value.map((item: Json, at) => (String(at) === step ? withValue(item, rest, id) : item))
  return isJsonObject(value) ? { ...value, [step]: withValue(value[step], rest, id) } : (value ?? null)
}

export interface RecorderParts {
  readonly outbox: Outbox
  readonly ask: (request: Request, plan: boolean, again?: Rerecording) => Promise<QueryResult>
  /** Results of these requests in sequence, with these ids; nothing is recorded. */
  readonly plan: (
    requests: ReadonlyArray<Request>,
    ids: ReadonlyArray<WireCommand["ids"]>
  ) => Promise<ReadonlyArray<QueryResult>>
}
export interface Recorder {
  /** Records a refused or held command again. */
  readonly record: (
    command: OutboxCommand,
    body: JsonObject,
    how: ResolutionRecorded,
    ids?: WireCommand["ids"]
  ) => Promise<QueryResult>
  /** Answers a read, or records a separate command before the one recorded again. */
  readonly ask: (request: Request) => Promise<QueryResult>
  /** Marks a command as resolved without recording another one. */
  readonly settle: (command: OutboxCommand, how: "dropped" | "retried" | "amended") => void
  /** Whether the command would be accepted here with this body; records nothing. */
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

/**
 * A recorder for plans: each write is decided after the earlier ones but not recorded, and its answer has the events of
 * all.
 */
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
