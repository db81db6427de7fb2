/** Errors on the command line: the doctor, a repeated login, a copied folder, the systemd unit. */
import { execFileSync } from "node:child_process"
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { beforeEach, describe, expect, it } from "vitest"
import { unitFor } from "../../cli/commands/offline/sync/watch.ts"
import { placeOfEachTest } from "./place.ts"
import { owner_token, run as runApart } from "./session.ts"

const place = placeOfEachTest()
const { done, json, type } = place
const profile = (name = "default"): string => join(place.home, "profiles", name)
beforeEach(async () => {
  await place.login()
  await done("product-groups create --name Unsent")
})

describe("the doctor", () => {
  it("names --server where an address is given and there is no replica", async () => {
    const refused = await type(["doctor", "--profile", "none", "--url", place.url, "--token", owner_token])
    expect([refused.code, refused.err]).toEqual([2, expect.stringContaining("doctor --server checks the server")])
  })

  it("sets a damaged replica aside, fills a new one and sends pending commands", async () => {
    writeFileSync(join(profile(), "replica.sqlite"), "garbage".repeat(1_000))
    const found = await type("doctor")
    expect([found.code, found.out]).toEqual([1, expect.stringMatching(/bad\treplica file\t.*doctor --repair/)])
    const failed = await type("products list")
    expect([failed.code, failed.err]).toEqual([1, expect.stringContaining("Nothing unsent is lost")])
    const repaired = await type("doctor --repair")
    expect(repaired.out).toContain("and filled anew; what was pending has been sent")
    expect(readdirSync(profile()).some((name) => name.startsWith("replica.sqlite.damaged-"))).toBe(true)
    const whole = await type("doctor")
    expect([whole.code, whole.out]).toEqual([
      0,
      expect.stringMatching(/ok\toutbox file\twhole\nok\tserver\tanswers\nok\tjobs\tnone has failed\nok\tclock\t/)
    ])
    expect((await type("product-groups list --remote --json")).out).toContain("Unsent")
  })

  it("leaves a damaged outbox unchanged, and login --set-aside keeps its folder", async () => {
    writeFileSync(join(profile(), "outbox.sqlite"), "garbage".repeat(1_000))
    for (const words of [
      ["doctor", "--repair"],
      ["product-groups", "list"],
      ["login", place.url, "--token", owner_token]
    ]) {
      const ran = await type(words)
      expect([ran.code, ran.out + ran.err]).toEqual([
        1,
        expect.stringMatching(/outbox .* is damaged: commands recorded here and not sent yet are in it/)
      ])
    }
    const anew = await type(`login ${place.url} --token ${owner_token} --set-aside --json`)
    expect(anew.code).toBe(0)
    expect(readFileSync(join(JSON.parse(anew.out).aside, "outbox.sqlite"), "utf8")).toContain("garbage")
    await done("product-groups list")
  })
})

it("commands lost from the outbox are reported by reads, writes and sync until their loss is accepted", async () => {
  // The replica knows of two more acknowledged commands than the outbox holds.
  const replica = new DatabaseSync(join(profile(), "replica.sqlite"))
  replica.exec("update replica_meta set value = '3' where key = 'acknowledged_n'")
  replica.close()
  const listed = await type("product-groups list")
  expect([listed.code, listed.out, listed.err]).toEqual([
    0,
    expect.stringContaining("Unsent"),
    expect.stringContaining(
      "Commands 2 to 3 were acknowledged here, and the outbox does not have them any more: flightcase doctor says"
    )
  ])
  for (const words of [["product-groups", "create", "--name", "More"], ["sync"]]) {
    expect(await type(words)).toMatchObject({
      code: 1,
      err: expect.stringMatching(/Commands 2 to 3 .*\n.*doctor --accept-loss goes on without them/)
    })
  }
  const written = await type("sync export-pending left.json")
  expect([written.code, written.err]).toEqual([
    0,
    expect.stringContaining("Acknowledged here, and not in the outbox any more: 2 to 3.")
  ])
  expect(JSON.parse(readFileSync(join(place.folder, "left.json"), "utf8")).unsent).toMatchObject({
    lost: { from: 2, to: 3 },
    unreadable: 0,
    commands: [{ n: 1, payload: { body: { name: "Unsent" } } }]
  })
  expect(await type("doctor")).toMatchObject({
    code: 1,
    out: expect.stringMatching(/bad\toutbox numbers\tCommands 2 to 3 .*doctor --accept-loss/)
  })
  const accepted = await type("doctor --accept-loss")
  expect([accepted.code, accepted.err]).toEqual([0, expect.stringContaining("Going on without commands 2 to 3")])
  expect((await json("sync")).sync).toMatchObject({ accepted: 1, pending: 0 })
})

it("a copied folder is refused by sync, and after a login is a new device with its unsent commands", async () => {
  cpSync(profile(), profile("copy"), { recursive: true })
  await done("product-groups create --name Second")
  await done("sync")
  await done("product-groups create --name 'Of the copy' --profile copy")
  const told = await type("sync --profile copy")
  expect([told.code, told.err]).toEqual([
    6,
    expect.stringMatching(
      /This folder is a copy.*Nothing was sent\.\n.*login URL --token T makes this machine a device of its own/
    )
  ])
  const again = await type(`login ${place.url} --token ${owner_token} --profile copy --json`)
  expect(JSON.parse(again.out).moved).toEqual({ commands: 1, decided: 1, left: 0, left_file: null })
  expect((await json("sync --profile copy")).sync).toMatchObject({ accepted: 1, conflicts: 0 })
  // The first device replaces none, and continues.
  await done("product-groups create --name Later")
  expect((await json("sync")).sync).toMatchObject({ accepted: 1, conflicts: 0 })
  expect(
    (await type("product-groups list --remote")).out
      .split("\n")
      .filter((line) => /\t(Unsent|Second|Of the copy|Later)(\t|$)/.test(line))
  ).toHaveLength(4)
})

it("a login interrupted before it renamed its profile folder is completed by the next command", async () => {
  const profiles = join(place.home, "profiles")
  cpSync(profile(), join(profiles, ".default.new"), { recursive: true })
  rmSync(profile(), { recursive: true })
  await done("sync status --json")
  expect(existsSync(join(profiles, ".default.new"))).toBe(false)
})

describe("the systemd unit", () => {
  it("is valid if folder names hold spaces, quotation marks, % and $", async () => {
    const unit = unitFor("till", { FLIGHTCASE_HOME: '/srv/50% "off" $HOME', XDG_CONFIG_HOME: place.folder }, [
      process.execPath,
      "/opt/flight case/bin.mjs"
    ])
    expect(unit.path).toBe(join(place.folder, "systemd/user/flightcase-sync-till.service"))
    expect(unit.text).toContain(
      `ExecStart=${process.execPath} "/opt/flight case/bin.mjs" sync --watch --no-input --profile till\n`
    )
    expect(unit.text).toContain("RestartForceExitStatus=75\n")
    expect(unit.text).toContain("RestartPreventExitStatus=2 4\n")
    let verified: string
    const file = join(place.folder, unit.name)
    writeFileSync(file, unit.text)
    try {
      verified = execFileSync("systemd-analyze", ["verify", "--user", file], {
        encoding: "utf8",
        stdio: ["ignore", "pipe", "pipe"],
        env: { ...process.env, XDG_RUNTIME_DIR: place.folder }
      })
    } catch (error) {
      // Without systemd nothing can be verified.
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return
      throw new Error(String((error as { stderr?: unknown }).stderr), { cause: error })
    }
    expect(verified).toBe("")
  })

  it("is written to systemd's folder, and removed from it", async () => {
    const env = { XDG_CONFIG_HOME: join(place.folder, "config") }
    const written = await runApart(place, ["sync", "--install-unit"], { env })
    expect([written.code, written.err]).toEqual([
      0,
      expect.stringContaining("systemctl --user enable --now flightcase-sync.service")
    ])
    const path = join(place.folder, "config/systemd/user/flightcase-sync.service")
    expect(readFileSync(path, "utf8")).toContain("cli/bin.mjs sync --watch --no-input --profile default")
    expect((await runApart(place, ["sync", "--uninstall-unit"], { env })).err).toContain("Removed")
    expect(existsSync(path)).toBe(false)
  })
})

it("a request to the server for a deactivated user removes the device's data", async () => {
  const ann = await place.house.person({ permissions: ["products.view", "products.access"] })
  await done(["login", place.url, "--token", ann.secret, "--name", "till", "--profile", "till"])
  const replicaFiles = () => readdirSync(profile("till")).filter((name) => name.startsWith("replica"))
  expect(replicaFiles()).not.toEqual([])
  await done(`users delete ${ann.user_id} --yes --remote`)
  const asked = await type("devices list --profile till")
  expect([asked.code, asked.err]).toEqual([4, expect.stringContaining("its data were taken away")])
  expect(replicaFiles()).toEqual([])
})
