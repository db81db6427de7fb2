/** `quote`: verbs for drafts and quotations, up to the order. */
import { rowIn } from "../../../base/answers.ts"
import type { CommandContext } from "../../../context/context.ts"
import { notePending, noteWarnings, printAnswer, warningsIn } from "../../../context/print.ts"
import { type CommandAction, type Flags, listFlag, repeatable, textFlag, withAction } from "../../../context/program.ts"
import { resolveId, resolveStore, storeOf } from "../../../context/resolve-id.ts"
import { declareShow, opportunityPath, showOpportunity } from "../shared/show.ts"
import { kindAndPrice, notePriceOf } from "../shared/parts.ts"
import { idFlag, momentFlag, present } from "../../../context/pages.ts"
import { missingFlagError, usageError } from "../../../base/exit-codes.ts"
import { order_parts } from "../../../output/order.ts"
import type { Query } from "../../../../core/kernel/index.ts"
import type { Command } from "commander"
import { declareReprice, listOpportunities, withListFlags } from "../shared/list.ts"

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
    const [, code = "", quantity = "1"] = /^(.*?)(?:\*(\d+(?:\.\d+)?))?$/s.exec(text.trim()) ?? []
    if (code === "")
      throw usageError(`--line ${JSON.stringify(text)} names no product: write --line SKU or --line SKU*12.`)
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

/** Adds flags for a line's type and price, for `add` and `update`. */
const withKindAndPrice = (command: Command, price: string): Command =>
  command
    .option("--sale", "sale line")
    .option("--service", "service line")
    .option("--rental", "rental line (default: by the product's type)")
    .option("--price <amount>", price)
    .option("--unit-total <amount>", "manual price of one for the whole hire, regardless of its days")
    .option("--line-total <amount>", "manual price of the whole line")
    .option("--free", "free of charge")

export const declare = (program: Command): void => {
  const quote = program
    .command("quote")
    .description("Quotes: new, add, update, remove, duplicate, show, reprice, convert, list")
  withAction(
    quote
      .command("new")
      .description("Create a quote; without flags, asks on a terminal")
      .option("--subject <text>", "subject of the quote")
      .option("--member <member>", "customer, by id or name")
      .option("--new-customer <name>", "name of a new customer, created with the quote")
      .option("--email <address>", "e-mail of the new customer")
      .option("--phone <number>", "phone number of the new customer")
      .option("--venue <member>", "venue, by id or name")
      .option("--store <store>", "store, by id or name (default: the default store)")
      .option("--from <time>", "start of the hire: a date, or a time on the store's clock")
      .option("--to <time>", "end of the hire")
      .option("--reference <text>", "the customer's own reference")
      .option("--currency <code>", "currency of the quote, such as EUR")
      .addOption(
        repeatable("--line <product[*n]>", "product by id, SKU or barcode, with a quantity after *; repeatable")
      )
      .option("--draft", "keep it a draft")
      .option("--yes", "create the customer even if another has the same name"),
    newQuote
  )
  withAction(
    withKindAndPrice(
      quote
        .command("add")
        .description("Add a line to a quote")
        .argument("<quote>", "quote, by id or number")
        .argument("<product>", "product, by id, SKU or barcode")
        .option("--quantity <n>", "number of pieces", "1"),
      "manual price of one, per day of a hire, instead of the rate's"
    )
      .option("--discount <percent>", "discount of the line")
      .option("--from <time>", "start of the line")
      .option("--to <time>", "end of the line")
      .option("--name <text>", "name, instead of the product's")
      .option("--optional", "leave the line out of the total")
      .option("--notes <text>", "notes on the line"),
    addLine
  )
  declareChanges(quote)
  declareShow(quote, "quote")
  declareReprice(quote, "quote")
  withAction(
    quote
      .command("convert")
      .description("Convert a draft to a quotation, or a quotation to an order")
      .argument("<quote>", "quote, by id or number")
      .option("--to <state>", "quotation or order", "order")
      .option("--notes <text>", "note recorded with the order's shortages, if it has any")
      .option("--yes", "skip the confirmation of warnings"),
    convert
  )
  withAction(withListFlags(quote.command("list").description("List drafts and quotations")), (context, _args, flags) =>
    listOpportunities(context, flags, [["q[state_in]", "0,1"]])
  )
}

/** Declares verbs that change or copy quotes. */
const declareChanges = (quote: Command): void => {
  const update = withKindAndPrice(
    quote
      .command("update")
      .description("Change a line: quantity, price, discount, dates; without a line, the quote's own fields")
      .argument("<quote>", "quote, by id or number")
      .argument("[line]", "line, by id, product or name")
      .option("--quantity <n>", "quantity of the line"),
    "manual price of one, per day of a hire; rate: the rate's price again"
  )
    .option("--discount <percent>", "discount of the line; none: no discount")
    .option("--from <time>", "start of the line")
    .option("--to <time>", "end of the line")
    .option("--name <text>", "name of the line")
    .option("--optional", "leave the line out of the total")
    .option("--no-optional", "include the line in the total")
    .option("--notes <text>", "notes on the line")
    .option("--subject <text>", "subject of the quote")
    .option("--reference <text>", "the customer's own reference")
    .option("--member <member>", "customer of the quote, by id or name")
    .option("--venue <member>", "venue of the quote, by id or name")
  withAction(update, async (context, args, flags) => (await import("./lines.ts")).updateQuote(context, args, flags))
  const remove = quote
    .command("remove")
    .description("Remove lines, with the lines below them")
    .argument("<quote>", "quote, by id or number")
    .argument("<lines...>", "lines, by id, product or name")
    .option("--yes", "skip the confirmation")
  withAction(remove, async (context, args, flags) => (await import("./lines.ts")).removeLines(context, args, flags))
  const duplicate = quote
    .command("duplicate")
    .description("Copy a quote to other dates, at today's prices")
    .argument("<quote>", "quote or order, by id or number")
    .option("--from <time>", "start of the copy (default: that of the original)")
    .option("--to <time>", "end of the copy (default: as long as the original)")
    .option("--subject <text>", "subject of the copy (default: the original's with a suffix)")
    .option("--draft", "keep it a draft")
  withAction(duplicate, async (context, args, flags) =>
    (await import("../shared/renew.ts")).duplicateQuote(context, args, flags)
  )
}
