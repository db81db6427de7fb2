/** Questions of a new quote, at the counter. */
import type { JsonObject } from "../../core/kernel/json.ts"
import type { Desk } from "../desk.ts"
import { Exit } from "../exits.ts"
import { storeAt } from "../find.ts"
import type { Flags } from "../program.ts"
import { agree, ask, choose } from "../prompt.ts"
import { momentIn } from "../when.ts"
import { productCalled } from "./quote.ts"

const found_max = 15

export const askForQuote = async (desk: Desk, flags: Flags): Promise<Flags> => {
  const subject = await ask("Subject", { check: (text) => text === "" ? "A quote needs a subject." : undefined })
  const member = await askForMember(desk)
  const store = await askForStore(desk, flags)
  const { zone } = await storeAt(desk, store)
  const time = (flag: string) => (text: string): string | undefined => text === "" ? undefined : complaint(() => momentIn(text, zone, flag))
  const from = await ask("From (2026-07-01 or 2026-07-01T09:00)", { check: time("From") })
  const to = from === "" ? "" : await ask("To", { check: time("To") })
  const line: Array<string> = []
  for (;;) {
    const code = await ask(line.length === 0 ? "First product (id, sku or barcode; nothing to stop)" : "Next product (nothing to stop)")
    if (code === "") break
    const product = await productCalled(desk, code).catch((error: unknown) => {
      if (!(error instanceof Exit)) throw error
      desk.note(error.message)
      return undefined
    })
    if (product === undefined) continue
    const quantity = await ask(`How many ${product.name}`, { default: "1", check: (text) => /^\d+(\.\d{1,2})?$/.test(text) ? undefined : "A number, please." })
    line.push(`${product.item_id}*${quantity}`)
  }
  const draft = !await agree("Make it a quotation now?")
  return { subject, line, draft, ...(member === undefined ? {} : { member }), ...(store === undefined ? {} : { store }), ...(from === "" ? {} : { from }), ...(to === "" ? {} : { to }) }
}

const complaint = (check: () => unknown): string | undefined => {
  try { check() } catch (error) { return error instanceof Error ? error.message : String(error) }
  return undefined
}

const askForMember = async (desk: Desk): Promise<string | undefined> => {
  for (;;) {
    const part = await ask("Customer (part of the name; nothing for none)")
    if (part === "") return undefined
    const { members } = await desk.read("/api/v1/members", [["q[name_cont]", part], ["q[membership_type_eq]", "organisation"], ["per_page", String(found_max)]]) as { readonly members: ReadonlyArray<JsonObject> }
    if (members.length === 1) return String(members[0]!["id"])
    if (members.length === 0) desk.note(`No organisation's name contains ${JSON.stringify(part)}.`)
    else {
      const chosen = await choose("Which", [...members.map((one) => ({ name: String(one["name"]), value: String(one["id"]) })), { name: "none of them", value: "" }])
      if (chosen !== "") return chosen
    }
  }
}

const askForStore = async (desk: Desk, flags: Flags): Promise<string | undefined> => {
  if (typeof flags["store"] === "string") return flags["store"]
  const { stores } = await desk.read("/api/v1/stores", [["per_page", "100"]]) as { readonly stores: ReadonlyArray<JsonObject> }
  return stores.length < 2 ? undefined : choose("Store", stores.map((one) => ({ name: String(one["name"]), value: String(one["id"]) })))
}
