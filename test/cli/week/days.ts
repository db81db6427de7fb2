/** The days of the week. */
import { expect } from "vitest"
import { bill, putsAside, subHire, wayOut } from "./deeds.ts"
import type { Script } from "./script.ts"
import { sealed_case } from "./stock.ts"

/** The first goods are dispatched; in the afternoon Ann visits a customer and Ben works in the yard, both offline. */
export const monday = async ({ house, quotes, sendsOut, timeIs }: Script): Promise<void> => {
  const { ann, ben } = house
  timeIs("Mon", "08:00")
  await quotes(ann, "Mon", ({ from }) => from[0] === "Mon")
  await ann.types(["sync"])
  ann.goes("offline")
  await quotes(ann, "Mon", ({ from }) => from[0] !== "Mon")
  timeIs("Mon", "12:00")
  await ben.types(["sync"])
  await sendsOut(ben, "Premiere")
  ben.goes("offline")
  await sendsOut(ben, "Gala", { codes: [sealed_case.code, "H-1", "H-2", "CABLE*10", "C-1", "L-1"] })
  await sendsOut(ben, "Vernissage")
  timeIs("Mon", "18:00")
}

/** A lamp is late; Cora extends the gala on a train; Ann undoes a mistake before it is sent. */
export const tuesday = async ({ extends: extend, house, ledger, quotes, sendsOut, takesIn, timeIs }: Script) => {
  const { ann, ben, cora } = house
  timeIs("Tue", "08:00")
  ben.goes("offline")
  cora.goes("offline")
  await quotes(ann, "Tue")
  await ann.types(["sync"])
  ann.goes("offline")
  await ann.types(["quote", "add", String(ledger.of("Trade fair").id), "PAR", "--quantity", "99", "--json"])
  const withdrawn = await ann.types(["undo"])
  expect(withdrawn.out).toContain("it is withdrawn")
  timeIs("Tue", "09:30")
  await takesIn(ben, "Premiere")
  await sendsOut(ben, "Seminar")
  await sendsOut(ben, "Club night")
  await takesIn(ben, "Vernissage", { codes: ["PAR*7", "CABLE*6"] })
  await extend(cora, "Gala", ["Thu", "10:00"])
  timeIs("Tue", "18:00")
}

/** A head comes back damaged; an order becomes short, which is reported and allowed in Bristol. */
export const wednesday = async ({
  house,
  ledger,
  orders,
  quotes,
  sendsOut,
  takesIn,
  timeIs
}: Script): Promise<void> => {
  const { ann, ben, cora } = house
  timeIs("Wed", "07:30")
  ann.goes("offline")
  await takesIn(ben, "Vernissage")
  await sendsOut(ben, "Documentary")
  await sendsOut(ben, "Fashion show")
  ben.goes("offline")
  const [damaged = "", ...rest] = ledger.codesOut("Club night")
  await takesIn(ben, "Club night", { codes: [damaged], flags: ["--damaged", "--note", "lens cracked"] })
  ledger.goesOutOfService(damaged, "quarantine", house.now())
  await takesIn(ben, "Club night", { codes: rest })
  await sendsOut(ben, "Open air")
  await quotes(ann, "Wed")
  await orders(cora, "Trade fair")
  timeIs("Wed", "18:00")
}

/**
 * The head is repaired; the festival's shortage is sub-hired; in Berlin an extension is refused, and an order that Ann
 * took offline exceeds the stock.
 */
export const thursday = async (script: Script): Promise<void> => {
  const { extends: extend, house, ledger, orders, quotes, sendsOut, takesIn, timeIs } = script
  const { ann, ben, cora } = house
  timeIs("Thu", "07:30")
  const refused = await extend(ann, "Fashion show", ["Sat", "10:00"], 6)
  expect(refused.err).toContain("Moving head")
  ann.goes("offline")
  const broken = [...ledger.units.values()].find(({ service }) => service === "quarantine")?.code ?? ""
  await ben.types(["units", "repair", broken, "--back", "2027-07-20"])
  ledger.goesOutOfService(broken, "in repair", house.now())
  await takesIn(ben, "Fashion show")
  await takesIn(ben, "Gala")
  await subHire(script, "Festival")
  ben.goes("offline")
  for (const subject of ["Trade fair", "Charity run", "Press day", "Reading"]) await sendsOut(ben, subject)
  await orders(cora, "Street party")
  await cora.types(["sync"])
  await quotes(ann, "Thu")
  timeIs("Thu", "17:00")
  await takesIn(ben, "Seminar")
  ann.goes("online")
  await ann.types(["sync"], { exits: 8 })
  const { command, n } = await wayOut(ann, "reduce")
  expect(command).toContain("--reduce-to")
  await ann.types(["sync", "resolve", n, "--reduce-to", "4"])
  const [parcans] = ledger.of("Garden party").lines
  if (parcans !== undefined) parcans.quantity = 4
  timeIs("Thu", "20:30")
  await takesIn(ben, "Charity run")
}

/**
 * Ben allocates a head that Cora dispatches elsewhere at the same time, and takes another; Ann's late show conflicts
 * with a flash mob Cora sold meanwhile, and moves to other dates; a lens is lost; the repaired head is back early.
 */
export const friday = async (script: Script): Promise<void> => {
  const { house, ledger, orders, quotes, sendsOut, takesIn, timeIs } = script
  const { ann, ben, cora } = house
  timeIs("Fri", "07:30")
  const repaired = [...ledger.units.values()].find(({ service }) => service === "in repair")?.code ?? ""
  await ben.types(["units", "release", repaired, "--note", "new fuse", "--cost", "35"])
  ledger.goesOutOfService(repaired, "in service", house.now())
  await sendsOut(ben, "Short film")
  await ben.types(["sync"])
  await cora.types(["sync"])
  ben.goes("offline")
  ann.goes("offline")
  await orders(cora, "Rehearsal")
  const [head = "", other = ""] = ledger.freeUnits("HEAD", "Bristol")
  await putsAside(ben, ledger, "Matinee", head)
  await sendsOut(cora, "Rehearsal", { codes: [head, other] })
  await cora.types(["sync"])
  await quotes(cora, "Fri", ({ subject }) => subject === "Flash mob")
  await cora.types(["sync"])
  await quotes(ann, "Fri", ({ subject }) => subject !== "Flash mob")
  timeIs("Fri", "10:30")
  ben.goes("online")
  await ben.types(["sync"], { exits: 8 })
  const another = await wayOut(ben, "substitute")
  const taken = /--unit (\S+)/.exec(another.command)?.[1] ?? ""
  expect(ledger.isFree(taken), another.command).toBe(true)
  await ben.types(["sync", "resolve", another.n, "--unit", taken])
  await ben.types(["sync"])
  await sendsOut(ben, "Matinee", { codes: [taken, "CABLE*4"] })
  for (const subject of ["Open air", "Reading"]) await takesIn(ben, subject)
  await sendsOut(ben, "Interview")
  timeIs("Fri", "12:30")
  await sendsOut(ben, "Festival")
  await sendsOut(ben, "Ballet")
  ann.goes("online")
  await ann.types(["sync"], { exits: 8 })
  const later = await wayOut(ann, "dates")
  await ann.types(["sync", "resolve", later.n, "--dates", "2027-07-11T11:00..2027-07-11T20:00"])
  ledger.moves("Late show", ["Sun", "11:00"], ["Sun", "20:00"])
  timeIs("Fri", "17:30")
  const [lens = "", ...rest] = ledger.codesOut("Documentary").filter((code) => !code.startsWith("C-"))
  await takesIn(ben, "Documentary", { codes: [lens], flags: ["--missing", "--note", "fell into the harbour"] })
  ledger.goesOutOfService(lens, "lost", house.now())
  await takesIn(ben, "Documentary", {
    codes: [...rest, ...ledger.codesOut("Documentary").filter((code) => code.startsWith("C-"))]
  })
  for (const subject of ["Press day", "Matinee"]) await takesIn(ben, subject)
  timeIs("Fri", "20:30")
  await takesIn(ben, "Rehearsal")
}

/** A big day for the yard; a wrong dispatch is undone after it was sent; first invoices and a payment. */
export const saturday = async (script: Script): Promise<void> => {
  const { house, ledger, quotes, sendsOut, takesIn, timeIs } = script
  const { ann, ben, cora } = house
  timeIs("Sat", "07:00")
  ann.goes("offline")
  await sendsOut(ben, "Podcast")
  await sendsOut(ben, "Regatta")
  await ben.types(["sync"])
  const award = ledger.of("Award night")
  await ben.types(["scan", "out", String(award.id)], { codes: ["CABLE*8"] })
  await ben.types(["sync"])
  const undone = await ben.types(["undo", "--json"])
  expect(undone.json("undone.0.way")).toBe("compensate")
  await ben.types(["sync"])
  ben.goes("offline")
  for (const subject of ["Flash mob", "Street party", "Garden party"]) await sendsOut(ben, subject)
  await quotes(ann, "Sat")
  timeIs("Sat", "12:30")
  await takesIn(ben, "Interview")
  await sendsOut(ben, "Award night")
  await bill(cora, ledger, "Gala")
  await bill(cora, ledger, "Press day")
  timeIs("Sat", "19:00")
  await takesIn(ben, "Short film")
  await takesIn(ben, "Trade fair", { without: ["CABLE*20"] })
}

/** Everything comes back except for one crate of cables; the sub-hired lamps are returned. */
export const sunday = async (script: Script): Promise<void> => {
  const { house, ledger, sendsOut, takesIn, timeIs } = script
  const { ben } = house
  timeIs("Sun", "06:00")
  ben.goes("offline")
  await sendsOut(ben, "Flea market")
  await takesIn(ben, "Flash mob")
  await takesIn(ben, "Ballet")
  await sendsOut(ben, "Brunch")
  timeIs("Sun", "09:30")
  for (const subject of ["Podcast", "Garden party", "Street party"]) await takesIn(ben, subject)
  await sendsOut(ben, "Late show")
  timeIs("Sun", "14:00")
  for (const subject of ["Award night", "Festival", "Brunch", "Regatta"]) await takesIn(ben, subject)
  ben.goes("online")
  await ben.types(["sync"])
  const due = await ben.types(["today", "--json"])
  expect(due.json("today.sub_hire_back.count")).toBe(1)
  await ben.types(["purchase-orders", "return", "1", "--json"])
  expect((await ben.types(["today", "--json"])).json("today.sub_hire_back.count")).toBe(0)
  await sendsOut(ben, "Closing night")
  timeIs("Sun", "18:00")
  await takesIn(ben, "Flea market")
  expect(ledger.codesOut("Trade fair")).toEqual(["CABLE*20"])
}
