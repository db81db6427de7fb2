/** Notation as in sync/protocol/merge.ts: e7 is the server's event at position 7, c3 this device's command number 3. */
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import type { StoredEvent } from "../../../core/kernel/events/event-type.ts"
import { merge } from "../../../sync/protocol/merge.ts"
import { commandDecided } from "../../../sync/protocol/events.ts"
import { replicaStream } from "../../../sync/protocol/wire.ts"

type MergeState = Parameters<typeof merge>[0]
type MergeResult = ReturnType<typeof merge>

const here = 5,
  elsewhere = 6
const refusal = { status: 422, message: "It is gone." }
const plain = (position: number, more: Partial<StoredEvent> = {}): StoredEvent => ({
  position,
  stream: `lamp:${position}`,
  version: 1,
  type: "lamp.updated",
  data: {},
  command_id: `server ${position}`,
  actor_id: 1,
  replica_id: null,
  recorded_at: "2026-06-18T12:00:00.000Z",
  ...more
})
/**
 * "e7": another user's event; "e7 of c3": an event of our command 3; "e8 = c3 accepted": its verdict; "e8 = theirs c3
 * accepted": another device's verdict on its command 3.
 */
const events = (notation: string): ReadonlyArray<StoredEvent> =>
  notation
    .split(",")
    .map((one) => one.trim())
    .filter((one) => one !== "")
    .map((one) => {
      const [, at, kind, theirs, n, verdict] = /^e(\d+)(?: (of|=) (theirs )?c(\d+)(?: (accepted|rejected))?)?$/.exec(
        one
      )!
      if (kind === undefined) return plain(Number(at))
      const replica_id = theirs === undefined ? here : elsewhere
      const command = { command_id: `${replica_id}/c${n}`, replica_id }
      return kind === "of"
        ? plain(Number(at), command)
        : plain(Number(at), {
            ...command,
            type: commandDecided.type,
            stream: replicaStream(replica_id),
            data: {
              n: Number(n),
              command_id: command.command_id,
              name: "lamps.update",
              status: verdict!,
              ...(verdict === "rejected" ? { error: refusal } : {})
            }
          })
    })
const given = (position: number, pending: ReadonlyArray<number>, provisional: boolean): MergeState => ({
  replica_id: here,
  position,
  pending: pending.map((n) => ({ n, id: `${here}/c${n}` })),
  provisional
})
/** The result as text: "rebase e7 e8 | c3 accepted | redo c4". */
const told = (verdict: MergeResult): string => {
  if (verdict.kind === "stay") return "stay"
  if (verdict.kind === "reject") return `reject: ${verdict.reason}`
  const names = (prefix: string, all: ReadonlyArray<number>) => all.map((one) => `${prefix}${one}`).join(" ")
  const settled = verdict.settled.map((one) => `c${one.n} ${one.status}`).join(", ")
  return [
    `${verdict.kind} ${names(
      "e",
      verdict.events.map((event) => event.position)
    )}`.trim(),
    settled,
    `redo ${names("c", verdict.redo)}`.trim()
  ].join(" | ")
}

describe("the plan for pulled events", () => {
  it.each<[string, MergeState, string, boolean, string]>([
    ["nothing new, nothing pending", given(6, [], false), "", true, "stay"],
    ["nothing new, pending commands already applied", given(6, [3], true), "", true, "stay"],
    ["nothing new, pending commands not applied yet", given(6, [3, 4], false), "", true, "advance |  | redo c3 c4"],
    ["nothing new yet, more to come", given(6, [3], false), "", false, "stay"],
    ["new events, nothing pending", given(6, [], false), "e7, e8", true, "advance e7 e8 |  | redo"],
    ["new events below provisional ones", given(6, [3, 4], true), "e7", true, "rebase e7 |  | redo c3 c4"],
    [
      "a verdict between new events",
      given(6, [3, 4], true),
      "e7, e8 = c3 accepted, e9",
      true,
      "rebase e7 e8 e9 | c3 accepted | redo c4"
    ],
    ["a refusal", given(6, [3], true), "e7 = c3 rejected", true, "rebase e7 | c3 rejected | redo"],
    [
      "a command's own events before its verdict",
      given(6, [3], true),
      "e7 of c3, e8 of c3, e9 = c3 accepted",
      true,
      "rebase e7 e8 e9 | c3 accepted | redo"
    ],
    [
      "a chunk that ends between a command's events and its verdict",
      given(6, [3, 4], true),
      "e7 of c3",
      false,
      "rebase e7 | c3 accepted | redo"
    ],
    ["the next chunk with that verdict", given(7, [4], false), "e8 = c3 accepted", true, "advance e8 |  | redo c4"],
    ["part of a long pull redoes nothing yet", given(6, [3], true), "e7, e8", false, "rebase e7 e8 |  | redo"],
    ["the end of a long pull redoes what is left", given(8, [3], false), "e9", true, "advance e9 |  | redo c3"],
    ["events seen before are passed over", given(6, [], false), "e5, e6, e7", true, "advance e7 |  | redo"],
    ["nothing but events seen before", given(6, [], false), "e5, e6", true, "stay"],
    ["verdicts seen before settle nothing again", given(7, [3], true), "e7 = c3 accepted", true, "stay"],
    ["positions hidden from this reader leave holes", given(6, [], false), "e9, e20", true, "advance e9 e20 |  | redo"],
    [
      "another device's verdict on its command of the same number",
      given(6, [3], true),
      "e7 of theirs c3, e8 = theirs c3 accepted",
      true,
      "rebase e7 e8 |  | redo c3"
    ],
    [
      "a verdict on a command settled long ago",
      given(6, [4], true),
      "e7 = c3 accepted",
      true,
      "rebase e7 |  | redo c4"
    ],
    [
      "several verdicts at once",
      given(6, [3, 4, 5], true),
      "e7 of c3, e8 = c3 accepted, e9 = c4 rejected",
      true,
      "rebase e7 e8 e9 | c3 accepted, c4 rejected | redo c5"
    ],
    ["positions that go back", given(6, [3], true), "e8, e7", true, "reject: event 7 came after event 8"],
    ["a position given twice", given(6, [3], true), "e7, e7", true, "reject: event 7 came after event 7"],
    [
      "positions that go back among those seen before",
      given(6, [], false),
      "e3, e2, e7",
      true,
      "reject: event 2 came after event 3"
    ]
  ])("is $4 for: $0", (_name, state, pulled, up_to_date, expected) => {
    expect(told(merge(state, { events: events(pulled), up_to_date }))).toBe(expected)
  })
  it("has the server's error for a refused command, and none for an accepted one", () => {
    const verdict = merge(given(6, [3, 4], true), {
      events: events("e7 = c3 rejected, e8 = c4 accepted"),
      up_to_date: true
    })
    expect(verdict).toMatchObject({
      settled: [
        { n: 3, status: "rejected", error: refusal },
        { n: 4, status: "accepted" }
      ]
    })
    expect(verdict.kind === "rebase" && "error" in verdict.settled[1]!).toBe(false)
  })
  it("leads to the same result however a pull is split into chunks and repeated", () => {
    const aLog = fc.array(fc.constantFrom("plain", "hidden", "accept", "reject", "theirs"), { maxLength: 25 })
    fc.assert(
      fc.property(aLog, fc.array(fc.nat({ max: 5 }), { minLength: 1, maxLength: 30 }), (kinds, sizes) => {
        let position = 6,
          n = 0
        const log = kinds.flatMap((kind): ReadonlyArray<StoredEvent> => {
          position++
          if (kind === "hidden") return []
          if (kind === "plain") return events(`e${position}`)
          if (kind === "theirs") return events(`e${position} = theirs c1 accepted`)
          n++
          if (kind === "reject") return events(`e${position} = c${n} rejected`)
          position += 1
          return events(`e${position - 1} of c${n}, e${position} = c${n} accepted`)
        })
        const pending = Array.from({ length: n + 2 }, (_, at) => at + 1)
        const whole = merge(given(6, pending, true), { events: log, up_to_date: true })
        let state = given(6, pending, true)
        const applied: Array<number> = [],
          settled: Array<unknown> = []
        let redone: ReadonlyArray<number> = []
        for (let at = 0, turn = 0; ; turn++) {
          const from = Math.max(0, at - (turn % 3))
          const to = Math.min(log.length, at + sizes[turn % sizes.length]!)
          const last = turn > 60 || to === log.length
          const verdict = merge(state, { events: log.slice(from, last ? log.length : to), up_to_date: last })
          expect(verdict.kind).not.toBe("reject")
          if (verdict.kind === "advance" || verdict.kind === "rebase") {
            applied.push(...verdict.events.map((event) => event.position))
            settled.push(...verdict.settled)
            redone = verdict.redo
            const done = new Set(verdict.settled.map((one) => one.n))
            state = {
              ...state,
              position: verdict.events.at(-1)?.position ?? state.position,
              provisional: redone.length > 0,
              pending: state.pending.filter((one) => !done.has(one.n))
            }
          }
          if (last) break
          at = to
        }
        if (whole.kind !== "rebase") {
          expect(log).toEqual([])
          return
        }
        expect({ applied, settled, redone }).toEqual({
          applied: whole.events.map((event) => event.position),
          settled: whole.settled,
          redone: whole.redo
        })
      })
    )
  })
})
