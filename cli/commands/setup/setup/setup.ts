/** `setup`: configures a server for a company: name, money, taxes, stores, people, documents and mail. */
import { readFile } from "node:fs/promises"
import { dirname, resolve } from "node:path"
import type { Command } from "commander"
import type { CommandContext } from "../../../context/context.ts"
import { fetched } from "../../../context/writes.ts"
import { shellWord } from "../../../../core/values/text.ts"
import { CliError, exit_codes, usageError } from "../../../base/exit-codes.ts"
import { standardInput } from "../../../base/input.ts"
import { columnsNamed, tableText } from "../../../output/table.ts"
import { type CommandAction, repeatable, textFlag, verb } from "../../../context/program.ts"
import { example, type House, houseFrom, houseOfFlags, plainHouse, withFlags } from "./house.ts"
import { isNew, type Present, presentAt, proposedBy, usualTax, withoutClassText } from "./present.ts"
import type { SetupStep } from "./steps.ts"
import { writeFileSync } from "node:fs"

const next_commands: ReadonlyArray<readonly [command: string, says: string]> = [
  ["flightcase import products FILE", "the price list, from CSV or JSON"],
  ["flightcase users invite ADDRESS --name NAME --role ROLE", "somebody else who works here"],
  ["flightcase quote new", "the first quotation"]
]

export const declare = (program: Command): void => {
  verb(program, "setup", {
    about:
      "Set up a server: company, time zone, currency, taxes, stores, people, logo, numbering and mail. Asks on a " +
      "terminal; keeps what is not given, and can be run again.",
    "--file <file>": "setup as JSON; - reads standard input",
    "--example": 'print an example of the file; "logo" names an image in the same folder',
    "--name <text>": "company name",
    "--street <text>": "street of the company's address",
    "--city <text>": "city of the company's address",
    "--postcode <text>": "postcode of the company's address",
    "--country <code>": "country of the company, such as GB",
    "--time-zone <zone>": "time zone, such as Europe/London (initially the country's, else this machine's)",
    "--currency <code>": "base currency, such as EUR (initially the country's)",
    "--locale <tag>": "language and formats of documents, such as de-DE (initially the country's)",
    "--email <address>": "e-mail address of the company",
    "--phone <number>": "telephone number of the company",
    "--tax-number <text>": "tax number of the company",
    "--tax <name=rate>": repeatable(
      "tax, such as VAT=20; on a new server the first is the default, others get a tax class"
    ),
    "--assign-tax-classes": "give the default tax class to existing customers and products without one",
    "--store <name>": repeatable("store to create; on a new server the first renames the existing one"),
    "--person <person>": repeatable('person to add, such as "Ann Reed <ann@example.com>: Sales"'),
    "--logo <file>": "logo for documents, a PNG or JPEG file",
    "--prefix <kind=text>": repeatable("prefix of document numbers, such as invoice=INV-"),
    "--short-numbers": "number documents like Q-0001; default on a new server",
    "--mail-from <address>": "sender address of mail",
    "--smtp <url>": "mail server, smtp://user:password@host:587",
    run: setup
  })
}

const setup: CommandAction = async (context, _args, flags) => {
  if (flags.example === true) return context.print(`${JSON.stringify(example, null, 2)}\n`)
  const file = textFlag(flags, "file")
  const by_flags = houseOfFlags(flags)
  const of_file = file === undefined ? undefined : await houseOfFile(file)
  const is_given = Object.keys(of_file ?? by_flags).length > 0 || Object.keys(by_flags).length > 0
  const is_plan = context.options.plan === true
  if (!is_given && !context.interactive && !is_plan)
    throw new CliError(exit_codes.usage, "What to set up is missing: give --file, or flags such as --name.", {
      errors: { "--file": ["is required"] },
      way_out: "flightcase setup --example prints a file; flightcase setup --help lists the flags."
    })
  const present = await presentAt(context)
  if (is_given) {
    const flagged = keepingUsualTax(context, by_flags, present)
    const given = of_file === undefined ? flagged : withFlags(of_file, flagged)
    return setUp(context, withProposed(context, plainHouse(given), present), present)
  }
  if (is_plan) {
    const { stepsFor } = await import("./steps.ts")
    return told(context, await stepsFor(context, presentHouse(present), present), "plan")
  }
  const asked = await (await import("./wizard.ts")).askedHouse(context, present)
  try {
    await setUp(context, asked, present, true)
  } catch (error) {
    if (!(error instanceof CliError)) throw error
    throw new CliError(error.code, error.message, {
      errors: error.errors,
      way_out: [error.way_out, keepAnswers(asked)].filter((one) => one !== undefined).join(" "),
      cause: error
    })
  }
}

const setUp = async (context: CommandContext, house: House, present: Present, asks_first = false): Promise<void> => {
  const [{ refuseWrong }, { stepsFor }] = await Promise.all([import("./rules.ts"), import("./steps.ts")])
  refuseWrong(house, present)
  const steps = await stepsFor(context, house, present)
  if (context.options.plan === true) return told(context, steps, "plan")
  const due = steps.filter((one) => !one.is_set)
  if (asks_first && due.length > 0) {
    showSteps(context, steps)
    const { confirm } = await import("../../../output/prompt.ts")
    if (!(await confirm("Set it up like this?"))) return context.note(`Left as it is. ${keepAnswers(house)}`)
  }
  for (const [at, one] of due.entries()) await carriedOut(one, at, due)
  if (due.length > 0) await fetched(context)
  told(context, steps, "done", isNew(present))
  if (house.taxes !== undefined && house.assign_tax_classes !== true) offerClasses(context, present)
}
const offerClasses = (context: CommandContext, present: Present): void => {
  const found = withoutClassText(present)
  if (found !== undefined) context.note(`! ${found}; flightcase setup --assign-tax-classes gives them the default one.`)
}

/** Runs one of the steps due; its error lists those done before. */
const carriedOut = async (one: SetupStep, at: number, due: ReadonlyArray<SetupStep>): Promise<void> => {
  try {
    await one.carryOut?.()
  } catch (error) {
    if (!(error instanceof CliError)) throw error
    const done = due.slice(0, at).map(({ what }) => what)
    throw new CliError(error.code, `${one.what}: ${error.message}`, {
      errors: error.errors,
      way_out:
        `${done.length === 0 ? "Nothing was set." : `Set before it: ${done.join(", ")}.`} ` +
        `Mend it and run setup again: what is set is left.`,
      cause: error
    })
  }
}

/**
 * The first --tax is the default of a new server. Once a default was chosen, taxes from flags get classes of their own,
 * and only `standard` in a file changes it.
 */
const keepingUsualTax = (context: CommandContext, house: House, present: Present): House => {
  const usual = usualTax(present)
  if (usual === undefined || house.taxes === undefined) return house
  const others = house.taxes.filter(({ name }) => name !== usual.name).map(({ name }) => name)
  if (others.length > 0)
    context.note(
      `${usual.name} stays the usual tax. For products taxed otherwise: flightcase products update SKU ` +
        `--tax-class-id ${shellWord(others[0] ?? "")}`
    )
  const taxes = house.taxes.map(({ name, rate }) => ({ name, rate, standard: name === usual.name }))
  return { ...house, taxes }
}

/** The input with the country's time zone, currency and locale as defaults, on the first setup. */
const withProposed = (context: CommandContext, house: House, present: Present): House => {
  const { base_currency, name = "", timezone } = present.settings.company ?? {}
  if (name !== "") return house
  const { company = {} } = house
  const proposed = proposedBy(company.country_code, present)
  const zone = timezone === "UTC" && company.timezone === undefined ? proposed.timezone : "UTC"
  const currency = company.base_currency === undefined ? proposed.base_currency : undefined
  const taken = {
    ...(zone === "UTC" ? {} : { timezone: zone }),
    ...(currency === undefined || currency === base_currency ? {} : { base_currency: currency }),
    ...(company.locale !== undefined || proposed.locale === undefined ? {} : { locale: proposed.locale })
  }
  if (taken.timezone !== undefined) context.note(`The time zone is ${zone}; --time-zone names another.`)
  if (taken.base_currency !== undefined) context.note(`The currency is ${currency}; --currency names another.`)
  if (taken.locale !== undefined) context.note(`The locale is ${taken.locale}; --locale names another.`)
  return { ...house, ...(Object.keys(taken).length === 0 ? {} : { company: { ...company, ...taken } }) }
}
/** Current configuration in the form of the input, for display. */
const presentHouse = ({ settings, stores, tax_rates, users }: Present): House => {
  const company = settings.company ?? {}
  const texts = Object.fromEntries(
    Object.entries(company).filter(([, value]) => typeof value === "string" && value !== "")
  )
  const { base_currency, city, country_code, email, locale, name, phone, postcode, street, tax_number, timezone } =
    texts

  const known = {
    name,
    street,
    city,
    postcode,
    country_code,
    timezone,
    base_currency,
    locale,
    email,
    phone,
    tax_number
  }
  return {
    company: Object.fromEntries(Object.entries(known).filter(([, value]) => value !== undefined)),
    taxes: tax_rates.map((one) => ({ name: one.name, rate: String(Number(one.rate)) })),
    stores: stores.map((one) => ({ name: one.name })),
    people: users.map((one) => ({ name: one.name, email: one.email, roles: [] }))
  }
}

const houseOfFile = async (path: string): Promise<House> => {
  const is_input = path === "-"
  let content: string
  try {
    content = is_input ? await standardInput() : await readFile(path, "utf8")
  } catch (cause) {
    throw usageError(
      `The file ${path} cannot be read (${cause instanceof Error ? cause.message : String(cause)}).`,
      "flightcase setup --example prints one."
    )
  }
  const house = houseFrom(path, content)
  // Path of a logo, relative to the file that names it.
  return house.logo === undefined || is_input ? house : { ...house, logo: resolve(dirname(path), house.logo) }
}

const rowsOf = (steps: ReadonlyArray<SetupStep>, as: "plan" | "done") =>
  steps.map(({ is_set, part, value, what }) => ({
    part,
    what,
    value,
    state: is_set ? "set already" : as === "plan" ? "to do" : "set"
  }))
const showSteps = (context: CommandContext, steps: ReadonlyArray<SetupStep>, as: "plan" | "done" = "plan"): void => {
  const columns = columnsNamed("part=PART, what=WHAT, value=VALUE, state=STATE")
  context.print(tableText(columns, rowsOf(steps, as), context.terminal))
}
const told = (context: CommandContext, steps: ReadonlyArray<SetupStep>, as: "plan" | "done", is_new = false): void => {
  if (context.options.json === true)
    return context.printJson({
      setup: rowsOf(steps, as),
      next: as === "done" ? next_commands.map(([command]) => command) : []
    })
  showSteps(context, steps, as)
  if (as === "plan") return context.note("Planned only; nothing was written.")
  const due = steps.filter(({ is_set }) => !is_set).length
  context.note(due === 0 ? "All of it was set already." : `${due} of ${steps.length} set.`)
  if (is_new) context.note(`Next:\n${next_commands.map(([command, says]) => `  ${command}    ${says}`).join("\n")}`)
}

const names_max = 100
/** Writes answers to the current folder, without secrets; returns advice on how to continue. */
export const keepAnswers = (house: House): string => {
  const { smtp_url, ...mail } = house.mail ?? {}
  const content = `${JSON.stringify({ ...house, mail }, null, 2)}\n`
  const secret = smtp_url === undefined ? "" : " --smtp URL"
  for (let number = 1; number <= names_max; number++) {
    const file = `flightcase-setup${number === 1 ? "" : `-${number}`}.json`
    try {
      writeFileSync(file, content, { flag: "wx", mode: 0o600 })
    } catch (cause) {
      if (cause instanceof Error && "code" in cause && cause.code === "EEXIST") continue
      return `Your answers could not be written down (${cause instanceof Error ? cause.message : String(cause)}).`
    }
    return (
      `Your answers are in ${file}: mend it, then flightcase setup --file ${file}${secret}.` +
      (secret === "" ? "" : " The mail server's address is not in it.")
    )
  }
  return "Your answers could not be written down."
}
