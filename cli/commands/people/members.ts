/** `members new`: a member with contact details, in one command; the verbs of the API's noun are added. */
import { type Command, Option } from "commander"
import { type JsonObject, readFields } from "../../../core/kernel/index.ts"
import { foldForSearch } from "../../../core/kernel/store/search-index.ts"
import { rowIn } from "../../base/answers.ts"
import { CliError, exit_codes, usageError } from "../../base/exit-codes.ts"
import type { CommandContext } from "../../context/context.ts"
import { notePending, printAnswer } from "../../context/print.ts"
import { type CommandAction, type Flags, textFlag, verb } from "../../context/program.ts"
import { membersFound, resolveId } from "../../context/resolve-id.ts"
import { addressFields, emailFields, phoneFields } from "../../../core/people/members/schema.ts"
import { present } from "../../context/pages.ts"

/** Contact details as the API takes them, and the path of their kind below the member. */
type Contacts = ReadonlyArray<{ readonly path: string; readonly body: JsonObject }>

/** Contact details that `--email`, `--phone`, `--street` and others give. Exit 2 if the API would refuse them. */
const contactsGiven = async (context: CommandContext, flags: Flags): Promise<Contacts> => {
  const given = (name: string) => textFlag(flags, name)
  const [email, phone, street, country] = ["email", "phone", "street", "country"].map(given)
  const place = present({ city: given("city"), county: given("county"), postcode: given("postcode") })
  if (street === undefined && (Object.keys(place).length > 0 || country !== undefined))
    throw usageError("An address begins with its street: give --street, too.")
  const country_id = country === undefined ? undefined : await resolveId(context, "countries", country)
  const contacts = [
    { path: "emails", fields: emailFields, flag: "email", body: present({ address: email }) },
    { path: "phones", fields: phoneFields, flag: "phone", body: present({ number: phone }) },
    { path: "addresses", fields: addressFields, flag: undefined, body: present({ street, ...place, country_id }) }
  ].filter(({ body }) => Object.keys(body).length > 0)
  for (const { body, fields, flag } of contacts) {
    const [wrong] = Object.entries(readFields(fields, body, { mode: "create", base_currency: "" }).errors)
    if (wrong !== undefined) throw usageError(`--${flag ?? wrong[0]}: ${wrong[1].join(" ")}`)
  }
  return contacts.map(({ body, path }) => ({ path, body: { ...body, is_primary: true } }))
}

/** Creates a member and its contact details, one command after the other; returns the answer and the member's path. */
const createMember = async (ask: CommandContext["ask"], body: JsonObject, contacts: Contacts) => {
  const made = await ask({ method: "POST", path: "/api/v1/members", body })
  const path = `/api/v1/members/${rowIn(made.body, "member").id}`
  for (const contact of contacts)
    await ask({ method: "POST", path: `${path}/${contact.path}`, body: contact.body }).catch((refused: unknown) => {
      if (!(refused instanceof CliError)) throw refused
      const way_out = `The member is there, as id ${rowIn(made.body, "member").id}: add what is missing to it.`
      throw new CliError(refused.code, refused.message, { errors: refused.errors, way_out, cause: refused })
    })
  return { made, path }
}

const kinds = ["organisation", "contact", "venue"] as const

const newMember: CommandAction = async (context, [name = ""], flags) => {
  const contacts = await contactsGiven(context, flags)
  const membership_type = String(flags.type)
  const folded = foldForSearch(name.trim())
  if (folded === "") throw usageError("A member needs a name.")
  const found = flags.yes === true ? [] : await membersFound(context, name.slice(0, 200), 15)
  const same = found.filter((one) => foldForSearch(one.name) === folded && one.membership_type === membership_type)
  if (same.length > 0)
    throw new CliError(
      exit_codes.conflict,
      `${same[0]?.name} is there already (id ${same.map(({ id }) => id).join(", ")}).`,
      { way_out: "Give --yes for another of the same name." }
    )
  const { ask, printPlan } = (await import("../../context/writes.ts")).writesOf(context)
  const { made, path } = await createMember(ask, { name, membership_type }, contacts)
  if (context.options.plan === true) return printPlan(`make ${membership_type} ${name}`, made.body)
  const body = await context.read(path, [["include", "emails,phones,addresses"]]).catch((refused: unknown) => {
    // Somebody may create members without seeing any.
    if (refused instanceof CliError && refused.code === exit_codes.not_allowed) return made.body ?? null
    throw refused
  })
  await printAnswer(context, { status: 200, body })
  notePending(context, made)
}

export const declare = (program: Command): void => {
  const members = program.command("members").description("Customers, suppliers, venues, contacts and staff")
  verb(members, "new", {
    about: "Create a member with its contact details",
    "<name>": "name of the member",
    "--type <type>": (typed) => new Option(typed, "type of the member").choices(kinds).default("organisation"),
    "--email <address>": "e-mail of the member",
    "--phone <number>": "phone number of the member",
    "--street <text>": "street of the member's address",
    "--city <text>": "city of the address",
    "--county <text>": "county of the address",
    "--postcode <text>": "postcode of the address",
    "--country <country>": "country of the address, by id or name",
    "-y, --yes": "create it even if another has the same name",
    run: newMember
  })
}

/** Parts of `members new` that `quote new --new-customer` uses. */
export const new_member = { contactsGiven, createMember }
