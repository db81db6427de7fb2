/** Asks for the input of `setup` on a terminal, with current values as defaults. */
import type { Json } from "../../../../core/kernel/index.ts"
import type { CommandContext } from "../../../context/context.ts"
import * as terminal from "../../../output/prompt.ts"
import type { Company, House, Person, StorePlace, Tax } from "./house.ts"
import { addressOf, plainAddress, plainHouse, plainRate, short_prefixes } from "./house.ts"
import { isNew, type Present, proposedBy, withoutClassText } from "./present.ts"
import { currencyProblem, problemIn, twiceProblem } from "./rules.ts"
import { logoProblem } from "./steps.ts"

/** Functions that ask questions; replaced in tests. */
export type Questions = Pick<typeof terminal, "promptText" | "promptSecret" | "choose" | "confirm">

const textOf = (value: Json | undefined): string => (typeof value === "string" ? value : "")
/** Asks for a text; undefined without an answer, which keeps the current value. */
const given = async ({ promptText }: Questions, message: string, now: string, check: terminal.Check) => {
  const answer = await promptText(message, { default: now, check: unlessEmpty(check) })
  return answer === "" ? undefined : answer
}
const unlessEmpty =
  (check: terminal.Check): terminal.Check =>
  (text) =>
    text === "" ? undefined : check(text)
/** Check of an answer by the server's rules, after normalising it. */
const asIn =
  (part: Parameters<typeof problemIn>[0], field: string, plain = (text: string) => text): terminal.Check =>
  (text) =>
    problemIn(part, field, plain(text))

const back = "<"
class StepBack extends Error {}
/** Asks questions, where `<` returns to the previous one, with its last answer as the default. */
const withBack = async (questions: Questions, ask: (questions: Questions) => Promise<House>): Promise<House> => {
  const answers: Array<unknown> = []
  let again: unknown
  const asking = (): Questions => {
    let at = 0
    // Earlier questions are not asked again on the way back to the chosen one.
    const next = async <T>(prompt: () => Promise<T | typeof back>): Promise<T> => {
      const index = at++
      if (index >= answers.length) {
        const answer = await prompt()
        if (answer === back) throw new StepBack()
        answers.push(answer)
        again = undefined
      }
      return answers[index] as T
    }
    const unlessBack =
      (check: terminal.Check | undefined): terminal.Check =>
      (text) =>
        text === back ? undefined : check?.(text)
    return {
      promptText: (message, options = {}) =>
        next(() => {
          const last = typeof again === "string" && again !== "" ? { default: again } : {}
          return questions.promptText(message, { ...options, ...last, check: unlessBack(options.check) })
        }),
      promptSecret: (message, check) => next(() => questions.promptSecret(message, unlessBack(check))),
      confirm: (message) => next(() => questions.confirm(message)),
      choose: <T>(message: string, choices: ReadonlyArray<terminal.Choice<T>>) =>
        next(() => questions.choose<T | typeof back>(message, [...choices, { name: "< back", value: back }]))
    }
  }
  for (;;) {
    try {
      return await ask(asking())
    } catch (error) {
      if (!(error instanceof StepBack)) throw error
      again = answers.pop()
    }
  }
}

export const askedHouse = async (
  context: CommandContext,
  present: Present,
  questions: Questions = terminal
): Promise<House> => {
  context.note(
    "Enter keeps what is shown, < goes back to the question before. Nothing is written before you have seen all of it."
  )
  return plainHouse(await withBack(questions, (one) => askedOnce(present, one)))
}
const askedOnce = async (present: Present, questions: Questions): Promise<House> => {
  const company = await askedCompany(questions, present)
  const taxes = await askedTaxes(questions, present)
  const untaxed = taxes.length === 0 ? undefined : withoutClassText(present)
  const assign_tax_classes =
    untaxed !== undefined && (await questions.confirm(`${untaxed}. Give them the default one?`))
  const stores = await askedStores(questions, present)
  const people = await askedPeople(questions, present)
  const logo = await given(questions, "Logo: a PNG or JPEG file (Enter: none)", "", logoProblem)
  const prefix = await given(
    questions,
    "Prefix of invoice numbers",
    textOf(present.settings.numbering?.["invoice.prefix"]) || (isNew(present) ? short_prefixes.invoice : ""),
    asIn("numbers", "invoice.prefix")
  )
  const sender_address = await given(
    questions,
    "Address that mail is sent from",
    textOf(present.settings.mail?.sender_address) || (company.email ?? ""),
    asIn("mail", "sender_address", plainAddress)
  )
  const smtp_url = await questions.promptSecret(
    "Mail server, smtp://user:password@host:587 (Enter: as it is)",
    unlessEmpty(asIn("mail", "smtp_url"))
  )
  return {
    company,
    taxes,
    ...(assign_tax_classes ? { assign_tax_classes } : {}),
    stores,
    people,
    ...(logo === undefined ? {} : { logo }),
    ...(prefix === undefined ? {} : { numbers: { invoice: prefix } }),
    mail: { ...(sender_address === undefined ? {} : { sender_address }), ...(smtp_url === "" ? {} : { smtp_url }) }
  }
}
const askedStores = async ({ promptText }: Questions, present: Present): Promise<ReadonlyArray<StorePlace>> => {
  const answer = await promptText("Stores, separated by commas", {
    default: storeNames(present),
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
const storeNames = ({ stores }: Present): string => stores.map((one) => one.name).join(", ")

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
  const now = present.settings.company ?? {}
  const answers: { -readonly [field in keyof Company]?: string } = {}
  for (const [field, message] of company_questions) {
    const answer = await given(questions, message, textOf(now[field]), asIn("company", field, plainAddress))
    if (answer !== undefined) answers[field] = answer
  }
  // On the first setup, defaults come from the country.
  const proposed = textOf(now.name) === "" ? proposedBy(answers.country_code, present) : undefined
  answers.timezone = await questions.promptText("Time zone", {
    default: proposed?.timezone ?? textOf(now.timezone),
    check: asIn("company", "timezone")
  })
  answers.base_currency = (
    await questions.promptText("Currency", {
      default: proposed?.base_currency ?? textOf(now.base_currency),
      check: (code) => currencyProblem(code.toUpperCase(), present)
    })
  ).toUpperCase()
  if (proposed?.locale !== undefined) answers.locale = proposed.locale
  return answers
}

const askedTaxes = async (
  { promptText }: Questions,
  { tax_rates, tax_rules }: Present
): Promise<ReadonlyArray<Tax>> => {
  const usual = tax_rates.find((one) => one.id === tax_rules[0]?.tax_rate_id)
  const taxes: Array<Tax> = []
  for (;;) {
    const is_first = taxes.length === 0
    const name = await promptText(is_first ? "The usual tax" : "Another tax, such as a reduced one (Enter: none)", {
      default: is_first ? (usual?.name ?? "") : "",
      check: (text) =>
        text === ""
          ? undefined
          : (problemIn("taxes", "name", text) ?? twiceProblem([...taxes.map((one) => one.name), text]))
    })
    if (name === "") return taxes
    const rate = await promptText("Its rate in percent", {
      ...(is_first ? { default: String(Number(usual?.rate ?? 0)) } : {}),
      check: asIn("taxes", "rate", plainRate)
    })
    taxes.push({ name, rate: plainRate(rate), standard: is_first })
  }
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
        problemIn("people", "email", plainAddress(text)) ??
        twiceProblem([...people.map(addressOf), plainAddress(text).toLowerCase()])
    })
    const role = await choose(
      "What they do",
      roles.map((one) => ({ name: one.name, value: one.name }))
    )
    people.push({
      name,
      email: plainAddress(email),
      roles: [role],
      invite: await confirm("Send them a code to log in with, by mail?")
    })
  }
}
