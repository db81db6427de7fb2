/** Files in a folder: the contract of stores, permissions, and messages about a failing disk. */
import { execFileSync } from "node:child_process"
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Exit, Cause, Stream } from "effect"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { BlobStoreFailure, receiveAll } from "../../../server/ports/blob-store.ts"
import { folderStore } from "../../../server/files/open-store.ts"
import { contentOf, put, storeContract } from "./store-contract.ts"

let folder: string
beforeEach(() => {
  folder = join(mkdtempSync(join(tmpdir(), "flightcase-folder-store-")), "blobs")
})
afterEach(() => rmSync(join(folder, ".."), { recursive: true, force: true }))
const mayMount = (() => {
  const place = mkdtempSync(join(tmpdir(), "flightcase-mount-"))
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", place], { stdio: "ignore" })
    execFileSync("umount", [place])
    return true
  } catch {
    return false
  } finally {
    rmSync(place, { recursive: true, force: true })
  }
})()
const temporary = (): ReadonlyArray<string> => (existsSync(join(folder, "tmp")) ? readdirSync(join(folder, "tmp")) : [])

describe("a folder of files", () => {
  storeContract(() => folderStore({ folder, alone: true }), temporary)

  it("is readable by its owner only", async () => {
    const { sha256 } = await put(folderStore({ folder, alone: true }), Buffer.from("private"))
    const [first, second] = [sha256.slice(0, 2), sha256.slice(2, 4)]
    const paths = [[], [first], [first, second], [first, second, sha256], ["tmp"]]
    expect(paths.map((path) => (statSync(join(folder, ...path)).mode & 0o777).toString(8))).toEqual([
      "700",
      "700",
      "700",
      "600",
      "700"
    ])
  })
  it("stores a file again if its stored length is wrong", async () => {
    const store = folderStore({ folder, alone: true })
    const { sha256 } = await put(store, Buffer.from("whole content"))
    writeFileSync(join(folder, sha256.slice(0, 2), sha256.slice(2, 4), sha256), "who")
    await put(store, Buffer.from("whole content"))
    expect((await contentOf(store, sha256)).toString()).toBe("whole content")
  })
  it("removes old temporary files, and recent ones too if no other process uses it", async () => {
    mkdirSync(join(folder, "tmp"), { recursive: true })
    const [old, recent] = [join(folder, "tmp", "old.part"), join(folder, "tmp", "recent.part")]
    for (const one of [old, recent]) writeFileSync(one, "x")
    utimesSync(old, new Date(0), new Date(0))
    await Effect.runPromise(folderStore({ folder, alone: false }).sweep)
    expect(temporary()).toEqual(["recent.part"])
    utimesSync(recent, new Date(Date.now() - 5_000), new Date(Date.now() - 5_000))
    await Effect.runPromise(folderStore({ folder, alone: true }).sweep)
    expect(temporary()).toEqual([])
  })
  it.skipIf(process.getuid?.() === 0)("reports a missing write permission", async () => {
    mkdirSync(folder, { recursive: true })
    chmodSync(folder, 0o500)
    await expectFailure(folder, "read_only", "may not be written")
  })
  it.skipIf(!mayMount)("reports a full disk, keeps no partial file, and stores again once there is space", async () => {
    mkdirSync(folder, { recursive: true })
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", folder])
    try {
      const store = folderStore({ folder, alone: true })
      const exit = await Effect.runPromiseExit(
        Effect.scoped(receiveAll(store, Stream.make(new Uint8Array(90_000)), 100_000))
      )
      expect(Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined).toMatchObject({ fault: "full" })
      expect(temporary()).toEqual([])
      expect((await put(store, new Uint8Array(20_000))).size_bytes).toBe(20_000)
    } finally {
      execFileSync("umount", [folder])
    }
  })
  it.skipIf(!existsSync("/dev/full"))("reports a path that is not a folder", async () => {
    await expectFailure("/dev/full", "failing", "cannot be used")
  })
})

const expectFailure = async (at: string, fault: string, text: string): Promise<void> => {
  const exit = await Effect.runPromiseExit(
    Effect.scoped(receiveAll(folderStore({ folder: at, alone: true }), Stream.make(new Uint8Array(1)), 10))
  )
  const failure = Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined
  expect(failure).toBeInstanceOf(BlobStoreFailure)
  expect(failure).toMatchObject({ fault, message: expect.stringContaining(text) })
}
