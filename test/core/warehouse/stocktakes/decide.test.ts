/**
 * Rules of stocktakes by their events (rules/stocktakes 2 and 5), and lines from given facts (rules/stocktakes 3 and
 * 4).
 */
import { describe, expect, it } from "vitest"
import { cancel, close, type CloseFacts, type CodeFound, scan } from "../../../../core/warehouse/stocktakes/decide.ts"
import type { NewEvent } from "../../../../core/kernel/events/event-type.ts"
import { stocktakeEvents } from "../../../../core/warehouse/stocktakes/events.ts"
import { type CountedLevel, type CountFacts, countLines } from "../../../../core/warehouse/stocktakes/lines.ts"
import { stocktake_scans, type StocktakeRow, stocktakes } from "../../../../core/warehouse/stocktakes/schema.ts"
import { decided_at, decider, given_at, row } from "../../decider.ts"

const take: StocktakeRow = {
  ...{ id: 7, store_id: 1, product_group_id: null, notes: null, status: "open" },
  ...{ started_at: given_at, started_by_user_id: 1, closed_at: null, closed_by_user_id: null },
  ...{ cancelled_at: null, cancelled_by_user_id: null, missing_as: null, totals: null, outcome: null },
  ...{ created_at: given_at, updated_at: given_at, deleted_at: null }
}
const unit = (id: number): CodeFound => ({
  code: `A-${id}`,
  kind: "unit",
  name: `A-${id}`,
  container_id: null,
  levels: [{ id, product_id: 3 }]
})
const crate: CodeFound = {
  ...{ code: "BOX", kind: "case", name: "Box", container_id: 5 },
  levels: [
    { id: 11, product_id: 3 },
    { id: 12, product_id: 3 }
  ]
}
const cables = (quantity: number): CodeFound => ({
  code: "CABLE",
  kind: "bulk",
  name: "Cable",
  product_id: 4,
  quantity
})
const unknown: CodeFound = { code: "X", kind: "unknown", note: "Nothing has this code." }
const by = { counted_at: decided_at, counted_by_user_id: 1 }
const ofUnit = (id: number, more: object = {}) => ({
  ...{ key: `7/unit/${id}`, code: `A-${id}`, stock_level_id: id, product_id: 3, container_id: null, quantity: 1 },
  ...by,
  note: null,
  ...more
})
const ofCables = (nth: number, quantity: number) => ({
  ...{ key: `7/product/4/${nth}`, code: "CABLE", stock_level_id: null, product_id: 4, container_id: null, quantity },
  ...by,
  note: null
})
const scanned = (added: ReadonlyArray<object>, removed: ReadonlyArray<string> = []) => ({
  stream: "stocktake:7",
  type: "stocktake.scanned",
  data: JSON.parse(JSON.stringify({ id: 7, added, removed }))
})
type ScanInput = Parameters<typeof scan>[1]
const now: ScanInput = { counted_at: null, take_back: false }

describe("scans of a stocktake", () => {
  const { given } = decider(stocktakeEvents)
  const scanOf = (codes: ReadonlyArray<CodeFound>, more: Partial<ScanInput> = {}, ...before: ReadonlyArray<NewEvent>) =>
    given(row(stocktakes, take), ...before).when(({ context, find }) =>
      scan({ take, codes, scans: find(stocktake_scans, {}) }, { ...now, ...more }, context)
    )

  it("count units, cases with their content and unknown codes once each, but add up bulk quantities", () => {
    scanOf([unit(10), unit(10), crate, unknown, cables(7), cables(7)]).thenEvents(
      scanned([
        ofUnit(10),
        ofUnit(11, { code: "BOX", container_id: 5 }),
        ofUnit(12, { code: "BOX", container_id: 5 }),
        {
          key: "7/code/X",
          code: "X",
          stock_level_id: null,
          product_id: null,
          container_id: null,
          quantity: 1,
          ...by,
          note: unknown.note
        },
        ofCables(1, 7),
        ofCables(2, 7)
      ])
    )
  })
  it("count a unit once and add up bulk quantities over several requests, too", () => {
    scanOf([unit(10)], {}, scanned([ofUnit(10)])).thenNothing()
    scanOf([cables(5)], {}, scanned([ofCables(1, 7)])).thenEvents(scanned([ofCables(2, 5)]))
  })
  it("can be withdrawn if they were recorded: a unit, a case's content or a bulk quantity", () => {
    const before = scanned([ofUnit(10), ofUnit(11), ofUnit(12), ofCables(1, 7), ofCables(2, 70)])
    const take_back = { take_back: true }
    scanOf([unit(10), crate, cables(70)], take_back, before).thenEvents(
      scanned([], ["7/unit/10", "7/unit/11", "7/unit/12", "7/product/4/2"])
    )
    scanOf([cables(8), unit(9)], take_back, before).thenNothing()
  })
  it("are rejected after closing, and with a time in the future", () => {
    const closed = { ...take, status: "closed" as const, closed_at: decided_at }
    given(row(stocktakes, closed))
      .when(({ context }) => scan({ take: closed, codes: [unit(10)], scans: [] }, now, context))
      .thenRefused({
        stocktake: [
          `Stocktake 7 was closed at ${decided_at}; start another for what is still to be counted: ` +
            "flightcase count start --store 1"
        ]
      })
    scanOf([unit(10)], { counted_at: "2027-01-01T00:00:00.000Z" }).thenRefused({
      counted_at: ["The counted at field must not be in the future."]
    })
  })
})

const level = (id: number, more: Partial<CountedLevel> = {}): CountedLevel => ({
  ...{ id, product_id: 3, store_id: 1, item_name: null, asset_number: `A-${id}`, serial_number: null, barcode: null },
  ...{ location: null, stock_category: 50, quantity_held: "1.00", is_gone: false, is_sub_hired: false },
  ...{ service_state: "in_service", out_of_service: [], given_back_at: null, starts_at: null, ends_at: null },
  created_at: "2026-01-01T00:00:00.000Z",
  ...more
})
const product = (id: number, name: string, stock_method: number) =>
  [id, { id, name, sku: null, product_group_id: null, stock_method }] as const
const facts = (more: Partial<CountFacts>): CountFacts => ({
  ...{ take, now: decided_at, levels: [], groups: undefined, scans: [] },
  products: new Map([product(3, "Lamp", 2), product(4, "Cable", 1)]),
  ...{
    in_transit: new Map(),
    out: new Map(),
    seen: new Map(),
    packed: new Map(),
    bulk_out: new Map(),
    moves: new Map(),
    ledger: new Map()
  },
  ...{ lost: new Map(), stores: new Map([[1, "Main"]]) },
  ...more
})
const at = (hour: number): string => `2026-06-10T${String(hour).padStart(2, "0")}:00:00.000Z`
const scanAt = (hour: number, one: object) => ({ ...ofUnit(10), ...one, stocktake_id: 7, counted_at: at(hour) })
const statusesOf = (more: Partial<CountFacts>) =>
  countLines(facts(more)).map(({ on_close, status }) => [status, on_close])

describe("lines of a stocktake", () => {
  it("report a unit as found if it went out, was lost or was written off after its scan", () => {
    const scans = [scanAt(9, {})]
    const lost = level(10, {
      service_state: "lost",
      out_of_service: [{ service_record_id: 1, state: "lost", quantity: 1, starts_at: at(11), expected_back_at: null }]
    })
    const gone = new Map([[10, [{ quantity_move: "-1.00", transaction_at: at(11) }]]])
    const out = new Map([[10, { opportunity_id: 2, dispatched_at: at(11) }]])
    expect(statusesOf({ levels: [level(10)], out, scans })).toEqual([["found", "nothing"]])
    expect(statusesOf({ levels: [lost], scans })).toEqual([["found", "nothing"]])
    expect(statusesOf({ levels: [level(10, { is_gone: true })], ledger: gone, scans })).toEqual([["found", "nothing"]])
    expect(statusesOf({ levels: [level(10)], out, scans: [scanAt(12, {})] })).toEqual([["out", "nothing"]])
    expect(statusesOf({ levels: [lost], scans: [scanAt(12, {})] })).toEqual([["found", "found"]])
  })
  it("report no unit as missing that is out, was seen during the count, or is not in stock yet", () => {
    expect(statusesOf({ levels: [level(10)] })).toEqual([["missing", "missing"]])
    const out = new Map([[10, { opportunity_id: 2, dispatched_at: at(1) }]])
    expect(statusesOf({ levels: [level(10)], out })).toEqual([["out", "nothing"]])
    expect(statusesOf({ levels: [level(10)], seen: new Map([[10, "came back"]]) })).toEqual([["found", "nothing"]])
    expect(statusesOf({ levels: [level(10, { created_at: at(9) })] })).toEqual([["found", "nothing"]])
    expect(statusesOf({ levels: [level(10, { starts_at: "2026-07-01T00:00:00.000Z" })] })).toEqual([])
    expect(statusesOf({ levels: [level(10, { store_id: 2 }), level(11, { is_gone: true })] })).toEqual([])
  })
  it("compare a bulk count with the stock at the time of its last scan", () => {
    const held = level(20, { product_id: 4, stock_category: 10, quantity_held: "43.00" })
    const scans = [20, 12].map((quantity, nth) => ({
      ...ofCables(nth, quantity),
      stocktake_id: 7,
      counted_at: at(9 + nth)
    }))
    const ledger = new Map([[20, [{ quantity_move: "3.00", transaction_at: at(11) }]]])
    const moves = new Map([
      [
        4,
        [
          { quantity: 5, happened_at: at(11) },
          { quantity: 2, happened_at: at(8) }
        ]
      ]
    ])
    const lost = new Map([[20, [{ quantity: 1, starts_at: at(2), ended_at: at(11) }]]])
    // 43 held minus 3 bought since; 12 out minus 5 that left since; 1 lost then and found since.
    const [line] = countLines(facts({ levels: [held], scans, ledger, moves, lost, bulk_out: new Map([[4, 12]]) }))
    expect(line).toMatchObject({ expected: 43 - 3 - (12 - 5) - 1, counted: 32, status: "found", on_close: "nothing" })
  })
})

describe("closing a stocktake", () => {
  const counted: Partial<CloseFacts> = { counted_by: [1] }
  const closeOf = (more: Partial<CloseFacts>, settings = {}) =>
    decider(stocktakeEvents, { settings })
      .given(row(stocktakes, take))
      .when(({ context }) =>
        close({ take, lines: [], counted_by: [], levels: new Map(), ...more }, { missing_as: "lost" }, context)
      )
  it("is rejected if nothing is counted, and by the only user who counted if a second user is required", () => {
    closeOf({}).thenRefused({ stocktake: [expect.stringContaining("Nothing is counted yet")] })
    const second_person = { stocktakes: { second_person: true } }
    const refusal = { stocktake: [expect.stringContaining("Somebody else has to close this stocktake")] }
    closeOf(counted, second_person).thenRefused(refusal)
    closeOf({ counted_by: [1], take: { ...take, started_by_user_id: 2 } }, second_person).thenRefused(refusal)
    closeOf({ counted_by: [1, 2], take: { ...take, started_by_user_id: 2 } }, second_person).thenResult({ id: 7 })
  })
  it("records in its event the totals and the lines that differ", () => {
    const lines = countLines(
      facts({
        levels: [level(10), level(11, { store_id: 2 }), level(12)],
        scans: [scanAt(9, {}), scanAt(9, { ...ofUnit(11) })]
      })
    )
    const missing = lines.find(({ status }) => status === "missing")
    const elsewhere = lines.find(({ status }) => status === "elsewhere")
    const totals = { expected: 2, counted: 2, found: 1, missing: 1, surplus: 0, unexpected: 0, elsewhere: 1 }
    closeOf({ ...counted, lines }).thenEvents({
      stream: "stocktake:7",
      type: "stocktake.closed",
      data: {
        ...{ id: 7, closed_at: decided_at, closed_by_user_id: 1, missing_as: "lost" },
        totals: { ...totals, out: 0, in_case: 0, quarantined: 0 },
        lines: [{ ...missing! }, { ...elsewhere! }]
      }
    })
  })
})

describe("cancelling a stocktake", () => {
  it("records its time and user, and is rejected a second time", () => {
    const { given } = decider(stocktakeEvents)
    const cancelled = {
      stream: "stocktake:7",
      type: "stocktake.cancelled",
      data: { id: 7, cancelled_at: decided_at, cancelled_by_user_id: 1 }
    }
    given(row(stocktakes, take))
      .when(({ context }) => cancel(take, context))
      .thenEvents(cancelled)
    given(row(stocktakes, take), cancelled)
      .when(({ context, get }) => cancel(get(stocktakes, 7)!, context))
      .thenRefused({ stocktake: [expect.stringContaining("was cancelled at")] })
  })
})
