/** Scenarios of opportunities, run on a server of either engine and on an offline device. */
import type { Answering, Look, Reply, Scenario as Told } from "./playing.ts"
import { type Calling, callingOf, type Made } from "./calling.ts"
import { fulfilmentScenarios } from "./scenarios/fulfilment.ts"
import { headerScenarios } from "./scenarios/header.ts"
import { lineScenarios } from "./scenarios/lines.ts"

export const opp = "/api/v1/opportunities"
/** Charged as four days. */
export const fourDays = { starts_at: "2031-09-01T09:00:00Z", ends_at: "2031-09-05T17:00:00Z" }
export const fifty_each = { name: "Line L", quantity: "2", unit_price: "50.00" }

export type Scenario = Told<number, Scene>
export const scenario = (n: number, title: string, run: Scenario["run"]): Scenario => ({ n, title, run })

export interface Scene extends Calling {
  readonly subject: string
  readonly deal: (body?: object) => Promise<Made<"opportunity">>
  readonly withLine: (body?: object, line?: object) => Promise<Made<"opportunity">>
  readonly quoted: (id: number) => Promise<Reply>
  readonly ordered: (id: number) => Promise<Reply>
  readonly move: (id: number, name: string, body?: object) => Promise<Reply>
  readonly shown: (id: number, include?: string) => Promise<Made<"opportunity">>
  readonly actions: (
    id: number
  ) => Promise<{ readonly [key: string]: { readonly allowed: boolean; readonly code: string | null } }>
  readonly product: (body?: object) => Promise<Made<"product">>
  readonly unit: (product_id: number) => Promise<Made<"stock_level">>
}
export const sceneOf = (n: number, by: Answering, looks: Array<Look>): Scene => {
  const subject = `Scenario ${String(n).padStart(3, "0")}`
  let count = 0
  const calling = callingOf(by, looks)
  const { made, post } = calling
  const opportunity: Scene["deal"] = (body = {}) => made(opp, { subject, store_id: 1, ...body }, "opportunity")
  const move: Scene["move"] = (id, name, body = {}) => post(`${opp}/${id}/${name}`, body)
  const quoted = (id: number) => move(id, "convert_to_quotation")
  return {
    ...calling,
    subject,
    deal: opportunity,
    move,
    quoted,
    withLine: async (body = fourDays, line = fifty_each) =>
      made(`${opp}/${(await opportunity(body)).id}/items`, line, "opportunity"),
    ordered: async (id) => {
      await quoted(id)
      return move(id, "convert_to_order")
    },
    shown: async (id, include = "items,costs") =>
      (await by.ask("GET", `${opp}/${id}?include=${include}`)).body.opportunity,
    actions: async (id) =>
      Object.fromEntries(
        (await by.ask("GET", `${opp}/${id}/available_actions`)).body.available_actions.map((one) => [one.key, one])
      ),
    product: (body = {}) =>
      made("/api/v1/products", { name: `${subject} product ${++count}`, stock_method: 2, ...body }, "product"),
    unit: (product_id) =>
      made("/api/v1/stock_levels", { product_id, store_id: 1, asset_number: `S${n}-${++count}` }, "stock_level")
  }
}

export const scenarios: ReadonlyArray<Scenario> = [...headerScenarios(), ...lineScenarios(), ...fulfilmentScenarios()]
