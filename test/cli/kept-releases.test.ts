/**
 * Data folders of servers and devices from earlier releases (test/fixtures/releases): this release opens and upgrades
 * them, decides pending commands and loses nothing. Uses the command line only.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest"
import {
  asKnownTo,
  exportedTables,
  readTables,
  releases_folder,
  releasesIn,
  type Tables,
  unpackFolder
} from "../fixtures/kept/folders.ts"
import { cleanUp, folderOfItsOwn, type ServerProcess, startServer } from "../server/process.ts"
import { type CommandLine, openCommandLine } from "./command-line.ts"

interface About {
  readonly url: string
  readonly token: string
  readonly profiles: {
    readonly [profile: string]: { readonly pending: number; readonly refused: number; readonly conflicts: number }
  }
}
const releases = releasesIn(releases_folder)

type Row = Tables[string][number]
const permissionsOf = (role: Row): ReadonlyArray<string> => role["permissions"] as ReadonlyArray<string>
/** A default role without the permissions this release added, with its earlier timestamps. */
const withoutGrants = (role: Row, before: ReadonlyArray<Row>): Row => {
  const earlier = before.find(({ id }) => id === role["id"])
  if (earlier === undefined || !role["is_system"]) return role
  const permissions = permissionsOf(role).filter((key) => permissionsOf(earlier).includes(key))
  return { ...role, permissions, updated_at: earlier["updated_at"] }
}

it("the fixtures have data of at least one release", () => expect(releases.length).toBeGreaterThan(0))

describe.each(releases)("data left by release %s", (release) => {
  const kept = join(releases_folder, release)
  const about: About = JSON.parse(readFileSync(join(kept, "about.json"), "utf8"))
  const profiles = Object.entries(about.profiles)
  let cli: CommandLine, server: ServerProcess | undefined

  /** Exit code of the command line with this many conflicts. */
  const exitWith = (conflicts: number): number => (conflicts === 0 ? 0 : 8)
  const type = async (words: ReadonlyArray<string>, code = 0) => {
    const ran = await cli.type([...words, "--json"])
    expect(ran.code, `flightcase ${words.join(" ")}: ${ran.out}${ran.err}`).toBe(code)
    return JSON.parse(ran.out)
  }
  const standing = async (profile: string) =>
    (await type(["sync", "status", "--offline", "--profile", profile])).sync_status
  /** Starts the server on the release's data, and writes its address into the devices' profiles. */
  const startServerThere = async (): Promise<ServerProcess> => {
    const data = await folderOfItsOwn()
    unpackFolder(join(kept, "server"), data)
    const started = await startServer({ FLIGHTCASE_DATA: data, FLIGHTCASE_RATE_LIMIT: "10000" })
    for (const [profile] of profiles) {
      const file = join(cli.home, "profiles", profile, "profile.json"),
        before = readFileSync(file, "utf8")
      expect(before).toContain(about.url)
      writeFileSync(file, before.replaceAll(about.url, started.url))
    }
    return started
  }
  const tablesAt = async (...words: ReadonlyArray<string>): Promise<Tables> => {
    const folder = await folderOfItsOwn()
    const { journal } = await type(["export", folder, ...words])
    expect(journal === null, "only the server gives the journal").toBe(words.includes("--offline"))
    return exportedTables(folder)
  }
  beforeEach(() => {
    cli = openCommandLine()
    unpackFolder(join(kept, "home"), cli.home)
  })
  afterEach(async () => {
    await server?.kill("SIGTERM")
    server = undefined
    cli.close()
  })
  afterAll(cleanUp)

  it("keeps every row when this release's server opens it", async () => {
    server = await startServerThere()
    const rows = readTables(kept),
      now = asKnownTo(rows, await tablesAt("--url", server.url, "--token", about.token))
    for (const [name, before] of Object.entries(rows)) {
      // This release may have added reference data, and permissions of default roles.
      const held = new Set(now[name]!.map((row) => JSON.stringify(name === "roles" ? withoutGrants(row, before) : row)))
      expect(
        before.filter((row) => !held.has(JSON.stringify(row))),
        name
      ).toEqual([])
    }
    const granted = now["roles"]!.filter((role) => permissionsOf(role).includes("vehicles.view"))
    expect(granted.map(({ name }) => name)).toEqual(["Admin", "Operations Manager", "Sales", "Warehouse", "Read Only"])
    expect(Object.values(rows).flat().length).toBeGreaterThan(100)
  })

  it("opens as devices that answer and record offline, with all unsent commands", async () => {
    for (const [profile, { conflicts, pending }] of profiles) {
      expect(readdirSync(join(cli.home, "profiles", profile)).sort()).toContain("outbox.sqlite")
      expect(await standing(profile)).toMatchObject({ pending, conflicts })
      expect((await type(["products", "list", "--offline", "--profile", profile])).products.length).toBeGreaterThan(0)
      await type(["products", "create", "--name", `New on ${profile}`, "--offline", "--profile", profile])
      expect(await standing(profile)).toMatchObject({ pending: pending + 1, conflicts })
    }
  })

  it("syncs: every command gets its verdict, and both sides end equal", async () => {
    server = await startServerThere()
    for (const [profile, { conflicts, pending, refused }] of profiles) {
      const left = conflicts + refused
      const { sync } = await type(["sync", "--profile", profile], exitWith(left))
      expect(sync).toMatchObject({
        sent: pending,
        accepted: pending - refused,
        rejected: refused,
        pending: 0,
        conflicts: left
      })
    }
    // Each device pulls events that others sent after its sync.
    for (const [profile, { conflicts, refused }] of profiles)
      await type(["sync", "--profile", profile], exitWith(conflicts + refused))
    for (const [profile] of profiles) {
      const { findings } = await type(["doctor", "--profile", profile])
      expect(findings.filter((one: { readonly ok: boolean }) => !one.ok)).toEqual([])
    }
    const there = await tablesAt("--url", server.url, "--token", about.token)
    expect(await tablesAt("--offline", "--profile", "default")).toEqual(there)
    expect(there["opportunities"]!.find(({ subject }) => subject === "Village fête")).toMatchObject({
      number: expect.stringMatching(/\d/)
    })
    expect(there["products"]!.map(({ name }) => name)).toEqual(
      expect.arrayContaining(["Haze machine", "Fog fluid", "Umbrella", "Gaffer tape"])
    )
  })

  it("has earlier and new conflicts that can be dropped", async () => {
    server = await startServerThere()
    for (const [profile, { conflicts, refused }] of profiles) {
      const left = conflicts + refused
      await type(["sync", "--profile", profile], exitWith(left))
      const found = (await type(["sync", "conflicts", "--profile", profile], exitWith(left))).conflicts
      expect(found.length).toBe(left)
      for (const { id } of found) await type(["sync", "resolve", id, "--drop", "--profile", profile])
      await type(["sync", "--profile", profile])
      expect(await standing(profile)).toMatchObject({ pending: 0, conflicts: 0, held: 0 })
    }
  })
})
