/** Data of the evening: an inventory with too few units, orders that need them, and rows two users edit. */
import type { asOwner } from "./processes.ts"

type Ask = ReturnType<typeof asOwner>
export interface Order {
  readonly id: number
  readonly line: number
}
export interface Unit {
  readonly id: number
  readonly code: string
}
export interface EveningWorld {
  readonly lamp: number
  readonly cable: number
  /** Orders of overlapping periods, each with one line for all lamps. */
  readonly orders: ReadonlyArray<Order>
  readonly lamps: ReadonlyArray<Unit>
  readonly radios: ReadonlyArray<Unit>
  /** Open containers into which the radios are packed. */
  readonly boxes: ReadonlyArray<number>
  readonly quotes: ReadonlyArray<number>
  readonly groups: ReadonlyArray<number>
  readonly clients: ReadonlyArray<number>
}

const from = "2026-12-18T09:00:00Z",
  to = "2026-12-22T09:00:00Z"

/** Creates so little of everything that devices with this many commands run short. */
export const createEveningData = async (ask: Ask, commands: number): Promise<EveningWorld> => {
  const made = async (path: string, body: object) => {
    const answer = await ask("POST", `/api/v1${path}`, body)
    if (answer.status !== 201 && answer.status !== 200)
      throw new Error(`POST ${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
    return Object.values(answer.body)[0]
  }
  const several = async <A>(share: number, one: (at: number) => Promise<A>): Promise<ReadonlyArray<A>> => {
    const all: Array<A> = []
    for (let at = 0; at < Math.max(4, Math.ceil(commands * share)); at++) all.push(await one(at))
    return all
  }
  const product = async (name: string, stock_method: number): Promise<number> =>
    (await made("/products", { name, stock_method, product_type: "rental" })).id
  const [lamp, radio, cable] = [await product("Lamp", 2), await product("Radio", 2), await product("Cable", 1)]
  const unit =
    (product_id: number, letter: string) =>
    async (at: number): Promise<Unit> => {
      const code = `${letter}-${at + 1}`
      return { id: (await made("/stock_levels", { product_id, store_id: 1, asset_number: code })).id, code }
    }
  const lamps = await several(0.22, unit(lamp, "LAMP"))
  const radios = await several(0.1, unit(radio, "RADIO"))
  const orders: Array<Order> = []
  for (const subject of ["Gala", "Trade fair", "Festival"]) {
    const { id } = await made("/opportunities", { subject, store_id: 1, starts_at: from, ends_at: to })
    const { items } = await made(`/opportunities/${id}/items`, { name: "Lamp", item_id: lamp, quantity: lamps.length })
    await made(`/opportunities/${id}/convert_to_quotation`, {})
    await made(`/opportunities/${id}/convert_to_order`, {})
    orders.push({ id, line: items[0].id })
  }
  const boxes: Array<number> = []
  for (const name of ["Box 1", "Box 2", "Box 3"])
    boxes.push(
      (await made("/containers/temporary", { name, barcode: name.replace(" ", "-").toUpperCase(), store_id: 1 })).id
    )
  return {
    lamp,
    cable,
    orders,
    lamps,
    radios,
    boxes,
    quotes: await several(
      0.14,
      async (at) =>
        (await made("/opportunities", { subject: `Enquiry ${at}`, store_id: 1, starts_at: from, ends_at: to })).id
    ),
    groups: await several(0.1, async (at) => (await made("/product_groups", { name: `Group ${at}` })).id),
    clients: await several(
      0.04,
      async (at) => (await made("/members", { name: `Client ${at}`, membership_type: "organisation" })).id
    )
  }
}
