/**
 * Moves unsent commands of a device that can no longer send (revoked, or a copy) to its replacement: each is recorded
 * again by the same rules with the new device's ids. Commands already decided by the server are left out.
 */
import { existsSync } from "node:fs"
import { catalogue } from "../../core/catalogue.ts"
import { isJsonObject, type JsonObject } from "../../core/kernel/index.ts"
import type { Verdict, WireError } from "../protocol/wire.ts"
import type { Device } from "./device.ts"
import { type SourceFiles, waitingPath as pathIn } from "./exchange/files.ts"
import { openOutboxOf } from "./outbox/folder.ts"
import type { OutboxCommand } from "./outbox/rows.ts"
import { remapBody, remapPath } from "./replica/lost-rows.ts"

export interface MoveResult {
  readonly moved: number
  /** Number of commands the server had already decided. */
  readonly decided: number
  /** Commands that are now refused, with their errors, for the user to handle. */
  readonly left: ReadonlyArray<{ readonly command: OutboxCommand; readonly error: WireError }>
}

export const moveUnsent = async (
  commands: ReadonlyArray<OutboxCommand>,
  from_replica_id: number,
  to: Device,
  to_folder: string,
  /** Path of a waiting file that these commands reference. */
  waitingPath: (sha256: string) => string = (sha256) => pathIn(to_folder, sha256)
): Promise<MoveResult> => {
  const decided = await decidedAmong(commands, from_replica_id, to)
  const renamed = new Map<string, Map<number, number>>()
  const left: Array<MoveResult["left"][number]> = []
  let moved = 0
  const outbox = openOutboxOf(to_folder)
  try {
    for (const command of commands) {
      if (decided.has(command.id)) continue
      const refuse = (status: number, message: string): void => void left.push({ command, error: { status, message } })
      const endpoint = catalogue.endpoint(command.name)
      if (endpoint === undefined) {
        refuse(422, `This release knows no command ${command.name}.`)
        continue
      }
      const lost = lostAmong(command, waitingPath)
      if (lost !== undefined) {
        refuse(422, `The file ${lost} is not here any more; attach it again.`)
        continue
      }
      const answer = await to.ask({
        method: endpoint.method,
        path: remapPath(endpoint, command, renamed),
        query: [],
        body: remapBody(endpoint.fields, command.payload.body, renamed),
        ...sourcesOf(command, waitingPath)
      })
      if (answer.status >= 400) {
        const { message }: JsonObject = isJsonObject(answer.body) ? answer.body : {}
        refuse(answer.status, String(message ?? `Answered ${answer.status}.`))
      } else if (answer.command !== undefined) {
        moved++
        addRenamed(renamed, command.ids, outbox.find(answer.command.id)?.ids ?? {})
      }
    }
  } finally {
    outbox.close()
  }
  return { moved, decided: decided.size, left }
}

const addRenamed = (renamed: Map<string, Map<number, number>>, from: OutboxCommand["ids"], to: typeof from): void => {
  for (const [table, old] of Object.entries(from)) {
    const new_ids = renamed.get(table) ?? new Map<number, number>()
    renamed.set(table, new_ids)
    for (const [at, id] of old.entries()) if (to[table]?.[at] !== undefined) new_ids.set(id, to[table][at])
  }
}
const sourcesOf = (
  { payload: { files } }: OutboxCommand,
  waitingPath: (sha256: string) => string
): { readonly files?: SourceFiles } =>
  files === undefined
    ? {}
    : {
        files: Object.fromEntries(
          Object.entries(files).map(([field, file]) => [field, { ...file, path: waitingPath(file.sha256) }])
        )
      }
/** Name of a file of the command that is lost; undefined if all are there. */
const lostAmong = (
  { payload: { files = {} } }: OutboxCommand,
  waitingPath: (sha256: string) => string
): string | undefined => Object.values(files).find(({ sha256 }) => !existsSync(waitingPath(sha256)))?.name

const decidedAmong = async (
  commands: ReadonlyArray<OutboxCommand>,
  replica_id: number,
  to: Device
): Promise<ReadonlySet<string>> => {
  if (commands.length === 0) return new Set()
  const answer = await to.remote.call("POST", `/api/v1/sync/replicas/${replica_id}/verdicts`, {
    ids: commands.map(({ id }) => id)
  })
  // This server does not know the device, so it decided none of its commands.
  if (answer.status === 404) return new Set()
  if (answer.status >= 400)
    throw new Error(
      `The server does not say what became of the commands sent before (${answer.status}); nothing was moved.`
    )
  return new Set((answer.body as { readonly verdicts: ReadonlyArray<Verdict> }).verdicts.map(({ id }) => id))
}
