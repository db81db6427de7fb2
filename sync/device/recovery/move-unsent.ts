/**
 * Unsent commands of a device that may send no more (revoked, or one of two copies) go on as those of the device that
 * takes its place: recorded anew through the same rules, with ids of its own. What the server decided already stays out.
 */
import { catalogue } from "../../../core/catalogue.ts"
import type { Fields } from "../../../core/kernel/field.ts"
import { isJsonObject } from "../../../core/kernel/json.ts"
import type { Verdict, WireError } from "../../protocol/wire.ts"
import type { Device } from "../device.ts"
import { openOutboxOf } from "../folder.ts"
import type { OutboxCommand } from "../outbox/command.ts"
import { remapPath, remapBody } from "./id-remap.ts"

export interface MoveResult {
  readonly moved: number
  /** The server had decided them already. */
  readonly decided: number
  /** What no longer holds, with the reason: for a person to look at. */
  readonly left: ReadonlyArray<{ readonly command: OutboxCommand; readonly error: WireError }>
}

export const moveUnsent = async (
  commands: ReadonlyArray<OutboxCommand>,
  from_replica_id: number,
  to: Device,
  to_folder: string
): Promise<MoveResult> => {
  const known = await decidedAmong(commands, from_replica_id, to)
  const renamed = new Map<string, Map<number, number>>()
  const left: Array<MoveResult["left"][number]> = []
  let moved = 0
  const outbox = openOutboxOf(to_folder)
  try {
    for (const command of commands) {
      if (known.has(command.id)) continue
      const endpoint = catalogue.endpoint(command.name)
      if (endpoint === undefined) {
        left.push({ command, error: { status: 422, message: `This release knows no command ${command.name}.` } })
        continue
      }
      const answer = await to.ask({
        method: endpoint.method,
        path: remapPath(endpoint, command, renamed),
        query: [],
        body: remapBody(endpoint.fields as Fields, command.payload.body, renamed)
      })
      if (answer.status >= 400 || answer.command === undefined) {
        const said = isJsonObject(answer.body) ? answer.body : {}
        if (answer.status >= 400)
          left.push({
            command,
            error: { status: answer.status, message: String(said["message"] ?? `Answered ${answer.status}.`) }
          })
        continue
      }
      moved++
      const ids = outbox.find(answer.command.id)?.ids ?? {}
      for (const [table, old] of Object.entries(command.ids)) {
        const among = renamed.get(table) ?? new Map<number, number>()
        renamed.set(table, among)
        for (const [at, id] of old.entries()) if (ids[table]?.[at] !== undefined) among.set(id, ids[table][at])
      }
    }
  } finally {
    outbox.close()
  }
  return { moved, decided: known.size, left }
}

const decidedAmong = async (
  commands: ReadonlyArray<OutboxCommand>,
  replica_id: number,
  to: Device
): Promise<ReadonlySet<string>> => {
  if (commands.length === 0) return new Set()
  const answer = await to.remote.call("POST", `/api/v1/sync/replicas/${replica_id}/verdicts`, {
    ids: commands.map(({ id }) => id)
  })
  // The device was never this server's: then it decided nothing of it.
  if (answer.status === 404) return new Set()
  if (answer.status >= 400)
    throw new Error(
      `The server does not say what became of the commands sent before (${answer.status}); nothing was moved.`
    )
  return new Set((answer.body as { readonly verdicts: ReadonlyArray<Verdict> }).verdicts.map(({ id }) => id))
}
