import { Result } from "effect"
import { describe, expect, it } from "vitest"
import { derivedStatus } from "../../../../core/orders/opportunities/state/progress.ts"
import { clonedSubject } from "../../../../core/orders/opportunities/header/api.ts"
import { nextPath, type Opportunity, restructured } from "../../../../core/orders/opportunities/state/aggregate.ts"
import { type ItemRow, opportunity_items } from "../../../../core/orders/opportunities/tables/lines.ts"
import {
  type Transition,
  transitions,
  statusNameOf,
  transitionRefusal,
  statuses,
  type StatusName,
  targetStatus
} from "../../../../core/orders/opportunities/tables/statuses.ts"
import { initialRow } from "../../../../core/kernel/tables/field-schema.ts"
import { words } from "../../../words.ts"

const names = Object.keys(statuses) as ReadonlyArray<StatusName>

/** Status moves copied from rules/opportunities 1 and 1.1: the statuses that permit each move, and where it leads. */
const expected: { readonly [M in Transition]?: { readonly [S in StatusName]?: StatusName } } = {
  convert_to_quotation: { open: "provisional" },
  convert_to_order: { provisional: "active", reserved: "active", postponed: "active" },
  reinstate: { lost: "provisional", dead: "provisional", postponed: "provisional", cancelled: "active" },
  reopen: { complete: "active" },
  revert_to_draft: { provisional: "open" },
  revert_to_quotation: {
    active: "provisional",
    dispatched: "provisional",
    on_hire: "provisional",
    returned: "provisional",
    checked: "provisional"
  }
}

describe("the table of status moves", () => {
  it("permits exactly the moves that the rules list, to the status they name", () => {
    for (const [move, ends] of Object.entries(expected) as ReadonlyArray<
      [Transition, { readonly [S in StatusName]?: StatusName }]
    >) {
      for (const name of names) {
        const refused = transitionRefusal(statuses[name], move) !== undefined
        expect([move, name, refused ? undefined : statusNameOf(targetStatus(statuses[name], move))]).toEqual([
          move,
          name,
          ends[name]
        ])
      }
    }
  })
  it("permits edits, moves of units and status changes in open statuses only", () => {
    const closed = ["lost", "dead", "complete", "cancelled"]
    for (const move of ["edit", "allocate", "check_in", "change_status"] as const) {
      expect(names.filter((name) => transitions[name][move] === "refused")).toEqual(closed)
    }
    expect(names.filter((name) => transitions[name].dispatch !== "refused")).toEqual(
      words("active dispatched on_hire returned checked")
    )
  })
})

const line = (id: number, set: Partial<ItemRow> = {}): ItemRow => ({
  ...(initialRow(opportunity_items) as ItemRow),
  id,
  name: `L${id}`,
  path: String(id).padStart(4, "0"),
  quantity: "10.00",
  ...set
})
const opportunity = (lines: ReadonlyArray<ItemRow>, unit_statuses: ReadonlyArray<number> = []): Opportunity => ({
  header: {} as Opportunity["header"],
  lines,
  costs: [],
  units: unit_statuses.map(
    (status, at) => ({ id: at + 1, opportunity_item_id: lines[0]!.id, status }) as Opportunity["units"][number]
  )
})
const bulk = (dispatched: string, returned: string): ItemRow =>
  line(1, { dispatched_quantity: dispatched, returned_quantity: returned })

describe("an order's status (rules/opportunities 9.4)", () => {
  it.each([
    ["nothing was dispatched", opportunity([line(1)], [0, 1]), undefined],
    ["one is out, one to go", opportunity([line(1)], [2, 0]), 1],
    ["one is back, one to go", opportunity([line(1)], [5, 1]), 1],
    ["all are out", opportunity([line(1)], [2, 3]), 2],
    ["one is out, one back", opportunity([line(1)], [3, 4]), 2],
    ["all are back, one unchecked", opportunity([line(1)], [4, 5]), 3],
    ["all are checked", opportunity([line(1)], [5, 5]), 4],
    ["some of a bulk line is out", opportunity([bulk("3.00", "0.00")]), 2],
    ["all of a bulk line is back", opportunity([bulk("3.00", "3.00")]), 4],
    ["an untouched bulk line does not count", opportunity([line(1), line(2)], [5]), 4],
    ["lines of other versions do not count", opportunity([line(1, { is_live: false })], [2]), undefined]
  ])("is derived from its units and bulk quantities: %s", (_words, given, status) =>
    expect(derivedStatus(given)).toBe(status)
  )
})

describe("positions of lines", () => {
  const group = line(1, { item_type: "group" })
  it("are last below the parent for new lines, after any gaps", () => {
    const lines = [group, line(3, { path: "00010007" }), line(4, { path: "0009" })]
    expect(Result.getOrThrow(nextPath(lines, "product", null))).toBe("0010")
    expect(Result.getOrThrow(nextPath(lines, "text", "0001"))).toBe("00010008")
  })
  it("must be below a product for an accessory, and at most five levels deep for a group", () => {
    const product = line(2, { path: "0002" })
    expect(Result.isFailure(nextPath([group], "accessory", "0001"))).toBe(true)
    expect(Result.getOrThrow(nextPath([product], "accessory", "0002"))).toBe("00020001")
    expect(Result.isFailure(nextPath([product], "text", "0002"))).toBe(true)
    const deep = line(9, { item_type: "group", path: "00010001000100010001" })
    expect(Result.isFailure(nextPath([deep], "group", deep.path))).toBe(true)
    expect(Result.isSuccess(nextPath([deep], "product", deep.path))).toBe(true)
  })
  it("are at most one level below the previous row, and are numbered from one on every level", () => {
    const lines = new Map([group, line(2), line(3, { item_type: "group" }), line(4)].map((one) => [one.id, one]))
    const nodes = [
      { id: 1, depth: 3 },
      { id: 2, depth: 9 },
      { id: 3, depth: 1 },
      { id: 4, depth: 2 }
    ]
    expect(Result.getOrThrow(restructured(nodes, lines))).toEqual([
      { id: 1, path: "0001" },
      { id: 2, path: "00010001" },
      { id: 3, path: "0002" },
      { id: 4, path: "00020001" }
    ])
  })
})

describe("the subject of a clone", () => {
  it("is truncated to fit its suffix", () => {
    expect(clonedSubject("Gig")).toBe("Gig (cloned)")
    expect(clonedSubject("x".repeat(255))).toBe("x".repeat(246) + " (cloned)")
  })
})
