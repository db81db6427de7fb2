/** `quote`: verbs for drafts and quotations, up to the order. */
import { rowIn } from "../../../base/answers.ts"
import type { CommandContext } from "../../../context/context.ts"
import { notePending, noteWarnings, printAnswer, warningsIn } from "../../../context/print.ts"
import { type CommandAction, type Flags, listFlag, repeatable, textFlag, verb } from "../../../context/program.ts"
import { resolveId, resolveStore, storeOf } from "../../../context/resolve-id.ts"
import { declareShow, opportunityPath, showOpportunity } from "../shared/show.ts"
import { kindAndPrice, notePriceOf } from "../shared/parts.ts"
import { idFlag, momentFlag, present } from "../../../context/pages.ts"
import { missingFlagError, usageError } from "../../../base/exit-codes.ts"
import { order_parts } from "../../../output/order.ts"
import type { Query } from "../../../../core/kernel/index.ts"
import { type Command, Option } from "commander"
import { declareReprice, listOpportunities, list_flags } from "../shared/list.ts"

// `quote add`.

/** Finds a product by id, SKU or barcode. Exit 3 if there is none. */
const findProduct = async (
  context: CommandContext,
  code: string
): Promise<{ readonly item_id: number; readonly name: string }> => {
  const item_id = await resolveId(context, "products", code)
  const product = rowIn(await context.read(`/api/v1/products/${item_id}`), "product")
  return { item_id, name: product.name }
}

const addLine: CommandAction = async (context, [named = "", code = ""], flags) => {
  const path = await opportunityPath(context, named)
  const { item_id, name } = await findProduct(context, code)
  const is_dated = flags.from !== undefined || flags.to !== undefined
  const { zone } = is_dated ? await storeOf(context, rowIn(await context.read(path), "opportunity")) : { zone: "UTC" }
  const starts_at = momentFlag(context, flags, "from", zone)
  const answer = await context.post(
    `${path}/items`,
    present({
      item_id,
      name: flags.name ?? name,
      quantity: flags.quantity,
      ...kindAndPrice(flags),
      discount_percent: flags.discount,
      notes: flags.notes,
      is_optional: flags.optional === true ? true : undefined,
      starts_at,
      ends_at: momentFlag(context, flags, "to", zone, starts_at)
    })
  )
  if (context.options.plan === true) return printAnswer(context, answer)
  await showOpportunity(context, path)
  const made = (rowIn(answer.body, "opportunity").items ?? []).filter((line) => line.item_id === item_id)
  notePriceOf(context, flags, answer.body, Math.max(...made.map(({ id }) => id)))
  noteWarnings(context, answer.body)
  notePending(context, answer)
}

// `quote convert`.

/** Converts a draft or quotation to the requested state, by one or two commands. */
const convert: CommandAction = async (context, [named = ""], flags) => {
  const to = flags.to
  if (to !== "quotation" && to !== "order") throw usageError("--to is quotation or order.")
  const path = await opportunityPath(context, named)
  const opportunity = rowIn(await context.read(path), "opportunity")
  const steps = [
    ...(opportunity.state === 0 ? [{ path: `${path}/convert_to_quotation`, body: {} }] : []),
    ...(to === "order"
      ? [{ path: `${path}/convert_to_order`, body: present({ shortage_notes: flags.notes }) }]
      : opportunity.state === 0
        ? []
        : [{ path: `${path}/convert_to_quotation`, body: {} }])
  ]
  if (to === "order" && !(await agreed(context, path, flags))) throw usageError("Nothing was changed.")
  const { ask, printPlan } = (await import("../../../context/writes.ts")).writesOf(context)
  let last
  for (const step of steps) last = await ask({ method: "POST", query: [["include", order_parts]], ...step })
  if (context.options.plan === true)
    return printPlan(`make ${to === "order" ? "an order" : "a quotation"}: ${opportunity.subject}`)
  await showOpportunity(context, path)
  noteWarnings(context, last?.body)
  if (last !== undefined) notePending(context, last)
}

/** On a terminal, prints warnings of a conversion to an order, such as a shortage, and asks; otherwise true. */
const agreed = async (context: CommandContext, path: string, flags: Flags): Promise<boolean> => {
  if (!context.interactive || flags.yes === true || context.options.plan === true) return true
  const actions = await context.read(`${path}/available_actions`)
  if (warningsIn(actions).length === 0) return true
  noteWarnings(context, actions)
  const { confirm } = await import("../../../output/prompt.ts")
  return confirm("Make it an order all the same?")
}

// `quote new`.

/** Creates an opportunity with lines, and converts it to a quotation unless it is to be a draft. */
const newQuote: CommandAction = async (context, _args, flags) => {
  const nothing_given = ["subject", "member", "from", "to", "line"].every((name) => flags[name] === undefined)
  const answers: Flags =
    nothing_given && context.interactive
      ? { ...flags, ...(await (await import("./wizard.ts")).askForQuote(context, flags)) }
      : flags
  if (typeof answers.subject !== "string") throw missingFlagError("--subject", "the subject")
  const store = await resolveStore(context, textFlag(answers, "store"))
  const lines = await readLines(context, listFlag(answers, "line"))
  // All input is checked before the customer is created.
  const starts_at = momentFlag(context, answers, "from", store.zone)
  const dates = { starts_at, ends_at: momentFlag(context, answers, "to", store.zone, starts_at) }
  const venue_id = await idFlag(context, answers, "venue", "members")
  const { ask, printPlan } = (await import("../../../context/writes.ts")).writesOf(context)
  const member_id = await newCustomer(context, answers, ask)
  const body = present({
    subject: answers.subject,
    store_id: store.id,
    reference: textFlag(answers, "reference"),
    currency: textFlag(answers, "currency"),
    ...dates,
    member_id: member_id ?? (await idFlag(context, answers, "member", "members")),
    venue_id
  })
  const query: Query = [["include", order_parts]]
  const made = await ask({ method: "POST", path: "/api/v1/opportunities", query, body })
  const path = `/api/v1/opportunities/${rowIn(made.body, "opportunity").id}`
  // One after the other, as each command is decided on the result of the previous one.
  const told = [made]
  for (const { name, item_id, quantity } of lines)
    told.push(await ask({ method: "POST", path: `${path}/items`, query, body: { name, item_id, quantity } }))
  if (answers.draft !== true)
    told.push(await ask({ method: "POST", path: `${path}/convert_to_quotation`, query, body: {} }))
  if (context.options.plan === true)
    return printPlan(`make a ${answers.draft === true ? "draft" : "quotation"}: ${answers.subject}`)
  await showOpportunity(context, path)
  const warnings = [...new Set(told.flatMap(({ body: answered }) => warningsIn(answered)))]
  noteWarnings(context, { meta: { warnings } })
  notePending(context, made)
}

interface Line {
  readonly item_id: number
  readonly name: string
  readonly quantity: string
}
/** Parses products with quantities, such as `AURA*12`, and resolves all before anything is written. */
const readLines = async (context: CommandContext, given: ReadonlyArray<string>): Promise<ReadonlyArray<Line>> => {
  const lines: Array<Line> = []
  for (const text of given) {
    const [, code = "", quantity = "1"] = /^(.*?)(?:\*(-?\d+(?:\.\d+)?))?$/s.exec(text.trim()) ?? []
    if (code === "" || Number(quantity) <= 0)
      throw usageError(`--line ${JSON.stringify(text)} needs a product and more than 0: SKU*2.`)
    lines.push({ ...(await findProduct(context, code)), quantity })
  }
  return lines
}

/** Creates the customer of `--new-customer`, or takes one of that name; returns the id, if the flag is given. */
const newCustomer = async (
  context: CommandContext,
  answers: Flags,
  ask: CommandContext["ask"]
): Promise<number | undefined> => {
  const name = textFlag(answers, "newCustomer")
  if (name === undefined) {
    const alone = ["email", "phone"].find((flag) => answers[flag] !== undefined)
    if (alone === undefined) return undefined
    throw usageError(`--${alone} is of a new customer: give --new-customer NAME, too.`)
  }
  if (answers.member !== undefined) throw usageError("Give --member or --new-customer, not both.")
  const { new_member } = await import("../../people/members.ts")
  const contacts = await new_member.contactsGiven(context, answers)
  const { sameNamed } = await import("./ask-customer.ts")
  const known = answers.yes === true ? undefined : await sameNamed(context, name)
  if (known !== undefined) return known
  const { made } = await new_member.createMember(ask, { name, membership_type: "organisation" }, contacts)
  return rowIn(made.body, "member").id
}

/** Flags for a line's type and price, for `add` and `update`. */
const kindFlags = (price: string) => ({
  "--sale": "sale line",
  "--service": "service line",
  "--rental": "rental line (default: by the product's type)",
  "--price <amount>": price,
  "--unit-total <amount>": "manual price of one for the whole hire, regardless of its days",
  "--line-total <amount>": "manual price of the whole line",
  "--free": "free of charge"
})

export const declare = (program: Command): void => {
  const quote = program
    .command("quote")
    .description("Quotes: new, add, update, remove, duplicate, show, reprice, convert, list")
  verb(quote, "new", {
    about: "Create a quote; without flags, asks on a terminal",
    "--subject <text>": "subject of the quote",
    "--member <member>": "customer, by id or name",
    "--new-customer <name>": "name of a new customer, created with the quote",
    "--email <address>": "e-mail of the new customer",
    "--phone <number>": "phone number of the new customer",
    "--venue <member>": "venue, by id or name",
    "--store <store>": "store, by id or name (default: the default store)",
    "--from <time>": "start of the hire: a date, or a time on the store's clock",
    "--to <time>": "end of the hire",
    "--reference <text>": "the customer's own reference",
    "--currency <code>": "currency of the quote, such as EUR",
    "--line <product[*n]>": repeatable("product by id, SKU or barcode, with a quantity after *; repeatable"),
    "--draft": "keep it a draft",
    "-y, --yes": "create the customer even if another has the same name",
    run: newQuote
  })
  verb(quote, "add", {
    about: "Add a line to a quote",
    "<quote>": "quote, by id or number",
    "<product>": "product, by id, SKU or barcode",
    "--quantity <n>": (typed) => new Option(typed, "number of pieces").default("1"),
    ...kindFlags("manual price of one, per day of a hire, instead of the rate's"),
    "--discount <percent>": "discount of the line",
    "--from <time>": "start of the line",
    "--to <time>": "end of the line",
    "--name <text>": "name, instead of the product's",
    "--optional": "leave the line out of the total",
    "--notes <text>": "notes on the line",
    run: addLine
  })
  declareChanges(quote)
  declareShow(quote, "quote")
  declareReprice(quote, "quote")
  verb(quote, "convert", {
    about: "Convert a draft to a quotation, or a quotation to an order",
    "<quote>": "quote, by id or number",
    "--to <state>": (typed) => new Option(typed, "quotation or order").default("order"),
    "--notes <text>": "note recorded with the order's shortages, if it has any",
    "-y, --yes": "skip the confirmation of warnings",
    run: convert
  })
  verb(quote, "list", {
    about: "List drafts and quotations",
    ...list_flags,
    run: (context, _args, flags) => listOpportunities(context, flags, [["q[state_in]", "0,1"]])
  })
}

/** Declares verbs that change or copy quotes. */
const declareChanges = (quote: Command): void => {
  verb(quote, "update", {
    about: "Change a line: quantity, price, discount, dates; without a line, the quote's own fields",
    "<quote>": "quote, by id or number",
    "[line]": "line, by id, product or name",
    "--quantity <n>": "quantity of the line",
    ...kindFlags("manual price of one, per day of a hire; rate: the rate's price again"),
    "--discount <percent>": "discount of the line; none: no discount",
    "--from <time>": "start of the line",
    "--to <time>": "end of the line",
    "--name <text>": "name of the line",
    "--optional": "leave the line out of the total",
    "--no-optional": "include the line in the total",
    "--notes <text>": "notes on the line",
    "--subject <text>": "subject of the quote",
    "--reference <text>": "the customer's own reference",
    "--member <member>": "customer of the quote, by id or name",
    "--venue <member>": "venue of the quote, by id or name",
    run: async (...given) => (await import("./lines.ts")).updateQuote(...given)
  })
  verb(quote, "remove", {
    about: "Remove lines, with the lines below them",
    "<quote>": "quote, by id or number",
    "<lines...>": "lines, by id, product or name",
    "-y, --yes": "skip the confirmation",
    run: async (...given) => (await import("./lines.ts")).removeLines(...given)
  })
  verb(quote, "duplicate", {
    about: "Copy a quote to other dates, at today's prices",
    "<quote>": "quote or order, by id or number",
    "--from <time>": "start of the copy (default: that of the original)",
    "--to <time>": "end of the copy (default: as long as the original)",
    "--subject <text>": "subject of the copy (default: the original's with a suffix)",
    "--draft": "keep it a draft",
    run: async (context, args, flags) => (await import("../shared/renew.ts")).duplicateQuote(context, args, flags)
  })
}
