/** The end of a day: everybody syncs, and all that is shown agrees with the ledger and with itself. */
import { isDeepStrictEqual } from "node:util"
import { join } from "node:path"
import { outboxOf } from "../../e2e/offline-evening-reckoning.ts"
import type { Json, JsonObject } from "../../../core/kernel/fields/field.ts"
import { at, type House, type Person } from "./house.ts"
import { countsOf, type Ledger, listsOf, phaseOf, shortOf } from "./ledger.ts"
import { product_names } from "./stock.ts"

export const atPeace = async (house: House): Promise<void> => {
  for (const person of house.people) person.goes("online")
  // Twice: the second round brings each device what others sent in the first.
  for (let round = 0; round < 2; round++) for (const person of house.people) await person.types(["sync"])
}

/** Faults at the end of a day, as text. */
export const faultsOf = async (house: House, ledger: Ledger): Promise<ReadonlyArray<string>> => {
  const faults: Array<string> = []
  const same = (what: string, found: unknown, expected: unknown): void => {
    if (!isDeepStrictEqual(found, expected))
      faults.push(`${what}: ${JSON.stringify(found)}, by the ledger ${JSON.stringify(expected)}`)
  }
  for (const person of house.people) {
    await nothingLost(person, same)
    for (const finding of (await person.types(["doctor", "--json"], { exits: "any" })).rows("findings"))
      if (finding["ok"] !== true) faults.push(`${person.name}'s doctor: ${JSON.stringify(finding)}`)
    await today(person, house, ledger, same)
    await shortages(person, ledger, house, same)
    await orders(person, ledger, same)
  }
  await whereUnitsAre(house.ben, ledger, same)
  return faults
}
type Same = (what: string, found: unknown, expected: unknown) => void

/** Every recorded command has one outcome. */
const nothingLost = async (person: Person, same: Same): Promise<void> => {
  const kept = outboxOf(join(person.home, "profiles", "default"))
  const open = kept.filter(({ state }) => ["pending", "held", "rejected"].includes(state))
  same(`${person.name}'s commands without an end`, open, [])
  same(
    `${person.name}'s commands by number`,
    kept.map(({ n }) => n),
    kept.map((_, index) => index + 1)
  )
  const status = await person.types(["sync", "status", "--json"])
  same(`${person.name}'s conflicts`, [status.json("sync_status.conflicts"), status.json("sync_status.pending")], [0, 0])
}

const subjectsOf = (rows: ReadonlyArray<JsonObject>): ReadonlyArray<string> =>
  rows.map((row) => String(row["subject"])).sort()
const today = async (person: Person, house: House, ledger: Ledger, same: Same): Promise<void> => {
  const said = await person.types(["today", "--json"])
  const lists = listsOf(ledger, house.now())
  for (const name of ["going_out", "to_prepare", "coming_back", "late"] as const) {
    const orders = said.rows(`today.${name}.orders`)
    same(`${person.name}'s today, ${name}`, subjectsOf(orders), lists[name])
    for (const order of orders) {
      const { back, out, packed, wanted } = order
      const subject = String(order["subject"])
      same(`${person.name}'s today, ${subject}`, { wanted, packed, out, back }, countsOf(ledger, ledger.of(subject)))
    }
  }
  for (const store of ["Bristol", "Berlin"] as const) {
    const of_store = await person.types(["today", "--store", store, "--json"])
    same(`${person.name}'s today of ${store}`, of_store.json("today.store.name"), store)
    for (const name of ["going_out", "late"] as const)
      same(
        `${person.name}'s today of ${store}, ${name}`,
        subjectsOf(of_store.rows(`today.${name}.orders`)),
        lists[name].filter((subject) => ledger.of(subject).job.store === store)
      )
  }
}

const key = (subject: Json | undefined, product: Json | undefined, ...rest: ReadonlyArray<unknown>): string =>
  [subject, product, ...rest].join(" | ")
/** All sources agree: the list, the order, its availability, its flag. */
const shortages = async (person: Person, ledger: Ledger, house: House, same: Same): Promise<void> => {
  const expected = shortOf(ledger, house.now())
  const all = (await person.types(["shortages", "--from", "2027-07-01", "--to", "2027-07-20", "--json"])).rows(
    "shortages"
  )
  const told = (rows: ReadonlyArray<JsonObject>): ReadonlyArray<string> =>
    rows
      .map((row) => key(at(row, "opportunity.name"), row["product_name"], row["requested_quantity"], row["shortfall"]))
      .sort()
  same(
    `${person.name}'s shortages`,
    told(all),
    expected.map((one) => key(one.subject, product_names[one.sku], one.requested, one.shortfall)).sort()
  )
  const listed = (await person.types(["opportunities", "list", "--all", "--json"])).rows("opportunities")
  const lacking = all
    .filter((row) => Number(row["remaining_shortfall"]) > 0)
    .map((row) => String(at(row, "opportunity.name")))
  same(
    `${person.name}: orders with has_shortage`,
    subjectsOf(listed.filter((row) => row["has_shortage"] === true)),
    [...new Set(lacking)].sort()
  )
  const [asked] = house.people.slice((new Date(house.now()).getUTCDay() + 2) % 3)
  if (person !== asked) return
  for (const [subject, standing] of ledger.standing) {
    const id = String(standing.id)
    const own = (await person.types(["orders", "shortages", id, "--json"])).rows("shortages")
    same(
      `${person.name}: shortages of ${subject}`,
      told(own),
      told(all.filter((row) => at(row, "opportunity.name") === subject))
    )
    const lines = (await person.types(["orders", "availability", id, "--json"])).rows("availability")
    const productsOf = (rows: ReadonlyArray<JsonObject>): ReadonlyArray<string> =>
      rows.map((row) => String(row["product_name"])).sort()
    same(
      `${person.name}: availability of ${subject}`,
      productsOf(lines.filter((row) => row["has_shortage"] === true)),
      productsOf(own)
    )
  }
}

const orders = async (person: Person, ledger: Ledger, same: Same): Promise<void> => {
  const list = await person.types(["orders", "list", "-q", "per_page=100"])
  const rows = new Map(list.out.split("\n").map((line) => [line.split("\t")[2] ?? "", line.split("\t")]))
  for (const [subject, standing] of ledger.standing) {
    if (standing.state !== "order") continue
    const { back, out } = countsOf(ledger, standing)
    const row = rows.get(subject)
    same(`${person.name}'s order ${subject}: out, back`, row?.slice(9, 11).map(Number), [out, back])
    const phases: { readonly [phase: string]: ReadonlyArray<string> } = {
      none: [],
      waiting: ["Active"],
      out: ["On Hire"],
      over: ["Returned", "Checked"]
    }
    const phase = phases[phaseOf(standing)] ?? []
    if (row !== undefined && !phase.includes(row[5] ?? "")) same(`${person.name}'s order ${subject}`, row[5], phase)
  }
}

/** Each unit is found only where the ledger has it, so sums by location are constant. */
const whereUnitsAre = async (person: Person, ledger: Ledger, same: Same): Promise<void> => {
  for (const unit of ledger.units.values()) {
    const found = await person.types(["find", unit.code, "--only", "units", "--json"])
    const row = found.rows("search.units").find((one) => one["asset_number"] === unit.code)
    const holder = ledger.holder(unit.code)
    same(
      `${unit.code} is found`,
      [at(row, "where.place") === "out" ? at(row, "where.order.subject") : null, row === undefined],
      [holder?.job.subject ?? null, false]
    )
  }
}
