import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { type Outbox, openOutboxAt } from "../../../../sync/device/outbox/outbox.ts"
import type { WireCommand } from "../../../../sync/protocol/wire.ts"
import { survivesKills } from "./killed.ts"

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
const open = (): Outbox => {
  const outbox = openOutboxAt(path)
  opened.push(outbox)
  return outbox
}
const command = (id: string, ids: WireCommand["ids"] = {}): Omit<WireCommand, "n"> => ({
  id,
  name: "lamps.create",
  payload: { params: { id: "7" }, body: { name: "Ä \u2028 \"'", nested: [1, null] } },
  ids,
  issued_at: "2026-06-18T12:00:00.000Z"
})
/** An outbox that holds commands with these ids. */
const holding = (...ids: ReadonlyArray<string>): Outbox => {
  const outbox = open()
  for (const id of ids) outbox.append(command(id))
  return outbox
}
const numbers = (commands: ReadonlyArray<{ readonly n: number }>): ReadonlyArray<number> => commands.map((one) => one.n)

describe("commands in a device's outbox", () => {
  it("are numbered from one without a gap, and are read back unchanged", () => {
    const outbox = open()
    expect(["a", "b", "c"].map((id) => outbox.append(command(id)).n)).toEqual([1, 2, 3])
    expect(outbox.pending()).toMatchObject(
      ["a", "b", "c"].map((id, at) => ({ ...command(id), n: at + 1, state: "pending", error: null }))
    )
    expect([outbox.find("b")?.n, outbox.find("nobody")]).toEqual([2, undefined])
    expect(outbox.lastPending()).toBe(3)
  })
  it("survive reopening the file, and are numbered across connections", () => {
    const [one, other] = [open(), open()]
    expect([one.append(command("a")).n, other.append(command("b")).n, one.append(command("c")).n]).toEqual([1, 2, 3])
    expect(numbers(open().pending())).toEqual([1, 2, 3])
  })
  it("are refused with an id that is already recorded, without using up a number or ids", () => {
    const outbox = open()
    outbox.addLease(1, [{ entity: "lamps", from: 1, to: 5 }])
    outbox.append(command("a", { lamps: [1] }))
    expect(() => outbox.append(command("a", { lamps: [2] }))).toThrow()
    expect(outbox.peekIds("lamps", 0, 1)).toEqual([2])
    expect(outbox.append(command("b")).n).toBe(2)
  })
  it("keep their first verdict: a later one changes nothing", () => {
    const outbox = holding("a", "b", "c")
    const error = { status: 422, message: "No.", errors: { name: ["No."] } }
    outbox.settle([
      { n: 1, status: "accepted" },
      { n: 2, status: "rejected", error },
      { n: 9, status: "accepted" }
    ])
    outbox.settle([
      { n: 1, status: "rejected", error },
      { n: 2, status: "accepted" }
    ])
    outbox.settle([])
    expect(numbers(outbox.pending())).toEqual([3])
    expect(outbox.byState("accepted")).toMatchObject([{ n: 1, error: null }])
    expect(outbox.byState("rejected")).toMatchObject([{ n: 2, error }])
    expect(outbox.counts()).toEqual({ accepted: 1, pending: 1, rejected: 1 })
  })
  it("refer to the new id of the command they undo once both are recorded again", () => {
    const outbox = holding("a")
    const error = { status: 409, message: "No." }
    outbox.append(command("undoing a"), { undoes: ["a"] })
    outbox.settle([1, 2].map((n) => ({ n, status: "rejected", error })))
    outbox.append(command("a again"), { replaces: { id: "a", how: "retried" } })
    outbox.append(command("undoing it"), { replaces: { id: "undoing a", how: "retried" } })
    expect(outbox.find("undoing it")?.undoes).toEqual(["a again"])
  })
  it("can be resolved once, and only if refused", () => {
    const outbox = holding("a", "b", "c")
    outbox.settle([
      { n: 1, status: "rejected" },
      { n: 2, status: "accepted" }
    ])
    for (const id of ["a", "b", "c", "nobody"]) outbox.resolve(id, "dropped")
    outbox.resolve("a", "retried")
    expect(["a", "b", "c"].map((id) => outbox.find(id)?.state)).toEqual(["dropped", "accepted", "pending"])
    // Submitted always equals accepted plus refused plus pending; resolved ones stay in the history.
    expect(Object.values(outbox.counts()).reduce((sum, count) => sum + count, 0)).toBe(3)
    expect(outbox.append(command("d")).n).toBe(4)
  })
  const on = (...streams: ReadonlyArray<string>) => ({
    recorded: { events: streams.map((stream) => ({ stream, type: "lamp.updated", data: {} })), rows: {} }
  })
  it("depend on the pending commands that created the rows they name, and no others", () => {
    const outbox = open()
    outbox.append(command("maker", { lamps: [7, 8] }))
    outbox.append(command("other", { racks: [7] }))
    expect(outbox.append(command("a"), { named: ["lamps/8", "lamps/7", "lamps/9"] }).needs).toEqual(["maker"])
    expect(outbox.append(command("b"), { named: ["racks/7", "lamps/7"] }).needs).toEqual(["maker", "other"])
    expect(outbox.append(command("c"), { named: ["lamps/70"] }).needs).toBeUndefined()
    outbox.settle([{ n: 1, status: "accepted" }])
    expect(outbox.append(command("d"), { named: ["lamps/7"] }).needs).toBeUndefined()
    expect(outbox.find("b")!.needs).toEqual(["maker", "other"])
    outbox.extendIds(2, { racks: [7, 9] })
    expect(outbox.append(command("e"), { named: ["racks/9"] }).needs).toEqual(["other"])
  })
  it("depend on the creation of the rows they name when sent again after a restore, even if it was accepted before", () => {
    const outbox = open()
    outbox.append(command("before the backup", { lamps: [6] }))
    outbox.append(command("maker", { lamps: [7] }))
    outbox.settle([
      { n: 1, status: "accepted" },
      { n: 2, status: "accepted" }
    ])
    for (const id of ["a", "b"]) outbox.append(command(id), { named: ["lamps/6", "lamps/7"] })
    outbox.settle([{ n: 3, status: "accepted" }])
    expect([outbox.find("a")!.needs, outbox.find("b")!.needs]).toEqual([[], []])
    outbox.reopen(1, [], ({ id }) => (id === "maker" ? [] : ["lamps/6", "lamps/7"]))
    expect(outbox.pending().map(({ id, needs }) => [id, needs])).toEqual([
      ["maker", []],
      ["a", ["maker"]],
      ["b", ["maker"]]
    ])
  })
  it("store when others' rows they name were created, unchanged if released and updated if retried", () => {
    const outbox = open()
    outbox.addLease(1, [{ entity: "lamps", from: 1, to: 9 }])
    const seen = { "lamps/1": "own", "racks/9": "then" }
    expect(outbox.append(command("a"), { rows_seen: seen }).rows_seen).toEqual({ "racks/9": "then" })
    expect(outbox.append(command("b"), { rows_seen: { "lamps/1": "own" } }).rows_seen).toBeUndefined()
    const now = { "racks/9": "now", "racks/10": "now" }
    expect(outbox.append(command("c"), { rows_seen: now, replaces: { id: "a", how: "released" } }).rows_seen).toEqual({
      "racks/9": "then",
      "racks/10": "now"
    })
    expect(outbox.append(command("d"), { rows_seen: now, replaces: { id: "c", how: "retried" } }).rows_seen).toEqual(
      now
    )
    expect(outbox.toSend().map((one) => one.rows_seen)).toEqual([
      { "racks/9": "then" },
      undefined,
      { "racks/9": "then", "racks/10": "now" },
      now
    ])
  })
  it("are held, and not listed as conflicts, if the server left them undecided because of a refused command", () => {
    const outbox = holding("a", "b")
    outbox.settle([
      { n: 2, status: "rejected", error: { status: 424, message: "Not decided.", cause: "a" } },
      { n: 1, status: "rejected" }
    ])
    expect([outbox.find("a")!.state, outbox.find("b")!.state, outbox.find("b")!.cause]).toEqual([
      "rejected",
      "held",
      "a"
    ])
    expect(numbers(outbox.heldBy("a"))).toEqual([2])
    outbox.unhold("b", { status: 424, message: "Gone." })
    expect(outbox.find("b")).toMatchObject({ state: "rejected", cause: null, error: { message: "Gone." } })
    outbox.resolve("b", "released")
    expect(outbox.find("b")!.state).toBe("rejected")
  })
  it.each([
    ["the row's state", { status: 422, message: "No.", errors: { state: ["No."] } }, ["lamp:1"], "held"],
    ["a missing row", { status: 404, message: "No such lamp." }, ["lamp:2", "lamp:1"], "held"],
    ["an invalid field", { status: 422, message: "No.", errors: { name: ["No."] } }, ["lamp:1"], "rejected"],
    ["another row's state", { status: 422, message: "No.", errors: { state: ["No."] } }, ["lamp:2"], "rejected"]
  ])("are $3 if refused for $0 after a refused command", (_name, error, streams, state) => {
    const outbox = open()
    outbox.append(command("a"), on("lamp:1"))
    outbox.append(command("b"), on(...streams))
    outbox.settle([
      { n: 1, status: "rejected" },
      { n: 2, status: "rejected", error }
    ])
    expect(outbox.find("b")!.state).toBe(state)
  })
  it("do not depend on a refused command if they were recorded after its refusal was known", () => {
    const outbox = open()
    outbox.append(command("a"), on("lamp:1"))
    outbox.settle([{ n: 1, status: "rejected" }])
    outbox.append(command("b"), on("lamp:1"))
    outbox.settle([{ n: 2, status: "rejected", error: { status: 404, message: "No such lamp." } }])
    expect(outbox.find("b")!.state).toBe("rejected")
  })
  it("resolve the command that they amend in the same step, and are listed as its successors", () => {
    const outbox = open()
    outbox.append(command("a", { lamps: [7] }))
    outbox.settle([{ n: 1, status: "rejected" }])
    outbox.append(command("b", { lamps: [7] }), { replaces: { id: "a", how: "amended" } })
    expect(outbox.find("a")!.state).toBe("amended")
    expect(outbox.successors("a").map(({ id }) => id)).toEqual(["b"])
    expect(outbox.find("b")!.replaces).toBe("a")
    expect(outbox.append(command("c"), { named: ["lamps/7"] }).needs).toEqual(["b"])
  })
  it("are reported if their outcome differs at the server, until they are marked as seen", () => {
    const outbox = open()
    for (const id of ["a", "b", "c"]) outbox.append(command(id), on("lamp:1"))
    expect(outbox.recordedOf(1)?.events).toMatchObject([{ stream: "lamp:1" }])
    outbox.saveOutcomes([
      { n: 1, account: { differences: ["x"] } },
      { n: 2, account: {} }
    ])
    outbox.saveOutcomes([{ n: 1, account: {} }])
    outbox.settle([
      { n: 1, status: "accepted" },
      { n: 2, status: "accepted" }
    ])
    expect([outbox.recordedOf(1), numbers(outbox.told(false)), outbox.told(false)[0]!.account]).toEqual([
      undefined,
      [1],
      { differences: ["x"] }
    ])
    outbox.seen(2)
    expect([outbox.told(false), numbers(outbox.told(true))]).toEqual([[], [1]])
  })
  it("are reported since a moment without reading the earlier reports", () => {
    const outbox = open()
    const reported = (n: number): void => {
      outbox.append(command(String(n)), on("lamp:1"))
      outbox.saveOutcomes([{ n, account: { differences: ["x"] } }])
      outbox.settle([{ n, status: "accepted" }])
    }
    reported(1)
    const before = outbox.toldNumbers()
    const file = new DatabaseSync(path)
    file.exec("update commands set account = 'damaged' where n = 1")
    file.close()
    reported(2)
    expect([before, numbers(outbox.told(true, before))]).toEqual([[1], [2]])
  })
  it("are readable if an earlier release recorded them, with defaults for newer columns", () => {
    const old = new DatabaseSync(path)
    old.exec(`create table commands (
      n integer primary key, id text not null unique, name text not null, payload text not null, ids text not null,
      issued_at text not null, state text not null default 'pending', error text
    )`)
    old
      .prepare(
        "insert into commands (n, id, name, payload, ids, issued_at) values (1, 'a', 'lamps.create', '{\"params\":{},\"body\":{}}', '{}', '2026-06-18T12:00:00.000Z')"
      )
      .run()
    old.close()
    const outbox = open()
    expect(outbox.pending()).toMatchObject([
      { n: 1, id: "a", needs: [], base: null, replaces: null, cause: null, account: null }
    ])
    expect(outbox.append(command("b")).n).toBe(2)
  })
  it("store the additional ids of a later decision, which no other command gets", () => {
    const outbox = open()
    outbox.addLease(1, [{ entity: "lamps", from: 1, to: 10 }])
    const { n } = outbox.append(command("a", { lamps: [1] }))
    outbox.extendIds(n, { lamps: [1, 2, 3] })
    expect(outbox.find("a")?.ids).toEqual({ lamps: [1, 2, 3] })
    expect(outbox.peekIds("lamps", 0, 1)).toEqual([4])
  })
})

describe("leases of ids in a device's outbox", () => {
  it("keep their ids if a command that uses some cannot be stored completely", () => {
    const outbox = open()
    outbox.addLease(1, [{ entity: "lamps", from: 1, to: 9 }])
    outbox.append(command("a", { lamps: [1] }))
    // The second id is invalid; the command and its first id are written before that.
    expect(() => outbox.append(command("b", { lamps: [2, {} as never] }))).toThrow()
    expect([outbox.find("b"), outbox.lastN(), outbox.peekIds("lamps", 0, 1)]).toEqual([undefined, 1, [2]])
    expect(outbox.append(command("c", { lamps: [2] })).n).toBe(2)
  })
  it("give out no more ids of blocks that a restored server does not know", () => {
    const outbox = open()
    outbox.addLease(1, [
      { entity: "lamps", from: 1, to: 3 },
      { entity: "racks", from: 1, to: 2 }
    ])
    outbox.addLease(2, [{ entity: "lamps", from: 11, to: 13 }])
    outbox.append(command("a", { lamps: [1] }))
    outbox.reopen(0, [{ entity: "lamps", from: 1, to: 3 }])
    expect([outbox.peekIds("lamps", 0, 9), outbox.peekIds("racks", 0, 9)]).toEqual([[2, 3], []])
  })
  it("lose the ids now given to other devices, for commands recorded before and not for later ones", () => {
    const outbox = open()
    const block = { entity: "lamps", from: 1, to: 9 }
    outbox.addLease(1, [block])
    const before = outbox.append(command("a", { lamps: [3, 5] }))
    outbox.trimLeases(
      [block],
      [
        { entity: "lamps", from: 1, to: 3 },
        { entity: "lamps", from: 7, to: 8 }
      ]
    )
    const after = outbox.append(command("b"), { named: ["lamps/3", "lamps/5"] })
    const lost = (one: { readonly n: number }) =>
      Array.from({ length: 9 }, (_, at) => at + 1).filter((id) => outbox.isLost(one, { table: "lamps", id }))
    expect([lost(before), lost(after), outbox.isLost(before, { table: "racks", id: 5 })]).toEqual([
      [4, 5, 6, 9],
      [],
      false
    ])
    expect([outbox.leasedAmong(before, { lamps: [3] }), outbox.leasedAmong(before, { lamps: [3, 5] })]).toEqual([
      { lamps: [3] },
      {}
    ])
    // Lamp 5 is now another one; lamp 3 is still created by "a".
    expect(after.needs).toEqual(["a"])
    expect(outbox.append(command("c"), { named: ["lamps/5"] }).needs).toBeUndefined()
    expect(outbox.creatorsOf("lamps/5").map(({ id }) => id)).toEqual(["a"])
  })
  it("give out ids in order across blocks, and use them up only with a command", () => {
    const outbox = open()
    outbox.addLease(1, [
      { entity: "lamps", from: 10, to: 12 },
      { entity: "lamps", from: 20, to: 21 },
      { entity: "racks", from: 1, to: 2 }
    ])
    expect([
      outbox.peekIds("lamps", 0, 4),
      outbox.peekIds("lamps", 0, 4),
      outbox.peekIds("lamps", 3, 9),
      outbox.peekIds("lamps", 5, 1)
    ]).toEqual([[10, 11, 12, 20], [10, 11, 12, 20], [20, 21], []])
    outbox.append(command("a", { lamps: [10, 11, 12, 20], racks: [1] }))
    expect([
      outbox.peekIds("lamps", 0, 9),
      outbox.peekIds("racks", 0, 9),
      outbox.idsLeft("lamps"),
      outbox.idsLeft("nothing")
    ]).toEqual([[21], [2], 1, 0])
    expect(open().peekIds("lamps", 0, 9)).toEqual([21])
  })
  it("are stored once when received twice", () => {
    const outbox = open()
    const lease = [{ entity: "lamps", from: 1, to: 3 }]
    outbox.addLease(1, lease)
    outbox.append(command("a", { lamps: [1, 2] }))
    outbox.addLease(1, lease)
    expect(outbox.peekIds("lamps", 0, 9)).toEqual([3])
    expect(outbox.leaseRequestNo("lamps")).toBe(2)
  })
  it("are requested under increasing numbers, separately for each table", () => {
    const outbox = open()
    expect(outbox.leaseRequestNo("lamps")).toBe(1)
    outbox.addLease(1, [{ entity: "lamps", from: 1, to: 1 }])
    outbox.addLease(2, [
      { entity: "lamps", from: 5, to: 5 },
      { entity: "lamps", from: 7, to: 7 }
    ])
    outbox.addLease(1, [{ entity: "lamps", from: 1, to: 1 }])
    expect([outbox.leaseRequestNo("lamps"), outbox.leaseRequestNo("racks"), open().leaseRequestNo("lamps")]).toEqual([
      3, 1, 3
    ])
  })
})

it("acknowledged commands survive a killed process, with unique ids and numbers without a gap", () => survivesKills(2))
