/** What a device has not sent, or got back refused, read from its outbox alone: whatever else is wrong with it. */
import { DatabaseSync } from "node:sqlite"
import type { CommandState, KeptCommand } from "./outbox/kept-command.ts"
import { isDamage, openOutboxOf, outboxPath, readProfile } from "./folder.ts"

export type Unsent = Pick<KeptCommand, "n" | "id" | "name" | "issued_at" | "state" | "payload" | "ids" | "error">
export interface UnsentThere {
  readonly commands: ReadonlyArray<Unsent>
  /** How many rows of a damaged outbox could not be read. */
  readonly unreadable: number
  readonly profile: { readonly device: string; readonly replica_id: number; readonly server: string }
}

const states: ReadonlyArray<CommandState> = ["pending", "rejected", "held"]

export const unsentIn = (folder: string): UnsentThere => {
  const profile = profileThere(folder)
  try {
    const outbox = openOutboxOf(folder)
    try {
      const commands = states.flatMap((state) => outbox.byState(state)).sort((one, other) => one.n - other.n)
      return { profile, unreadable: 0, commands: commands.map(({ n, id, name, issued_at, state, payload, ids, error }) => ({ n, id, name, issued_at, state, payload, ids, error })) }
    } finally { outbox.close() }
  } catch (error) {
    const damaged = isDamage(error) || (error instanceof Error && "kind" in error && error.kind === "outbox damaged")
    if (!damaged) throw error
    const saved = salvaged(outboxPath(folder))
    // Of a file that is no database any more nothing can be read: then the fault itself is the answer.
    if (saved === undefined) throw error
    return { profile, ...saved }
  }
}

const profileThere = (folder: string): UnsentThere["profile"] => {
  try {
    const { device, replica_id, url } = readProfile(folder)
    return { device, replica_id, server: url }
  } catch (error) {
    if (error instanceof Error && error.name === "NoProfile") throw error
    return { device: "unknown", replica_id: 0, server: "unknown" }
  }
}

const rows_tried_max = 100_000
/** Row by row, each for itself: one bad page takes only its own rows along. */
const salvaged = (path: string): { readonly commands: ReadonlyArray<Unsent>; readonly unreadable: number } | undefined => {
  const db = new DatabaseSync(path, { readOnly: true })
  try {
    const last = highest(db)
    if (last === undefined) return undefined
    const commands: Array<Unsent> = []
    let unreadable = 0
    for (let n = 1; n <= Math.min(last, rows_tried_max); n++) {
      try {
        const row = db.prepare("select n, id, name, payload, ids, issued_at, state, error from commands where n = ?").get(n)
        if (row === undefined || !states.includes(String(row["state"]) as CommandState)) continue
        commands.push({
          n, id: String(row["id"]), name: String(row["name"]), issued_at: String(row["issued_at"]), state: String(row["state"]) as CommandState,
          payload: JSON.parse(String(row["payload"])), ids: JSON.parse(String(row["ids"])), error: row["error"] === null ? null : JSON.parse(String(row["error"]))
        })
      } catch { unreadable++ }
    }
    return { commands, unreadable }
  } catch { return undefined } finally { db.close() }
}
/** The highest number, from the table or from any index that is still whole. */
const highest = (db: DatabaseSync): number | undefined => {
  for (const sql of ["select max(n) as n from commands", "select max(n) as n from commands indexed by commands_state", "select count(*) as n from commands not indexed"]) {
    try { return Number(db.prepare(sql).get()!["n"] ?? 0) } catch { continue }
  }
  return undefined
}
