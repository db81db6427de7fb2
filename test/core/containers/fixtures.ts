/** Cases and what goes in them, for tests of containers. */
import type { App, Reply } from "../../app.ts"
import { type SampleBusiness, sampleBusiness } from "../fixtures.ts"

export interface ContainerFixture extends SampleBusiness {
  readonly S: number
  /** A serialised case product with its template set. */
  readonly caseProduct: (template?: object) => Promise<number>
  /** A container with a case of its own at S, of a new case product unless one is named. */
  readonly container: (
    mode: "kit" | "hybrid" | "transport",
    more?: { readonly product?: number; readonly template?: object; readonly body?: object }
  ) => Promise<{ readonly id: number; readonly housing: number; readonly product: number }>
  /** One free unit at S of a new product. */
  readonly gear: (store?: number) => Promise<{ readonly unit: number; readonly product: number }>
  readonly act: (container: number, verb: string, body?: object) => Promise<Reply>
  readonly pack: (container: number, unit: number, more?: object) => Promise<Reply>
  readonly free: (product: number, date?: string) => Promise<number>
  readonly show: (container: number) => Promise<any>
}
export const containerFixture = async (app: App): Promise<ContainerFixture> => {
  const business = sampleBusiness(app)
  const S = await business.store()
  const act = (container: number, verb: string, body: object = {}) =>
    app.call("POST", `/api/v1/containers/${container}/${verb}`, body)
  const caseProduct = async (template: object = {}) => {
    const { id } = await business.units(S, 0)
    const put = await app.call("PUT", `/api/v1/products/${id}/container_template`, {
      is_containerable: true,
      ...template
    })
    if (put.status !== 200) throw new Error(JSON.stringify(put.body))
    return id
  }
  return {
    ...business,
    S,
    act,
    caseProduct,
    container: async (mode, { body = {}, product, template = {} } = {}) => {
      const of = product ?? (await caseProduct({ availability_mode: mode, ...template }))
      const housing = await business.unit(of, S)
      return {
        id: (await business.post("/containers", { name: "Case", serialised_item_id: housing, ...body })).container.id,
        housing,
        product: of
      }
    },
    gear: async (store = S) => {
      const { id, units } = await business.units(store, 1)
      return { unit: units[0]!, product: id }
    },
    pack: (container, serialised_item_id, more = {}) => act(container, "pack", { serialised_item_id, ...more }),
    free: async (product, date = "2026-09-01") =>
      (await app.call("GET", `/api/v1/availability?product_id=${product}&store_id=${S}&date=${date}`)).body.availability
        .available,
    show: async (container) => (await app.call("GET", `/api/v1/containers/${container}`)).body.container
  }
}
export const errorKeys = (reply: Reply) => [reply.status, Object.keys(reply.body?.errors ?? {}).sort()]
