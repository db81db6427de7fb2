import { beforeAll, expect, it } from "vitest"
import { sameNamed } from "../../../../../cli/commands/orders/quote/ask-customer.ts"
import { askForQuote, type Questions } from "../../../../../cli/commands/orders/quote/wizard.ts"
import { type CommandContext, openContext } from "../../../../../cli/context/context.ts"
import { placeOfSuite } from "../../../place.ts"

const place = placeOfSuite()
const contextHere = () => openContext({ offline: true }, { FLIGHTCASE_HOME: place.home })
beforeAll(async () => {
  const { house } = place
  await house.must("PUT", "/stores/1", { timezone: "Europe/London" })
  const lamp = await house.product({ name: "Moving Lamp", sku: "LAMP", barcode: "0123" })
  const clamp = await house.product({ name: "Clamp" })
  const cable = await house.product({ name: "Lamp cable" })
  expect([lamp, clamp, cable]).toEqual([1, 2, 3])
  const daily = await house.named("rate_definitions", "Daily Rate")
  for (const [product, price] of [
    [lamp, "3"],
    [clamp, "1"]
  ] as const) {
    await house.hold(product, 10)
    const rate = { rate_definition_id: daily, transaction_type: "rental", currency: "GBP", price }
    await house.create(`/products/${product}/rates`, rate)
  }
  await house.create(`/products/${lamp}/accessories`, { accessory_product_id: clamp, quantity: 2, included: true })
  const related_member_id = await house.customer({ name: "Müller AG", account_number: "10001" })
  const ann = await house.contact({ name: "Ann Lee" })
  await house.create(`/members/${ann}/relationships`, { related_member_id, relationship_type: "contact" })
  for (const name of ["Acme Events", "Acme Tours"]) await house.customer({ name })
  await place.login()
})

/** Answers prompts in order, each of which must be the expected question; returns the output in between. */
const counter = async (answers: ReadonlyArray<readonly [question: RegExp, answer: string, refused?: RegExp]>) => {
  const said: Array<string> = []
  let at = 0
  const next = (message: string): readonly [RegExp, string, RegExp?] => {
    const expected = answers[at++]
    expect(message, `question ${at}`).toMatch(expected?.[0] ?? /nothing more/)
    return expected!
  }
  const questions: Questions = {
    promptText: async (message, options = {}) => {
      for (;;) {
        const [, answer, refused] = next(message)
        const text = answer === "" ? (options.default ?? "") : answer
        const complaint = options.check?.(text)
        if (refused === undefined) {
          expect(complaint, message).toBeUndefined()
          return text
        }
        expect(complaint).toMatch(refused)
      }
    },
    choose: async (message, choices) => {
      const [, answer] = next(message)
      const found = choices.find((one) => one.name === answer)
      expect(found, `${answer} among ${choices.map((one) => one.name).join(" | ")}`).toBeDefined()
      return found!.value
    }
  }
  const context = contextHere()
  const told: CommandContext = {
    ...context,
    note: (text) => {
      said.push(
        ...text
          .split("\n")
          .map((line) => line.trim())
          .filter((line) => line !== "")
      )
    }
  }
  try {
    return { flags: await askForQuote(told, {}, questions), said, asked: at }
  } finally {
    await context.close()
  }
}

/** A date close enough to be counted in days, whenever this runs. */
const dayIn = (days: number): string => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10)

it("the quote wizard asks for customer, dates and products, and shows total and shortage after each line", async () => {
  const [from, to] = [`${dayIn(30)}T09:00Z`, `${dayIn(32)}T09:00Z`]
  const { flags, said } = await counter([
    [/^Subject/, "", /needs a subject/],
    [/^Subject/, "Gala"],
    [/^Customer/, "nobody"],
    [/^And now/, "look again"],
    [/^Customer/, "acme"],
    [/^Which/, "Acme Tours"],
    [/^From/, "someday", /neither a date/],
    [/^From/, from],
    [/^To/, "", /must end/],
    [/^To/, `${dayIn(30)}T08:00Z`, /after/],
    [/^To/, to],
    [/^First product/, "0123"],
    [/^How many Moving Lamp/, "none", /number/],
    [/^How many Moving Lamp/, "4"],
    [/^Next product/, "trampoline"],
    [/^Next product/, "amp"],
    [/^Which/, "Moving Lamp  LAMP"],
    [/^How many Moving Lamp/, "7"],
    [/^Next product/, "cable"],
    [/^How many Lamp cable/, ""],
    [/^Next product/, ""],
    [/^And now/, "Take a line out"],
    [/^Which/, "7 × Moving Lamp"],
    [/^Next product/, ""],
    [/^And now/, "Save it as a draft"]
  ])
  // For two days, a lamp at 6.00 and its two clamps at 4.00.
  expect(said).toEqual(
    expect.arrayContaining([
      'No customer is found by "nobody".',
      "4 × Moving Lamp: 40.00 GBP",
      "So far 1 line: 40.00 GBP, before discounts and tax.",
      "7 × Moving Lamp: 70.00 GBP",
      "Moving Lamp: only 10 free then, 1 short.",
      "Clamp: only 10 free then, 12 short.",
      "So far 2 lines: 110.00 GBP, before discounts and tax.",
      "1 × Lamp cable: 0.00 GBP",
      "Lamp cable: none free then, 1 short.",
      "So far 2 lines: 40.00 GBP, before discounts and tax."
    ])
  )
  expect(said.find((line) => line.includes("trampoline"))).toMatch(/^No product has "trampoline" in its name/)
  expect(flags).toEqual({ subject: "Gala", member: expect.any(String), from, to, line: ["1*4", "3*1"], draft: true })
})
it("the quote wizard needs neither a customer, nor dates, nor lines", async () => {
  expect(
    (
      await counter([
        [/^Subject/, "Bare"],
        [/^Customer/, ""],
        [/^From/, ""],
        [/^First product/, ""],
        [/^And now/, "Save it as a quotation"]
      ])
    ).flags
  ).toEqual({ subject: "Bare", line: [], draft: false })
})
it("the quote wizard says that shortages of distant dates are unknown", async () => {
  const { said } = await counter([
    [/^Subject/, "Far"],
    [/^Customer/, ""],
    [/^From/, "2101-07-01"],
    [/^To/, "2101-07-02"],
    [/^First/, "LAMP"],
    [/^How many/, "50"],
    [/^Next/, "LAMP"],
    [/^How many/, "1"],
    [/^Next/, ""],
    [/^And now/, "Save it as a draft"]
  ])
  expect(said.filter((line) => line.startsWith("These dates"))).toEqual([
    "These dates are too far off to count what is free."
  ])
})
it("the quote wizard writes nothing if its quote is discarded", async () => {
  await expect(
    counter([
      [/^Subject/, "Gone"],
      [/^Customer/, ""],
      [/^From/, ""],
      [/^First product/, "LAMP"],
      [/^How many/, "2"],
      [/^Next/, ""],
      [/^And now/, "Throw it away"]
    ])
  ).rejects.toThrow("Nothing was written.")
  expect((await place.json("quote list")).meta.total).toBe(0)
})

it("the quote wizard takes the details of a new customer, and warns about one on stop", async () => {
  const { flags } = await counter([
    [/^Subject/, "Gala"],
    [/^Customer/, "Newcomers"],
    [/^And now/, "a new customer"],
    [/^Name/, ""],
    [/^E-mail/, "nobody", /no e-mail/],
    [/^E-mail/, "ann@example.com"],
    [/^Phone/, "+44 20 7946 0000"],
    [/^From/, ""],
    [/^First product/, ""],
    [/^And now/, "Save it as a quotation"]
  ])
  expect(flags).toMatchObject({ newCustomer: "Newcomers", email: "ann@example.com", phone: "+44 20 7946 0000" })
  expect(flags["member"]).toBeUndefined()
  await place.house.customer({ name: "Bad Payers", is_on_stop: true })
  await place.done("sync")
  const { said } = await counter([
    [/^Subject/, "Gala"],
    [/^Customer/, "bad"],
    [/^From/, ""],
    [/^First product/, ""],
    [/^And now/, "Save it as a draft"]
  ])
  expect(said).toContain("! Bad Payers is on stop.")
})

it("the quote wizard finds customers without accents, by account number and by their contacts", async () => {
  for (const typed of ["muller", "10001", "ann lee"]) {
    const { said } = await counter([
      [/^Subject/, "Gala"],
      [/^Customer/, typed],
      [/^From/, ""],
      [/^First product/, ""],
      [/^And now/, "Save it as a draft"]
    ])
    expect(said.join(), typed).toContain("Müller AG")
  }
})

it("the quote wizard offers an existing customer of the same name", async () => {
  const context = contextHere()
  const answered = (at: number) =>
    sameNamed({ ...context, interactive: true }, "MULLER ag", {
      choose: async (message, choices) => {
        expect(message).toBe("Müller AG is a customer already")
        return choices[at]!.value
      }
    })
  try {
    const id = await place.house.named("members", "Müller AG")
    expect(await answered(0)).toBe(id)
    expect(await answered(1)).toBeUndefined()
    expect(await sameNamed({ ...context, interactive: true }, "Nobody yet")).toBeUndefined()
  } finally {
    await context.close()
  }
})
