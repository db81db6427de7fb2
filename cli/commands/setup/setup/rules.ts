/** Applies the server's rules to the input of `setup`, while typing and before writing. */
import { catalogue } from "../../../../core/catalogue.ts"
import { readFields, type Fields, type JsonObject } from "../../../../core/kernel/index.ts"
import { nearest } from "../../../../core/values/nearest.ts"
import { CliError, exit_codes } from "../../../base/exit-codes.ts"
import { addressOf, firstTwice, type House, numbered } from "./house.ts"
import type { Present } from "./present.ts"

export const settingsOf = (group: string): Fields => catalogue.settings[group] ?? {}
const fieldsOf = (endpoint: string): Fields => catalogue.endpoints.find(({ name }) => name === endpoint)?.fields ?? {}
/** Request fields of the parts of a setup. */
export const parts = {
  company: settingsOf("company"),
  mail: settingsOf("mail"),
  numbers: settingsOf("numbering"),
  taxes: fieldsOf("tax_rates.create"),
  stores: fieldsOf("stores.create"),
  people: fieldsOf("users.create")
}
type Part = keyof typeof parts
type Problems = { readonly [field: string]: ReadonlyArray<string> }

/** Currency to parse fields with; none, as a setup has no amounts. */
const base_currency = ""
/** Values as the server stores them: `gb` becomes GB, and an empty text null. */
export const asStored = (fields: Fields, values: JsonObject): JsonObject =>
  readFields(fields, values, { mode: "update", base_currency }).values

/** Error of an answer; undefined if valid. */
export const problemIn = (part: Part, name: string, text: string): string | undefined => {
  const field = parts[part][name]
  if (field === undefined) return undefined
  const { errors } = readFields({ [name]: field }, { [name]: text }, { mode: "create", base_currency })
  return Object.values(errors)[0]?.[0]
}
/** Error of a currency; undefined if the server supports it. */
export const currencyProblem = (code: string, { currencies }: Present): string | undefined => {
  const codes = currencies.map((one) => one.code)
  if (codes.includes(code)) return undefined
  const guess = nearest(code.toUpperCase(), codes)
  return `There is no currency ${code}${guess === undefined ? "." : `; did you mean ${guess}?`}`
}
export const twiceProblem = (names: ReadonlyArray<string>): string | undefined => {
  const twice = firstTwice(names)
  return twice === undefined ? undefined : `${twice} is named twice.`
}

/** Checks the whole input before anything is written. Exit 5 naming the fields. */
export const refuseWrong = (house: House, present: Present): void => {
  const problems = { ...fieldProblems(house), ...sumProblems(house), ...knownProblems(house, present) }
  const message = Object.values(problems)[0]?.[0]
  if (message === undefined) return
  throw new CliError(exit_codes.invalid, message, {
    errors: problems,
    way_out: "company.base_currency" in problems ? "flightcase currencies list shows them." : undefined
  })
}

/** Errors of single fields. */
const fieldProblems = ({ company, mail, numbers, people, stores, taxes }: House): Problems => {
  const in_settings = (part: Part, values: JsonObject = {}): Problems =>
    readFields(parts[part], values, { mode: "update", base_currency, path: `${part}.` }).errors
  const in_rows = (part: Part, rows: ReadonlyArray<JsonObject> = []): Problems =>
    Object.assign(
      {},
      ...rows.map(
        (row, at) => readFields(parts[part], row, { mode: "create", base_currency, path: `${part}.${at}.` }).errors
      )
    )
  return {
    ...in_settings("company", company),
    ...in_settings("mail", mail),
    ...in_settings("numbers", prefixes(numbers)),
    ...in_rows("taxes", taxes),
    ...in_rows("stores", stores),
    ...in_rows("people", people)
  }
}
/** Settings for the prefixes of numbers. */
export const prefixes = (numbers: House["numbers"] = {}): JsonObject =>
  Object.fromEntries(Object.entries(numbers).map(([kind, prefix]) => [`${kind}.prefix`, prefix]))

/** Errors that involve several fields. */
const sumProblems = ({ people = [], stores = [], taxes = [] }: House): Problems => {
  const usual = taxes.filter(({ standard }) => standard === true).map(({ name }) => name)
  const told = {
    taxes:
      twiceProblem(taxes.map(({ name }) => name)) ??
      (usual.length > 1
        ? `Only one tax can be the usual one, and ${usual.join(" and ")} are both standard.`
        : undefined),
    stores: twiceProblem(stores.map(({ name }) => name)),
    people: twiceProblem(people.map(addressOf))
  }
  return problemsOf(told)
}
/** Errors of names that do not exist. */
const knownProblems = ({ company, numbers = {}, people = [] }: House, present: Present): Problems => {
  const kind = Object.keys(numbers).find((one) => !numbered.some((known) => known === one))
  const roles = present.roles.map((one) => one.name)
  const [unknown] = people.flatMap((person) =>
    person.roles.filter((role) => !roles.includes(role)).map((role) => `There is no role ${role} for ${person.name}`)
  )
  return problemsOf({
    "company.base_currency":
      company?.base_currency === undefined ? undefined : currencyProblem(company.base_currency, present),
    numbers: kind === undefined ? undefined : `There is no number ${kind}; there are ${numbered.join(", ")}.`,
    "people.roles": unknown === undefined ? undefined : `${unknown}; there are ${roles.join(", ")}.`
  })
}
const problemsOf = (told: { readonly [field: string]: string | undefined }): Problems =>
  Object.fromEntries(Object.entries(told).flatMap(([field, text]) => (text === undefined ? [] : [[field, [text]]])))
