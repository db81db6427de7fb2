/** The list as the server gave it last, in the profile's folder: what `inbox` shows without a network. */
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Schema } from "effect"
import type { JsonObject } from "../../../core/kernel/json.ts"
import { anyRow, decoderOf } from "../../answers.ts"

export interface KeptInbox {
  /** When the server gave it. */
  readonly at: string
  /** The newest first, read or not. */
  readonly notifications: ReadonlyArray<JsonObject>
}
const decode = decoderOf<KeptInbox>(() => Schema.Struct({ at: Schema.String, notifications: Schema.Array(anyRow) }))
const pathIn = (folder: string): string => join(folder, "inbox.json")

/** Undefined where nothing was listed yet, or the note cannot be read. */
export const readKept = (folder: string): KeptInbox | undefined => {
  try {
    return decode(JSON.parse(readFileSync(pathIn(folder), "utf8")))
  } catch {
    return undefined
  }
}
/** Where there is no profile nothing is kept. Losing this file does no harm. */
export const keep = (folder: string, kept: KeptInbox): void => {
  if (!existsSync(folder)) return
  try {
    const beside = `${pathIn(folder)}.${process.pid}`
    writeFileSync(beside, JSON.stringify(kept), { mode: 0o600 })
    renameSync(beside, pathIn(folder))
  } catch {
    /* A full disk, or a folder that may only be read. */
  }
}
