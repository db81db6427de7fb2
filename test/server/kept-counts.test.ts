/** Totals read from stored counts equal counts of the rows after any changes. */
import fc from "fast-check"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { rebuild } from "../../core/kernel/runtime/schema.ts"
import { both_engines } from "../app.ts"
import { serve, type Serving } from "./serving.ts"

const opportunities = "/api/v1/opportunities"
/** Queries with stored totals, by path. */
const queries = {
  [opportunities]: [
    "",
    "q[state_eq]=2",
    "q[state_in]=0,1",
    "q[store_id_eq]=2",
    "q[store_id_null]=1",
    "q[status_eq]=Reserved",
    "q[status_not_eq]=Cancelled",
    "q[store_id_eq]=1&q[state_eq]=2&q[status_gt]=0",
    "q[has_shortage_true]=1",
    "q[has_shortage_false]=1&q[store_id_eq]=1",
    "q[state_eq]=nothing"
  ],
  "/api/v1/members": ["", "q[membership_type_eq]=Contact", "q[membership_type_cont]=ORG", "q[active_true]=1"],
  "/api/v1/invoices": ["", "q[status_eq]=draft", "q[store_id_eq]=2&q[type_eq]=invoice"],
  "/api/v1/stock_levels": ["", "q[store_id_eq]=2", "q[stock_type_eq]=2"],
  "/api/v1/activities": ["", "q[completed_false]=1", "q[status_id_eq]=2002", "q[type_id_null]=1"]
}
/** A filter that every row passes, and for which no count is stored. */
const all_rows = "q[created_at_not_null]=1"

let acme_id: number
type Action = (ask: Serving["ask"], id: number) => Promise<unknown>
const made =
  (path: string, json: unknown): Action =>
  (ask) =>
    ask(path, { method: "POST", json })
const done =
  (path: string, method: string, json?: unknown): Action =>
  (ask, id) =>
    ask(path.replace("ID", String(id)), { method, json })
const actions: ReadonlyArray<Action> = [
  ...[1, 2, null].map((store_id) => made(opportunities, { subject: "Gala", store_id })),
  done(`${opportunities}/ID/convert_to_quotation`, "POST", {}),
  done(`${opportunities}/ID/convert_to_order`, "POST", {}),
  ...[1, 2, 6].map((status) => done(`${opportunities}/ID/change_status`, "POST", { status })),
  done(`${opportunities}/ID`, "PUT", { store_id: 2 }),
  done(`${opportunities}/ID`, "DELETE"),
  done(`${opportunities}/ID/restore`, "POST", {}),
  ...["Contact", "Organisation"].map((membership_type) => made("/api/v1/members", { name: "Ann", membership_type })),
  done("/api/v1/members/ID", "PUT", { is_active: false }),
  done("/api/v1/members/ID", "DELETE"),
  ...[1, 2].map(
    (store_id): Action =>
      (ask) =>
        made("/api/v1/invoices", { subject: "Damage", store_id, member_id: acme_id })(ask, 0)
  ),
  done("/api/v1/invoices/ID/void", "POST", {}),
  done("/api/v1/invoices/ID", "DELETE"),
  ...[1, 2].map((store_id) => made("/api/v1/stock_levels", { product_id: 1, store_id, quantity_held: "3" })),
  done("/api/v1/stock_levels/ID", "PUT", { stock_type: 2 }),
  done("/api/v1/stock_levels/ID", "DELETE"),
  made("/api/v1/activities", { subject: "Call" }),
  done("/api/v1/activities/ID", "PUT", { completed: true, status_id: 2002 }),
  done("/api/v1/activities/ID", "DELETE")
]

describe.each(both_engines)("the stored counts of lists on %s", (engine) => {
  let server: Serving
  beforeAll(async () => {
    server = await serve(engine, { lenient: true })
    await server.ask("/api/v1/stores", { method: "POST", json: { name: "North" } })
    const acme = { name: "Acme", membership_type: "Organisation" }
    acme_id = (await server.ask("/api/v1/members", { method: "POST", json: acme })).body.member.id
    await server.ask("/api/v1/products", { method: "POST", json: { name: "Cable" } })
  })
  afterAll(() => server.close())
  const totalOf = async (path: string, query: string): Promise<number> => {
    const { body, status } = await server.ask(`${path}?per_page=1&${query}`)
    expect(status, query).toBe(200)
    return body.meta.total
  }
  const expectCounted = async (): Promise<void> => {
    for (const [path, of_path] of Object.entries(queries))
      for (const query of of_path)
        expect(await totalOf(path, query), `${path}?${query}`).toBe(await totalOf(path, `${query}&${all_rows}`))
  }

  it("equal the counts of all rows after any commands, refused ones included", async () => {
    const commands = fc.array(fc.tuple(fc.constantFrom(...actions), fc.integer({ min: 1, max: 6 })), {
      minLength: 15,
      maxLength: 25
    })
    await fc.assert(
      fc.asyncProperty(commands, async (all) => {
        for (const [action, id] of all) await action(server.ask, id)
        await expectCounted()
      }),
      { numRuns: 5, seed: 4480 }
    )
    for (const path of Object.keys(queries)) expect(await totalOf(path, ""), path).toBeGreaterThan(0)
  })
  it("follow an order that falls short of stock, and no longer does", async () => {
    const create = async (path: string, json: object) => (await server.ask(path, { method: "POST", json })).body
    const short = () => totalOf(opportunities, "q[has_shortage_true]=1")
    const before = await short()
    const dates = { starts_at: "2027-07-01T08:00:00Z", ends_at: "2027-07-06T18:00:00Z" }
    const { id } = (await create(opportunities, { subject: "Gala", store_id: 1, ...dates })).opportunity
    const { product } = await create("/api/v1/products", { name: "Lamp", stock_method: 1 })
    await create(`${opportunities}/${id}/items`, { name: "Lamp", item_id: product.id, quantity: 9, unit_price: "1" })
    await create(`${opportunities}/${id}/convert_to_quotation`, {})
    expect(await short()).toBe(before + 1)
    await expectCounted()
    const [level] = (await server.ask(`/api/v1/stock_levels?q[product_id_eq]=${product.id}`)).body.stock_levels
    await server.ask(`/api/v1/stock_levels/${level.id}`, { method: "PUT", json: { quantity_held: "9" } })
    expect(await short()).toBe(before)
    await expectCounted()
  })
  it("equal the counts of all rows after a rebuild", async () => {
    const before = await totalOf(opportunities, "q[state_eq]=0")
    await server.run(rebuild(server.app.catalogue))
    expect(await totalOf(opportunities, "q[state_eq]=0")).toBe(before)
    await expectCounted()
  })
  it("count only live rows; totals of lists with archived rows include those", async () => {
    const members = "/api/v1/members"
    const { body } = await server.ask(members, { method: "POST", json: { name: "Bob", membership_type: "Contact" } })
    const [live, all] = [await totalOf(members, ""), await totalOf(members, "archived=with")]
    await server.ask(`${members}/${body.member.id}`, { method: "DELETE" })
    expect(await totalOf(members, "")).toBe(live - 1)
    expect(await totalOf(members, "archived=with")).toBe(all)
    expect(await totalOf(members, "archived=only")).toBe(all - live + 1)
  })
})
