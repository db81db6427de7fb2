/** Actions of the week, each also recorded in the ledger. */
import { expect } from "vitest"
import { dateOf, type Day, type Job, jobs } from "./jobs.ts"
import { openHouse, type House, type Person, type Said } from "./house.ts"
import { Ledger } from "./ledger.ts"
import type { Engine } from "../../app.ts"
import { furnish } from "./stock.ts"

export interface Script {
  readonly house: House
  readonly ledger: Ledger
  /** Sets the time of the week on Bristol's clock. */
  readonly timeIs: (day: Day, time: string) => void
  /** Jobs requested on a day: quoted, and ordered if the customer accepts. */
  readonly quotes: (person: Person, day: Day, which?: (job: Job) => boolean) => Promise<void>
  readonly orders: (person: Person, subject: string) => Promise<void>
  readonly extends: (person: Person, subject: string, to: readonly [Day, string], exits?: number) => Promise<Said>
  /** Dispatches a job; checks that the plan predicts each scan. */
  readonly sendsOut: (person: Person, subject: string, given?: Scan) => Promise<void>
  readonly takesIn: (person: Person, subject: string, given?: Scan) => Promise<void>
  readonly close: () => Promise<void>
}
interface Scan {
  /** Default: all that is still to go, or out. */
  readonly codes?: ReadonlyArray<string>
  /** Units to leave where they are. */
  readonly without?: ReadonlyArray<string>
  readonly flags?: ReadonlyArray<string>
}

export const openScript = async (engine: Engine): Promise<Script> => {
  const house = await openHouse(engine, "2027-07-04T18:00:00Z")
  const ledger = new Ledger()
  try {
    await furnish(house)
  } catch (error) {
    await house.close()
    throw error
  }
  const quotes: Script["quotes"] = async (person, day, which = () => true) => {
    for (const job of jobs) if (job.quoted === day && which(job)) await quoted(person, ledger, job)
  }
  return {
    house,
    ledger,
    timeIs: (day, time) => {
      const instant = Date.parse(`${dateOf(day)}T${time}:00Z`) - 3_600_000
      if (instant < house.now())
        throw new Error(`it is later than ${day} ${time}: ${new Date(house.now()).toISOString()}`)
      house.clock(new Date(instant).toISOString())
    },
    quotes,
    orders: (person, subject) => ordered(person, ledger, subject),
    extends: async (person, subject, to, exits = 0) => {
      const standing = ledger.of(subject)
      const [day, time] = to
      const said = await person.types(
        ["orders", "extend", String(standing.id), "--to", `${dateOf(day)}T${time}`, "--yes", "--json"],
        { exits }
      )
      if (exits === 0) standing.to = Date.parse(String(said.json("opportunity.ends_at")))
      return said
    },
    sendsOut: (person, subject, given) => scanned(person, ledger, { subject, direction: "out", ...given }),
    takesIn: (person, subject, given) => scanned(person, ledger, { subject, direction: "in", ...given }),
    close: house.close
  }
}

const quoted = async (person: Person, ledger: Ledger, job: Job): Promise<void> => {
  const time = ([day, hour]: readonly [Day, string]): string => `${dateOf(day)}T${hour}`
  const said = await person.types([
    ...["quote", "new", "--subject", job.subject, "--member", job.customer, "--store", job.store],
    ...["--from", time(job.from), "--to", time(job.to), ...(job.as === "draft" ? ["--draft"] : [])],
    ...Object.entries(job.lines).flatMap(([sku, quantity]) => ["--line", `${sku}*${quantity}`]),
    "--json"
  ])
  const standing = ledger.asked(job, Number(said.json("opportunity.id")))
  expect([said.json("opportunity.starts_at"), said.json("opportunity.ends_at")]).toEqual(
    [standing.from, standing.to].map((instant) => new Date(instant).toISOString())
  )
  if (job.as !== "draft") standing.state = "quotation"
  if (job.as === "order") await ordered(person, ledger, job.subject)
}
const ordered = async (person: Person, ledger: Ledger, subject: string): Promise<void> => {
  const standing = ledger.of(subject)
  const said = await person.types(["quote", "convert", String(standing.id), "--to", "order", "--json"])
  expect(said.json("opportunity.state_label")).toBe("Order")
  standing.state = "order"
}

interface Scanning extends Scan {
  readonly subject: string
  readonly direction: "out" | "in"
}
const scanned = async (
  person: Person,
  ledger: Ledger,
  { codes, direction, flags = [], subject, without = [] }: Scanning
): Promise<void> => {
  const id = String(ledger.of(subject).id)
  const all =
    codes ??
    (direction === "out"
      ? ledger.codesFor(subject, without)
      : ledger.codesOut(subject).filter((code) => !without.includes(code)))
  const words = ["scan", direction, id, ...flags, "--json"]
  const foretold = await person.types([...words, "--plan"], { codes: all })
  const done = await person.types(words, { codes: all })
  const told = (said: Said): unknown =>
    said
      .rows("results")
      .map(({ code, message, ok, status }) => ({
        code,
        message: message ?? null,
        ok: ok ?? null,
        status: status ?? null
      }))
  expect(told(foretold), foretold.words).toEqual(told(done))
  for (const code of all)
    if (direction === "out") ledger.wentOut(subject, code)
    else ledger.cameBack(subject, code)
}
