/** Failing machines: messages to users, and no loss of acknowledged commands. */
import { execFileSync } from "node:child_process"
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createServer, type Server } from "node:http"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { DatabaseSync } from "node:sqlite"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { exitFrom } from "../../../cli/context/error-report.ts"
import { type Device, enrolDevice, openDevice } from "../../../sync/device/device.ts"
import { openOutboxOf, moveReplicaAside } from "../../../sync/device/outbox/folder.ts"
import { readUnsent } from "../../../sync/device/outbox/unsent.ts"
import { serverOfSuite, token } from "../opening.ts"
import { leftBehind, told } from "./spoiling.ts"

const server = serverOfSuite()
const left = leftBehind(server, [{ name: "Unsent" }])
const folderOf = (name: string): string => join(server.folder, name)
const write = (device: Device, name: string, description = "") =>
  device.ask({ method: "POST", path: "/api/v1/product_groups", query: [], body: { name, description } })
const read = (device: Device, path: string) => device.ask({ method: "GET", path, query: [], body: undefined })
/** Changes the replica of a copied device with an unsent command by a statement; returns the copy's name. */
const spoilt = (statement: string): string => {
  const name = left()
  const db = new DatabaseSync(join(folderOf(name), "replica.sqlite"))
  db.exec(statement)
  db.close()
  return name
}

describe("a device's replica", () => {
  it("is reported if it is damaged, and refilled without losing pending commands", async () => {
    const name = left()
    const folder = folderOf(name)
    writeFileSync(join(folder, "replica.sqlite"), "garbage".repeat(1_000))
    expect(await told(() => openDevice(folder))).toEqual({
      code: 1,
      message: `The replica ${join(folder, "replica.sqlite")} is damaged. Nothing unsent is lost: that is kept in the outbox.`,
      way_out: expect.stringContaining("doctor --repair")
    })
    expect(existsSync(moveReplicaAside(folder, "now"))).toBe(true)
    const device = await server.reopen(name)
    expect(await device.sync()).toMatchObject({ accepted: 1, pending: 0 })
    await server.sameOn(device)
  })
  it("is reported with advice to run the doctor if a page is damaged", async () => {
    const folder = folderOf(left())
    const path = join(folder, "replica.sqlite")
    writeFileSync(path, readFileSync(path).fill(0xee, 4_096))
    const failed = await told(async () => read(await openDevice(folder), "/api/v1/products"))
    expect(failed).toMatchObject({ code: 1, way_out: expect.stringContaining("flightcase doctor") })
  })
  it.each([
    [
      "the error of a command, status: Expected number",
      `insert into verdicts (n, status, error) values (1, 'rejected', '{"status":"422","message":"No."}')`
    ],
    [
      "how far a fill has come, handle: Missing key",
      `insert into replica_meta (key, value) values ('filling', '{"generation":1}')`
    ],
    ["the key of a changed row: Expected", "update undo set row_key = 'null'"]
  ])("is reported as damaged, naming the place, if a stored document is invalid: %s", async (words, statement) => {
    const name = spoilt(statement)
    const failed = await told(async () => (await server.reopen(name)).sync())
    expect(failed).toEqual({
      code: 1,
      message: expect.stringContaining("replica.sqlite is damaged. Nothing unsent is lost"),
      way_out: expect.stringContaining("doctor --repair")
    })
    expect(failed.message).toContain(words)
    expect(readUnsent(folderOf(name)).commands).toHaveLength(1)
  })
  it("ignores unreadable conflict details, and fields that later releases add", async () => {
    const name = spoilt(
      `insert into accounts (n, account) values (1, '["no object"]');
       insert into verdicts (n, status, error) values (1, 'rejected', '{"status":422,"message":"No.","hint":"later"}')`
    )
    const error = { status: 422, message: "No." }
    expect(await (await server.reopen(name)).conflicts()).toMatchObject([{ n: 1, error, changes: [] }])
  })
  it("is refused by an older release than the one that wrote it, with advice to update", async () => {
    const name = spoilt(
      "update flightcase_meta set value = '99' where key = 'schema_version'; update flightcase_meta set value = 'other' where key = 'tables'"
    )
    expect(await told(() => openDevice(folderOf(name)))).toMatchObject({
      code: 1,
      message: expect.stringContaining("newer release"),
      way_out: expect.stringContaining("Update Flightcase")
    })
    expect(readUnsent(folderOf(name)).commands).toHaveLength(1)
  })
})

it("an unreadable profile is reported, and its outbox can still be exported", async () => {
  const folder = folderOf(left())
  writeFileSync(join(folder, "profile.json"), '{"name": "van"')
  expect(await told(() => openDevice(folder))).toMatchObject({
    code: 1,
    message: expect.stringContaining("profile.json cannot be read"),
    way_out: expect.stringContaining("--set-aside")
  })
  const unsent = { commands: [{ name: "product_groups.create" }], profile: { device: "unknown" } }
  expect(readUnsent(folder)).toMatchObject(unsent)
})

/** Whether a separate small disk can be mounted, which only root may do. */
const mountable = ((): boolean => {
  const place = `/tmp/flightcase-mount-${process.pid}`
  try {
    mkdirSync(place)
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", place], { stdio: "ignore" })
    execFileSync("umount", [place], { stdio: "ignore" })
    return true
  } catch {
    return false
  } finally {
    rmSync(place, { recursive: true, force: true })
  }
})()
describe.runIf(mountable)("a device's disk", () => {
  let disk: string
  beforeEach(() => {
    disk = folderOf("disk")
    mkdirSync(disk, { recursive: true })
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=48m", "tmpfs", disk])
  })
  afterEach(() => {
    execFileSync("umount", ["-l", disk])
  })
  const enrolled = () => enrolDevice(join(disk, "van"), { name: "van", url: server.url(), token, device: "van" })

  it("fails writes but not reads while it is full, and recording resumes once there is space", async () => {
    const device = await enrolled()
    expect((await write(device, "Before")).status).toBe(201)
    try {
      writeFileSync(join(disk, "filler"), Buffer.alloc(64 * 1_048_576))
    } catch {
      /* Until not a byte is left. */
    }
    let failed = 0
    // Existing pages may hold a few more commands.
    for (let at = 0; at < 2_000 && failed === 0; at++) {
      const before = (await device.status()).pending
      await write(device, `Group ${at}`, "x".repeat(2_000)).catch((error: unknown) => {
        failed = 1
        const { code, message } = exitFrom(error)
        expect(code).toBe(1)
        expect(message).toMatch(
          /^The disk is full\. (Nothing of this was recorded\.|The command was recorded all the same, as number \d+: do not give it again\.)$/
        )
        expect(message.includes("Nothing")).toBe(device.lastPending() === before)
      })
    }
    expect(failed).toBe(1)
    const kept = (await device.status()).pending
    expect((await read(device, "/api/v1/product_groups")).status).toBe(200)
    rmSync(join(disk, "filler"))
    expect((await write(device, "After")).status).toBe(201)
    expect(await device.sync()).toMatchObject({ accepted: kept + 1, rejected: 0, pending: 0 })
    await device.close()
  })
  it("is reported as full if there is no space to open the replica", async () => {
    await (await enrolled()).close()
    try {
      for (let at = 0; ; at++) writeFileSync(join(disk, `filler-${at}`), Buffer.alloc(1_048_576))
    } catch {
      /* Until not a byte is left. */
    }
    const opened = await told(async () => read(await openDevice(join(disk, "van")), "/api/v1/product_groups"))
    expect(opened).toMatchObject({ code: 1, message: "The disk is full. Nothing of this was recorded." })
  })
  it("is reported with advice to set FLIGHTCASE_HOME if it is read-only", async () => {
    await (await enrolled()).close()
    execFileSync("mount", ["-o", "remount,ro", disk])
    let device: Device | undefined
    const writing = async () => {
      device = await openDevice(join(disk, "van"))
      await write(device, "Never")
    }
    expect(await told(writing)).toEqual({
      code: 1,
      message: expect.stringMatching(/cannot be (written|opened).*Nothing of this was recorded\.$/),
      way_out: expect.stringContaining("FLIGHTCASE_HOME")
    })
    await device?.close()
  })
})

interface Reply {
  status: number
  readonly headers: { [name: string]: string }
  body: string
}

describe("a device whose server has another clock or release", () => {
  const servers: Array<Server> = []
  afterEach(() => {
    for (const one of servers.splice(0)) {
      one.closeAllConnections()
      one.close()
    }
  })
  let devices = 0
  /** A device behind a proxy that changes responses or answers itself. */
  const through = async (change: (path: string, reply: Reply) => void, kept_back = "none"): Promise<Device> => {
    const between = createServer(async (asked, answer) => {
      const { authorization = "", "content-type": type = "application/json" } = asked.headers
      const path = asked.url!.split("?")[0]!
      const body = await text(asked)
      const got = path.endsWith(kept_back)
        ? new Response("{}", { headers: { "content-type": type } })
        : await fetch(server.url() + asked.url, {
            method: asked.method!,
            headers: { authorization, "content-type": type },
            ...(body === "" ? {} : { body })
          })
      const reply: Reply = { status: got.status, headers: Object.fromEntries(got.headers), body: await got.text() }
      change(path, reply)
      for (const name of ["content-length", "content-encoding", "transfer-encoding"]) delete reply.headers[name]
      answer.writeHead(reply.status, reply.headers)
      answer.end(reply.body)
    })
    servers.push(between)
    await new Promise<void>((resolve) => void between.listen(0, "127.0.0.1", resolve))
    const address = between.address()
    const url = `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`
    const device = `between-${++devices}`
    return enrolDevice(folderOf(device), { name: "van", url, token, device })
  }

  it.each([
    [7 * 60, "7 minutes behind"],
    [-(2 * 3_600 + 60), "2 hours and 1 minute ahead of"]
  ])("reports that the clocks differ by %d seconds, and keeps the times it recorded", async (seconds, words) => {
    const device = await through((_path, { headers }) => {
      headers["date"] = new Date(Date.now() + (seconds + Math.sign(seconds) * 5) * 1_000).toUTCString()
    })
    await write(device, "Lighting")
    const issued_at = (await device.pending())[0]!.issued_at
    const report = await device.sync()
    expect(report).toMatchObject({ accepted: 1, warnings: [expect.stringContaining(words)] })
    expect(report.warnings[0]).toContain("kept as they are")
    const outbox = openOutboxOf(folderOf(device.profile.device))
    expect(outbox.byState("accepted").map((command) => command.issued_at)).toEqual([issued_at])
    outbox.close()
    await device.close()
  })
  it("does not report that the clocks differ by only 250 seconds", async () => {
    const device = await through((_path, { headers }) => {
      headers["date"] = new Date(Date.now() - 250_000).toUTCString()
    })
    expect((await device.sync()).warnings).toEqual([])
    await device.close()
  })
  it("syncs with an older server that lacks greetings, device tokens and bundles, but makes no bundle", async () => {
    const device = await through((path, reply) => {
      if (path.endsWith("/hello"))
        Object.assign(reply, { status: 404, body: JSON.stringify({ message: "Not found." }) })
      if (path === "/api/v1/sync/replicas")
        reply.body = JSON.stringify((({ lease, replica }) => ({ replica, lease }))(JSON.parse(reply.body)))
    })
    expect(device.profile.token).toBe(token)
    await write(device, "Lighting")
    const by_hand = { code: 5, way_out: expect.stringContaining("sync once") }
    expect(await told(() => device.bundleOut())).toMatchObject(by_hand)
    expect(await device.sync()).toMatchObject({ accepted: 1, warnings: [] })
    await device.close()
  })
  it.each([
    [99, "newer release (schema 99"],
    [0, "older release (schema 0"]
  ])("reports a server of schema %d, and syncs all the same", async (schema_version, words) => {
    const device = await through((path, reply) => {
      if (!path.endsWith("/hello")) return
      const body = JSON.parse(reply.body)
      reply.body = JSON.stringify({ ...body, server: { ...body.server, schema_version } })
    })
    await write(device, "Lighting")
    expect(await device.sync()).toMatchObject({ accepted: 1, warnings: [expect.stringContaining(words)] })
    await device.close()
  })
  it("keeps its commands and still pulls when its release is too old to send", async () => {
    const message = "This device runs a release with schema 1; the server takes commands from schema 2 on."
    const device = await through((path, reply) => {
      if (path.endsWith("/sync/commands")) Object.assign(reply, { status: 426, body: JSON.stringify({ message }) })
    }, "/sync/commands")
    await write(device, "Lighting")
    const name = `Speaker ${devices}`
    const id = await server.product({ name })
    expect(await told(() => device.sync())).toMatchObject({
      code: 1,
      message: expect.stringContaining("schema 2"),
      way_out: expect.stringContaining("Nothing is lost: update Flightcase")
    })
    expect(await device.status()).toMatchObject({ pending: 1 })
    expect((await read(device, `/api/v1/products/${id}`)).body).toMatchObject({ product: { name } })
    await device.close()
  })
})
