/** Cases and their contents for tests of containers. */
import { beforeAll } from "vitest"
import type { Engine } from "../../../app.ts"
import { appHouse } from "../../../app-house.ts"

export const caseHouse = (engine: Engine) => {
  const w = appHouse(engine, "2026-06-18T12:00:00.000Z")
  let S: number
  beforeAll(async () => {
    S = await w.store()
  })
  const act = (container: number, verb: string, body: object = {}) => w.post(`/containers/${container}/${verb}`, body)
  /** Creates a serialised case product with its template. */
  const caseProduct = async (template: object = {}): Promise<number> => {
    const id = await w.serialised()
    await w.update(`/products/${id}/container_template`, { is_containerable: true, ...template })
    return id
  }
  return {
    ...w,
    get S() {
      return S
    },
    act,
    caseProduct,
    /** Creates a container with its own case at S, of a new case product by default. */
    container: async (
      mode: "kit" | "hybrid" | "transport",
      {
        body = {},
        product,
        template = {}
      }: { readonly product?: number; readonly template?: object; readonly body?: object } = {}
    ) => {
      const of = product ?? (await caseProduct({ availability_mode: mode, ...template }))
      const housing = await w.unit(of, S)
      const { id } = await w.create("/containers", { name: "Case", serialised_item_id: housing, ...body })
      return { id: id as number, housing, product: of }
    },
    /** Creates one free unit of a new product, by default at S. */
    gear: async (store = S) => {
      const { id, units } = await w.units(store, 1)
      return { unit: units[0]!, product: id }
    },
    pack: (container: number, serialised_item_id: number, more: object = {}) =>
      act(container, "pack", { serialised_item_id, ...more }),
    free: async (product: number, date = "2026-09-01"): Promise<number> =>
      (await w.show(`/availability?product_id=${product}&store_id=${S}&date=${date}`)).available,
    box: (container: number) => w.show(`/containers/${container}`)
  }
}
