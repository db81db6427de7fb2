/** An outbox that has lost or changed what was acknowledged: it is seen, nothing more is acknowledged, and what is there is given out. */
import { cpSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { exitFrom } from "../../../../cli/error-report.ts"
import { type Device, enrolDevice, openDevice } from "../../../../sync/device/device.ts"
import { rowsInPages } from "../../../../sync/device/outbox/sqlite-pages.ts"
import { readUnsent } from "../../../../sync/device/outbox/unsent.ts"
import { type DeviceTestServer, openDeviceTestServer, token } from "../../server.ts"

let test_server: DeviceTestServer, folder: string, path: string
beforeEach(async () => {
  test_server = await openDeviceTestServer()
  folder = join(test_server.folder, "van")
  path = join(folder, "outbox.sqlite")
})
afterEach(async () => {
  await test_server.close()
})

const enrolled = (): Promise<Device> =>
  enrolDevice(folder, { name: "van", url: test_server.url(), token, device: "van" })
const write = (device: Device, name: string, description = "") =>
  device.ask({ method: "POST", path: "/api/v1/product_groups", query: [], body: { name, description } })
const names = async (device: Device): Promise<ReadonlyArray<string>> =>
  (
    (await device.ask({ method: "GET", path: "/api/v1/product_groups", query: [], body: undefined })).body as any
  ).product_groups
    .map((one: any) => one.name)
    .sort()
const told = async (
  work: () => Promise<unknown>
): Promise<{ readonly message: string; readonly way_out: string | undefined }> => {
  try {
    await work()
  } catch (error) {
    const { message, way_out } = exitFrom(error)
    return { message, way_out }
  }
  throw new Error("nothing went wrong")
}
const bodies = (): ReadonlyArray<unknown> => readUnsent(folder).commands.map(({ payload }) => payload.body["name"])

describe("an outbox whose write-ahead log is lost", () => {
  /** One command in the file, three more in the log only, which is gone with the power. */
  const lose = async (): Promise<void> => {
    const first = await enrolled()
    await write(first, "Kept")
    await first.close()
    const device = await openDevice(folder)
    for (const name of ["Lost 1", "Lost 2", "Lost 3"]) await write(device, name)
    const aside = join(test_server.folder, "aside")
    cpSync(folder, aside, { recursive: true })
    await device.close()
    rmSync(folder, { recursive: true })
    rmSync(join(aside, "outbox.sqlite-wal"))
    rmSync(join(aside, "outbox.sqlite-shm"), { force: true })
    cpSync(aside, folder, { recursive: true })
  }

  it("is told on opening by number; it answers, and acknowledges and sends nothing until somebody decides", async () => {
    await lose()
    const device = test_server.keep(await openDevice(folder))
    expect(await device.missing()).toEqual({ from: 2, to: 4 })
    expect(await names(device)).toEqual(["Kept", "Lost 1", "Lost 2", "Lost 3"])
    const refused = {
      message: expect.stringMatching(
        /^Commands 2 to 4 were acknowledged here, and the outbox does not have them any more/
      ),
      way_out: expect.stringContaining("doctor --accept-loss")
    }
    expect(await told(() => write(device, "Not now"))).toEqual(refused)
    expect(await told(() => device.sync())).toEqual(refused)
    expect(await told(() => device.bundleOut())).toEqual(refused)
    expect(await device.doctor(true)).toEqual([
      { check: "replica file", ok: true, detail: "whole" },
      { check: "outbox numbers", ok: false, detail: expect.stringContaining("Commands 2 to 4") }
    ])
    expect(device.lastPending()).toBe(1)
    expect(await names(device)).toEqual(["Kept", "Lost 1", "Lost 2", "Lost 3"])
  })
  it("is written out with what the lost commands did here", async () => {
    await lose()
    const { commands, lost, traces, unreadable } = readUnsent(folder)
    expect([commands.map(({ payload }) => payload.body["name"]), lost, unreadable]).toEqual([
      ["Kept"],
      { from: 2, to: 4 },
      0
    ])
    expect(
      traces.map(({ events }) => events.map(({ type, data }) => [type, (data as any).name ?? (data as any).row?.name]))
    ).toEqual(["Lost 1", "Lost 2", "Lost 3"].map((name) => [[expect.any(String), name]]))
  })
  it("goes on from what is left once the loss is accepted", async () => {
    await lose()
    const device = test_server.keep(await openDevice(folder))
    expect(await device.acceptLoss()).toEqual({ from: 2, to: 4 })
    expect([await device.missing(), await device.acceptLoss(), await names(device)]).toEqual([
      undefined,
      undefined,
      ["Kept"]
    ])
    expect((await write(device, "New")).status).toBe(201)
    expect(await device.sync()).toMatchObject({ accepted: 2, rejected: 0, pending: 0 })
    expect((await device.doctor(false)).filter(({ ok }) => !ok)).toEqual([])
  })
  it("a device that has lost nothing is never told so, settled or not, anew or not", async () => {
    const device = test_server.keep(await enrolled())
    expect(await device.missing()).toBeUndefined()
    await write(device, "One")
    await write(device, "Two")
    await device.sync()
    await write(device, "Three")
    const again = test_server.keep(await openDevice(folder))
    expect([await device.missing(), await again.missing()]).toEqual([undefined, undefined])
    await again.doctor(true)
    expect(await again.missing()).toBeUndefined()
  })
})

describe("a command in the outbox", () => {
  const altered = async (change: (db: DatabaseSync) => void): Promise<void> => {
    const device = await enrolled()
    for (const name of ["One", "Two", "Three"]) await write(device, name)
    await device.close()
    const db = new DatabaseSync(path)
    change(db)
    db.close()
  }
  it.each<readonly [string, (db: DatabaseSync) => void]>([
    ["another body", (db) => db.exec("update commands set payload = replace(payload, 'Two', 'Ten') where n = 2")],
    ["another id", (db) => db.exec("update commands set ids = replace(ids, '[', '[1') where n = 2")],
    ["another name", (db) => db.exec("update commands set name = 'stores.create' where n = 2")],
    ["no JSON", (db) => db.exec("update commands set payload = substr(payload, 3) where n = 2")]
  ])(
    "with %s than was acknowledged is seen: nothing more is acknowledged, and the others are given out",
    async (_word, change) => {
      await altered(change)
      expect(await told(() => openDevice(folder))).toEqual({
        message: expect.stringMatching(/^The outbox .* is damaged/),
        way_out: expect.stringContaining("export-pending")
      })
      const { commands, unreadable } = readUnsent(folder)
      expect(commands.filter((one) => one.altered !== true).map(({ n }) => n)).toEqual([1, 3])
      expect(commands.filter((one) => one.altered === true).length + unreadable).toBe(1)
    }
  )
  it("of a release without checksums is accepted as it is", async () => {
    await altered((db) => db.exec("alter table commands drop column checksum"))
    const device = test_server.keep(await openDevice(folder))
    expect((await write(device, "Four")).status).toBe(201)
    expect(await device.sync()).toMatchObject({ accepted: 4, rejected: 0, pending: 0 })
  })
})

describe("an outbox with damaged pages", () => {
  const count = 40
  const filled = async (): Promise<{ readonly bytes: Buffer; readonly size: number }> => {
    const device = await enrolled()
    for (let at = 1; at <= count; at++) await write(device, `Group ${at}.`, "x".repeat(at % 7 === 0 ? 9_000 : 700))
    await device.close()
    const bytes = readFileSync(path)
    return { bytes, size: bytes.readUInt16BE(16) }
  }
  const spoil = (bytes: Buffer, size: number, page: number): Buffer => {
    const copy = Buffer.from(bytes)
    copy.fill(0xee, page * size, (page + 1) * size)
    return copy
  }
  it("acknowledges nothing, whichever page it is, and gives out all that is on the others", async () => {
    const { bytes, size } = await filled()
    expect(bodies()).toHaveLength(count)
    const problems: Array<string> = []
    let acknowledged = 0
    for (let page = 0; page < bytes.length / size; page++) {
      writeFileSync(path, spoil(bytes, size, page))
      const device = await openDevice(folder).catch(() => undefined)
      if (device !== undefined) {
        acknowledged++
        problems.push(`page ${page} is damaged, and the device opens`)
        await device.close()
      }
      writeFileSync(path, spoil(bytes, size, page))
      rmSync(`${path}-wal`, { force: true })
      rmSync(`${path}-shm`, { force: true })
      const { commands, unreadable, unreadable_numbers, lost } = readUnsent(folder)
      const missing = unreadable + (lost === null ? 0 : lost.to - lost.from + 1)
      if (commands.length + missing !== count) problems.push(`page ${page}: ${commands.length} read, ${missing} told`)
      // A page holds no more than a handful of commands.
      if (missing > 8) problems.push(`page ${page}: ${JSON.stringify(unreadable_numbers)} could not be read`)
      if (commands.some(({ n, payload }) => payload.body["name"] !== `Group ${n}.`))
        problems.push(`page ${page}: a command is another one's`)
    }
    expect(problems).toEqual([])
    expect(acknowledged).toBe(0)
  })
  it("that comes to light while a command is recorded refuses it, as what it is", async () => {
    const device = test_server.keep(await enrolled())
    for (let at = 1; at <= 30; at++) await write(device, `Group ${at}.`, "x".repeat(900))
    const other = new DatabaseSync(path)
    other.exec("pragma wal_checkpoint(truncate)")
    other.close()
    const bytes = readFileSync(path)
    bytes.fill(0xee, bytes.readUInt16BE(16))
    writeFileSync(path, bytes)
    const before = device.profile.replica_id
    expect(
      await told(async () => {
        for (let at = 0; at < 3; at++) await write(device, `More ${at}`)
      })
    ).toEqual({
      message: expect.stringMatching(/^The outbox .* is damaged/),
      way_out: expect.stringContaining("export-pending")
    })
    expect(await told(() => device.sync())).toEqual({
      message: expect.stringMatching(/^The outbox .* is damaged/),
      way_out: expect.stringContaining("export-pending")
    })
    expect(before).toBeGreaterThan(0)
  })
  it("gives out what only the write-ahead log has", async () => {
    const device = test_server.keep(await enrolled())
    for (const name of ["One", "Two"]) await write(device, name)
    const found = rowsInPages(readFileSync(path), readFileSync(`${path}-wal`))
      .filter(({ cells }) => cells[2] === "product_groups.create")
      .map(({ rowid }) => rowid)
    expect(found).toEqual([1, 2])
  })
})
