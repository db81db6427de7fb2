/** Servers killed in the middle of jobs: everything queued is done. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterEach, describe, expect, it } from "vitest"
import { engines } from "../../../app.ts"
import { freshDatabase } from "../../../postgres.ts"
import { cleanUp, folderOfItsOwn } from "../../process.ts"
import { share } from "../../../share.ts"

const open: Array<() => Promise<unknown>> = []
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close()
  await cleanUp()
})

const program = fileURLToPath(new URL("words-program.ts", import.meta.url))
const jobs = 40

describe.each(share(engines))("a server on %s that is killed while jobs run", (engine) => {
  it("completes each job after restarts, and reruns those in progress", { timeout: 240_000 }, async () => {
    const folder = await folderOfItsOwn()
    const file = join(folder, "lines")
    let database = join(folder, "server.sqlite")
    if (engine === "pg") {
      const fresh = await freshDatabase()
      open.push(() => fresh.drop())
      database = fresh.url
    }
    const start = (words: number) => {
      const child = spawn(process.execPath, [program, database, file, String(words)], {
        stdio: ["ignore", "pipe", "inherit"]
      })
      const ended = once(child, "close")
      const kill = async (): Promise<void> => {
        child.kill("SIGKILL")
        await ended
      }
      open.push(kill)
      return { kill }
    }
    const lines = (): ReadonlyArray<string> => (existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : [])
    const wordsThat = (verb: string): ReadonlySet<string> =>
      new Set(lines().flatMap((line) => (line.startsWith(`${verb} `) ? [line.split(" ")[1] ?? ""] : [])))
    const wait = { timeout: 60_000, interval: 20 }

    let server = start(jobs)
    await expect.poll(() => wordsThat("queued").size, wait).toBe(jobs)
    for (let kills = 0; kills < 3; kills++) {
      const before = lines().length
      await expect.poll(() => lines().length, wait).toBeGreaterThan(before + 6)
      await server.kill()
      server = start(0)
    }
    await expect.poll(() => wordsThat("ended").size, { timeout: 150_000, interval: 200 }).toBe(jobs)
    const began = lines().filter((line) => line.startsWith("began"))
    const ended = lines().filter((line) => line.startsWith("ended"))
    // Some jobs were interrupted by a kill, and run again.
    expect(began.length).toBeGreaterThan(ended.length)
    expect(began.some((line) => line.endsWith(" 2"))).toBe(true)
    await server.kill()
  })
})
