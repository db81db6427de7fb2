import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { type Outbox, openOutboxFile } from "../../sync/replica/outbox.ts"
import type { WireCommand } from "../../sync/wire.ts"

let folder: string
let path: string
const opened: Array<Outbox> = []
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "flightcase-outbox-"))
  path = join(folder, "outbox.sqlite")
})
afterEach(() => {
  for (const outbox of opened.splice(0)) outbox.close()
  rmSync(folder, { recursive: true })
})
const open = (): Outbox => { const outbox = openOutboxFile(path); opened.push(outbox); return outbox }
const command = (id: string, ids: WireCommand["ids"] = {}): Omit<WireCommand, "n"> =>
  ({ id, name: "lamps.create", payload: { params: { id: "7" }, body: { name: "Ä \u2028 \"'", nested: [1, null] } }, ids, issued_at: "2026-06-18T12:00:00.000Z" })
const numbers = (commands: ReadonlyArray<{ readonly n: number }>): ReadonlyArray<number> => commands.map((one) => one.n)

describe("commands", () => {
  it("are numbered from one without a gap, and come back as they were given", () => {
    const outbox = open()
    expect(["a", "b", "c"].map((id) => outbox.append(command(id)).n)).toEqual([1, 2, 3])
    expect(outbox.pending()).toMatchObject(["a", "b", "c"].map((id, at) => ({ ...command(id), n: at + 1, state: "pending", error: null })))
    expect([outbox.find("b")?.n, outbox.find("nobody")]).toEqual([2, undefined])
    expect(outbox.lastPending()).toBe(3)
  })
  it("are there when the file is opened again, whoever opens it, and numbering goes on", () => {
    const [one, other] = [open(), open()]
    expect([one.append(command("a")).n, other.append(command("b")).n, one.append(command("c")).n]).toEqual([1, 2, 3])
    expect(numbers(open().pending())).toEqual([1, 2, 3])
  })
  it("recorded twice under one id are refused, and no number is lost", () => {
    const outbox = open()
    outbox.append(command("a"))
    expect(() => outbox.append(command("a"))).toThrow()
    expect(outbox.append(command("b")).n).toBe(2)
  })
  it("are settled once; what was settled, or is not known, does not change", () => {
    const outbox = open()
    for (const id of ["a", "b", "c"]) outbox.append(command(id))
    const error = { status: 422, message: "No.", errors: { name: ["No."] } }
    outbox.settle([{ n: 1, status: "accepted" }, { n: 2, status: "rejected", error }, { n: 9, status: "accepted" }])
    outbox.settle([{ n: 1, status: "rejected", error }, { n: 2, status: "accepted" }])
    outbox.settle([])
    expect(numbers(outbox.pending())).toEqual([3])
    expect(outbox.byState("accepted")).toMatchObject([{ n: 1, error: null }])
    expect(outbox.byState("rejected")).toMatchObject([{ n: 2, error }])
    expect(outbox.counts()).toEqual({ accepted: 1, pending: 1, rejected: 1 })
  })
  it("that were refused can be resolved once, others not", () => {
    const outbox = open()
    for (const id of ["a", "b", "c"]) outbox.append(command(id))
    outbox.settle([{ n: 1, status: "rejected" }, { n: 2, status: "accepted" }])
    for (const id of ["a", "b", "c", "nobody"]) outbox.resolve(id, "dropped")
    outbox.resolve("a", "retried")
    expect(["a", "b", "c"].map((id) => outbox.find(id)?.state)).toEqual(["dropped", "accepted", "pending"])
    // Submitted is accepted, refused and pending, always; settled ones stay in the history.
    expect(Object.values(outbox.counts()).reduce((sum, count) => sum + count, 0)).toBe(3)
    expect(outbox.append(command("d")).n).toBe(4)
  })
  it("decided anew with more ids keep them", () => {
    const outbox = open()
    outbox.addLease(1, [{ entity: "lamps", from: 1, to: 10 }])
    const { n } = outbox.append(command("a", { lamps: [1] }))
    outbox.extendIds(n, { lamps: [1, 2, 3] })
    expect(outbox.find("a")?.ids).toEqual({ lamps: [1, 2, 3] })
    expect(outbox.peekIds("lamps", 0, 1)).toEqual([4])
  })
})

describe("leases", () => {
  it("give ids in order over several ranges, without taking them until a command uses them", () => {
    const outbox = open()
    outbox.addLease(1, [{ entity: "lamps", from: 10, to: 12 }, { entity: "lamps", from: 20, to: 21 }, { entity: "racks", from: 1, to: 2 }])
    expect([outbox.peekIds("lamps", 0, 4), outbox.peekIds("lamps", 0, 4), outbox.peekIds("lamps", 3, 9), outbox.peekIds("lamps", 5, 1)])
      .toEqual([[10, 11, 12, 20], [10, 11, 12, 20], [20, 21], []])
    outbox.append(command("a", { lamps: [10, 11, 12, 20], racks: [1] }))
    expect([outbox.peekIds("lamps", 0, 9), outbox.peekIds("racks", 0, 9), outbox.idsLeft("lamps"), outbox.idsLeft("nothing")]).toEqual([[21], [2], 1, 0])
    expect(open().peekIds("lamps", 0, 9)).toEqual([21])
  })
  it("that arrive twice give nothing twice", () => {
    const outbox = open()
    const lease = [{ entity: "lamps", from: 1, to: 3 }]
    outbox.addLease(1, lease)
    outbox.append(command("a", { lamps: [1, 2] }))
    outbox.addLease(1, lease)
    expect(outbox.peekIds("lamps", 0, 9)).toEqual([3])
    expect(outbox.leaseRequestNo("lamps")).toBe(2)
  })
  it("are asked for under a number that only grows, each table its own", () => {
    const outbox = open()
    expect(outbox.leaseRequestNo("lamps")).toBe(1)
    outbox.addLease(1, [{ entity: "lamps", from: 1, to: 1 }])
    outbox.addLease(2, [{ entity: "lamps", from: 5, to: 5 }, { entity: "lamps", from: 7, to: 7 }])
    outbox.addLease(1, [{ entity: "lamps", from: 1, to: 1 }])
    expect([outbox.leaseRequestNo("lamps"), outbox.leaseRequestNo("racks"), open().leaseRequestNo("lamps")]).toEqual([3, 1, 3])
  })
  it("move on with a command or not at all", () => {
    const outbox = open()
    outbox.addLease(1, [{ entity: "lamps", from: 1, to: 5 }])
    outbox.append(command("a", { lamps: [1] }))
    expect(() => outbox.append(command("a", { lamps: [2] }))).toThrow()
    expect(outbox.peekIds("lamps", 0, 1)).toEqual([2])
  })
})

it("what is acknowledged survives a process killed at any moment; numbers have no gap and no id is given twice", async () => {
  open().addLease(1, [{ entity: "lamps", from: 1, to: 1_000_000 }])
  const acknowledged: Array<{ readonly n: number; readonly id: string; readonly ids: ReadonlyArray<number> }> = []
  for (let life = 0; life < 30; life++) {
    const child = spawn(process.execPath, [fileURLToPath(new URL("outbox-writer.ts", import.meta.url)), path], { stdio: ["ignore", "pipe", "inherit"] })
    const lines_max = 1 + Math.floor(Math.random() * 15)
    let lines = 0
    for await (const line of createInterface(child.stdout)) {
      acknowledged.push(JSON.parse(line))
      // Not between two commands but anywhere: it goes on writing until the signal arrives.
      if (++lines === lines_max) child.kill("SIGKILL")
    }
    if (child.signalCode === null && child.exitCode === null) await once(child, "exit")
    expect(child.signalCode).toBe("SIGKILL")
  }
  const outbox = open()
  const kept = outbox.pending()
  expect(acknowledged.length).toBeGreaterThanOrEqual(30)
  expect(numbers(kept)).toEqual(kept.map((_, at) => at + 1))
  for (const { n, id, ids } of acknowledged) expect(kept[n - 1]).toMatchObject({ n, id, ids: { lamps: ids } })
  const used = kept.flatMap((one) => one.ids["lamps"]!)
  expect(new Set(used).size).toBe(used.length)
  expect(outbox.peekIds("lamps", 0, 1)[0]).toBeGreaterThan(Math.max(...used))
})
