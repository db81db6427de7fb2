/** Messages about results that differ from what was shown offline. */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect, it, vi } from "vitest"
import { conflictText, reportLines } from "../../../../../cli/commands/offline/sync/conflicts.ts"
import { openContext } from "../../../../../cli/context/context.ts"
import { sentenceText } from "../../../../../cli/output/text.ts"
import { typeAtTerminal } from "../../../command-line.ts"
import { placeOfSuite } from "../../../place.ts"

const confirm = vi.hoisted(() => vi.fn())
vi.mock(import("../../../../../cli/output/prompt.ts"), async (original) => ({ ...(await original()), confirm }))
const place = placeOfSuite()

const about = { person: "Ann", order: null, customer: null, product: null, units: [], container: null, quantity: null }
const order = {
  id: 7,
  number: "Q-0001",
  name: "Gala",
  store_id: 1,
  state_name: "Order",
  starts_at: null,
  ends_at: null
}
type Report = Parameters<typeof reportLines>[0][number]
const report = (difference: Report["differences"][number], more: Partial<Report> = {}): ReadonlyArray<string> =>
  reportLines([
    {
      ...{ n: 9, id: "a", name: "opportunities.convert_to_order", summary: "", issued_at: "", merged: [], intent: "" },
      ...{ about, differences: [difference], ...more }
    }
  ])

it("instants are shown to the minute, and in full when they differ within one minute", () => {
  const due = (here: string, there: string) => report({ what: "invoice 1", field: "due_at", here, there })
  expect(due("2026-12-22T15:01:58.000Z", "2026-12-22T15:02:03.000Z")).toEqual([
    "9  invoice 1: due at is 2026-12-22 15:02Z; 2026-12-22 15:01Z was shown here."
  ])
  expect(due("2026-12-22T15:02:01.000Z", "2026-12-22T15:02:03.000Z")).toEqual([
    "9  invoice 1: due at is 2026-12-22T15:02:03.000Z; 2026-12-22T15:02:01.000Z was shown here."
  ])
})

it("a row that only the server or only this device created is reported as such", () => {
  const what = "shortage acknowledgement 101"
  expect(report({ what, field: null, here: null, there: "insert" })).toEqual([
    `9  ${what}: the server made it; nothing of that was shown here.`
  ])
  expect(report({ what, field: null, here: "insert", there: null })).toEqual([
    `9  ${what}: made here; the server did not do that.`
  ])
})
it("an order that became short is reported with the command that shows its shortages", () => {
  const short = (there: boolean) =>
    report({ what: "order Q-0001 Gala", field: "has_shortage", here: !there, there }, { about: { ...about, order } })
  expect(short(true)).toEqual([
    "9  order Q-0001 Gala: short: others hold what was free here. flightcase orders shortages Q-0001 shows what is missing."
  ])
  expect(short(false)).toEqual(["9  order Q-0001 Gala: no longer short."])
})
it("a conflict's times are printed in the order's zone, and with an offset in suggested commands", async () => {
  const context = openContext({ offline: true }, { FLIGHTCASE_HOME: "/nowhere" })
  const zones: { readonly [store: string]: string } = { 7: "Europe/Berlin" }
  const terminal = { ...context.terminal, zoneOf: ({ store_id }: { store_id?: unknown }) => zones[String(store_id)] }
  const [from, to] = ["2026-12-03T23:00:00.000Z", "2026-12-05T17:00:00.000Z"]
  const lines = conflictText(
    { ...context, terminal },
    {
      id: "a",
      n: 9,
      name: "opportunities.extend",
      summary: "",
      intent: "Sam wanted to extend order 9",
      payload: { params: {}, body: {} },
      issued_at: from,
      about: { ...about, order: { ...order, name: "Fest", number: "9", store_id: 7, starts_at: from, ends_at: to } },
      error: { status: 422, message: `A-1 is held by "Ball" from ${from} to ${to}.`, errors: {} },
      changes: [],
      held: [],
      ways_out: [
        { way: "dates", command: `flightcase sync resolve 9 --dates ${from}..${to}`, says: `until ${to}, at most` }
      ]
    }
  )
  expect(lines).toEqual([
    "9  Sam wanted to extend order 9  opportunities.extend, recorded 2026-12-04 00:00",
    '   Refused: A-1 is held by "Ball" from 2026-12-04 00:00 to 2026-12-05 18:00.',
    "   Ways out:",
    "     flightcase sync resolve 9 --dates 2026-12-04T00:00:00+01:00..2026-12-05T18:00:00+01:00  " +
      "until 2026-12-05 18:00, at most"
  ])
})
it.each([
  ["until 2026-12-05T17:00:00.000Z.", "until 2026-12-05 18:00."],
  ["(2026-12-05T17:00:00.000Z)", "(2026-12-05 18:00)"],
  ["orders extend 9 --to 2026-12-05T17:00:00.000Z --lines 1", undefined],
  ['POST … {"ends_at":"2026-12-05T17:00:00.000Z"}', undefined]
])("a message with the text %j is displayed on a terminal as %j (undefined: unchanged)", (text, read) => {
  expect(sentenceText(text, "Europe/Berlin")).toBe(read ?? text)
})

it("text that is no JSON opens again in the editor as it was typed", async () => {
  await place.login()
  await place.done("products create --name Head --sku HEAD --stock-method serialised --remote")
  await place.done("sync")
  const create = "stock-levels create --product HEAD --store 1 --asset-number A-1"
  await place.done(`${create} --offline`)
  await place.done(`${create} --remote`)
  expect((await place.type("sync")).code).toBe(8)
  const opened = join(place.folder, "opened.txt")
  const editor = join(place.folder, "editor.sh")
  writeFileSync(editor, `cat "$1" >> ${opened}; echo '{"asset_number": "A-1-typed",' > "$1"`)
  confirm.mockResolvedValueOnce(true).mockResolvedValue(false)
  await typeAtTerminal(["sync", "resolve", "1", "--edit"], {
    env: { ...place.env, EDITOR: `sh ${editor}` },
    folder: place.folder
  })
  expect(readFileSync(opened, "utf8")).toMatch(/"A-1"[^]*A-1-typed/)
})
