import { spawn } from "node:child_process"
import { existsSync, mkdirSync, openSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { placeOfSuite } from "./place.ts"
import { openPlace, owner_token, run } from "./session.ts"
import { cli_program } from "../programs.ts"
import { words } from "../words.ts"

const place = placeOfSuite()

/** Enough rows for several chunks. */
const csv = (rows: number): string =>
  ["sku,name", ...Array.from({ length: rows }, (_, at) => `K-${at + 1},Cable ${at + 1}`)].join("\n")

describe("the command line as a process", () => {
  it("exits with 0 when the reader of its output closes the pipe", async () => {
    writeFileSync(join(place.folder, "many.csv"), csv(300))
    expect((await run(place, ["import", "products", "many.csv"])).code).toBe(0)
    const child = spawn(process.execPath, [cli_program, "products", "list", "--all", "--json"], {
      env: { ...place.env }
    })
    let err = ""
    child.stderr.on("data", (chunk: Buffer) => {
      err += chunk.toString()
    })
    child.stdout.once("data", () => child.stdout.destroy())
    const code = await new Promise<number | null>((resolve) => child.on("close", resolve))
    expect({ code, err }).toEqual({ code: 0, err: "" })
  })

  it.skipIf(!existsSync("/dev/full"))("says in one line that its output cannot be written", async () => {
    const child = spawn(process.execPath, [cli_program, "products", "list", "--json"], {
      env: { ...place.env },
      stdio: ["ignore", openSync("/dev/full", "w"), "pipe"]
    })
    let err = ""
    child.stderr?.on("data", (chunk: Buffer) => {
      err += chunk.toString()
    })
    const code = await new Promise<number | null>((resolve) => child.on("close", resolve))
    expect({ code, err }).toEqual({
      code: 1,
      err: expect.stringMatching(/^flightcase: .*no space left on device.*\n$/)
    })
  })

  it("exits with 130 when it is interrupted while the reader of its output waits", async () => {
    const child = spawn(process.execPath, [cli_program, "products", "list", "--all", "--json"], {
      env: { ...place.env }
    })
    const ended = new Promise<number | null>((resolve) => child.on("exit", resolve))
    await new Promise((resolve) => child.stdout.once("readable", resolve))
    // By then its pipe is full.
    await new Promise((resolve) => setTimeout(resolve, 500))
    expect(child.exitCode).toBeNull()
    child.kill("SIGINT")
    expect(await ended).toBe(130)
  })

  it("exits with 130 when it is interrupted", async () => {
    const child = spawn(process.execPath, [cli_program, "pack", "1"], {
      env: { ...place.env, FLIGHTCASE_URL: place.url }
    })
    const made = await run(place, words("containers temporary create --name Case --barcode C-1 --store 1 --json"))
    expect(made.code).toBe(0)
    const waiting = spawn(process.execPath, [cli_program, "pack", "C-1"], { env: { ...place.env } })
    const ended = new Promise<number | null>((resolve) => waiting.on("close", resolve))
    // Its response to the first code shows that it has begun to read.
    waiting.stdin.write("NOTHING\n")
    await new Promise((resolve) => waiting.stderr.once("data", resolve))
    waiting.kill("SIGINT")
    expect(await ended).toBe(130)
    child.kill("SIGKILL")
  })

  it("keeps a profile's files private to its owner", async () => {
    expect((await run(place, ["login", place.url, "--token", owner_token])).code).toBe(0)
    const profile = join(place.home, "profiles", "default")
    expect(statSync(profile).mode & 0o777).toBe(0o700)
    expect(readdirSync(profile).map((name) => [name, statSync(join(profile, name)).mode & 0o077])).toEqual(
      readdirSync(profile).map((name) => [name, 0])
    )
  })

  it("uses the XDG data folder when no home is named", async () => {
    const data = join(place.folder, "xdg")
    mkdirSync(data)
    const env = { FLIGHTCASE_HOME: "", XDG_DATA_HOME: data }
    expect((await run(place, ["login", place.url, "--token", owner_token], { env })).code).toBe(0)
    expect(readdirSync(join(data, "flightcase", "profiles"))).toEqual(["default"])
  })

  it("uses no colour in a pipe or when colour is disabled", async () => {
    const grid = ["availability", "calendar", "--from", "2027-01-01", "--to", "2027-01-02", "--remote"]
    const colours = { FLIGHTCASE_TTY: "1", CLICOLOR_FORCE: "1" }
    expect((await run(place, grid, { env: colours })).out).toContain("\u001b[")
    expect((await run(place, grid)).out).not.toContain("\u001b[")
    expect((await run(place, grid, { env: { ...colours, NO_COLOR: "1" } })).out).not.toContain("\u001b[")
  })
})

describe("an import", () => {
  const json = async (line: string) => JSON.parse((await run(place, words(`${line} --json`))).out)
  const fixture = (name: string): string => new URL(`../fixtures/${name}`, import.meta.url).pathname
  it("resumes where it was interrupted, and counts every row once", async () => {
    const own = await openPlace()
    try {
      writeFileSync(join(own.folder, "list.csv"), `${csv(25)}\n,\nK-27,\n`)
      const child = spawn(
        process.execPath,
        [cli_program, "import", "products", "list.csv", "--chunk", "5", "--verdicts", "verdicts.ndjson"],
        { cwd: own.folder, env: { ...own.env } }
      )
      const gone = new Promise((resolve) => child.on("close", resolve))
      // Killed as soon as part of it is stored; repeated requests change nothing.
      const kept = join(own.home, "imports")
      for (let tries = 0; tries < 2_000 && !hasState(kept); tries++)
        await new Promise((resolve) => setTimeout(resolve, 5))
      child.kill("SIGKILL")
      await gone
      const second = await run(own, words("import products list.csv --chunk 5 --verdicts verdicts.ndjson --json"))
      const summary = JSON.parse(second.out).import
      expect(summary).toMatchObject({ rows: 26, rejected: 1 })
      expect(summary.created + summary.unchanged).toBe(25)
      const verdicts = readFileSync(join(own.folder, "verdicts.ndjson"), "utf8")
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line))
      expect(verdicts.map(({ row }) => row)).toEqual(Array.from({ length: 26 }, (_, at) => at + 1))
      expect(second.code).toBe(5)
      expect(readdirSync(kept)).toEqual([])
      const again = await run(own, ["import", "products", "list.csv", "--json"])
      expect(JSON.parse(again.out).import).toMatchObject({ created: 0, updated: 0, unchanged: 25, rejected: 1 })
    } finally {
      await own.close()
    }
  })

  it("exits with 7 if the server is unreachable, and can be repeated", async () => {
    const own = await openPlace()
    try {
      writeFileSync(join(own.folder, "list.csv"), csv(5))
      await own.stop()
      const ran = await run(own, ["import", "products", "list.csv"])
      expect(ran.code).toBe(7)
      expect(ran.err).toContain("cannot be reached")
      await own.start()
      expect((await run(own, ["import", "products", "list.csv"])).code).toBe(0)
    } finally {
      await own.close()
    }
  })

  it("maps the columns of another program's file", async () => {
    const mapped = ["--map", "name={Manufacturer} {Model},sku=Key,weight=Weight (kg)", "--set", "group=Lighting"]
    const imported = ["import", "products", fixture("lighting-fixtures.csv"), ...mapped, "--json"]
    const first = await run(place, imported)
    expect(first.code).toBe(0)
    expect(JSON.parse(first.out).import).toMatchObject({ rows: 627, created: 627, rejected: 0 })
    expect(JSON.parse((await run(place, imported)).out).import).toMatchObject({ unchanged: 627 })
    const { product } = await json("products show 5star-systems/spica-250m --remote")
    const shown = { name: "5Star Systems Spica 250M", weight: "18.0000", product_group_name: "Lighting" }
    expect(product).toMatchObject(shown)
  })

  it("creates the whole sample price list and its rates, and changes nothing the second time", async () => {
    const file = fixture("price-list.csv")
    const first = await run(place, ["import", "products", file, "--create-stores", "--json"])
    expect(first.err).toContain("Made the store Northern Depot")
    expect(JSON.parse(first.out).import).toMatchObject({ rows: 2019, created: 2019, rejected: 0 })
    for (const [line, counts] of [
      [`import products ${file}`, { unchanged: 2019, rejected: 0 }],
      [`import rates ${fixture("rates.csv")}`, { rows: 17, created: 14, updated: 3, rejected: 0 }],
      [`import rates ${fixture("rates.json")}`, { unchanged: 17 }]
    ] as const)
      expect((await json(line)).import).toMatchObject(counts)
    expect((await json("products components list KIT-FESTIVAL-LX --remote")).components).toHaveLength(5)
  }, 600_000)
})

const hasState = (folder: string): boolean => {
  try {
    return readdirSync(folder).some((name) => name.endsWith(".json"))
  } catch {
    return false
  }
}
