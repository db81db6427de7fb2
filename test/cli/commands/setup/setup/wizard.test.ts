/** The prompts of `setup`: each answer is validated at once by the server's rule, and answers are kept. */
import { readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { expect, it } from "vitest"
import { keepAnswers } from "../../../../../cli/commands/setup/setup/setup.ts"
import { presentAt } from "../../../../../cli/commands/setup/setup/present.ts"
import { askedHouse, type Questions } from "../../../../../cli/commands/setup/setup/wizard.ts"
import { openContext } from "../../../../../cli/context/context.ts"
import { placeOfSuite } from "../../../place.ts"

const place = placeOfSuite()
const { done, json } = place

type Answer = readonly [question: RegExp, answer: string, refused?: RegExp]
/** Answers prompts in order, each of which must be the expected question; a refused answer is followed by another. */
const answering = (answers: ReadonlyArray<Answer>): Questions => {
  const left = [...answers]
  const next = (message: string): Answer => {
    const [first] = left
    expect(message).toMatch(first?.[0] ?? /nothing more/)
    return left.shift()!
  }
  const asked = (message: string, check: (text: string) => string | undefined, otherwise: string): string => {
    for (;;) {
      const [, answer, refused] = next(message)
      const text = answer === "" ? otherwise : answer
      const complaint = check(text)
      if (refused === undefined) {
        expect(complaint, message).toBeUndefined()
        return text
      }
      expect(complaint, message).toMatch(refused)
    }
  }
  return {
    promptText: async (message, { check, default: otherwise = "" } = {}) =>
      asked(message, (text) => check?.(text), otherwise),
    promptSecret: async (message, check) => asked(message, (text) => check?.(text), ""),
    confirm: async (message) => next(message)[1] === "yes",
    choose: async (message, choices) => {
      const [, answer] = next(message)
      return choices.find(({ name }) => name === answer)!.value
    }
  }
}

it("the setup wizard refuses invalid answers with the server's messages, and keeps the others in a file", async () => {
  await done("products create --name Lamp")
  const context = openContext({}, place.env)
  try {
    const present = await presentAt(context)
    const house = await askedHouse(
      { ...context, note: () => {} },
      present,
      answering([
        [/^Company/, "Northlihgt"],
        [/^Street/, "<"],
        [/^Company/, "Northlight"],
        [/^Street/, "Dock 4"],
        [/^City/, ""],
        [/^Postcode/, "1".repeat(21), /must not be longer than 20/],
        [/^Postcode/, ""],
        [/^Country/, "XYZ", /must not be longer than 2/],
        [/^Country/, "ZZ", /known ISO 3166 country/],
        [/^Country/, "gb"],
        [/^E-mail/, "nope", /valid e-mail address/],
        [/^E-mail/, "Northlight <hire@northlight.example>"],
        [/^Telephone/, ""],
        [/^VAT number/, ""],
        [/^Time zone/, "Mars/Olympus", /IANA time zone/],
        [/^Time zone/, ""],
        [/^Currency/, "EURO", /There is no currency EURO/],
        [/^Currency/, "eur"],
        [/^The usual tax/, "VAT"],
        [/^Its rate/, "120", /field/],
        [/^Its rate/, "20 %"],
        [/^Another tax/, "VAT", /named twice/],
        [/^Another tax/, "Reduced"],
        [/^Its rate/, "5,5%"],
        [/^Another tax/, ""],
        [/^Untaxed, because they have no tax class: 1 product/, "yes"],
        [/^Stores/, "Leeds, York, Leeds", /Leeds is named twice/],
        [/^Stores/, "Leeds, York"],
        [/^Somebody who/, "Ann Reed"],
        [/^Their e-mail/, "ann", /valid e-mail|field/],
        [/^Their e-mail/, "ann@northlight.example"],
        [/^What they do/, "< back"],
        [/^Their e-mail/, ""],
        [/^What they do/, "Sales"],
        [/^Send them/, "no"],
        [/^Somebody else/, "Ann Again"],
        [/^Their e-mail/, "ANN@northlight.example", /named twice/],
        [/^Their e-mail/, "ann2@northlight.example"],
        [/^What they do/, "Sales"],
        [/^Send them/, "no"],
        [/^Somebody else/, ""],
        [/^Logo/, "none.png", /cannot be read/],
        [/^Logo/, ""],
        [/^Prefix/, "x".repeat(41), /must not be longer than 40/],
        [/^Prefix/, "INV-"],
        [/^Address that mail/, "nobody@", /valid e-mail/],
        [/^Address that mail/, ""],
        [/^Mail server/, "ftp://x", /smtp/],
        [/^Mail server/, "smtp://user:secret@mail.example:587"]
      ])
    )
    expect(house.company).toMatchObject({ name: "Northlight", country_code: "gb", base_currency: "EUR" })
    expect(house.company).toMatchObject({ timezone: "Europe/London", email: "hire@northlight.example" })
    expect(house.mail?.sender_address).toBe("hire@northlight.example")
    expect(house.taxes).toMatchObject([{ rate: "20", standard: true }, { rate: "5.5" }])
    const before = process.cwd()
    process.chdir(place.folder)
    try {
      expect(keepAnswers(house)).toMatch(/setup --file flightcase-setup\.json --smtp URL\. .*is not in it/)
      expect(keepAnswers(house)).toContain("flightcase-setup-2.json")
    } finally {
      process.chdir(before)
    }
  } finally {
    await context.close()
  }
  const kept = join(place.folder, "flightcase-setup.json")
  expect(statSync(kept).mode & 0o777).toBe(0o600)
  expect(readFileSync(kept, "utf8")).not.toContain("secret")
  const line = "setup --file flightcase-setup.json --smtp smtp://mail.example:587"
  await done(line)
  const { settings } = await json("settings show company")
  expect(settings).toMatchObject({ name: "Northlight", country_code: "GB", timezone: "Europe/London" })
  expect((await json("products show 1")).product.tax_class_id).toBe(1)
  const again = await json(line)
  expect(again.setup.filter((one) => one.state === "set").map((one) => one.what)).toEqual(["smtp url"])
})
