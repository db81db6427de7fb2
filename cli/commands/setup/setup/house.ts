/** Input of `setup`: from a file, flags, or answers on a terminal. Each part is optional. */
import { Schema } from "effect"
import { isJsonObject, parseJson, type JsonObject } from "../../../../core/kernel/index.ts"
import { decoderOf } from "../../../base/answers.ts"
import { CliError, exit_codes, usageError } from "../../../base/exit-codes.ts"
import { type Flags, listFlag, textFlag } from "../../../context/program.ts"

/** Text, trimmed as on the server so that values can be compared. */
const said = Schema.Trim
const text = Schema.optionalKey(said)
const company = Schema.Struct({
  name: text,
  street: text,
  city: text,
  postcode: text,
  country_code: text,
  timezone: text,
  base_currency: text,
  locale: text,
  email: text,
  phone: text,
  website: text,
  tax_number: text,
  registration_number: text
})
const tax = Schema.Struct({ name: said, rate: said, standard: Schema.optionalKey(Schema.Boolean) })
const store = Schema.Struct({
  name: said,
  street: text,
  city: text,
  postcode: text,
  country_code: text,
  timezone: text,
  email: text,
  phone: text
})
const person = Schema.Struct({
  name: said,
  email: said,
  roles: Schema.Array(said),
  invite: Schema.optionalKey(Schema.Boolean)
})
const mail = Schema.Struct({ sender_name: text, sender_address: text, reply_to: text, smtp_url: text })
const house = Schema.Struct({
  company: Schema.optionalKey(company),
  prices_include_tax: Schema.optionalKey(Schema.Boolean),
  contacts_as_customers: Schema.optionalKey(Schema.Boolean),
  taxes: Schema.optionalKey(Schema.Array(tax)),
  /** Whether members and products without a tax class get the default one. */
  assign_tax_classes: Schema.optionalKey(Schema.Boolean),
  stores: Schema.optionalKey(Schema.Array(store)),
  people: Schema.optionalKey(Schema.Array(person)),
  logo: text,
  numbers: Schema.optionalKey(Schema.Record(Schema.String, said)),
  /** Whether numbers have a prefix such as Q-0001; default: true for a new company without documents. */
  short_numbers: Schema.optionalKey(Schema.Boolean),
  mail: Schema.optionalKey(mail)
})
export type House = typeof house.Type
export type Company = typeof company.Type
export type Tax = typeof tax.Type
export type StorePlace = typeof store.Type
export type Person = typeof person.Type

const house_keys: { readonly [part: string]: ReadonlyArray<string> } = {
  "": Object.keys(house.fields),
  company: Object.keys(company.fields),
  taxes: Object.keys(tax.fields),
  stores: Object.keys(store.fields),
  people: Object.keys(person.fields),
  mail: Object.keys(mail.fields)
}
/** Kinds of documents whose numbers can have a prefix. */
export const numbered = ["opportunity", "invoice", "proforma", "credit_note", "purchase_order", "document"] as const

/** Default prefixes of short numbers. */
export const short_prefixes: { readonly [kind in (typeof numbered)[number]]: string } = {
  opportunity: "Q-",
  invoice: "INV-",
  proforma: "PF-",
  credit_note: "CN-",
  purchase_order: "PO-",
  document: "D-"
}

/** Output of `setup --example`, usable as it is; without a logo, whose file would have to exist. */
export const example: House = {
  company: {
    name: "Northlight Rental",
    street: "Dock 4",
    city: "Bristol",
    postcode: "BS1 6XN",
    country_code: "GB",
    timezone: "Europe/London",
    base_currency: "GBP",
    email: "hire@northlight.example",
    phone: "+44 117 496 0000",
    tax_number: "GB123456789"
  },
  prices_include_tax: false,
  contacts_as_customers: true,
  taxes: [
    { name: "VAT", rate: "20", standard: true },
    { name: "Zero", rate: "0" }
  ],
  stores: [
    { name: "Bristol", city: "Bristol" },
    { name: "Leeds", city: "Leeds", timezone: "Europe/London" }
  ],
  people: [
    { name: "Ann Reed", email: "ann@northlight.example", roles: ["Sales"], invite: true },
    { name: "Ben Cole", email: "ben@northlight.example", roles: ["Warehouse"] }
  ],
  numbers: { invoice: "INV-", credit_note: "CN-" },
  mail: { sender_name: "Northlight Rental", sender_address: "hire@northlight.example" }
}

const decode = decoderOf<House>(() => house)
/** Parses a setup file. Exit 5 naming the first fault with its place. */
export const houseFrom = (name: string, content: string): House => {
  let value: unknown
  try {
    value = parseJson(content)
  } catch (cause) {
    throw wrong(name, `it is no JSON (${cause instanceof Error ? cause.message : String(cause)})`, cause)
  }
  refuseUnknown(name, "", value)
  if (isJsonObject(value))
    for (const part of Object.keys(house_keys).filter((one) => one !== "")) {
      const given = value[part]
      for (const one of Array.isArray(given) ? given : [given]) refuseUnknown(name, part, one)
    }
  try {
    return decode(value)
  } catch (cause) {
    throw wrong(name, cause instanceof Error ? cause.message.replaceAll(/\s+/g, " ") : String(cause), cause)
  }
}
const refuseUnknown = (name: string, part: string, value: unknown): void => {
  if (!isJsonObject(value)) return
  const known = house_keys[part] ?? []
  const unknown = Object.keys(value).find((key) => !known.includes(key))
  if (unknown !== undefined)
    throw wrong(name, `${part === "" ? "it" : part} has no ${unknown}; there are ${known.join(", ")}`)
}
const wrong = (name: string, what: string, cause?: unknown): CliError =>
  new CliError(exit_codes.invalid, `The file ${name} cannot be used: ${what}.`, {
    errors: { "--file": [`${what}.`] },
    way_out: "flightcase setup --example prints one.",
    cause
  })

const companyFlags: { readonly [flag: string]: keyof Company } = {
  name: "name",
  street: "street",
  city: "city",
  postcode: "postcode",
  country: "country_code",
  timeZone: "timezone",
  currency: "base_currency",
  locale: "locale",
  email: "email",
  phone: "phone",
  taxNumber: "tax_number"
}
export const houseOfFlags = (flags: Flags): House => {
  const company_given = textFlags(flags, companyFlags)
  const taxes = listFlag(flags, "tax").map((given, at): Tax => ({ ...pairOf("--tax", given), standard: at === 0 }))
  const stores = listFlag(flags, "store").map((name): StorePlace => ({ name }))
  const people = listFlag(flags, "person").map(personOf)
  const numbers = listFlag(flags, "prefix").map((given) => pairOf("--prefix", given))
  const twice = firstTwice(numbers.map(({ name }) => name))
  if (twice !== undefined) throw usageError(`--prefix gives ${twice} twice.`, "Give each kind of number one prefix.")
  const mail_given = textFlags(flags, { mailFrom: "sender_address", smtp: "smtp_url" })
  return decode({
    ...(Object.keys(company_given).length === 0 ? {} : { company: company_given }),
    ...(taxes.length === 0 ? {} : { taxes }),
    ...(flags.assignTaxClasses === true ? { assign_tax_classes: true } : {}),
    ...(stores.length === 0 ? {} : { stores }),
    ...(people.length === 0 ? {} : { people }),
    ...textFlags(flags, { logo: "logo" }),
    ...(numbers.length === 0 ? {} : { numbers: Object.fromEntries(numbers.map(({ name, rate }) => [name, rate])) }),
    ...(flags.shortNumbers === true ? { short_numbers: true } : {}),
    ...(Object.keys(mail_given).length === 0 ? {} : { mail: mail_given })
  })
}
const textFlags = (flags: Flags, fields: { readonly [flag: string]: string }): JsonObject =>
  Object.fromEntries(
    Object.entries(fields).flatMap(([flag, field]) => {
      const given = textFlag(flags, flag)
      return given === undefined ? [] : [[field, given]]
    })
  )
/** First duplicate name; undefined if there is none. */
export const firstTwice = (names: ReadonlyArray<string>): string | undefined =>
  names.find((name, at) => names.indexOf(name) !== at)

/** A percentage without sign and decimal comma: from `23%` or `19,5 %`. */
export const plainRate = (text: string): string => text.replace(/\s*%$/, "").replace(/^(\d+),(\d+)$/, "$1.$2")
/** The address in a text copied from a mail program: `Ann Reed <ann@example.com>`. */
export const plainAddress = (text: string): string => /^[^<>]*<([^<>\s]+)>$/.exec(text)?.[1] ?? text
/** The input with percentages and addresses in the server's form. */
export const plainHouse = (given: House): House => {
  const { company, mail, people, taxes } = given
  return {
    ...given,
    ...(company?.email === undefined ? {} : { company: { ...company, email: plainAddress(company.email) } }),
    ...(mail?.sender_address === undefined
      ? {}
      : { mail: { ...mail, sender_address: plainAddress(mail.sender_address) } }),
    ...(people === undefined ? {} : { people: people.map((one) => ({ ...one, email: plainAddress(one.email) })) }),
    ...(taxes === undefined ? {} : { taxes: taxes.map((one) => ({ ...one, rate: plainRate(one.rate) })) })
  }
}

/** The file's input with flags applied field by field: taxes and stores by name, people by address. */
export const withFlags = (file: House, flags: House): House => {
  const { company, mail, numbers, people, stores, taxes } = flags
  const names_usual = file.taxes?.some(({ standard }) => standard === true) === true
  return {
    ...file,
    ...flags,
    ...(company === undefined ? {} : { company: { ...file.company, ...company } }),
    ...(mail === undefined ? {} : { mail: { ...file.mail, ...mail } }),
    ...(numbers === undefined ? {} : { numbers: { ...file.numbers, ...numbers } }),
    ...(stores === undefined ? {} : { stores: joined(file.stores, stores, ({ name }) => name) }),
    // The first flag is the default tax, unless the file marks another.
    ...(taxes === undefined
      ? {}
      : {
          taxes: joined(
            file.taxes,
            names_usual ? taxes.map(({ name, rate }): Tax => ({ name, rate })) : taxes,
            ({ name }) => name
          )
        }),
    ...(people === undefined ? {} : { people: joined(file.people, people, addressOf, withRoles) })
  }
}
export const addressOf = ({ email }: Person): string => email.toLowerCase()
/** The person from flags, with the file's roles if they have none. */
const withRoles = (before: Person, after: Person): Person => ({
  ...before,
  ...after,
  roles: after.roles.length === 0 ? before.roles : after.roles
})
/** Merges two lists by key; duplicates in `after` are kept, to be rejected. */
const joined = <T>(
  before: ReadonlyArray<T> = [],
  after: ReadonlyArray<T>,
  keyOf: (one: T) => string,
  both: (before: T, after: T) => T = (one, other) => ({ ...one, ...other })
): ReadonlyArray<T> => {
  const found = before.map((one) => after.find((other) => keyOf(other) === keyOf(one)))
  return [
    ...before.map((one, at) => {
      const other = found[at]
      return other === undefined ? one : both(one, other)
    }),
    ...after.filter((one) => !found.includes(one))
  ]
}

const pairOf = (flag: string, given: string): { readonly name: string; readonly rate: string } => {
  const at = given.lastIndexOf("=")
  if (at <= 0) throw usageError(`${flag} wants NAME=VALUE, and ${JSON.stringify(given)} is none.`)
  return { name: given.slice(0, at).trim(), rate: given.slice(at + 1).trim() }
}
/** Parses a person: `Ann Reed <ann@example.com>: Sales, Warehouse`. */
const personOf = (given: string): Person => {
  const [, name = "", email = "", roles = ""] = /^\s*([^<>]+?)\s*<([^<>\s]+)>\s*(?::\s*(.*))?$/.exec(given) ?? []
  if (email === "")
    throw usageError(
      `--person wants a name, an address and roles, and ${JSON.stringify(given)} is none.`,
      'Such as --person "Ann Reed <ann@example.com>: Sales".'
    )
  return {
    name,
    email,
    roles: roles
      .split(",")
      .map((one) => one.trim())
      .filter((one) => one !== "")
  }
}
