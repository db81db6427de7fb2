/** `sync --watch` while servers and commands start and stop; and the background sync of commands. */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { appendFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { asOwner, type CommandLine, commandLine, type RunningServer, startServer, token } from "./processes.ts"
import { freePort } from "../free-port.ts"
import type { Body } from "../answers.ts"

const root = join(import.meta.dirname, "../..")
const until = async (what: string, holds: () => boolean | Promise<boolean>): Promise<void> => {
  for (let tries = 0; !(await holds()); tries++) {
    if (tries > 1_200) throw new Error(`never came about: ${what}`)
    await new Promise((resume) => setTimeout(resume, 50))
  }
}

describe("automatic sync", () => {
  let folder: string, home: string, port: number, server: RunningServer, cli: CommandLine, watchers: Array<ChildProcess>
  const start = async (): Promise<RunningServer> => (server = await startServer({ port, data: join(folder, "server") }))
  const names = async (): Promise<ReadonlyArray<string>> =>
    (await asOwner(server.url)("GET", "/api/v1/product_groups?per_page=100")).body.product_groups.map((one) => one.name)
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "flightcase-watch-"))
    home = join(folder, "home")
    port = await freePort()
    watchers = []
    await start()
    cli = commandLine(home)
    expect((await cli("login", server.url, "--token", token, "--name", "van")).code).toBe(0)
  })
  afterEach(async () => {
    for (const child of watchers)
      if (child.exitCode === null && child.signalCode === null) {
        child.kill("SIGKILL")
        await once(child, "exit")
      }
    await server.stop()
    rmSync(folder, { recursive: true, force: true })
  })
  interface Watcher {
    readonly child: ChildProcess
    readonly events: () => ReadonlyArray<Body>
    readonly says: (event: string, more?: (one: Body) => boolean) => Promise<void>
    readonly ended: Promise<number | null>
  }
  const watch = (program = root): Watcher => {
    const child = spawn(process.execPath, [join(program, "cli/bin.mjs"), "sync", "--watch", "--json"], {
      env: { ...process.env, FLIGHTCASE_HOME: home, FLIGHTCASE_NO_BACKGROUND: "1" },
      stdio: ["ignore", "pipe", "ignore"]
    })
    watchers.push(child)
    let out = ""
    child.stdout!.on("data", (chunk: Buffer) => {
      out += chunk.toString()
    })
    const events = () =>
      out
        .split("\n")
        .slice(0, -1)
        .map((line) => JSON.parse(line))
    return {
      child,
      events,
      ended: once(child, "exit").then(() => child.exitCode),
      says: (event, more = () => true) =>
        until(`the watcher says ${event}`, () => events().some((one) => one.event === event && more(one)))
    }
  }

  it("pulls others' changes, sends recorded commands, and survives a killed server", async () => {
    const watcher = watch()
    await watcher.says("started")
    await asOwner(server.url)("POST", "/api/v1/product_groups", { name: "From the office" })
    await watcher.says("synced", (one) => one.pulled_events > 0)
    expect(
      (await cli("product-groups", "list", "--json", "--offline")).json.product_groups.map((one) => one.name)
    ).toEqual(["From the office"])
    // Commands share the replica with it.
    const made = await Promise.all(
      [1, 2, 3, 4].map((at) => cli("product-groups", "create", "--name", `Made here ${at}`, "--json"))
    )
    expect(made.map(({ code }) => code)).toEqual([0, 0, 0, 0])
    await until(
      "the server has them",
      async () => (await names()).filter((name) => name.startsWith("Made here")).length === 4
    )
    // A second one exits: one is enough.
    const second = await cli("sync", "--watch")
    expect([second.code, second.err]).toEqual([6, expect.stringContaining("being watched already")])

    await server.kill()
    await watcher.says("offline")
    expect((await cli("product-groups", "create", "--name", "Made offline", "--json")).code).toBe(0)
    await start()
    await watcher.says("online")
    await until("the server has it", async () => (await names()).includes("Made offline"))
    watcher.child.kill("SIGTERM")
    expect(await watcher.ended).toBe(0)
    expect(watcher.events().at(-1)).toMatchObject({ event: "stopped" })
    expect((await cli("sync", "--json")).json.sync).toMatchObject({ sent: 0, pending: 0, conflicts: 0 })
  })

  it("can be started again after it was killed, and reports a conflict", async () => {
    const first = watch()
    await first.says("started")
    first.child.kill("SIGKILL")
    await first.ended
    const ask = asOwner(server.url)
    const {
      body: { product }
    } = await ask("POST", "/api/v1/products", { name: "Head", sku: "HEAD", stock_method: 2 })
    expect((await cli("sync")).code).toBe(0)
    const unit = { product_id: product.id, store_id: 1, asset_number: "A-1" }
    expect((await cli("api", "POST", "/stock_levels", "-d", JSON.stringify(unit))).code).toBe(0)
    await ask("POST", "/api/v1/stock_levels", unit)
    const second = watch()
    await second.says("conflict", (one) => one.name === "stock_levels.create" && one.n === 1)
    second.child.kill("SIGINT")
    expect(await second.ended).toBe(130)
    expect((await cli("sync", "conflicts", "--json")).json.conflicts).toHaveLength(1)
  })

  it("ends with exit code 75 when another release replaces the program", async () => {
    const program = join(folder, "program")
    mkdirSync(join(program, "cli"), { recursive: true })
    for (const part of ["out", "cli/bin.mjs", "package.json"])
      cpSync(join(root, part), join(program, part), { recursive: true })
    const watcher = watch(program)
    await watcher.says("started")
    // The files of another release have other names.
    rmSync(join(program, "out/parts"), { recursive: true })
    await asOwner(server.url)("POST", "/api/v1/product_groups", { name: "News" })
    appendFileSync(join(program, "out/cli.js"), "\n")
    expect(await watcher.ended).toBe(75)
    expect(watcher.events().at(-1)).toMatchObject({ event: "upgraded" })
  })

  it("ends with exit code 4 when the device is revoked", async () => {
    const watcher = watch()
    await watcher.says("started")
    await asOwner(server.url)("DELETE", "/api/v1/sync/replicas/1")
    await asOwner(server.url)("POST", "/api/v1/product_groups", { name: "News" })
    expect(await watcher.ended).toBe(4)
    expect(existsSync(join(home, "profiles/default/replica.sqlite"))).toBe(false)
    expect((await cli("products", "list")).code).toBe(4)
  })

  it("runs in the background after a command has ended, and the next command reports the rejection", async () => {
    const free = commandLine(home, { FLIGHTCASE_NO_BACKGROUND: "" })
    const attempt = () => {
      try {
        return JSON.parse(readFileSync(join(home, "profiles/default/background.json"), "utf8"))
      } catch {
        return undefined
      }
    }
    expect((await free("product-groups", "create", "--name", "By itself", "--json")).code).toBe(0)
    await until("the server has it", async () => (await names()).includes("By itself"))
    await until("the attempt is noted", () => attempt()?.ok === true)
    const ask = asOwner(server.url)
    const {
      body: { product }
    } = await ask("POST", "/api/v1/products", { name: "Head", sku: "HEAD", stock_method: 2 })
    expect((await cli("sync")).code).toBe(0)
    const unit = { product_id: product.id, store_id: 1, asset_number: "A-1" }
    await ask("POST", "/api/v1/stock_levels", unit)
    expect((await free("api", "POST", "/stock_levels", "-d", JSON.stringify(unit))).code).toBe(0)
    await until("the refusal is noted", () => attempt()?.conflicts === 1)
    const next = await free("products", "list", "--json")
    expect(next.err).toContain("1 command was refused: flightcase sync conflicts")
    expect((await free("products", "list", "--json")).err).toBe("")
    // Without a network, users notice no difference.
    await server.kill()
    expect((await free("product-groups", "create", "--name", "Later", "--json")).code).toBe(0)
    await until("the attempt is noted", () => attempt()?.ok === false)
    await start()
  })
})
