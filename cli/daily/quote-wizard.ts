/** Questions of a new quote, at the counter: who, when, what; after each line what it comes to and what is short. */
import { isJsonObject, type JsonObject } from "../../core/kernel/json.ts"
import { exact } from "../../core/values/decimal.ts"
import type { Desk } from "../desk.ts"
import { Exit, exits } from "../exits.ts"
import { idByName, type StoreAt, storeAt } from "../find.ts"
import { column, tableText } from "../output/table.ts"
import type { Flags } from "../program.ts"
import * as terminal from "../prompt.ts"
import { momentIn } from "../when.ts"

/** Who answers: somebody at a terminal, or a test. */
export type Questions = Pick<typeof terminal, "ask" | "choose">
/** A line as it stands: what it is, how many, what it comes to, and of what there are too few. */
interface Wished {
  readonly product_id: number
  readonly name: string
  readonly quantity: string
  readonly total: string
  readonly currency: string
  /** How many of each product go out with it: itself, and what comes along. */
  readonly needs: ReadonlyMap<number, number>
  readonly hints: ReadonlyArray<string>
}
interface Hire { readonly store: StoreAt; readonly from: string; readonly to: string }

const found_max = 15

/** The flags somebody would have given; `quote new` goes on with them. Exit 2 when it is thrown away. */
export const askForQuote = async (desk: Desk, flags: Flags, questions: Questions = terminal): Promise<Flags> => {
  const { ask, choose } = questions
  const subject = await ask("Subject", { check: (text) => text === "" ? "A quote needs a subject." : undefined })
  const member = await askForMember(desk, questions)
  const named = await askForStore(desk, flags, questions)
  const store = await storeAt(desk, named)
  const moment = (flag: string, after?: string) => (text: string): string | undefined => {
    if (text === "") return after === undefined ? undefined : "A hire that begins must end."
    const wrong = complaint(() => momentIn(text, store.zone, flag))
    return wrong ?? (after !== undefined && Date.parse(momentIn(text, store.zone, flag)) <= Date.parse(momentIn(after, store.zone, flag)) ? `It must end after ${after}.` : undefined)
  }
  const from = await ask("From (2026-07-01 or 2026-07-01T09:00; nothing for no dates yet)", { check: moment("From") })
  const to = from === "" ? "" : await ask("To", { check: moment("To", from) })
  const hire: Hire | undefined = from === "" ? undefined : { store, from: momentIn(from, store.zone, "From"), to: momentIn(to, store.zone, "To") }
  let lines: ReadonlyArray<Wished> = []
  for (;;) {
    lines = await askForLines(desk, questions, hire, lines)
    desk.note(review(desk, lines))
    const next = await choose("And now", [
      { name: "Save it as a quotation", value: "quotation" }, { name: "Save it as a draft", value: "draft" }, { name: "Add a line", value: "add" },
      ...(lines.length === 0 ? [] : [{ name: "Take a line out", value: "remove" }]), { name: "Throw it away", value: "stop" }
    ])
    if (next === "stop") throw new Exit(exits.usage, "Nothing was written.")
    if (next === "remove") {
      const out = await choose("Which", lines.map((line, at) => ({ name: `${line.quantity} × ${line.name}`, value: at })))
      lines = await again(desk, hire, lines.toSpliced(out, 1))
    }
    if (next === "quotation" || next === "draft") {
      return {
        subject, line: lines.map(({ product_id, quantity }) => `${product_id}*${quantity}`), draft: next === "draft", ...(member === undefined ? {} : { member }),
        ...(named === undefined ? {} : { store: named }), ...(from === "" ? {} : { from, to })
      }
    }
  }
}

/** Lines until nothing is answered; what they come to so far is told after each. */
const askForLines = async (desk: Desk, questions: Questions, hire: Hire | undefined, before: ReadonlyArray<Wished>): Promise<ReadonlyArray<Wished>> => {
  let lines = before
  for (;;) {
    const text = await questions.ask(`${lines.length === 0 ? "First product" : "Next product"} (part of its name, a sku or barcode; nothing when done)`)
    if (text === "") return lines
    const product = await productMeant(desk, text, questions)
    if (product === undefined) continue
    const quantity = await questions.ask(`How many ${String(product["name"])}`, {
      default: "1", check: (text) => /^\d{1,7}(\.\d{1,2})?$/.test(text) && Number(text) > 0 ? undefined : "A number above 0, please."
    })
    const line = await wished(desk, hire, product, quantity, lines)
    lines = [...lines, line]
    desk.note(`  ${line.quantity} × ${line.name}: ${line.total} ${line.currency}`)
    for (const hint of line.hints) desk.note(`  ${hint}`)
    desk.note(`  ${sumOf(lines)}`)
  }
}
/** What is left is looked at anew: the line taken out may have been what made another one short. */
const again = async (desk: Desk, hire: Hire | undefined, lines: ReadonlyArray<Wished>): Promise<ReadonlyArray<Wished>> => {
  const done: Array<Wished> = []
  for (const { product_id, quantity } of lines) done.push(await wished(desk, hire, await productBy(desk, product_id), quantity, done))
  return done
}

const sumOf = (lines: ReadonlyArray<Wished>): string => {
  const currencies = [...new Set(lines.map((line) => line.currency))]
  const sums = currencies.map((currency) => {
    const totals = lines.filter((line) => line.currency === currency).map((line) => line.total)
    const scale = Math.max(...totals.map((total) => total.split(".")[1]?.length ?? 0))
    return `${totals.reduce((sum, total) => sum.plus(exact(total)), exact("0")).toFixed(scale)} ${currency}`
  })
  return `So far ${lines.length} line${lines.length === 1 ? "" : "s"}: ${sums.join(" + ")}, before discounts and tax.`
}
const review = (desk: Desk, lines: ReadonlyArray<Wished>): string => lines.length === 0 ? "No lines yet." : [
  "", tableText([column("quantity"), column("name"), column("total"), column("currency", "CUR"), column("hints", "SHORT")],
    lines.map(({ currency, hints, name, quantity, total }) => ({ currency, name, quantity, total, hints: hints.join(" ") })), { ...desk.terminal, seen: true, colour: false }).trimEnd(),
  sumOf(lines)
].join("\n")

/** A product with what comes along with it: priced for the hire, and held against what is free then beside the lines before. */
const wished = async (desk: Desk, hire: Hire | undefined, product: JsonObject, quantity: string, before: ReadonlyArray<Wished>): Promise<Wished> => {
  const id = Number(product["id"]), name = String(product["name"])
  const along = (Array.isArray(product["accessories"]) ? product["accessories"].filter(isJsonObject) : []).filter((one) => one["included"] === true)
    .map((one) => ({ id: Number(one["accessory_product_id"]), name: String(one["related_name"]), quantity: exact(quantity).times(exact(String(one["quantity"]))).toString(), free: one["zero_priced"] === true }))
  const { total, currency, resolved } = await priced(desk, hire, id, quantity)
  let whole = exact(total)
  for (const one of along) if (!one.free) whole = whole.plus(exact((await priced(desk, hire, one.id, one.quantity)).total))
  const needs = new Map<number, number>()
  const hints = resolved ? [] : [`No rate of ${name} holds then: it is priced at zero. Set a price later: flightcase quote add … --price.`]
  for (const part of [{ id, name, quantity }, ...along]) {
    needs.set(part.id, (needs.get(part.id) ?? 0) + Number(part.quantity))
    const wanted = before.reduce((sum, line) => sum + (line.needs.get(part.id) ?? 0), needs.get(part.id)!)
    const hint = await shortOf(desk, hire, part.id, part.name, wanted)
    if (hint !== undefined && !(hint === too_far && (before.length > 0 || hints.includes(hint)))) hints.push(hint)
  }
  return { product_id: id, name, quantity, total: whole.toFixed(total.split(".")[1]?.length ?? 0), currency, needs, hints }
}

/** Without dates a line counts as one day. */
const priced = async (desk: Desk, hire: Hire | undefined, id: number, quantity: string): Promise<{ readonly total: string; readonly currency: string; readonly resolved: boolean }> => {
  const start = hire?.from ?? "2000-01-03T00:00:00Z", end = hire?.to ?? "2000-01-04T00:00:00Z"
  const { body } = await desk.ask({
    method: "POST", path: `/api/v1/products/${id}/calculate_rate`,
    body: { start, end, quantity: Math.max(1, Math.ceil(Number(quantity))), ...(hire === undefined ? {} : { store_id: hire.store.id }) }
  })
  const { rate_breakdown, meta } = body as { readonly rate_breakdown: JsonObject; readonly meta: JsonObject }
  return { total: String(rate_breakdown["total"]), currency: String(rate_breakdown["currency"]), resolved: meta["resolved"] === true }
}

const shortOf = async (desk: Desk, hire: Hire | undefined, id: number, name: string, wanted: number): Promise<string | undefined> => {
  if (hire === undefined) return undefined
  const answer = await desk.request({ method: "GET", path: `/api/v1/products/${id}/availability`, query: [["store_id", String(hire.store.id)], ["from", hire.from], ["to", hire.to]] })
  if (answer.status >= 400) return undefined
  const { min_available: free, slots } = (answer.body as JsonObject)["availability"] as JsonObject
  if (Array.isArray(slots) && slots.length === 0) return too_far
  return typeof free !== "number" || wanted <= free ? undefined : `${name}: ${free <= 0 ? "none" : `only ${free}`} free then, ${wanted - Math.max(0, free)} short.`
}
const too_far = "These dates are too far off to count what is free."

/** By id, sku or barcode; else the one whose name has these letters in it, or one of them. */
const productMeant = async (desk: Desk, text: string, { choose }: Questions): Promise<JsonObject | undefined> => {
  const exactly = await idByName(desk, "products", text).catch((error: unknown) => {
    if (!(error instanceof Exit)) throw error
    desk.note(error.message)
    return null
  })
  if (exactly === null) return undefined
  if (exactly !== undefined) return productBy(desk, exactly)
  const { products } = await desk.read("/api/v1/products", [["q[name_cont]", text], ["q[is_active_true]", "1"], ["sort", "name"], ["per_page", String(found_max)]]) as { readonly products: ReadonlyArray<JsonObject> }
  if (products.length === 1) return productBy(desk, Number(products[0]!["id"]))
  if (products.length > 1) {
    const chosen = await choose("Which", [...products.map((one) => ({ name: [one["name"], one["sku"]].filter((part) => typeof part === "string").join("  "), value: Number(one["id"]) })), { name: "none of them", value: 0 }])
    return chosen === 0 ? undefined : productBy(desk, chosen)
  }
  if (/^[1-9]\d{0,14}$/.test(text)) {
    const answer = await desk.request({ method: "GET", path: `/api/v1/products/${text}`, query: [["include", "accessories"]] })
    if (answer.status < 400) return (answer.body as JsonObject)["product"] as JsonObject
  }
  desk.note(`No product has ${JSON.stringify(text)} in its name, nor as sku or barcode.`)
  return undefined
}
const productBy = async (desk: Desk, id: number): Promise<JsonObject> =>
  (await desk.read(`/api/v1/products/${id}`, [["include", "accessories"]]))["product"] as JsonObject

const complaint = (check: () => unknown): string | undefined => {
  try { check() } catch (error) { return error instanceof Error ? error.message : String(error) }
  return undefined
}

const askForMember = async (desk: Desk, { ask, choose }: Questions): Promise<string | undefined> => {
  for (;;) {
    const part = await ask("Customer (part of the name; nothing for none)")
    if (part === "") return undefined
    const { members } = await desk.read("/api/v1/members", [
      ["q[name_cont]", part], ["q[membership_type_eq]", "organisation"], ["q[is_active_true]", "1"], ["sort", "name"], ["per_page", String(found_max)]
    ]) as { readonly members: ReadonlyArray<JsonObject> }
    if (members.length === 1) {
      desk.note(`  ${String(members[0]!["name"])}`)
      return String(members[0]!["id"])
    }
    if (members.length === 0) desk.note(`No organisation's name contains ${JSON.stringify(part)}.`)
    else {
      const chosen = await choose("Which", [...members.map((one) => ({ name: String(one["name"]), value: String(one["id"]) })), { name: "none of them", value: "" }])
      if (chosen !== "") return chosen
    }
  }
}

const askForStore = async (desk: Desk, flags: Flags, { choose }: Questions): Promise<string | undefined> => {
  if (typeof flags["store"] === "string") return flags["store"]
  const { stores } = await desk.read("/api/v1/stores", [["per_page", "100"]]) as { readonly stores: ReadonlyArray<JsonObject> }
  return stores.length < 2 ? undefined : choose("Store", stores.map((one) => ({ name: String(one["name"]), value: String(one["id"]) })))
}
