/** Kills real processes, thirty times each: what was acknowledged survives, and everything starts again. */
import { setTimeout as pause } from "node:timers/promises"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, expect, it, vi } from "vitest"
import { asOwner, type CommandLine, commandLine, type RunningServer, startServer, token } from "./processes.ts"
import { freePort } from "../free-port.ts"
import { shareOf } from "../share.ts"

// Ninety processes on a busy machine.
vi.setConfig({ testTimeout: 900_000 })

let folder: string, server: RunningServer, cli: CommandLine
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "flightcase-kill-"))
  server = await startServer({ port: await freePort(), data: join(folder, "server") })
  cli = commandLine(join(folder, "home"), { FLIGHTCASE_URL: server.url, FLIGHTCASE_TOKEN: token })
})
afterAll(async () => {
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
})
const kills = shareOf(30)
/** Kill times spread over a run of the measured length, from early to near its end. */
const killTimes = (run_millis: number): ReadonlyArray<number> =>
  Array.from({ length: kills }, (_, at) => Math.round(run_millis * (0.1 + (at / kills) * 0.95)))

it("a command line that is killed while it writes loses no command that it acknowledged", async () => {
  expect((await cli("login", server.url, "--token", token, "--name", "van")).code).toBe(0)
  // The first run fills the compile cache.
  let begun = 0
  for (const name of ["Warm up", "Measured"]) {
    begun = performance.now()
    expect((await cli("product-groups", "create", "--name", name, "--offline", "--json")).code).toBe(0)
  }
  const acknowledged = new Set<number>()
  // Moves towards the moment of acknowledgement: earlier after each run that was acknowledged, else later.
  let millis = performance.now() - begun
  // A machine that is busy for a while needs more runs for both outcomes.
  const enough = Math.ceil(kills / 6)
  const runs_max = 90
  let runs = 0
  for (; runs < runs_max && (runs < kills || Math.min(acknowledged.size, runs - acknowledged.size) < enough); runs++) {
    const name = `Killed after ${millis}`
    const { child, done } = cli.start(["product-groups", "create", "--name", name, "--offline", "--json"])
    await pause(millis)
    child.kill("SIGKILL")
    const ran = await done
    const said = /"id":\s*(\d+)/.exec(ran.out)
    if (said !== null) acknowledged.add(Number(said[1]))
    millis *= said === null ? 1.2 : 0.8
  }
  expect(acknowledged.size).toBeGreaterThanOrEqual(enough)
  expect(runs - acknowledged.size).toBeGreaterThanOrEqual(enough)
  const here = await cli("product-groups", "list", "--per-page", "100", "--offline", "--json")
  expect(here.code).toBe(0)
  const ids = new Set(here.json.product_groups.map((group) => group.id))
  for (const id of acknowledged) expect(ids).toContain(id)
  const synced = await cli("sync", "--json")
  expect(synced).toMatchObject({ code: 0, json: { sync: { rejected: 0, pending: 0 } } })
  const { body } = await asOwner(server.url)("GET", "/api/v1/product_groups?per_page=100")
  expect(new Set(body.product_groups.map((group) => group.id))).toEqual(ids)
  expect((await cli("doctor", "--json")).code).toBe(0)
})

it("twelve command lines writing to one replica at the same time lose no command", async () => {
  const before = (await cli("product-groups", "list", "--offline", "--json")).json.meta.total
  const ran = await Promise.all(
    Array.from({ length: 12 }, (_, at) =>
      cli("product-groups", "create", "--name", `Together ${at}`, "--offline", "--json")
    )
  )
  expect(ran.map((one) => one.code)).toEqual(ran.map(() => 0))
  expect(new Set(ran.map((one) => one.json.product_group.id)).size).toBe(ran.length)
  expect(await cli("sync", "--json")).toMatchObject({
    code: 0,
    json: { sync: { accepted: 12, rejected: 0, pending: 0 } }
  })
  expect((await asOwner(server.url)("GET", "/api/v1/product_groups")).body.meta.total).toBe(before + 12)
})

it("an import killed many times is completed by repeating it, and every row exists once", async () => {
  const file = join(import.meta.dirname, "../fixtures/price-list.csv")
  expect((await cli("import", "rates", join(import.meta.dirname, "../fixtures/rates.json"), "--remote")).code).toBe(0)
  for (const name of ["Northern Depot", "Berlin"])
    expect((await cli("stores", "create", "--name", name, "--remote", "--json")).code).toBe(0)
  const ask = asOwner(server.url)
  const imported = async (): Promise<number> => (await ask("GET", "/api/v1/products?per_page=1")).body.meta.total
  const begun = performance.now()
  expect((await cli("import", "products", file, "--dry-run", "--remote", "--json")).code).toBe(0)
  let cut_off = 0
  for (const millis of killTimes(performance.now() - begun)) {
    const { child, done } = cli.start(["import", "products", file, "--remote", "--json"])
    await pause(millis)
    child.kill("SIGKILL")
    if ((await done).code === null) cut_off++
  }
  // Enough of them were killed while working, some after they had stored rows.
  expect(cut_off).toBeGreaterThanOrEqual(kills / 6)
  expect(await imported()).toBeGreaterThan(0)
  expect((await cli("import", "products", file, "--remote", "--json")).code).toBe(0)
  const skus: Array<string> = []
  for (let page = 1; ; page++) {
    const { body } = await ask("GET", `/api/v1/products?per_page=100&page=${page}`)
    skus.push(...body.products.map(({ sku }) => sku!))
    if (body.products.length < 100) break
  }
  expect(skus.length).toBeGreaterThanOrEqual(2_000)
  expect(new Set(skus).size).toBe(skus.length)
  const position = (await ask("GET", "/api/v1/system/health")).body.health.journal_position
  expect((await cli("import", "products", file, "--remote", "--json")).code).toBe(0)
  expect((await ask("GET", "/api/v1/system/health")).body.health.journal_position).toBe(position)
})
