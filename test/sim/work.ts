/** What people do in a simulated world: requests drawn by chance over what they can see at that moment. */
import type { Answer, Request } from "../../core/kernel/endpoint.ts"
import type { JsonObject } from "../../core/kernel/json.ts"
import type { Chance } from "./chance.ts"

type Ask = (request: Request) => Promise<Answer>
const write = (method: string, path: string, body?: JsonObject): Request => ({ method, path, query: [], body })

/** An id in a list as it is seen here; now and then one that does not exist. */
const someId = async (chance: Chance, ask: Ask, collection: string, filter: ReadonlyArray<readonly [string, string]> = []): Promise<number> => {
  if (chance.happens(0.03)) return 999_999
  const answer = await ask({ method: "GET", path: `/api/v1/${collection}`, query: [["per_page", "30"], ...filter], body: undefined })
  const rows = (answer.body as { readonly [key: string]: ReadonlyArray<{ readonly id: number }> } | undefined)?.[collection] ?? []
  return rows.length === 0 ? 1 : chance.pick(rows).id
}
const day = (chance: Chance, from: number): string => new Date(Date.parse("2026-07-01T09:00:00.000Z") + (from + chance.below(5)) * 86_400_000).toISOString()

type Kind = (chance: Chance, ask: Ask) => Promise<Request>
const kinds: ReadonlyArray<Kind> = [
  async (chance) => write("POST", "/api/v1/product_groups", { name: `Group ${chance.below(100)}` }),
  async (chance, ask) => write("PUT", `/api/v1/product_groups/${await someId(chance, ask, "product_groups")}`, { name: `Renamed ${chance.below(100)}` }),
  async (chance, ask) => write("DELETE", `/api/v1/product_groups/${await someId(chance, ask, "product_groups")}`),
  async (chance) => write("POST", "/api/v1/products", {
    name: chance.pick(["Speaker", "Moving head", "Cable 10 m", ""]), stock_method: chance.pick([1, 2]), post_rent_unavailability: chance.pick([0, 240])
  }),
  async (chance, ask) => write("PUT", `/api/v1/products/${await someId(chance, ask, "products")}`, { name: `Product ${chance.below(100)}`, sku: chance.pick(["A", "B", ""]) }),
  async (chance, ask) => write("DELETE", `/api/v1/products/${await someId(chance, ask, "products")}`),
  async (chance, ask) => write("POST", `/api/v1/products/${await someId(chance, ask, "products")}/merge`, { secondary_id: await someId(chance, ask, "products") }),
  async (chance, ask) => write("POST", "/api/v1/stock_levels", {
    product_id: await someId(chance, ask, "products", [["q[stock_method_eq]", "2"]]), store_id: 1, asset_number: `A-${chance.below(40)}`
  }),
  async (chance) => write("POST", "/api/v1/members", { name: `Client ${chance.below(50)}`, membership_type: "organisation" }),
  async (chance, ask) => write("POST", "/api/v1/opportunities", {
    subject: `Job ${chance.below(100)}`, starts_at: day(chance, 0), ends_at: day(chance, 6), store_id: 1,
    ...(chance.happens(0.3) ? { member_id: await someId(chance, ask, "members") } : {})
  }),
  async (chance, ask) => write("PUT", `/api/v1/opportunities/${await someId(chance, ask, "opportunities")}`, { subject: `Job ${chance.below(100)}`, reference: `R${chance.below(9)}` }),
  ...Array<Kind>(3).fill(async (chance, ask) => write("POST", `/api/v1/opportunities/${await someId(chance, ask, "opportunities")}/items`, {
    name: "Line", item_id: await someId(chance, ask, "products"), quantity: 1 + chance.below(3), unit_price: 1_000 + chance.below(9_000)
  })),
  ...Array<Kind>(2).fill(async (chance, ask) => write("POST", `/api/v1/opportunities/${await someId(chance, ask, "opportunities")}/convert_to_quotation`)),
  ...Array<Kind>(2).fill(async (chance, ask) => write("POST", `/api/v1/opportunities/${await someId(chance, ask, "opportunities", [["q[state_eq]", "1"]])}/convert_to_order`)),
  async (chance, ask) => write("POST", `/api/v1/opportunities/${await someId(chance, ask, "opportunities")}/change_status`, { status: chance.below(4) }),
  ...Array<Kind>(8).fill(async (chance, ask) => {
    const id = await someId(chance, ask, "opportunities", [["q[state_eq]", "2"]])
    const shown = await ask({ method: "GET", path: `/api/v1/opportunities/${id}`, query: [["include", "items"]], body: undefined })
    const items = (shown.body as { readonly opportunity?: { readonly items?: ReadonlyArray<{ readonly id: number; readonly item_id: number | null }> } } | undefined)?.opportunity?.items ?? []
    const item = items.length === 0 ? undefined : chance.pick(items)
    const unit = await someId(chance, ask, "stock_levels", [["q[stock_category_eq]", "50"], ...(item?.item_id == null ? [] : [["q[product_id_eq]", String(item.item_id)] as const])])
    return write("POST", `/api/v1/opportunities/${id}/quick_allocate`, { allocations: [{ opportunity_item_id: item?.id ?? 1, stock_level_id: unit }] })
  })
]

export const nextRequest = (chance: Chance, ask: Ask): Promise<Request> => chance.pick(kinds)(chance, ask)
