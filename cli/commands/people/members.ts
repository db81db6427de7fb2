/** `members new`: a member with contact details, in one command; the verbs of the API's noun are added. */
import { type Command, Option } from "commander"
import type { JsonObject } from "../../../core/kernel/index.ts"
import { foldForSearch } from "../../../core/kernel/store/search-index.ts"
import { rowIn } from "../../base/answers.ts"
import { CliError, exit_codes, usageError } from "../../base/exit-codes.ts"
import type { CommandContext } from "../../context/context.ts"
import { notePending, printAnswer } from "../../context/print.ts"
import { type CommandAction, type Flags, textFlag, withAction } from "../../context/program.ts"
import { membersFound, resolveId } from "../../context/resolve-id.ts"
import { present } from "../../context/pages.ts"

/** Contact details as the API takes them, and the path of their kind below the member. */
type Contacts = ReadonlyArray<{ readonly path: string; readonly body: JsonObject }>

/** Contact details that `--email`, `--phone`, `--street` and others give. Exit 2 if they are malformed. */
const contactsGiven = async (context: CommandContext, flags: Flags): Promise<Contacts> => {
  const given = (name: string) => textFlag(flags, name)
  const [email, phone, street, country] = ["email", "phone", "street", "country"].map(given)
  if (email !== undefined && !/^\S+@\S+$/.test(email))
    throw usageError(`--email: ${JSON.stringify(email)} is no e-mail address.`)
  const place = present({ city: given("city"), county: given("county"), postcode: given("postcode") })
  if (street === undefined && (Object.keys(place).length > 0 || country !== undefined))
    throw usageError("An address begins with its street: give --street, too.")
  const country_id = country === undefined ? undefined : await resolveId(context, "countries", country)
  return [
    { path: "emails", body: { address: email, is_primary: true }, is_given: email !== undefined },
    { path: "phones", body: { number: phone, is_primary: true }, is_given: phone !== undefined },
    { path: "addresses", body: { street, ...place, country_id, is_primary: true }, is_given: street !== undefined }
  ].flatMap(({ body, is_given, path }) => (is_given ? [{ path, body: present(body) }] : []))
}

/** Creates a member and its contact details, one command after the other; returns the answer and the member's path. */
const createMember = async (ask: CommandContext["ask"], body: JsonObject, contacts: Contacts) => {
  const made = await ask({ method: "POST", path: "/api/v1/members", body })
  const path = `/api/v1/members/${rowIn(made.body, "member").id}`
  for (const contact of contacts) await ask({ method: "POST", path: `${path}/${contact.path}`, body: contact.body })
  return { made, path }
}

const kinds = ["organisation", "contact", "venue"] as const

const newMember: CommandAction = async (context, [name = ""], flags) => {
  const contacts = await contactsGiven(context, flags)
  const membership_type = String(flags.type)
  const folded = foldForSearch(name.trim())
  const same = (await membersFound(context, name, 15)).filter(
    (one) => foldForSearch(one.name) === folded && one.membership_type === membership_type
  )
  if (flags.yes !== true && same.length > 0)
    throw new CliError(
      exit_codes.conflict,
      `${same[0]?.name} is there already (id ${same.map(({ id }) => id).join(", ")}).`,
      { way_out: "Give --yes for another of the same name." }
    )
  const { ask, printPlan } = (await import("../../context/writes.ts")).writesOf(context)
  const { made, path } = await createMember(ask, { name, membership_type }, contacts)
  if (context.options.plan === true) return printPlan(`make ${membership_type} ${name}`, made.body)
  const body = await context.read(path, [["include", "emails,phones,addresses"]])
  await printAnswer(context, { status: 200, body })
  notePending(context, made)
}

export const declare = (program: Command): void => {
  const members = program.command("members").description("Customers, suppliers, venues, contacts and staff")
  withAction(
    members
      .command("new")
      .description("Create a member with its contact details")
      .argument("<name>", "name of the member")
      .addOption(new Option("--type <type>", "type of the member").choices(kinds).default("organisation"))
      .option("--email <address>", "e-mail of the member")
      .option("--phone <number>", "phone number of the member")
      .option("--street <text>", "street of the member's address")
      .option("--city <text>", "city of the address")
      .option("--county <text>", "county of the address")
      .option("--postcode <text>", "postcode of the address")
      .option("--country <country>", "country of the address, by id or name")
      .option("--yes", "create it even if another has the same name"),
    newMember
  )
}

/** Parts of `members new` that `quote new --new-customer` uses. */
export const new_member = { contactsGiven, createMember }
