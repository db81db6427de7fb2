/**
 * A disk after a power cut: the synced part of each log and a torn beginning of the rest; during a checkpoint, pages of
 * a database are old, new or torn, as SQLite syncs the log before and the database after (wal.html, atomiccommit.html).
 */
import { copyFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { endianness, tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import type { Random } from "./random.ts"

/** In memory if possible, as real disks do not matter here. */
const fastFolder = existsSync("/dev/shm") ? "/dev/shm" : tmpdir()

/** When a connection syncs the log: `full` at each commit, `normal` only before a checkpoint, `off` never. */
export type Synchronous = "full" | "normal" | "off"
const modes: { readonly [said: string]: Synchronous } = {
  full: "full",
  extra: "full",
  normal: "normal",
  off: "off",
  "3": "full",
  "2": "full",
  "1": "normal",
  "0": "off"
}
/** Settings actually in force on each file's connection. */
const told = new Map<string, Synchronous>()
const { exec } = DatabaseSync.prototype
DatabaseSync.prototype.exec = function (this: DatabaseSync, sql: string): void {
  const said = /\bsynchronous\s*=\s*(\w+)/i.exec(sql)?.[1]?.toLowerCase()
  const path = said === undefined ? null : this.location()
  if (path !== null) told.set(path, modes[said!] ?? "off")
  exec.call(this, sql)
}

const header_bytes = 32,
  frame_header_bytes = 24
/** End of the last commit in a write-ahead log (https://www.sqlite.org/fileformat2.html#walformat); 0 without one. */
export const committedBytes = (wal: Buffer): number => {
  if (wal.length < header_bytes) return 0
  const page_bytes = wal.readUInt32BE(8)
  const salts = wal.subarray(16, 24)
  let committed = 0
  for (
    let at = header_bytes;
    at + frame_header_bytes + page_bytes <= wal.length;
    at += frame_header_bytes + page_bytes
  ) {
    // Frames of an earlier cycle remain behind those of the current one.
    if (!wal.subarray(at + 8, at + 16).equals(salts)) break
    if (wal.readUInt32BE(at + 4) !== 0) committed = at + frame_header_bytes + page_bytes
  }
  return committed
}

/** Pages a checkpoint copies from a log, by page number: the last frame of each, within the database's size. */
const pagesIn = (wal: Buffer, committed: number): ReadonlyMap<number, Buffer> => {
  const pages = new Map<number, Buffer>()
  if (committed === 0) return pages
  const page_bytes = wal.readUInt32BE(8)
  const last = committed - page_bytes - frame_header_bytes
  const pages_max = wal.readUInt32BE(last + 4)
  for (let at = header_bytes; at <= last; at += frame_header_bytes + page_bytes) {
    const number = wal.readUInt32BE(at)
    if (number <= pages_max)
      pages.set(number, wal.subarray(at + frame_header_bytes, at + frame_header_bytes + page_bytes))
  }
  return pages
}

/** Offset in a log's index of the number of frames that a checkpoint will copy. */
const attempted_at = 128
/**
 * Bytes of a log that a checkpoint will copy, from the log's index (https://www.sqlite.org/walformat.html#walidxfmt): a
 * checkpoint syncs them first in every mode, so a database with their pages never lacks their log.
 */
const checkpointedBytes = (path: string, wal: Buffer): number => {
  if (wal.length < header_bytes || !existsSync(`${path}-shm`)) return 0
  const index = readFileSync(`${path}-shm`)
  if (index.length < attempted_at + 4) return 0
  const frames = endianness() === "LE" ? index.readUInt32LE(attempted_at) : index.readUInt32BE(attempted_at)
  return frames === 0 ? 0 : header_bytes + frames * (frame_header_bytes + wal.readUInt32BE(8))
}

const sector_bytes = 512
/** The database during a checkpoint: none of it is synced, so each page may be old, new or torn. */
const torn = (
  random: Random,
  database: Buffer,
  pages: ReadonlyMap<number, Buffer>
): { readonly left: Buffer; readonly torn_pages: number } => {
  let left = Buffer.from(database),
    torn_pages = 0
  for (const [number, page] of pages) {
    if (random.happens(0.4)) continue
    const at = (number - 1) * page.length
    if (left.length < at + page.length) left = Buffer.concat([left, Buffer.alloc(at + page.length - left.length)])
    const sectors = page.length / sector_bytes
    const from = random.happens(0.5) ? 0 : random.below(sectors)
    const until = random.happens(0.5) ? sectors : from + 1 + random.below(sectors - from)
    page.copy(left, at + from * sector_bytes, from * sector_bytes, until * sector_bytes)
    if (until - from < sectors) torn_pages++
  }
  return { left, torn_pages }
}

interface PowerCut {
  readonly lost_bytes: number
  readonly torn_pages: number
}
/** Copies an open database to another disk as a power cut would leave it. */
export const afterPowerCut = (random: Random, path: string, copy: string): PowerCut => {
  rmSync(`${copy}-wal`, { force: true })
  rmSync(`${copy}-shm`, { force: true })
  if (!existsSync(`${path}-wal`)) {
    copyFileSync(path, copy)
    return { lost_bytes: 0, torn_pages: 0 }
  }
  const wal = readFileSync(`${path}-wal`)
  const committed = committedBytes(wal)
  // SQLite's default is full.
  const mode = told.get(path) ?? "full"
  const checkpointing = committed > 0 && random.happens(0.5)
  const { left: database, torn_pages } = checkpointing
    ? torn(random, readFileSync(path), pagesIn(wal, committed))
    : { left: readFileSync(path), torn_pages: 0 }
  writeFileSync(copy, database)
  const at_commits = mode === "full" || (mode === "normal" && checkpointing) ? committed : 0
  const synced = mode === "off" ? 0 : Math.min(committed, Math.max(at_commits, checkpointedBytes(path, wal)))
  const kept = synced + random.below(wal.length - synced + 1)
  const left = Buffer.from(wal.subarray(0, kept))
  // Writes may be reordered: a sector in the middle of the unsynced part may be missing.
  if (kept - synced > 1_024 && random.happens(0.5)) {
    const hole = synced + random.below(kept - synced - 512)
    left.fill(0, hole, hole + 512)
  }
  writeFileSync(`${copy}-wal`, left)
  return { lost_bytes: wal.length - kept, torn_pages }
}

/** Throws if SQLite finds the database damaged. */
export const assertSound = (path: string): void => {
  const database = new DatabaseSync(path)
  try {
    const found = database
      .prepare("pragma quick_check")
      .all()
      .map((row) => String(row["quick_check"]))
    if (found.join() !== "ok") throw new Error(`${path} is damaged: ${found.slice(0, 3).join("; ")}`)
  } finally {
    database.close()
  }
}

/** Copies a closed or checkpointed database: its main file only. */
export const copyDatabase = (path: string, copy: string): void => {
  copyFileSync(path, copy)
  for (const suffix of ["-wal", "-shm"]) rmSync(copy + suffix, { force: true })
}
export const newFolder = (name: string): string =>
  mkdtempSync(join(fastFolder, `flightcase-sim-${process.pid}-${name}-`))
const folder_name = /^flightcase-sim-(\d+)-/
/** Deletes what killed processes left behind, which may occupy memory. */
export const sweep = (): void => {
  for (const name of readdirSync(fastFolder)) {
    const pid = folder_name.exec(name)?.[1]
    if (pid !== undefined && !isAlive(Number(pid))) rmSync(join(fastFolder, name), { recursive: true, force: true })
  }
}
const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM"
  }
}
