/**
 * Outboxes that lost or changed acknowledged commands: the damage is detected, nothing more is acknowledged, and intact
 * commands can be exported.
 */
import { cpSync, existsSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { describe, expect, it } from "vitest"
import { openDevice } from "../../../../sync/device/device.ts"
import { readUnsent, rowsInPages } from "../../../../sync/device/outbox/unsent.ts"
import { serverOfSuite, type TestDevice } from "../../opening.ts"
import { leftBehind, told } from "../spoiling.ts"

const server = serverOfSuite()
const { reopen } = server
const write = (device: TestDevice, name: string, description = "") =>
  device.create("/product_groups", { name, description })
const names = async (device: TestDevice) => (await device.show("/product_groups")).map((one) => one.name).sort()
const bodies = (folder: string) => readUnsent(folder).commands.map(({ payload }) => payload.body["name"])
const damaged = {
  code: 1,
  message: expect.stringMatching(/^The outbox .* is damaged/),
  way_out: expect.stringContaining("export-pending")
}
const left = leftBehind(
  server,
  ["One", "Two", "Three"].map((name) => ({ name }))
)
/** A damaged copy of a device's folder, and its outbox. */
const spoilt = (spoil: (path: string) => void) => {
  const folder = join(server.folder, left())
  const path = join(folder, "outbox.sqlite")
  spoil(path)
  return { folder, path }
}

describe("an outbox", () => {
  it.each([
    ["missing", (path: string) => rmSync(path)],
    ["empty", (path: string) => truncateSync(path, 0)]
  ])("is never silently recreated if it is %s", async (word, spoil) => {
    const { folder, path } = spoilt(spoil)
    expect(await told(() => openDevice(folder))).toEqual({
      code: 1,
      message: `The outbox ${path} is ${word}: commands recorded here and not sent yet were in it.`,
      way_out: expect.stringContaining("backup")
    })
    expect(existsSync(path) ? readFileSync(path).length : 0).toBe(0)
  })
  it("is reported as damaged, and left unchanged, if it is no longer a database", async () => {
    const garbage = "garbage".repeat(1_000)
    const { folder, path } = spoilt((of) => writeFileSync(of, garbage))
    expect(await told(() => openDevice(folder))).toEqual(damaged)
    expect(await told(async () => readUnsent(folder))).toMatchObject({ code: 1, message: damaged.message })
    expect(readFileSync(path, "utf8")).toBe(garbage)
  })
})

describe("an outbox whose write-ahead log is lost", () => {
  const losing = leftBehind(server, [{ name: "Kept" }])
  /** One command in the file, three more only in the log, which a power cut loses. */
  const lose = async (): Promise<TestDevice> => {
    const name = losing()
    const device = await reopen(name)
    for (const lost of ["Lost 1", "Lost 2", "Lost 3"]) await write(device, lost)
    cpSync(device.folder, join(server.folder, `${name}-lost`), { recursive: true })
    await device.close()
    for (const [end, force] of [
      ["wal", false],
      ["shm", true]
    ] as const)
      rmSync(join(server.folder, `${name}-lost`, `outbox.sqlite-${end}`), { force })
    return reopen(`${name}-lost`)
  }

  it("reports the lost numbers, answers reads, and neither records nor sends until the user decides", async () => {
    const device = await lose()
    expect(await device.missing()).toEqual({ from: 2, to: 4 })
    expect(await names(device)).toEqual(["Kept", "Lost 1", "Lost 2", "Lost 3"])
    const lost = /^Commands 2 to 4 were acknowledged here, and the outbox does not have them any more/
    const refused = { message: expect.stringMatching(lost), way_out: expect.stringContaining("doctor --accept-loss") }
    for (const work of [() => write(device, "Not now"), () => device.sync(), () => device.bundleOut()])
      expect(await told(work)).toMatchObject(refused)
    expect(await device.doctor(true)).toEqual([
      { check: "replica file", ok: true, detail: "whole" },
      { check: "outbox numbers", ok: false, detail: expect.stringContaining("Commands 2 to 4") }
    ])
    expect(device.lastPending()).toBe(1)
    expect(await names(device)).toEqual(["Kept", "Lost 1", "Lost 2", "Lost 3"])
  })
  it("is exported with the effects that the lost commands had on the replica", async () => {
    const { commands, lost, traces, unreadable } = readUnsent((await lose()).folder)
    expect([commands.map(({ payload }) => payload.body["name"]), lost, unreadable]).toEqual([
      ["Kept"],
      { from: 2, to: 4 },
      0
    ])
    expect(
      traces.map(({ events }) => events.map(({ data, type }) => [type, (data as any).name ?? (data as any).row?.name]))
    ).toEqual(["Lost 1", "Lost 2", "Lost 3"].map((name) => [[expect.any(String), name]]))
  })
  it("records and sends the remaining commands once the loss is accepted", async () => {
    const device = await lose()
    expect(await device.acceptLoss()).toEqual({ from: 2, to: 4 })
    expect([await device.missing(), await device.acceptLoss(), await names(device)]).toEqual([
      undefined,
      undefined,
      ["Kept"]
    ])
    await write(device, "New")
    expect(await device.sync()).toMatchObject({ accepted: 2, rejected: 0, pending: 0 })
    expect((await device.doctor(false)).filter(({ ok }) => !ok)).toEqual([])
  })
  it("is distinguished from one that lost nothing, also after a sync, reopening and a refill", async () => {
    const device = await server.enrol("whole")
    expect(await device.missing()).toBeUndefined()
    for (const name of ["One", "Two"]) await write(device, name)
    await device.sync()
    await write(device, "Three")
    const again = await reopen("whole")
    expect([await device.missing(), await again.missing()]).toEqual([undefined, undefined])
    await again.doctor(true)
    expect(await again.missing()).toBeUndefined()
  })
})

describe("a command in the outbox", () => {
  const altered = (statement: string) =>
    spoilt((path) => {
      const db = new DatabaseSync(path)
      db.exec(statement)
      db.close()
    })
  it.each([
    ["another body", "payload = replace(payload, 'Two', 'Ten')"],
    ["another id", "ids = replace(ids, '[', '[1')"],
    ["another name", "name = 'stores.create'"],
    ["no JSON", "payload = substr(payload, 3)"]
  ])(
    "is reported as damaged after a change (%s): nothing more is acknowledged, and the others are exported",
    async (_, set) => {
      const { folder } = altered(`update commands set ${set} where n = 2`)
      expect(await told(() => openDevice(folder))).toEqual(damaged)
      const { commands, unreadable } = readUnsent(folder)
      expect(commands.filter((one) => one.altered !== true).map(({ n }) => n)).toEqual([1, 3])
      expect(commands.filter((one) => one.altered === true).length + unreadable).toBe(1)
    }
  )
  it("is accepted unchanged if a release without checksums recorded it", async () => {
    const { folder } = altered("alter table commands drop column checksum")
    const device = await reopen(folder.slice(server.folder.length + 1))
    await write(device, "Four")
    expect(await device.sync()).toMatchObject({ accepted: 4, rejected: 0, pending: 0 })
  })
})

describe("an outbox with damaged pages", () => {
  const count = 40
  const full = leftBehind(
    server,
    Array.from({ length: count }, (_, at) => ({
      name: `Group ${at + 1}.`,
      description: "x".repeat((at + 1) % 7 === 0 ? 9_000 : 700)
    }))
  )
  it("acknowledges nothing, whichever page is damaged, and exports all rows of the others", async () => {
    const folder = join(server.folder, full())
    const path = join(folder, "outbox.sqlite")
    const bytes = readFileSync(path)
    const size = bytes.readUInt16BE(16)
    expect(bodies(folder)).toHaveLength(count)
    const problems: Array<string> = []
    for (let page = 0; page < bytes.length / size; page++) {
      const spoil = () => writeFileSync(path, Buffer.from(bytes).fill(0xee, page * size, (page + 1) * size))
      spoil()
      const device = await openDevice(folder).catch(() => undefined)
      if (device !== undefined) problems.push(`page ${page} is damaged, and the device opens`)
      await device?.close()
      spoil()
      for (const end of ["wal", "shm"]) rmSync(`${path}-${end}`, { force: true })
      const { commands, lost, unreadable, unreadable_numbers } = readUnsent(folder)
      const missing = unreadable + (lost === null ? 0 : lost.to - lost.from + 1)
      if (commands.length + missing !== count) problems.push(`page ${page}: ${commands.length} read, ${missing} told`)
      // A page holds only a few commands.
      if (missing > 8) problems.push(`page ${page}: ${JSON.stringify(unreadable_numbers)} could not be read`)
      if (commands.some(({ n, payload }) => payload.body["name"] !== `Group ${n}.`))
        problems.push(`page ${page}: a command is another one's`)
    }
    expect(problems).toEqual([])
  })
  it("refuses a command when recording it meets the damage", async () => {
    const device = await reopen(full())
    const path = join(device.folder, "outbox.sqlite")
    const other = new DatabaseSync(path)
    other.exec("pragma wal_checkpoint(truncate)")
    other.close()
    const bytes = readFileSync(path)
    writeFileSync(path, bytes.fill(0xee, bytes.readUInt16BE(16)))
    const writing = async () => {
      for (let at = 0; at < 3; at++) await write(device, `More ${at}`)
    }
    expect(await told(writing)).toEqual(damaged)
    expect(await told(() => device.sync())).toEqual(damaged)
  })
  it("is read row by row, including rows that only the write-ahead log has", async () => {
    const device = await server.enrol()
    for (const name of ["One", "Two"]) await write(device, name)
    const path = join(device.folder, "outbox.sqlite")
    const found = rowsInPages(readFileSync(path), readFileSync(`${path}-wal`))
      .filter(({ cells }) => cells[2] === "product_groups.create")
      .map(({ rowid }) => rowid)
    expect(found).toEqual([1, 2])
  })
})
