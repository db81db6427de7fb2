/** Random worlds of orders that may be short, and the responses about their shortages. */
import { expect } from "vitest"
import type { RentalHouse } from "../../../../rental-house.ts"
import type { Body } from "../../../../answers.ts"

/** Seeded random numbers from 0 up to, but not including, 1. */
export const randomFrom = (seed: number) => {
  let state = seed
  return (): number => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296
    return state / 4_294_967_296
  }
}

export interface World {
  readonly products: ReadonlyArray<{ readonly id: number; readonly level_id: number | undefined }>
  readonly units: ReadonlyArray<{ readonly id: number; readonly product_id: number }>
  readonly deals: Array<number>
}

/** Creates two bulk products, a serialised one, and a kit of the first two. */
export const buildWorld = async (w: RentalHouse): Promise<World> => {
  const bulk = async (quantity_held: number) => {
    const id = await w.product()
    const level_id = await w.hold(id, quantity_held)
    return { id, level_id }
  }
  const [one, other] = [await bulk(6), await bulk(4)]
  const serialised = { ...(await w.units(1, 3)), level_id: undefined }
  const kit = { id: await w.product(), level_id: undefined }
  for (const part of [one, other])
    await w.create(`/products/${kit.id}/components`, { component_product_id: part.id, quantity: 2 })
  return {
    products: [one, other, serialised, kit],
    units: serialised.units.map((id) => ({ id, product_id: serialised.id })),
    deals: []
  }
}

const day = (at: number): string => `2026-07-${String(at).padStart(2, "0")}`
export type Choose = <A>(choices: ReadonlyArray<A>) => A
export const windowOf = (choose: Choose) => {
  const from = choose([1, 2, 4, 6])
  return { starts_at: `${day(from)}T09:00:00Z`, ends_at: `${day(from + choose([0, 1, 3]))}T17:00:00Z` }
}

/** Sends one random request, which is likely to be allowed, and returns its description. */
export const step = async (
  w: RentalHouse,
  world: World,
  choose: Choose,
  more: (
    call: (method: "post", path: string, body: object) => Promise<string>
  ) => ReadonlyArray<() => Promise<string>> = () => []
): Promise<string> => {
  const id = choose(world.deals)
  const at = `/opportunities/${id}`
  const call = async (method: "post" | "put" | "patch" | "remove", path: string, body?: object): Promise<string> => {
    const reply = method === "remove" ? await w.remove(path) : await w[method](path, body)
    expect(reply.status, JSON.stringify([method, path, body, reply.body])).toBeLessThan(500)
    return `${method} ${path} ${JSON.stringify(body ?? {})}: ${reply.status}`
  }
  const product = choose(world.products)
  const line = { name: "Line", item_id: product.id, quantity: choose([1, 2, 3, 5]) }
  const shown = (await w.get(`${at}?include=items`)).body.opportunity
  // A deleted opportunity can only be restored.
  if (shown === undefined) return call("post", `${at}/restore`)
  const item = shown.items.length === 0 ? undefined : choose(shown.items)
  const assets = (await w.get(`${at}/assets`)).body.assets
  const asset_ids = assets.map((one) => one.id)
  const steps: ReadonlyArray<() => Promise<string>> = [
    async () => {
      const made = await w.opportunity(windowOf(choose))
      world.deals.push(made.id)
      return `made ${made.id}`
    },
    () => call("post", `${at}/items`, line),
    () => call("post", `${at}/items`, { ...line, ...windowOf(choose) }),
    () => call("post", `${at}/convert_to_quotation`),
    () => call("post", `${at}/convert_to_order`),
    () => call("post", `${at}/convert_to_order`),
    () => call("post", `${at}/change_status`, { status: choose([1, 2, 4, 5, 6]) }),
    () => call("put", at, windowOf(choose)),
    () => (item === undefined ? call("post", `${at}/items`, line) : call("remove", `${at}/items/${item.id}`)),
    () =>
      item === undefined
        ? call("post", `${at}/clone`)
        : call("patch", `${at}/items/${item.id}`, { quantity: choose([1, 2, 4, 7]) }),
    () => {
      const unit = choose(world.units)
      const asks = shown.items.find((one) => one.item_id === unit.product_id)
      return call("post", `${at}/quick_allocate`, {
        allocations: [{ opportunity_item_id: asks?.id ?? 1, stock_level_id: unit.id }]
      })
    },
    () => call("post", `${at}/quick_book_out`, { asset_ids }),
    () => call("post", `${at}/quick_check_in`, { asset_ids, finalise: choose([true, false]) }),
    () =>
      item === undefined
        ? call("post", `${at}/items`, line)
        : call("patch", `${at}/items/${item.id}/fulfilment`, {
            action: choose(["dispatch", "return", "check"]),
            quantity: choose([1, 2])
          }),
    () =>
      product.level_id === undefined
        ? call("post", `${at}/clone`)
        : call("put", `/stock_levels/${product.level_id}`, { quantity_held: choose([1, 4, 6, 9]) }),
    () => call("post", `/stock_levels/${choose(world.units).id}/quarantine`, { reason: "cracked" }),
    () => call("post", `/stock_levels/${choose(world.units).id}/release`, {}),
    () => call("remove", at),
    ...more(call)
  ]
  return choose(steps)()
}

/** Sends one random request about transfers between store 1 and the other store, and returns its description. */
export const transferStep = async (
  w: RentalHouse,
  world: World & { readonly transfers: Array<number>; readonly other_store: number },
  choose: Choose
): Promise<string> => {
  const stores = [1, world.other_store]
  const from_store_id = choose(stores)
  const { ends_at, starts_at } = windowOf(choose)
  const plan = async (goods: object): Promise<string> => {
    const body = {
      ...{ from_store_id, to_store_id: stores.find((id) => id !== from_store_id), items: [goods] },
      ...{ starts_at: choose([starts_at, "2026-06-01T09:00:00Z"]), ends_at: choose([null, ends_at]) }
    }
    const made = await w.post("/transfers", body)
    expect(made.status, JSON.stringify([body, made.body])).toBeLessThan(500)
    if (made.status === 201) world.transfers.push(made.body.transfer.id)
    return `transfer ${JSON.stringify(body)}: ${made.status}`
  }
  const move = async (verb: string): Promise<string> => {
    if (world.transfers.length === 0) return plan({ stock_level_id: choose(world.units).id })
    const path = `/transfers/${choose(world.transfers)}/${verb}`
    const { body, status } = await w.post(path, {})
    expect(status, JSON.stringify([path, body])).toBeLessThan(500)
    const [home] = await w.show("/transfers?sort=-id&per_page=1")
    if (home !== undefined && !world.transfers.includes(home.id)) world.transfers.push(home.id)
    return `${path}: ${status}`
  }
  return choose([
    () => plan({ product_id: choose(world.products).id, quantity: choose([1, 2, 3]) }),
    () => plan({ stock_level_id: choose(world.units).id }),
    () => move("send"),
    () => move("receive"),
    () => move("receive"),
    () => move("cancel")
  ])()
}

/** Shortages of one opportunity by every source, in comparable form. */
export const answersOf = async (w: RentalHouse, id: number, all: Body["shortages"]) => {
  const { has_shortage } = (await w.get(`/opportunities/${id}`)).body.opportunity
  const own = (await w.get(`/opportunities/${id}/shortages`)).body.shortages
  const free = await w.show(`/opportunities/${id}/availability`)
  return {
    flag: has_shortage,
    is_short: own.some((one) => one.remaining_shortfall > 0),
    own,
    swept: all.filter((one) => one.opportunity_id === id),
    of_lines: own.map((one) => [one.opportunity_item_id, one.severity, one.available, one.starts_at, one.ends_at]),
    free: free
      .filter((one) => one.has_shortage)
      .map((one) => [one.opportunity_item_id, one.shortage_quantity, one.available_for_item, one.from, one.to])
  }
}
export const byLine = (one: Body["shortages"][0], other: Body["shortages"][0]) =>
  one.opportunity_item_id - other.opportunity_item_id
