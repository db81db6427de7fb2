/** A process killed while it stores files in a folder: acknowledged files are complete, others are absent. */
import { spawn } from "node:child_process"
import { createHash } from "node:crypto"
import { once } from "node:events"
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { Effect, Stream } from "effect"
import { describe, expect, it } from "vitest"
import { folderStore } from "../../../server/files/open-store.ts"
import { contentOf } from "./store-contract.ts"
import { shareOf } from "../../share.ts"

const writer = fileURLToPath(new URL("./writer.ts", import.meta.url))
const kills = shareOf(30)

describe("a folder of files", () => {
  it(`has every stored file complete, and no partial files, after its writer is killed ${kills} times`, async () => {
    const folder = mkdtempSync(join(tmpdir(), "flightcase-killed-"))
    const kept = new Set<string>()
    let temporary = 0
    try {
      for (let kill = 0; kill < kills; kill++) {
        const child = spawn(process.execPath, [writer, folder, String(kill * 10_000)], {
          stdio: ["ignore", "pipe", "inherit"]
        })
        let said = ""
        child.stdout.on("data", (part) => (said += String(part)))
        const ended = once(child, "close")
        while (!said.includes("\n")) await new Promise((resolve) => setTimeout(resolve, 1))
        // Killed anywhere within the few milliseconds of storing: writing, syncing, renaming.
        await new Promise((resolve) => setTimeout(resolve, (kill * 7) % 30))
        child.kill("SIGKILL")
        await ended
        for (const sha256 of said.split("\n").slice(0, -1)) kept.add(sha256)
        if (existsSync(join(folder, "tmp"))) temporary += readdirSync(join(folder, "tmp")).length
        const store = folderStore({ folder, alone: true })
        // The file system's clock is coarser than the process's.
        await new Promise((resolve) => setTimeout(resolve, 20))
        await Effect.runPromise(folderStore({ folder, alone: true }).sweep)
        expect(readdirSync(join(folder, "tmp"))).toEqual([])
        const there = await Effect.runPromise(Stream.runCollect(store.list))
        for (const { sha256 } of there)
          expect(
            createHash("sha256")
              .update(await contentOf(store, sha256))
              .digest("hex")
          ).toBe(sha256)
        const names = new Set(there.map(({ sha256 }) => sha256))
        for (const sha256 of kept) expect(names.has(sha256)).toBe(true)
      }
      console.info(`${kept.size} files kept, ${temporary} temporary files left by ${kills} kills and removed`)
      // Otherwise no kill hit a file being stored, and nothing was tested.
      expect(temporary).toBeGreaterThan(0)
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })
})
