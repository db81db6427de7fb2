/** Steps that configure a server, each done or to be done; running them again changes nothing. */
import { readFileSync } from "node:fs"
import { basename } from "node:path"
import { Result } from "effect"
import type { Json, JsonObject } from "../../../../core/kernel/index.ts"
import { readPicture } from "../../../../core/pricing/print/picture.ts"
import { rowIn, rowsIn } from "../../../base/answers.ts"
import type { CommandContext } from "../../../context/context.ts"
import { CliError, exit_codes } from "../../../base/exit-codes.ts"
import { localFile } from "../../../base/input.ts"
import { codeText } from "../../people/users.ts"
import { type House, numbered, type Person, short_prefixes, type StorePlace, type Tax } from "./house.ts"
import type { ClassedKind, Present } from "./present.ts"
import { atServer, classed_kinds, isNew, ruleFor, seededRate, usualClass, withoutClass } from "./present.ts"
import { asStored, parts, prefixes, settingsOf } from "./rules.ts"

export interface SetupStep {
  readonly part: "company" | "customers" | "taxes" | "stores" | "people" | "logo" | "numbers" | "mail"
  readonly what: string
  /** Value for display: `Europe/London`, or `UTC → Europe/London`. */
  readonly value: string
  readonly is_set: boolean
  /** Runs the step, in order; undefined if nothing is to be done. */
  readonly carryOut: (() => Promise<unknown>) | undefined
}
const step = (
  part: SetupStep["part"],
  what: string,
  value: string,
  carryOut: (() => Promise<unknown>) | undefined
): SetupStep => ({ part, what, value, is_set: carryOut === undefined, carryOut })

export const stepsFor = async (
  context: CommandContext,
  house: House,
  present: Present
): Promise<ReadonlyArray<SetupStep>> => {
  const { company = {}, contacts_as_customers, logo, mail = {}, numbers } = house
  const { people = [], prices_include_tax, taxes = [] } = house
  const private_customers = settingSteps(
    context,
    "customers",
    "opportunities",
    { contacts_as_customers: contacts_as_customers ?? true },
    present
  )
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
    ...private_customers.filter((one) => contacts_as_customers !== undefined || !one.is_set),
    ...taxes.flatMap((tax) => taxSteps(context, tax, present)),
    ...retireSeeded(context, taxes, present),
    ...exemptStep(context, taxes, present),
    ...settingSteps(
      context,
      "taxes",
      "tax",
      taxes.some(({ standard }) => standard === true) ? { assign_default_classes: true } : {},
      present
    ),
    ...(house.assign_tax_classes === true ? classSteps(context, present) : []),
    ...withZones(house, present).map((one, at) => storeStep(context, one, at, present)),
    ...settingSteps(context, "numbers", "numbering", prefixes(numbers), present),
    ...((house.short_numbers ?? (isNew(present) && company.name !== undefined))
      ? shortNumbers(context, house, present)
      : []),
    ...settingSteps(context, "mail", "mail", { ...mail }, present),
    ...(logo === undefined ? [] : [await logoStep(context, logo, present)]),
    ...people.map((one) => personStep(context, one, present))
  ]
}

const valueText = (value: Json | undefined): string =>
  value === undefined || value === null || value === "" ? "nothing" : String(value)
const changed = (from: Json | undefined, to: Json): string =>
  valueText(from) === "nothing" ? valueText(to) : `${valueText(from)} → ${valueText(to)}`

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
  // One request per group sets all or none of its settings.
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
          ? valueText(value)
          : changed(now[key], value ?? null),
      at < 0 ? undefined : at === 0 ? put : async () => {}
    )
  })
}

const short_digits = 4
/** Step that sets short numbers of all kinds, keeping existing prefixes. */
const shortNumbers = (
  context: CommandContext,
  { numbers = {} }: House,
  { settings }: Present
): ReadonlyArray<SetupStep> => {
  const now = settings.numbering ?? {}
  const kinds = numbered.map((kind) => {
    const set = now[`${kind}.prefix`]
    const said = numbers[kind] ?? (typeof set === "string" && set !== "" ? set : undefined)
    return { kind, prefix: said ?? short_prefixes[kind], is_set: said !== undefined }
  })
  const due = Object.fromEntries(
    kinds.flatMap(({ is_set, kind, prefix }) => [
      ...(is_set ? [] : [[`${kind}.prefix`, prefix] as const]),
      ...(now[`${kind}.digits`] === short_digits ? [] : [[`${kind}.digits`, short_digits] as const])
    ])
  )
  const example = kinds.map(({ prefix }) => prefix + "1".padStart(short_digits, "0")).join(", ")
  const put = () => atServer(context, "PUT", "settings/numbering", { settings: due })
  return [step("numbers", "short numbers", example, Object.keys(due).length === 0 ? undefined : put)]
}

const currencyEnabled = (
  context: CommandContext,
  code: string | undefined,
  { currencies }: Present
): ReadonlyArray<SetupStep> => {
  const row = currencies.find((one) => one.code === code)
  return row === undefined || row.is_enabled
    ? []
    : [
        step("company", "currency", `${code} enabled`, () =>
          atServer(context, "PUT", `currencies/${row.id}`, { is_enabled: true })
        )
      ]
}

/** Steps for a tax: the default applies to the default product class, others to a new class with their name. */
const taxSteps = (context: CommandContext, tax: Tax, present: Present): ReadonlyArray<SetupStep> => {
  const rate = Number(tax.rate).toFixed(4)
  const row = present.tax_rates.find((one) => one.name === tax.name)
  const is_right = row !== undefined && row.is_active && Number(row.rate) === Number(rate)
  let rate_id = row?.id
  const rated = step(
    "taxes",
    tax.name,
    `${Number(rate)} %`,
    is_right
      ? undefined
      : async () => {
          const body = { name: tax.name, rate, is_active: true }
          const made = await (row === undefined
            ? atServer(context, "POST", "tax_rates", body)
            : atServer(context, "PUT", `tax_rates/${row.id}`, body))
          rate_id = rowIn(made, "tax_rate").id
        }
  )
  const is_usual = tax.standard === true
  const product_class = is_usual
    ? usualClass("products", present)
    : present.tax_classes.products.find((one) => one.name === tax.name)
  const rule = ruleFor(product_class, present)
  const is_applied = row !== undefined && product_class !== undefined && rule?.tax_rate_id === row.id
  const apply = async () => {
    const body = { tax_rate_id: rate_id ?? null }
    if (rule !== undefined) return atServer(context, "PUT", `tax_rules/${rule.id}`, body)
    const made =
      product_class ??
      rowIn(await atServer(context, "POST", "product_tax_classes", { name: tax.name }), "product_tax_class")
    return atServer(context, "POST", "tax_rules", {
      ...body,
      organisation_tax_class_id: usualClass("members", present)?.id ?? null,
      product_tax_class_id: made.id
    })
  }
  const what = is_usual ? "the usual tax" : "tax class of products"
  return [rated, step("taxes", what, tax.name, is_applied ? undefined : apply)]
}
/** Step that deactivates a new server's unused first rate, which could be chosen by mistake. */
const retireSeeded = (
  context: CommandContext,
  taxes: ReadonlyArray<Tax>,
  present: Present
): ReadonlyArray<SetupStep> => {
  const row = seededRate(present)
  const usual = ruleFor(usualClass("products", present), present)
  const is_used = present.tax_rules.some((one) => one.tax_rate_id === row?.id && one.id !== usual?.id)
  const is_replaced = taxes.some(({ standard }) => standard === true) && taxes.every(({ name }) => name !== row?.name)
  return row === undefined || !row.is_active || is_used || !is_replaced
    ? []
    : [
        step("taxes", "Standard 20 %", "retired", () =>
          atServer(context, "PUT", `tax_rates/${row.id}`, { is_active: false })
        )
      ]
}

/** Step for the class "Exempt" of a new server: without a rule the default tax would apply (rules/opportunities 8). */
const exemptStep = (context: CommandContext, taxes: ReadonlyArray<Tax>, present: Present): ReadonlyArray<SetupStep> => {
  const exempt = present.tax_classes.products.find((one) => one.name === "Exempt")
  const zero = present.tax_rates.find((one) => one.is_active && Number(one.rate) === 0)
  const is_taxed = taxes.some(({ standard }) => standard === true)
  if (!is_taxed || exempt === undefined || zero === undefined || ruleFor(exempt, present) !== undefined) return []
  return [
    step("taxes", "Exempt", "0 %", () =>
      atServer(context, "POST", "tax_rules", {
        organisation_tax_class_id: usualClass("members", present)?.id ?? null,
        product_tax_class_id: exempt.id,
        tax_rate_id: zero.id
      })
    )
  ]
}

/** Steps that give rows without a tax class the default one. */
const classSteps = (context: CommandContext, { without_class }: Present): ReadonlyArray<SetupStep> =>
  (Object.keys(classed_kinds) as ReadonlyArray<ClassedKind>).map((kind) => {
    const count = without_class[kind]
    const { words } = classed_kinds[kind]
    return step(
      "taxes",
      `${words[1]} without a tax class`,
      count === 0 ? "none" : `${count} given the default one`,
      count === 0 ? undefined : () => assignClasses(context, kind)
    )
  })
const assignClasses = async (context: CommandContext, kind: ClassedKind): Promise<void> => {
  const { classes, column } = classed_kinds[kind]
  const [usual] = rowsIn(
    await atServer(context, "GET", classes, undefined, { query: [["q[is_default_true]", "1"]] }),
    classes
  )
  for (;;) {
    const { rows } = await withoutClass(context, kind)
    if (usual === undefined || rows.length === 0) return
    for (const row of rows) await atServer(context, "PUT", `${kind}/${row.id}`, { [column]: usual.id ?? null })
  }
}

/** Stores to set: those without a time zone get the company's, as they would count days in UTC; others keep theirs. */
const withZones = ({ company, stores }: House, { settings, stores: rows }: Present): ReadonlyArray<StorePlace> => {
  const timezone = company?.timezone ?? settings.company?.timezone
  const only = stores === undefined && company?.timezone !== undefined && rows.length === 1 ? rows : []
  const places = stores ?? only.map((row): StorePlace => ({ name: row.name }))
  if (typeof timezone !== "string" || timezone === "") return places
  const has_clock = ({ name }: StorePlace): boolean =>
    rows.some((row) => row.name === name && row.timezone !== null && row.timezone !== "")
  return places.map((place) => (has_clock(place) ? place : { timezone, ...place }))
}
/** Name of a new server's store, which the first given store replaces. */
const seeded_store = "Main Warehouse"
const storeStep = (context: CommandContext, place: StorePlace, at: number, { stores }: Present): SetupStep => {
  const named = stores.find((one) => one.name === place.name)
  const only = at === 0 && stores.length === 1 && stores[0]?.name === seeded_store ? stores[0] : undefined
  const row = named ?? only
  if (row === undefined)
    return step("stores", "store", place.name, () => atServer(context, "POST", "stores", { ...place }))
  const now: JsonObject = row
  const due = Object.entries(asStored(parts.stores, { ...place })).filter(([key, value]) => now[key] !== value)
  return step(
    "stores",
    "store",
    named === undefined ? changed(row.name, place.name) : place.name,
    due.length === 0 ? undefined : () => atServer(context, "PUT", `stores/${row.id}`, Object.fromEntries(due))
  )
}

const personStep = (context: CommandContext, person: Person, { users }: Present): SetupStep => {
  const { email, invite = false, name, roles } = person
  const value = `${name} <${email}>${roles.length === 0 ? "" : `: ${roles.join(", ")}`}`
  const row = users.find((one) => one.email.toLowerCase() === email.toLowerCase())
  if (row === undefined)
    return step("people", invite ? "person, invited by mail" : "person", value, async () => {
      const body = { name, email, roles: [...roles], active: !invite, send_invitation: invite }
      const { invitation_code: code } = await atServer(context, "POST", "users", body)
      if (typeof code === "string" || !invite) context.note(await codeText(context, { name, user: email, code }))
    })
  const held = row.roles
  const is_right =
    row.name === name &&
    roles.every((one) => held.includes(one)) &&
    (roles.length > 0 ? held.filter((one) => one !== "Owner").length === roles.length : true)
  return step(
    "people",
    "person",
    value,
    is_right
      ? undefined
      : () =>
          atServer(context, "PUT", `users/${row.id}`, { name, ...(roles.length === 0 ? {} : { roles: [...roles] }) })
  )
}

/** Error of a logo's file; undefined if valid. */
export const logoProblem = (path: string): string | undefined => {
  const name = basename(path)
  try {
    const read = readPicture(readFileSync(path))
    if (Result.isFailure(read)) return `${name}: ${read.failure}`
    // The server checks the type that it detects, and detects none for SVG.
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
  if (problem !== undefined) throw new CliError(exit_codes.invalid, problem, { errors: { logo: [problem] } })
  const { logo } = present
  const is_same = logo?.original_name === file.name && logo.file_size === file.size_bytes
  const owner = present.users.find((one) => one.is_owner) ?? present.users[0]
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
              attachable_id: owner?.member_id ?? null,
              category: "logo",
              description: "The logo on documents"
            },
            { files: { file } }
          )
          const id = rowIn(made, "attachment").id
          await atServer(context, "PUT", "settings/invoicing", { settings: { logo_attachment_id: id } })
        }
  )
}
