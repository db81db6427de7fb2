/** What is to be done to set a server up as a house says, and what is so already. Setting it up again does nothing. */
import { readFileSync } from "node:fs"
import { basename } from "node:path"
import { Result } from "effect"
import type { Json, JsonObject } from "../../../core/kernel/json.ts"
import { readPicture } from "../../../core/print/picture.ts"
import type { CommandContext } from "../../context.ts"
import { CliError, exit_codes } from "../../exit-codes.ts"
import { localFile } from "../../input.ts"
import type { House, Person, StorePlace, Tax } from "./house.ts"
import { atServer, type Present } from "./present.ts"
import { asStored, parts, prefixes, settingsOf } from "./rules.ts"

export interface SetupStep {
  readonly part: "company" | "taxes" | "stores" | "people" | "logo" | "numbers" | "mail"
  readonly what: string
  /** In words: `Europe/London`, or `UTC → Europe/London`. */
  readonly value: string
  readonly is_set: boolean
  /** Carried out in order; undefined where it is set. */
  readonly carryOut: (() => Promise<unknown>) | undefined
}
const step = (
  part: SetupStep["part"],
  what: string,
  value: string,
  carryOut: (() => Promise<unknown>) | undefined
): SetupStep => ({ part, what, value, is_set: carryOut === undefined, carryOut })

const invalid = (field: string, message: string): CliError =>
  new CliError(exit_codes.invalid, message, { errors: { [field]: [message] } })

export const stepsFor = async (
  context: CommandContext,
  house: House,
  present: Present
): Promise<ReadonlyArray<SetupStep>> => {
  const { company = {}, logo, mail = {}, numbers, people = [], prices_include_tax, taxes = [] } = house
  return [
    ...currencyEnabled(context, company.base_currency, present),
    ...settingSteps(context, "company", "company", { ...company }, present),
    ...settingSteps(
      context,
      "taxes",
      "opportunities",
      prices_include_tax === undefined ? {} : { prices_include_tax },
      present
    ),
    ...taxes.flatMap((tax) => taxSteps(context, tax, present)),
    ...withZones(house, present).map((one, at) => storeStep(context, one, at, present)),
    ...settingSteps(context, "numbers", "numbering", prefixes(numbers), present),
    ...settingSteps(context, "mail", "mail", { ...mail }, present),
    ...(logo === undefined ? [] : [await logoStep(context, logo, present)]),
    ...people.map((one) => personStep(context, one, present))
  ]
}

const shown = (value: Json | undefined): string =>
  value === undefined || value === null || value === "" ? "nothing" : String(value)
const changed = (from: Json | undefined, to: Json): string =>
  shown(from) === "nothing" ? shown(to) : `${shown(from)} → ${shown(to)}`

const settingSteps = (
  context: CommandContext,
  part: SetupStep["part"],
  group: string,
  given: JsonObject,
  { settings }: Present
): ReadonlyArray<SetupStep> => {
  const values = asStored(settingsOf(group), given)
  const now = settings[group] ?? {}
  const due = Object.entries(values).filter(([key, value]) => now[key] !== value)
  // One request for all of a group: they hold together, or none of them.
  const put = () => atServer(context, "PUT", `settings/${group}`, { settings: Object.fromEntries(due) })
  return Object.entries(values).map(([key, value]) => {
    const what = key.replaceAll(/[_.]/g, " ")
    const is_secret = key === "smtp_url"
    const at = due.findIndex(([one]) => one === key)
    return step(
      part,
      what,
      is_secret
        ? now[key] === null || now[key] === undefined
          ? "given"
          : "given again"
        : at < 0
          ? shown(value)
          : changed(now[key], value ?? null),
      at < 0 ? undefined : at === 0 ? put : async () => {}
    )
  })
}

const currencyEnabled = (
  context: CommandContext,
  code: string | undefined,
  { currencies }: Present
): ReadonlyArray<SetupStep> => {
  const row = currencies.find((one) => one["code"] === code)
  return row === undefined || row["is_enabled"] === true
    ? []
    : [
        step("company", "currency", `${code} enabled`, () =>
          atServer(context, "PUT", `currencies/${String(row["id"])}`, { is_enabled: true })
        )
      ]
}

const taxSteps = (context: CommandContext, tax: Tax, present: Present): ReadonlyArray<SetupStep> => {
  const rate = Number(tax.rate).toFixed(4)
  const row = present.tax_rates.find((one) => one["name"] === tax.name)
  const is_right = row !== undefined && Number(row["rate"]) === Number(rate)
  let id = row?.["id"]
  const rated = step(
    "taxes",
    tax.name,
    `${Number(rate)} %`,
    is_right
      ? undefined
      : async () => {
          const body = { name: tax.name, rate }
          const made = await (row === undefined
            ? atServer(context, "POST", "tax_rates", body)
            : atServer(context, "PUT", `tax_rates/${String(row["id"])}`, body))
          id = (made["tax_rate"] as JsonObject | undefined)?.["id"]
        }
  )
  const rule = tax.standard === true ? present.tax_rules[0] : undefined
  if (rule === undefined) return [rated]
  const is_standard = row !== undefined && rule["tax_rate_id"] === row["id"]
  return [
    rated,
    step(
      "taxes",
      "the usual tax",
      tax.name,
      is_standard
        ? undefined
        : () => atServer(context, "PUT", `tax_rules/${String(rule["id"])}`, { tax_rate_id: id ?? null })
    )
  ]
}

/**
 * Stores get the company's clock unless another is named, the one a new server has too: a store without one counts its
 * days in UTC. Those that have a clock keep it.
 */
const withZones = ({ company, stores }: House, { settings, stores: rows }: Present): ReadonlyArray<StorePlace> => {
  const timezone = company?.timezone ?? settings["company"]?.["timezone"]
  const only = stores === undefined && company?.timezone !== undefined && rows.length === 1 ? rows : []
  const places = stores ?? only.map((row): StorePlace => ({ name: String(row["name"]) }))
  if (typeof timezone !== "string" || timezone === "") return places
  const has_clock = ({ name }: StorePlace): boolean =>
    rows.some((row) => row["name"] === name && typeof row["timezone"] === "string" && row["timezone"] !== "")
  return places.map((place) => (has_clock(place) ? place : { timezone, ...place }))
}
/** The store a new server has takes the name of the first one. */
const seeded_store = "Main Warehouse"
const storeStep = (context: CommandContext, place: StorePlace, at: number, { stores }: Present): SetupStep => {
  const named = stores.find((one) => one["name"] === place.name)
  const only = at === 0 && stores.length === 1 && stores[0]?.["name"] === seeded_store ? stores[0] : undefined
  const row = named ?? only
  if (row === undefined)
    return step("stores", "store", place.name, () => atServer(context, "POST", "stores", { ...place }))
  const due = Object.entries(asStored(parts.stores, { ...place })).filter(([key, value]) => row[key] !== value)
  return step(
    "stores",
    "store",
    named === undefined ? changed(row["name"], place.name) : place.name,
    due.length === 0
      ? undefined
      : () => atServer(context, "PUT", `stores/${String(row["id"])}`, Object.fromEntries(due))
  )
}

const personStep = (context: CommandContext, person: Person, { users }: Present): SetupStep => {
  const { email, invite = false, name, roles } = person
  const value = `${name} <${email}>${roles.length === 0 ? "" : `: ${roles.join(", ")}`}`
  const row = users.find((one) => String(one["email"]).toLowerCase() === email.toLowerCase())
  if (row === undefined)
    return step("people", invite ? "person, invited by mail" : "person", value, () =>
      atServer(context, "POST", "users", { name, email, roles: [...roles], active: !invite, send_invitation: invite })
    )
  const held = Array.isArray(row["roles"]) ? row["roles"].map(String) : []
  const is_right =
    row["name"] === name &&
    roles.every((one) => held.includes(one)) &&
    (roles.length > 0 ? held.filter((one) => one !== "Owner").length === roles.length : true)
  return step(
    "people",
    "person",
    value,
    is_right
      ? undefined
      : () =>
          atServer(context, "PUT", `users/${String(row["id"])}`, {
            name,
            ...(roles.length === 0 ? {} : { roles: [...roles] })
          })
  )
}

/** What is wrong with a file as a logo; undefined for a good one. */
export const logoProblem = (path: string): string | undefined => {
  const name = basename(path)
  try {
    const read = readPicture(readFileSync(path))
    if (Result.isFailure(read)) return `${name}: ${read.failure}`
    // The server knows a logo by the type it gave the file, and gives drawings none.
    return read.success.mime_type === "image/svg+xml"
      ? `${name} is a drawing: give the logo as PNG or JPEG.`
      : undefined
  } catch (cause) {
    return `${name} cannot be read (${cause instanceof Error ? cause.message : String(cause)}).`
  }
}
const logoStep = async (context: CommandContext, path: string, present: Present): Promise<SetupStep> => {
  const file = await localFile(path)
  const problem = logoProblem(path)
  if (problem !== undefined) throw invalid("logo", problem)
  const { logo } = present
  const is_same = logo?.["original_name"] === file.name && logo["file_size"] === file.size_bytes
  const owner = present.users.find((one) => one["is_owner"] === true) ?? present.users[0]
  return step(
    "logo",
    "logo on documents",
    file.name,
    is_same
      ? undefined
      : async () => {
          const made = await atServer(
            context,
            "POST",
            "attachments",
            {
              attachable_type: "Member",
              attachable_id: owner?.["member_id"] ?? null,
              category: "logo",
              description: "The logo on documents"
            },
            [],
            { file }
          )
          const id = (made["attachment"] as JsonObject | undefined)?.["id"] ?? null
          await atServer(context, "PUT", "settings/invoicing", { settings: { logo_attachment_id: id } })
        }
  )
}
