/** Asks for customer, dates and lines of `quote new` on a terminal; each line is shown with price and shortage. */
import { exact } from "../../../../core/values/decimal.ts"
import { metaIn, type Row, rowIn, rowsIn } from "../../../base/answers.ts"
import type { CommandContext } from "../../../context/context.ts"
import { CliError, exit_codes } from "../../../base/exit-codes.ts"
import { findIdByName, type ResolvedStore, resolveStore } from "../../../context/resolve-id.ts"
import { askForMember, type Questions } from "./ask-customer.ts"
import { columnsNamed, tableText } from "../../../output/table.ts"
import type { Flags } from "../../../context/program.ts"
import * as terminal from "../../../output/prompt.ts"
import { countedFrom, parseMomentIn, readMoment } from "../../../base/parse-time.ts"

export type { Questions }
/** A line with its price, the quantities it needs, and its shortage. */
interface WizardLine {
  readonly product_id: number
  readonly name: string
  readonly quantity: string
  readonly total: string
  readonly currency: string
  /** Quantities by product: that of the line and those of its accessories. */
  readonly needs: ReadonlyMap<number, number>
  readonly hints: ReadonlyArray<string>
}
interface Hire {
  readonly store: ResolvedStore
  readonly from: string
  readonly to: string
}

const found_max = 15

/** Asks all questions, and returns the answers as flags of `quote new`. Exit 2 if abandoned. */
export const askForQuote = async (
  context: CommandContext,
  flags: Flags,
  questions: Questions = terminal
): Promise<Flags> => {
  const { promptText, choose } = questions
  const subject = await promptText("Subject", {
    check: (text) => (text === "" ? "A quote needs a subject." : undefined)
  })
  const member = await askForMember(context, questions)
  const named = await askForStore(context, flags, questions)
  const store = await resolveStore(context, named)
  const moment =
    (flag: string, after?: string) =>
    (text: string): string | undefined => {
      if (text === "") return after === undefined ? undefined : "A hire that begins must end."
      const begins = after === undefined ? undefined : parseMomentIn(after, store.zone, "From")
      const read = (): string => parseMomentIn(text, store.zone, flag, countedFrom(text, begins))
      const wrong = complaint(read)
      return (
        wrong ??
        (begins !== undefined && Date.parse(read()) <= Date.parse(begins) ? `It must end after ${after}.` : undefined)
      )
    }
  const from = await promptText("From (2026-07-01T09:00, 2026-07-01, today, fri 9:00; nothing for no dates yet)", {
    check: moment("From")
  })
  const to = from === "" ? "" : await promptText("To", { check: moment("To", from) })
  const begins = from === "" ? "" : readMoment(context, from, store.zone, "From")
  const hire: Hire | undefined =
    from === "" ? undefined : { store, from: begins, to: readMoment(context, to, store.zone, "To", begins) }
  const known = { ...member, ...(named === undefined ? {} : { store: named }), ...(from === "" ? {} : { from, to }) }
  let lines: ReadonlyArray<WizardLine> = []
  for (;;) {
    lines = await askForLines(context, questions, hire, lines)
    context.note(review(context, lines))
    const next = await choose("And now", [
      { name: "Save it as a quotation", value: "quotation" },
      { name: "Save it as a draft", value: "draft" },
      { name: "Add a line", value: "add" },
      ...(lines.length === 0 ? [] : [{ name: "Take a line out", value: "remove" }]),
      { name: "Throw it away", value: "stop" }
    ])
    if (next === "stop") throw new CliError(exit_codes.usage, "Nothing was written.")
    if (next === "remove") {
      const out = await choose(
        "Which",
        lines.map((line, at) => ({ name: `${line.quantity} × ${line.name}`, value: at }))
      )
      lines = await countedAgain(context, hire, lines.toSpliced(out, 1))
    }
    if (next === "quotation" || next === "draft") {
      return {
        subject,
        line: lines.map(({ product_id, quantity }) => `${product_id}*${quantity}`),
        draft: next === "draft",
        ...known
      }
    }
  }
}

/** Asks for lines until an empty answer, and prints each with its price, and the total. */
const askForLines = async (
  context: CommandContext,
  questions: Questions,
  hire: Hire | undefined,
  before: ReadonlyArray<WizardLine>
): Promise<ReadonlyArray<WizardLine>> => {
  let lines = before
  for (;;) {
    const text = await questions.promptText(
      `${lines.length === 0 ? "First product" : "Next product"} (part of its name, a sku or barcode; nothing when done)`
    )
    if (text === "") return lines
    const product = await productMeant(context, text, questions)
    if (product === undefined) continue
    const quantity = await questions.promptText(`How many ${product.name}`, {
      default: "1",
      check: (text) =>
        /^\d{1,7}(\.\d{1,2})?$/.test(text) && Number(text) > 0 ? undefined : "A number above 0, please."
    })
    const line = await lineOf(context, hire, product, quantity, lines)
    lines = [...lines, line]
    context.note(`  ${line.quantity} × ${line.name}: ${line.total} ${line.currency}`)
    for (const hint of line.hints) context.note(`  ${hint}`)
    context.note(`  ${sumOf(lines)}`)
  }
}
/** Calculates all lines again after one was removed, as others may no longer be short. */
const countedAgain = async (
  context: CommandContext,
  hire: Hire | undefined,
  lines: ReadonlyArray<WizardLine>
): Promise<ReadonlyArray<WizardLine>> => {
  const done: Array<WizardLine> = []
  for (const { product_id, quantity } of lines)
    done.push(await lineOf(context, hire, await productBy(context, product_id), quantity, done))
  return done
}

const sumOf = (lines: ReadonlyArray<WizardLine>): string => {
  const currencies = [...new Set(lines.map((line) => line.currency))]
  const sums = currencies.map((currency) => {
    const totals = lines.filter((line) => line.currency === currency).map((line) => line.total)
    const scale = Math.max(...totals.map((total) => total.split(".")[1]?.length ?? 0))
    return `${totals.reduce((sum, total) => sum.plus(exact(total)), exact("0")).toFixed(scale)} ${currency}`
  })
  return `So far ${lines.length} line${lines.length === 1 ? "" : "s"}: ${sums.join(" + ")}, before discounts and tax.`
}
const review = (context: CommandContext, lines: ReadonlyArray<WizardLine>): string =>
  lines.length === 0
    ? "No lines yet."
    : [
        "",
        tableText(
          columnsNamed("quantity, name, total, currency=CUR, hints=SHORT"),
          lines.map(({ currency, hints, name, quantity, total }) => ({
            currency,
            name,
            quantity,
            total,
            hints: hints.join(" ")
          })),
          { ...context.terminal, is_tty: true, colour: false }
        ).trimEnd(),
        sumOf(lines)
      ].join("\n")

/** A line of a product with accessories: its price for the hire, and its shortage after the earlier lines. */
const lineOf = async (
  context: CommandContext,
  hire: Hire | undefined,
  product: Row<"product">,
  quantity: string,
  before: ReadonlyArray<WizardLine>
): Promise<WizardLine> => {
  const { id, name } = product
  const accessories = (product.accessories ?? [])
    .filter((one) => one.included)
    .map((one) => ({
      id: one.accessory_product_id,
      name: String(one.related_name),
      quantity: exact(quantity).times(one.quantity).toString(),
      free: one.zero_priced
    }))
  const { total, currency, resolved } = await priced(context, hire, id, quantity)
  let whole = exact(total)
  for (const one of accessories)
    if (!one.free) whole = whole.plus(exact((await priced(context, hire, one.id, one.quantity)).total))
  const needs = new Map<number, number>()
  const hints = resolved
    ? []
    : [`No rate of ${name} holds then: it is priced at zero. Set a price later: flightcase quote add … --price.`]
  for (const part of [{ id, name, quantity }, ...accessories]) {
    const needed = (needs.get(part.id) ?? 0) + Number(part.quantity)
    needs.set(part.id, needed)
    const wanted = before.reduce((sum, line) => sum + (line.needs.get(part.id) ?? 0), needed)
    const hint = await shortOf(context, hire, part.id, part.name, wanted)
    if (hint !== undefined && !(hint === too_far && (before.length > 0 || hints.includes(hint)))) hints.push(hint)
  }
  return {
    product_id: id,
    name,
    quantity,
    total: whole.toFixed(total.split(".")[1]?.length ?? 0),
    currency,
    needs,
    hints
  }
}

/** Price of a product for the hire; without dates, for one day. */
const priced = async (
  context: CommandContext,
  hire: Hire | undefined,
  id: number,
  quantity: string
): Promise<{ readonly total: string; readonly currency: string; readonly resolved: boolean }> => {
  const start = hire?.from ?? "2000-01-03T00:00:00Z",
    end = hire?.to ?? "2000-01-04T00:00:00Z"
  const { body } = await context.post(`/api/v1/products/${id}/calculate_rate`, {
    start,
    end,
    quantity: Math.max(1, Math.ceil(Number(quantity))),
    ...(hire === undefined ? {} : { store_id: hire.store.id })
  })
  const breakdown = rowIn(body, "rate_breakdown")
  return { total: breakdown.total, currency: breakdown.currency, resolved: metaIn(body).resolved === true }
}

/** Number missing during the hire, or `too_far`, as a sentence; undefined if nothing is missing or known. */
const shortOf = async (
  context: CommandContext,
  hire: Hire | undefined,
  id: number,
  name: string,
  wanted: number
): Promise<string | undefined> => {
  if (hire === undefined) return undefined
  const answer = await context.request({
    method: "GET",
    path: `/api/v1/products/${id}/availability`,
    query: [
      ["store_id", String(hire.store.id)],
      ["from", hire.from],
      ["to", hire.to]
    ]
  })
  if (answer.status >= 400) return undefined
  const { min_available: free, slots } = rowIn(answer.body, "availability")
  if (Array.isArray(slots) && slots.length === 0) return too_far
  return typeof free !== "number" || wanted <= free
    ? undefined
    : `${name}: ${free <= 0 ? "none" : `only ${free}`} free then, ${wanted - Math.max(0, free)} short.`
}
const too_far = "These dates are too far off to count what is free."

/** The product that a text names: by SKU or barcode, else by choice among names with the text, else by id. */
const productMeant = async (
  context: CommandContext,
  text: string,
  { choose }: Questions
): Promise<Row<"product"> | undefined> => {
  const exactly = await findIdByName(context, "products", text).catch((error: unknown) => {
    if (!(error instanceof CliError)) throw error
    context.note(error.message)
    return null
  })
  if (exactly === null) return undefined
  if (exactly !== undefined) return productBy(context, exactly)
  const products = rowsIn(
    await context.read("/api/v1/products", [
      ["q[name_cont]", text],
      ["q[is_active_true]", "1"],
      ["sort", "name"],
      ["per_page", String(found_max)]
    ]),
    "products"
  )
  const [first, ...others] = products
  if (first !== undefined && others.length === 0) return productBy(context, first.id)
  if (first !== undefined) {
    const chosen = await choose("Which", [
      ...products.map((one) => ({
        name: [one.name, one.sku].filter((part) => typeof part === "string").join("  "),
        value: one.id
      })),
      { name: "none of them", value: 0 }
    ])
    return chosen === 0 ? undefined : productBy(context, chosen)
  }
  if (/^[1-9]\d{0,14}$/.test(text)) {
    const answer = await context.request({
      method: "GET",
      path: `/api/v1/products/${text}`,
      query: [["include", "accessories"]]
    })
    if (answer.status < 400) return rowIn(answer.body, "product")
  }
  context.note(`No product has ${JSON.stringify(text)} in its name, nor as sku or barcode.`)
  return undefined
}
const productBy = async (context: CommandContext, id: number): Promise<Row<"product">> =>
  rowIn(await context.read(`/api/v1/products/${id}`, [["include", "accessories"]]), "product")

/** Message that a check throws; undefined if it passes. */
const complaint = (check: () => unknown): string | undefined => {
  try {
    check()
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
  return undefined
}

const askForStore = async (
  context: CommandContext,
  flags: Flags,
  { choose }: Questions
): Promise<string | undefined> => {
  if (typeof flags.store === "string") return flags.store
  const stores = rowsIn(await context.read("/api/v1/stores", [["per_page", "100"]]), "stores")
  return stores.length < 2
    ? undefined
    : choose(
        "Store",
        stores.map((one) => ({ name: one.name, value: String(one.id) }))
      )
}
