/** What a power cut leaves on a disk: of each database what was synced, and of what was not, a torn beginning. */
import { copyFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import type { Chance } from "./chance.ts"

/** Memory where there is some: what a simulated disk keeps is decided here, not by a real one. */
export const fastFolder = existsSync("/dev/shm") ? "/dev/shm" : tmpdir()

/** How a connection has its commits reach the disk: `full` syncs the log at each commit, `normal` only before a checkpoint, `off` never. */
export type Synchronous = "full" | "normal" | "off"
const modes: { readonly [said: string]: Synchronous } = { full: "full", extra: "full", normal: "normal", off: "off", "3": "full", "2": "full", "1": "normal", "0": "off" }
/** What each file's connection was really told: nobody's word is taken for it. */
const told = new Map<string, Synchronous>()
const { exec } = DatabaseSync.prototype
DatabaseSync.prototype.exec = function(this: DatabaseSync, sql: string): void {
  const said = /\bsynchronous\s*=\s*(\w+)/i.exec(sql)?.[1]?.toLowerCase()
  const path = said === undefined ? null : this.location()
  if (path !== null) told.set(path, modes[said!] ?? "off")
  exec.call(this, sql)
}

const header_bytes = 32, frame_header_bytes = 24
/** Where the last commit ends in a write-ahead log (https://www.sqlite.org/fileformat2.html#walformat); 0 where there is none. */
export const committedBytes = (wal: Buffer): number => {
  if (wal.length < header_bytes) return 0
  const page_bytes = wal.readUInt32BE(8)
  const salts = wal.subarray(16, 24)
  let committed = 0
  for (let at = header_bytes; at + frame_header_bytes + page_bytes <= wal.length; at += frame_header_bytes + page_bytes) {
    // Frames of an earlier round are left behind the present one's.
    if (!wal.subarray(at + 8, at + 16).equals(salts)) break
    if (wal.readUInt32BE(at + 4) !== 0) committed = at + frame_header_bytes + page_bytes
  }
  return committed
}

/** Copies a database that is open as it would be found after the power came back; the copy is another disk. */
export const afterPowerCut = (chance: Chance, path: string, copy: string): { readonly lost_bytes: number } => {
  copyFileSync(path, copy)
  rmSync(`${copy}-wal`, { force: true })
  rmSync(`${copy}-shm`, { force: true })
  if (!existsSync(`${path}-wal`)) return { lost_bytes: 0 }
  const wal = readFileSync(`${path}-wal`)
  // SQLite's own way, which nobody chose, is full.
  const synced = (told.get(path) ?? "full") === "full" ? committedBytes(wal) : 0
  const kept = synced + chance.below(wal.length - synced + 1)
  const left = Buffer.from(wal.subarray(0, kept))
  // Not in order either: a sector in the middle of what was not synced may be missing.
  if (kept - synced > 1_024 && chance.happens(0.5)) {
    const hole = synced + chance.below(kept - synced - 512)
    left.fill(0, hole, hole + 512)
  }
  writeFileSync(`${copy}-wal`, left)
  return { lost_bytes: wal.length - kept }
}

/** A closed database, or one that is checkpointed: its file alone. */
export const copyDatabase = (path: string, copy: string): void => {
  copyFileSync(path, copy)
  for (const suffix of ["-wal", "-shm"]) rmSync(copy + suffix, { force: true })
}
export const newFolder = (name: string): string => mkdtempSync(join(fastFolder, `flightcase-sim-${process.pid}-${name}-`))
const folder_name = /^flightcase-sim-(\d+)-/
/** Takes away what processes left behind that were killed: it may be memory. */
export const sweep = (): void => {
  for (const name of readdirSync(fastFolder)) {
    const pid = folder_name.exec(name)?.[1]
    if (pid !== undefined && !isAlive(Number(pid))) rmSync(join(fastFolder, name), { recursive: true, force: true })
  }
}
const isAlive = (pid: number): boolean => {
  try { return process.kill(pid, 0) } catch (error) { return error instanceof Error && "code" in error && error.code === "EPERM" }
}
