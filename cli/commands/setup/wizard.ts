/** `setup` on a terminal: one question after the other, with what is set as the answer that Enter takes. */
import type { Json } from "../../../core/kernel/json.ts"
import type { CommandContext } from "../../context.ts"
import { choose, confirm, promptSecret, promptText } from "../../prompt.ts"
import type { Company, House, Person, Tax } from "./house.ts"
import type { Present } from "./present.ts"
import { currencyProblem, isZone } from "./steps.ts"

export const machineZone = (): string => new Intl.DateTimeFormat().resolvedOptions().timeZone

const textOf = (value: Json | undefined): string => (typeof value === "string" ? value : "")
/** Undefined where nothing was answered: what is set stays. */
const given = async (message: string, now: string, check?: (text: string) => string | undefined) => {
  const answer = await promptText(message, { default: now, ...(check === undefined ? {} : { check }) })
  return answer === "" ? undefined : answer
}

export const askedHouse = async (context: CommandContext, present: Present): Promise<House> => {
  context.note("Enter keeps what is shown. Nothing is written before you have seen all of it.")
  const company = await askedCompany(present)
  const taxes = await askedTaxes(present)
  const stores = (await promptText("Stores, separated by commas", { default: namesOf(present) }))
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "")
    .map((name) => ({ name }))
  const people = await askedPeople(present)
  const logo = await given("Logo: a PNG or JPEG file (Enter: none)", "")
  const prefix = await given("Prefix of invoice numbers", textOf(present.settings["numbering"]?.["invoice.prefix"]))
  const sender_address = await given(
    "Address that mail is sent from",
    textOf(present.settings["mail"]?.["sender_address"])
  )
  const smtp_url = await promptSecret("Mail server, smtp://user:password@host:587 (Enter: as it is)")
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
const askedCompany = async (present: Present): Promise<Company> => {
  const now = present.settings["company"] ?? {}
  const answers: { -readonly [field in keyof Company]?: string } = {}
  for (const [field, message] of company_questions) {
    const answer = await given(message, textOf(now[field]))
    if (answer !== undefined) answers[field] = answer
  }
  const is_new = textOf(now["name"]) === ""
  answers.timezone = await promptText("Time zone", {
    default: is_new ? machineZone() : textOf(now["timezone"]),
    check: (zone) => (isZone(zone) ? undefined : `There is no time zone ${zone}.`)
  })
  answers.base_currency = (
    await promptText("Currency", {
      default: textOf(now["base_currency"]),
      check: (code) => currencyProblem(code.toUpperCase(), present)
    })
  ).toUpperCase()
  return answers
}

const askedTaxes = async ({ tax_rates, tax_rules }: Present): Promise<ReadonlyArray<Tax>> => {
  const usual = tax_rates.find((one) => one["id"] === tax_rules[0]?.["tax_rate_id"])
  const name = await promptText("The usual tax", { default: textOf(usual?.["name"]) })
  if (name === "") return []
  const rate = await promptText("Its rate in percent", {
    default: String(Number(usual?.["rate"] ?? 0)),
    check: (text) => (/^\d{1,3}(\.\d{1,4})?$/.test(text) ? undefined : "A percentage such as 20 or 5.5.")
  })
  return [{ name, rate, standard: true }]
}

const askedPeople = async ({ roles }: Present): Promise<ReadonlyArray<Person>> => {
  const people: Array<Person> = []
  for (;;) {
    const name = await promptText(
      people.length === 0 ? "Somebody who works here (Enter: nobody)" : "Somebody else (Enter: nobody)"
    )
    if (name === "") return people
    const email = await promptText("Their e-mail address", {
      check: (text) => (/^\S+@\S+$/.test(text) ? undefined : "An address such as ann@example.com.")
    })
    const role = await choose(
      "What they do",
      roles.map((one) => ({ name: textOf(one["name"]), value: textOf(one["name"]) }))
    )
    people.push({ name, email, roles: [role], invite: await confirm("Send them a code to log in with, by mail?") })
  }
}
