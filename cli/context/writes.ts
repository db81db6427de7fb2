/** Several writes of one command line, and what a device does after writes at the server. */
import { isJsonObject, type Endpoint, type Json, type Query } from "../../core/kernel/index.ts"
import { order, statuses } from "../../core/orders/opportunities/tables/index.ts"
import { counted } from "../../core/values/text.ts"
import { metaIn, refusedText, type Row, rowIn, rowsIn } from "../base/answers.ts"
import { nameableTable } from "../base/nameable.ts"
import type { ApiRequest, CommandContext } from "./context.ts"
import { printAnswer, warningsIn } from "./print.ts"
import { findIdByName, idSaid, looksLikeId, resolveId } from "./resolve-id.ts"

interface Asked {
  readonly endpoint: Endpoint
  readonly words: ReadonlyArray<string>
}
/** The use of a row to be deleted: orders that it is on hire with today, issued invoices, or rows that lose it. */
const inUse = async (context: CommandContext, { name, params }: Endpoint, text: string): Promise<string> => {
  const table = params["id"]?.table.name ?? ""
  const use = Object.hasOwn(uses, name) ? uses[name] : undefined
  return use === undefined ? "" : use(context, String(await resolveId(context, table, text)))
}
const found = async (context: CommandContext, path: string, query: Query): Promise<Json | undefined> => {
  const { body, status } = await context.request({ method: "GET", path, query })
  return status < 400 ? body : undefined
}
const issuedFor = async (context: CommandContext, id: string): Promise<string> => {
  const query: Query = [
    ["q[opportunity_id_eq]", id],
    ["q[status_not_in]", "draft,voided"],
    ["q[type_not_eq]", "proforma"]
  ]
  const issued = rowsIn((await found(context, "/api/v1/invoices", query)) ?? { invoices: [] }, "invoices")
  return issued.length === 0 ? "" : `it is invoiced (${issued.map((one) => one.number ?? one.id).join(", ")}): `
}
const ordersOut = async (context: CommandContext, id: string): Promise<string> => {
  const orders = new Set<string>()
  const stores = (await found(context, "/api/v1/stores", [["per_page", "100"]])) ?? { stores: [] }
  for (const store of rowsIn(stores, "stores")) {
    const query: Query = [
      ["product_id", id],
      ["store_id", String(store.id)],
      ["date", new Date().toISOString()]
    ]
    const why = await found(context, "/api/v1/availability/why", query)
    for (const { phase, source_name } of why === undefined ? [] : rowIn(why, "reasons").claims)
      if (phase === "on_hire") orders.add(String(source_name))
  }
  return orders.size === 0 ? "" : `it is on hire with ${[...orders].join(", ")}: `
}
/** Products and tax rules of a product tax class, which a deletion leaves without it. */
const losing = async (context: CommandContext, id: string): Promise<string> => {
  const count = async (path: string, column: string): Promise<number> =>
    Number(metaIn((await found(context, `/api/v1/${path}`, [[`q[${column}_eq]`, id]])) ?? {}).total ?? 0)
  const products = await count("products", "tax_class_id")
  const rules = await count("tax_rules", "product_tax_class_id")
  if (products + rules === 0) return ""
  const losers = `${counted(products, "product", "products")} and ${counted(rules, "tax rule", "tax rules")}`
  return `${losers} lose it, so that those products are untaxed: `
}
const uses: { readonly [endpoint: string]: typeof losing } = {
  "products.delete": ordersOut,
  "opportunities.delete": issuedFor,
  "product_tax_classes.delete": losing
}

/** Sends writes one after the other; with --plan each is planned on the effects of the earlier ones. */
export const writesOf = (context: CommandContext) => {
  const asked: Array<ApiRequest> = []
  let planned: Awaited<ReturnType<CommandContext["plan"]>> = []
  const ask: CommandContext["ask"] = async (asking) => {
    if (context.options.plan !== true) return context.ask(asking)
    asked.push(asking)
    planned = await context.plan(asked)
    const answer = planned.at(-1)
    if (answer === undefined) throw new Error("a request was not planned")
    if (answer.status < 400) return answer
    throw await (await import("./error-report.ts")).refusalOf(context, asking, answer)
  }
  const printPlan = (wish: string, body = planned.at(-1)?.body): Promise<void> => {
    const status = planned.at(-1)?.status ?? 200
    const warnings = [...new Set(planned.flatMap((one) => warningsIn(one.body)))]
    const events = planned.flatMap((one) => one.events ?? [])
    const meta = { ...metaIn(body), warnings }
    return printAnswer(context, { status, events, wish, body: { ...(isJsonObject(body) ? body : {}), meta } })
  }
  /** The question before something that cannot be undone; a merge names both rows, and which of them goes. */
  const questionOf = async ({ endpoint, words }: Asked, args: ReadonlyArray<string>, body?: Json): Promise<string> => {
    const typed = `${words.join(" ")} ${args.join(" ")}`
    const { secondary_id: other = null } = isJsonObject(body) ? body : {}
    const table = endpoint.params["id"]?.table
    if (table === undefined) return `${typed}: sure?`
    if (other === null) return `${typed}: ${await inUse(context, endpoint, args[0] ?? "")}sure?`
    const called = async (text: string): Promise<string> => {
      const id = looksLikeId(text) ? text : (idSaid(text) ?? (await findIdByName(context, table.name, text)) ?? 0)
      const answer = await context.request({ method: "GET", path: `${nameableTable(table.name)?.path}/${id}` })
      const row = isJsonObject(answer.body) ? answer.body[table.entity] : undefined
      return isJsonObject(row) ? `${String(row.name)} (id ${id})` : text
    }
    return `${typed}: ${await called(String(other))} goes, and is merged into ${await called(args[0] ?? "")}: sure?`
  }
  /** Asks before an order is cancelled; other changes of status are made at once. */
  const agreeToCancel = async (
    { id, number, state, status_label, subject }: Row<"opportunity">,
    status: Json | undefined,
    given: Parameters<CommandContext["agree"]>[1]
  ): Promise<void> => {
    if (state === order && Number(status) === statuses.cancelled.status)
      await context.agree(`Cancel ${number ?? id} ${subject} (${status_label.toLowerCase()})?`, given)
  }
  /**
   * Asks before something that cannot be undone or an order is cancelled, and returns its body: that of a merge with
   * the id of the row that goes, as it may be named like the one that stays.
   */
  const agreed = async (
    verb: Asked,
    args: ReadonlyArray<string>,
    given: Parameters<CommandContext["agree"]>[1],
    said: Json | undefined
  ): Promise<Json | undefined> => {
    const { secondary_id: other, status } = isJsonObject(said) ? said : {}
    if (!verb.endpoint.destructive) {
      if (Number(status) !== statuses.cancelled.status || !context.interactive || given.yes === true) return said
      const id = await resolveId(context, "opportunities", args[0] ?? "")
      await agreeToCancel(rowIn(await context.read(`/api/v1/opportunities/${id}`), "opportunity"), status, given)
      return said
    }
    const table = verb.endpoint.params["id"]?.table.name
    const is_named = table !== undefined && typeof other === "string" && !looksLikeId(other)
    const body =
      is_named && isJsonObject(said) ? { ...said, secondary_id: await resolveId(context, table, other) } : said
    await context.agree(() => questionOf(verb, args, body), given)
    return body
  }
  return { agreed, agreeToCancel, ask, printPlan }
}

/** Syncs the device to fetch rows written at the server; without a device, or offline, does nothing. */
export const fetched = async (context: CommandContext): Promise<void> => {
  if (!context.isDevice() || context.offline) return
  try {
    const { rejected } = await (await context.device()).sync()
    if (rejected > 0) context.note(refusedText(rejected))
  } catch {
    context.note("The server has them; flightcase sync fetches them here.")
  }
}
