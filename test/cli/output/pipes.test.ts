/** A pipe receives all values that a terminal shows, in full and without colours, for every command. */
import { beforeAll, expect, it } from "vitest"
import { placeOfSuite } from "../place.ts"

const place = placeOfSuite()
beforeAll(async () => {
  await place.login()
  for (const line of [
    'products create --name "A moving head with a long name of its own, which no narrow terminal shows" --sku MH1',
    "products rates create MH1 --rate-definition-id daily-rate --transaction-type rental --price 12.50 --currency GBP",
    "products create --name Pair --sku PAIR",
    "products components create PAIR --component-product-id MH1 --quantity 2",
    "stock-levels update 1 --quantity-held 10",
    'members create --name "Ann Archer" --membership-type organisation',
    'quote new --subject Gala --member "Ann Archer" --from 2027-07-01T09:00 --to 2027-07-03T18:00 --line MH1*4',
    "opportunities costs create 1 --description Van --amount 80",
    'containers create --name "Case 7" --barcode CASE7 --store-id 1',
    "webhooks create --url https://example.com/hook --events product.updated"
  ])
    await place.done(line)
}, 120_000)

/** Cells of a terminal's output, without table headers. */
const cellsOf = (text: string): ReadonlyArray<string> =>
  text
    .split(/\n| {2,}/)
    .map((cell) => cell.trim())
    .filter((cell) => cell !== "" && !/^[A-Z][A-Z ]*$/.test(cell))
const plain = (text: string): string =>
  text.replaceAll(/(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2}):\d{2}\.\d{3}Z/g, "$1 $2Z").replaceAll(/\s+/g, " ")

it.each([
  "products list",
  "products show MH1",
  "products show PAIR --include components,rates",
  "products components list PAIR",
  "members list",
  "members show 2",
  "stores list",
  "stock-levels list",
  "rates list",
  "quote list",
  "quote show 1",
  "orders show 1",
  "orders show 1 --explain",
  "orders history 1",
  "opportunities show 1",
  "opportunities items list 1",
  "opportunities available-actions 1",
  "price MH1 --from 2027-07-01T09:00 --to 2027-07-05T18:00 --quantity 2",
  "availability MH1 --from 2027-07-01 --to 2027-07-04",
  "availability MH1 --date 2027-07-02",
  "availability why MH1 --date 2027-07-02",
  "availability what-if MH1*20 --from 2027-07-01 --to 2027-07-02",
  "availability fit MH1*2 --from 2027-07-01 --until 2027-07-10 --days 2",
  "shortages --from 2027-07-01 --to 2027-07-04",
  "containers list",
  "containers show CASE7",
  "containers manifest CASE7",
  "users list",
  "devices",
  "webhooks list",
  "notifications preferences",
  "notifications settings",
  "sync status",
  "doctor",
  "settings show company",
  "quote add 1 --line MH1*20 --plan",
  "members update 2 --name Bob --plan"
])("a pipe gets every value that a terminal shows of '%s'", async (line) => {
  // Wide enough for all values, so that nothing is cut.
  const seen = await place.type(line, { env: { FLIGHTCASE_TTY: "1", COLUMNS: "4000", CLICOLOR_FORCE: "0" } })
  const piped = await place.type(line)
  expect(seen.code).toBe(piped.code)
  const text = plain(piped.out)
  expect(cellsOf(withoutMarks(seen.out)).filter((cell) => !text.includes(cell))).toEqual([])
  expect(piped.out).not.toContain("\u001b")
  expect(piped.out).not.toContain("…\n")
})
/** Output without what only a terminal shows: this device's mark, signs instead of words, names of stores. */
const withoutMarks = (text: string): string =>
  text
    .replaceAll(" (this one)", "")
    .replaceAll("Main Warehouse", "1")
    .replaceAll(/[\d,]+ MiB/g, "")
    .replaceAll(/^(ok |bad) ([^:]+): /gm, "$1  $2  ")
    .replaceAll(/(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2}):\d{2}\.\d{3}Z/g, "$1 $2Z")
