/** `setup` on a terminal: one question after the other, with what is set as the answer that Enter takes. */
import type { Json } from "../../../core/kernel/json.ts"
import type { CommandContext } from "../../context.ts"
import * as terminal from "../../prompt.ts"
import { type Company, type House, type Person, type StorePlace, type Tax, addressOf } from "./house.ts"
import { machineZone, type Present } from "./present.ts"
import { currencyProblem, problemIn, twiceProblem } from "./rules.ts"
import { logoProblem } from "./steps.ts"

/** How questions are asked; tests give answers of their own. */
export type Questions = Pick<typeof terminal, "promptText" | "promptSecret" | "choose" | "confirm">

const textOf = (value: Json | undefined): string => (typeof value === "string" ? value : "")
/** Undefined where nothing was answered: what is set stays. */
const given = async ({ promptText }: Questions, message: string, now: string, check: terminal.Check) => {
  const answer = await promptText(message, { default: now, check: unlessEmpty(check) })
  return answer === "" ? undefined : answer
}
const unlessEmpty =
  (check: terminal.Check): terminal.Check =>
  (text) =>
    text === "" ? undefined : check(text)
/** The check of a field as the server does it. */
const asIn =
  (part: Parameters<typeof problemIn>[0], field: string): terminal.Check =>
  (text) =>
    problemIn(part, field, text)

export const askedHouse = async (
  context: CommandContext,
  present: Present,
  questions: Questions = terminal
): Promise<House> => {
  context.note("Enter keeps what is shown. Nothing is written before you have seen all of it.")
  const company = await askedCompany(questions, present)
  const taxes = await askedTaxes(questions, present)
  const stores = await askedStores(questions, present)
  const people = await askedPeople(questions, present)
  const logo = await given(questions, "Logo: a PNG or JPEG file (Enter: none)", "", logoProblem)
  const prefix = await given(
    questions,
    "Prefix of invoice numbers",
    textOf(present.settings["numbering"]?.["invoice.prefix"]),
    asIn("numbers", "invoice.prefix")
  )
  const sender_address = await given(
    questions,
    "Address that mail is sent from",
    textOf(present.settings["mail"]?.["sender_address"]),
    asIn("mail", "sender_address")
  )
  const smtp_url = await questions.promptSecret(
    "Mail server, smtp://user:password@host:587 (Enter: as it is)",
    unlessEmpty(asIn("mail", "smtp_url"))
  )
  return {
    company,
    taxes,
    stores,
    people,
    ...(logo === undefined ? {} : { logo }),
    ...(prefix === undefined ? {} : { numbers: { invoice: prefix } }),
    mail: { ...(sender_address === undefined ? {} : { sender_address }), ...(smtp_url === "" ? {} : { smtp_url }) }
  }
}
const askedStores = async ({ promptText }: Questions, present: Present): Promise<ReadonlyArray<StorePlace>> => {
  const answer = await promptText("Stores, separated by commas", {
    default: namesOf(present),
    check: (text) =>
      twiceProblem(namesIn(text)) ?? namesIn(text).flatMap((name) => problemIn("stores", "name", name) ?? [])[0]
  })
  return namesIn(answer).map((name) => ({ name }))
}
const namesIn = (text: string): ReadonlyArray<string> =>
  text
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "")
const namesOf = ({ stores }: Present): string => stores.map((one) => textOf(one["name"])).join(", ")

const company_questions = [
  ["name", "Company"],
  ["street", "Street"],
  ["city", "City"],
  ["postcode", "Postcode"],
  ["country_code", "Country, two letters such as GB"],
  ["email", "E-mail"],
  ["phone", "Telephone"],
  ["tax_number", "VAT number"]
] as const
const askedCompany = async (questions: Questions, present: Present): Promise<Company> => {
  const now = present.settings["company"] ?? {}
  const answers: { -readonly [field in keyof Company]?: string } = {}
  for (const [field, message] of company_questions) {
    const answer = await given(questions, message, textOf(now[field]), asIn("company", field))
    if (answer !== undefined) answers[field] = answer
  }
  const is_new = textOf(now["name"]) === ""
  answers.timezone = await questions.promptText("Time zone", {
    default: is_new ? machineZone() : textOf(now["timezone"]),
    check: asIn("company", "timezone")
  })
  answers.base_currency = (
    await questions.promptText("Currency", {
      default: textOf(now["base_currency"]),
      check: (code) => currencyProblem(code.toUpperCase(), present)
    })
  ).toUpperCase()
  return answers
}

const askedTaxes = async (
  { promptText }: Questions,
  { tax_rates, tax_rules }: Present
): Promise<ReadonlyArray<Tax>> => {
  const usual = tax_rates.find((one) => one["id"] === tax_rules[0]?.["tax_rate_id"])
  const name = await promptText("The usual tax", {
    default: textOf(usual?.["name"]),
    check: unlessEmpty(asIn("taxes", "name"))
  })
  if (name === "") return []
  const rate = await promptText("Its rate in percent", {
    default: String(Number(usual?.["rate"] ?? 0)),
    check: asIn("taxes", "rate")
  })
  return [{ name, rate, standard: true }]
}

const askedPeople = async (
  { choose, confirm, promptText }: Questions,
  { roles }: Present
): Promise<ReadonlyArray<Person>> => {
  const people: Array<Person> = []
  for (;;) {
    const name = await promptText(
      people.length === 0 ? "Somebody who works here (Enter: nobody)" : "Somebody else (Enter: nobody)",
      { check: unlessEmpty(asIn("people", "name")) }
    )
    if (name === "") return people
    const email = await promptText("Their e-mail address", {
      check: (text) =>
        problemIn("people", "email", text) ?? twiceProblem([...people.map(addressOf), text.toLowerCase()])
    })
    const role = await choose(
      "What they do",
      roles.map((one) => ({ name: textOf(one["name"]), value: textOf(one["name"]) }))
    )
    people.push({ name, email, roles: [role], invite: await confirm("Send them a code to log in with, by mail?") })
  }
}
