/** A machine that misbehaves: what people are told, and that nothing acknowledged is lost. */
import { execFileSync } from "node:child_process"
import { existsSync, mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs"
import { createServer, type IncomingHttpHeaders, request, type Server } from "node:http"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { exitFrom } from "../../../cli/error-report.ts"
import type { JsonObject } from "../../../core/kernel/json.ts"
import { type Device, enrolDevice, openDevice } from "../../../sync/device/device.ts"
import { openOutboxOf, moveReplicaAside } from "../../../sync/device/folder.ts"
import { readUnsent } from "../../../sync/device/outbox/unsent.ts"
import { type DeviceTestServer, openDeviceTestServer, token } from "../server.ts"

const write = (device: Device, path: string, body: JsonObject) => device.ask({ method: "POST", path, query: [], body })
const read = (device: Device, path: string) => device.ask({ method: "GET", path, query: [], body: undefined })
/** What the command line would say of a failure. */
const told = async (
  work: () => Promise<unknown>
): Promise<{ readonly code: number; readonly message: string; readonly way_out: string | undefined }> => {
  try {
    await work()
  } catch (error) {
    const { code, message, way_out } = exitFrom(error)
    return { code, message, way_out }
  }
  throw new Error("nothing went wrong")
}

let test_server: DeviceTestServer
beforeEach(async () => {
  test_server = await openDeviceTestServer()
})
afterEach(async () => {
  await test_server.close()
})
const folderOf = (name: string): string => join(test_server.folder, name)
/** A device with one unsent command, closed. */
const left = async (name: string): Promise<string> => {
  const device = await enrolDevice(folderOf(name), { name, url: test_server.url(), token, device: name })
  await write(device, "/api/v1/product_groups", { name: "Unsent" })
  await device.close()
  return folderOf(name)
}

describe("an outbox", () => {
  it.each([
    ["missing", (path: string) => rmSync(path)],
    ["empty", (path: string) => truncateSync(path, 0)]
  ])("that is %s is never begun anew in silence", async (word, spoil) => {
    const folder = await left("van")
    const path = join(folder, "outbox.sqlite")
    spoil(path)
    expect(await told(() => openDevice(folder))).toEqual({
      code: 1,
      message: `The outbox ${path} is ${word}: commands recorded here and not sent yet were in it.`,
      way_out: expect.stringContaining("backup")
    })
    expect(existsSync(path) ? readFileSync(path).length : 0).toBe(0)
  })

  it("that is no database any more is left as it is", async () => {
    const folder = await left("van")
    const path = join(folder, "outbox.sqlite")
    writeFileSync(path, "garbage".repeat(1_000))
    expect(await told(() => openDevice(folder))).toMatchObject({
      code: 1,
      message: expect.stringContaining("is damaged"),
      way_out: expect.stringContaining("export-pending")
    })
    expect(await told(async () => readUnsent(folder))).toMatchObject({
      code: 1,
      message: expect.stringContaining("is damaged")
    })
    expect(readFileSync(path, "utf8")).toBe("garbage".repeat(1_000))
  })

  it("with a damaged page gives up what is on its other pages", async () => {
    const device = await enrolDevice(folderOf("van"), { name: "van", url: test_server.url(), token, device: "van" })
    for (let at = 1; at <= 30; at++)
      await write(device, "/api/v1/product_groups", { name: `Group ${at}.`, description: "x".repeat(900) })
    await device.close()
    const path = join(folderOf("van"), "outbox.sqlite")
    const bytes = readFileSync(path)
    const page_size = bytes.readUInt16BE(16)
    const page = Math.floor(bytes.indexOf("Group 15.") / page_size)
    bytes.fill(0xee, page * page_size, (page + 1) * page_size)
    writeFileSync(path, bytes)
    const { commands, unreadable } = readUnsent(folderOf("van"))
    expect(commands.length + unreadable).toBe(30)
    expect(unreadable).toBeGreaterThan(0)
    expect(commands.map(({ payload }) => payload.body["name"])).toEqual(
      expect.arrayContaining(["Group 1.", "Group 30."])
    )
  })
})

describe("a replica", () => {
  it("that is damaged says that nothing unsent is lost, and is filled anew with what is pending on top", async () => {
    await test_server.ask("POST", "/api/v1/products", { name: "Speaker", sku: "SP-1" })
    const folder = await left("van")
    writeFileSync(join(folder, "replica.sqlite"), "garbage".repeat(1_000))
    expect(await told(() => openDevice(folder))).toEqual({
      code: 1,
      message: `The replica ${join(folder, "replica.sqlite")} is damaged. Nothing unsent is lost: that is kept in the outbox.`,
      way_out: expect.stringContaining("doctor --repair")
    })
    const aside = moveReplicaAside(folder, "now")
    expect(existsSync(aside)).toBe(true)
    const device = test_server.keep(await openDevice(folder))
    expect(await device.sync()).toMatchObject({ accepted: 1, pending: 0 })
    expect(await test_server.replicaTables("van")).toEqual(await test_server.serverTables())
  })

  it("with a damaged page is told apart from a fault of the program", async () => {
    const folder = await left("van")
    const path = join(folder, "replica.sqlite")
    const bytes = readFileSync(path)
    bytes.fill(0xee, 4_096)
    writeFileSync(path, bytes)
    expect(
      await told(async () =>
        (await openDevice(folder)).ask({ method: "GET", path: "/api/v1/products", query: [], body: undefined })
      )
    ).toMatchObject({ code: 1, way_out: expect.stringContaining("flightcase doctor") })
  })

  const spoilt = (folder: string, statement: string): void => {
    const db = new DatabaseSync(join(folder, "replica.sqlite"))
    db.exec(statement)
    db.close()
  }
  it.each([
    [
      "the error of a command, status: Expected number",
      `insert into verdicts (n, status, error) values (1, 'rejected', '{"status":"422","message":"No."}')`,
      (device: Device) => device.sync()
    ],
    [
      "how far a fill has come, handle: Missing key",
      `insert into replica_meta (key, value) values ('filling', '{"generation":1}')`,
      (device: Device) => device.sync()
    ],
    ["the key of a changed row: Expected", "update undo set row_key = 'null'", (device: Device) => device.sync()]
  ])("with a document that no release wrote says which: %s", async (words, statement, work) => {
    const folder = await left("van")
    spoilt(folder, statement)
    const failed = await told(async () => work(test_server.keep(await openDevice(folder))))
    expect(failed).toEqual({
      code: 1,
      message: expect.stringContaining("replica.sqlite is damaged. Nothing unsent is lost"),
      way_out: expect.stringContaining("doctor --repair")
    })
    expect(failed.message).toContain(words)
    expect(readUnsent(folder).commands).toHaveLength(1)
  })
  it("passes over an explanation that cannot be read, and what a later release added", async () => {
    const folder = await left("van")
    spoilt(
      folder,
      `insert into accounts (n, account) values (1, '["no object"]');
       insert into verdicts (n, status, error) values (1, 'rejected', '{"status":422,"message":"No.","hint":"later"}')`
    )
    const device = test_server.keep(await openDevice(folder))
    expect(await device.conflicts()).toMatchObject([{ n: 1, error: { status: 422, message: "No." }, changes: [] }])
  })

  it("of a newer release is not touched by an older one", async () => {
    const folder = await left("van")
    const db = new DatabaseSync(join(folder, "replica.sqlite"))
    db.exec(
      "update flightcase_meta set value = '99' where key = 'schema_version'; update flightcase_meta set value = 'other' where key = 'tables'"
    )
    db.close()
    expect(await told(() => openDevice(folder))).toMatchObject({
      code: 1,
      message: expect.stringContaining("newer release"),
      way_out: expect.stringContaining("Update Flightcase")
    })
    expect(readUnsent(folder).commands).toHaveLength(1)
  })
})

it("a profile that cannot be read is told, with its outbox still there to be written out", async () => {
  const folder = await left("van")
  writeFileSync(join(folder, "profile.json"), '{"name": "van"')
  expect(await told(() => openDevice(folder))).toMatchObject({
    code: 1,
    message: expect.stringContaining("profile.json cannot be read"),
    way_out: expect.stringContaining("--set-aside")
  })
  expect(readUnsent(folder)).toMatchObject({
    commands: [{ name: "product_groups.create" }],
    profile: { device: "unknown" }
  })
})

/** A disk of its own, as small as is wanted; only root may make one. */
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
describe.runIf(mountable)("a disk", () => {
  let disk: string
  beforeEach(() => {
    disk = folderOf("disk")
    mkdirSync(disk)
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=48m", "tmpfs", disk])
  })
  afterEach(() => {
    execFileSync("umount", ["-l", disk])
  })

  it("that is full refuses what it cannot keep, still answers, and goes on once there is room", async () => {
    const device = await enrolDevice(join(disk, "van"), { name: "van", url: test_server.url(), token, device: "van" })
    expect((await write(device, "/api/v1/product_groups", { name: "Before" })).status).toBe(201)
    try {
      writeFileSync(join(disk, "filler"), Buffer.alloc(64 * 1_048_576))
    } catch {
      /* Until not a byte is left. */
    }
    let failed = 0
    // Pages that a file has already may take a few more.
    for (let at = 0; at < 2_000 && failed === 0; at++) {
      const before = (await device.status()).pending
      await write(device, "/api/v1/product_groups", { name: `Group ${at}`, description: "x".repeat(2_000) }).catch(
        (error: unknown) => {
          failed = 1
          const exit = exitFrom(error)
          expect(exit.code).toBe(1)
          expect(exit.message).toMatch(
            /^The disk is full\. (Nothing of this was recorded\.|The command was recorded all the same, as number \d+: do not give it again\.)$/
          )
          expect(exit.message.includes("Nothing")).toBe(device.lastPending() === before)
        }
      )
    }
    expect(failed).toBe(1)
    const kept = (await device.status()).pending
    expect((await read(device, "/api/v1/product_groups")).status).toBe(200)
    rmSync(join(disk, "filler"))
    expect((await write(device, "/api/v1/product_groups", { name: "After" })).status).toBe(201)
    expect(await device.sync()).toMatchObject({ accepted: kept + 1, rejected: 0, pending: 0 })
    await device.close()
  })

  it("that is read-only is named as what it is", async () => {
    const device = await enrolDevice(join(disk, "van"), { name: "van", url: test_server.url(), token, device: "van" })
    await device.close()
    execFileSync("mount", ["-o", "remount,ro", disk])
    const { code, message, way_out } = await told(async () => {
      const again = test_server.keep(await openDevice(join(disk, "van")))
      await write(again, "/api/v1/product_groups", { name: "Never" })
    })
    expect({ code, message, way_out }).toEqual({
      code: 1,
      message: expect.stringMatching(/cannot be (written|opened).*Nothing of this was recorded\.$/),
      way_out: expect.stringContaining("FLIGHTCASE_HOME")
    })
  })
})

/** Stands between a device and its server, and tells it otherwise. */
const between = async (
  change: (path: string, answer: { status: number; headers: IncomingHttpHeaders; body: string }) => void,
  instead: (path: string) => { readonly status: number; readonly body: JsonObject } | undefined
): Promise<{ readonly url: string; readonly server: Server }> => {
  const server = createServer((asked, answer) => {
    const own = instead((asked.url ?? "").split("?")[0]!)
    if (own !== undefined) {
      asked.resume()
      answer.writeHead(own.status, { "content-type": "application/json" })
      answer.end(JSON.stringify(own.body))
      return
    }
    const onward = request(test_server.url() + asked.url, { method: asked.method, headers: asked.headers }, (got) => {
      const parts: Array<Buffer> = []
      got.on("data", (part: Buffer) => parts.push(part))
      got.on("end", () => {
        const said = {
          status: got.statusCode ?? 500,
          headers: { ...got.headers },
          body: Buffer.concat(parts).toString("utf8")
        }
        change((asked.url ?? "").split("?")[0]!, said)
        delete said.headers["content-length"]
        delete said.headers["transfer-encoding"]
        answer.writeHead(said.status, said.headers)
        answer.end(said.body)
      })
    })
    asked.pipe(onward)
  })
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve)
  })
  const address = server.address()
  return { server, url: `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}` }
}

describe("a device and a server of different minds", () => {
  let servers: Array<Server>
  beforeEach(() => {
    servers = []
  })
  afterEach(() => {
    for (const server of servers) {
      server.closeAllConnections()
      server.close()
    }
  })
  const through = async (
    change: Parameters<typeof between>[0],
    instead: Parameters<typeof between>[1] = () => undefined
  ): Promise<Device> => {
    const { url, server } = await between(change, instead)
    servers.push(server)
    return test_server.keep(await enrolDevice(folderOf("van"), { name: "van", url, token, device: "van" }))
  }

  it.each([
    [7 * 60, "7 minutes behind"],
    [-(2 * 3_600 + 60), "2 hours and 1 minute ahead of"]
  ])("whose clocks differ by %d seconds: told by how much; times recorded here are kept", async (seconds, words) => {
    const device = await through((_path, answer) => {
      answer.headers.date = new Date(Date.now() + (seconds + Math.sign(seconds) * 5) * 1_000).toUTCString()
    })
    await write(device, "/api/v1/product_groups", { name: "Lighting" })
    const issued_at = (await device.pending())[0]!.issued_at
    const report = await device.sync()
    expect(report).toMatchObject({ accepted: 1, warnings: [expect.stringContaining(words)] })
    expect(report.warnings[0]).toContain("kept as they are")
    const outbox = openOutboxOf(folderOf("van"))
    expect(outbox.byState("accepted").map((command) => command.issued_at)).toEqual([issued_at])
    outbox.close()
  })
  it("whose clocks differ by less than five minutes: not a word", async () => {
    const device = await through((_path, answer) => {
      answer.headers.date = new Date(Date.now() - 250_000).toUTCString()
    })
    expect((await device.sync()).warnings).toEqual([])
  })

  it("a server of before greetings, tokens of devices and bundles: works as ever, but not by hand", async () => {
    const device = await through((path, answer) => {
      if (path.endsWith("/hello"))
        Object.assign(answer, { status: 404, body: JSON.stringify({ message: "Not found." }) })
      if (path === "/api/v1/sync/replicas")
        answer.body = JSON.stringify((({ replica, lease }) => ({ replica, lease }))(JSON.parse(answer.body)))
    })
    expect(device.profile.token).toBe(token)
    await write(device, "/api/v1/product_groups", { name: "Lighting" })
    expect(await told(() => device.bundleOut())).toMatchObject({
      code: 5,
      way_out: expect.stringContaining("sync once")
    })
    expect(await device.sync()).toMatchObject({ accepted: 1, warnings: [] })
  })
  it.each([
    [99, "newer release (schema 99"],
    [0, "older release (schema 0"]
  ])("a server of schema %d: told, and sync goes on", async (version, words) => {
    const device = await through((path, answer) => {
      if (!path.endsWith("/hello")) return
      const body = JSON.parse(answer.body)
      answer.body = JSON.stringify({ ...body, server: { ...body.server, schema_version: version } })
    })
    await write(device, "/api/v1/product_groups", { name: "Lighting" })
    expect(await device.sync()).toMatchObject({ accepted: 1, warnings: [expect.stringContaining(words)] })
  })
  it("a server that takes no commands from so old a release: they stay, news arrives, and the way on is named", async () => {
    const device = await through(
      () => {},
      (path) =>
        path.endsWith("/sync/commands")
          ? {
              status: 426,
              body: { message: "This device runs a release with schema 1; the server takes commands from schema 2 on." }
            }
          : undefined
    )
    await write(device, "/api/v1/product_groups", { name: "Lighting" })
    await test_server.ask("POST", "/api/v1/products", { name: "Speaker", sku: "SP-1" })
    expect(await told(() => device.sync())).toMatchObject({
      code: 1,
      message: expect.stringContaining("schema 2"),
      way_out: expect.stringContaining("Nothing is lost: update Flightcase")
    })
    expect(await device.status()).toMatchObject({ pending: 1 })
    expect((await read(device, "/api/v1/products")).body).toMatchObject({ products: [{ sku: "SP-1" }] })
  })
})
