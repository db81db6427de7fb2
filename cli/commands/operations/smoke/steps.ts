/**
 * Steps of the smoke test: a product is stocked, priced, quoted, ordered and packed, and invalid requests must be
 * rejected.
 */
import type { Json, JsonObject } from "../../../../core/kernel/index.ts"
import { rowsOr } from "../../../base/answers.ts"
import { formatMoney } from "../../../../core/values/money.ts"
import { expectRefusal, expectStatus, expectValue, many, one, type SmokeClient } from "./requests.ts"

/** Created rows; the requests in `undo` are sent from last to first. */
export interface CreatedRecords {
  readonly undo: Array<{ readonly what: string; readonly method: string; readonly path: string; readonly body?: Json }>
  currency?: string
  store?: number
  bulk?: number
  serialised?: number
  units?: ReadonlyArray<number>
  member?: number
  deal?: number
  container?: number
}
interface SmokeRun {
  readonly ask: SmokeClient
  /** Client for the same server with another token. */
  readonly as: (token: string) => SmokeClient
  readonly mark: string
  readonly made: CreatedRecords
}
type Step = readonly [name: string, run: (walk: SmokeRun) => Promise<void>]

const held = 10,
  booked = 4,
  days = 3
const price_minor = 1_000
const day_ms = 86_400_000

/** Hire period a month ahead, in whole UTC days. */
const window = (): { readonly from: string; readonly to: string; readonly during: string } => {
  const first = Math.floor(Date.now() / day_ms) * day_ms + 30 * day_ms
  const at = (offset: number): string => new Date(first + offset * day_ms).toISOString()
  return { from: at(0), to: at(days), during: at(1).slice(0, 10) }
}
const idOf = (thing: JsonObject): number => Number(thing.id)

const create = async ({ ask, made }: SmokeRun, path: string, key: string, body: JsonObject): Promise<JsonObject> => {
  const thing = one(expectStatus(await ask("POST", path, body), 201), key)
  made.undo.push({ what: `${key} ${idOf(thing)}`, method: "DELETE", path: `${path}/${idOf(thing)}` })
  return thing
}
/** Schedules removal of the stock level created with a bulk product, which must follow that of the product. */
const undoStockOf = async ({ ask, made }: SmokeRun, product: number): Promise<void> => {
  const query = [["q[product_id_eq]", String(product)]] as const
  const answer = expectStatus(await ask("GET", "/api/v1/stock_levels", undefined, query), 200)
  for (const level of many(answer, "stock_levels"))
    made.undo.splice(-1, 0, {
      what: `stock_level ${idOf(level)}`,
      method: "DELETE",
      path: `/api/v1/stock_levels/${idOf(level)}`
    })
}
const freeUnits = async ({ ask, made }: SmokeRun): Promise<Json | undefined> =>
  one(
    expectStatus(
      await ask("GET", `/api/v1/products/${made.bulk}/availability`, undefined, [
        ["store_id", String(made.store)],
        ["date", window().during]
      ]),
      200
    ),
    "availability"
  ).available

export const smoke_steps: ReadonlyArray<Step> = [
  [
    "the server is well",
    async ({ as }) => {
      expectValue(
        "health.status",
        one(expectStatus(await as("")("GET", "/api/v1/system/health"), 200), "health").status,
        "ok"
      )
    }
  ],
  [
    "no token is refused with 401",
    async ({ as }) => {
      expectRefusal(await as("")("GET", "/api/v1/products"), 401)
      expectRefusal(await as("1|there-is-no-such-token-anywhere")("GET", "/api/v1/products"), 401)
    }
  ],
  [
    "the company's currency is known",
    async ({ ask, made }) => {
      made.currency = String(
        one(expectStatus(await ask("GET", "/api/v1/settings/company"), 200), "settings").base_currency
      )
    }
  ],
  [
    "a store is made",
    async (walk) => {
      walk.made.store = idOf(await create(walk, "/api/v1/stores", "store", { name: walk.mark, timezone: "UTC" }))
    }
  ],
  [
    "a product is made, shown and found",
    async (walk) => {
      const product = await create(walk, "/api/v1/products", "product", {
        name: `${walk.mark} PAR can`,
        sku: `${walk.mark}-BULK`,
        replacement_charge: "125.50"
      })
      walk.made.bulk = idOf(product)
      await undoStockOf(walk, walk.made.bulk)
      const shown = one(expectStatus(await walk.ask("GET", `/api/v1/products/${walk.made.bulk}`), 200), "product")
      expectValue("the product's sku", shown.sku, `${walk.mark}-BULK`)
      const found = many(
        expectStatus(await walk.ask("GET", "/api/v1/products", undefined, [["q[sku_eq]", `${walk.mark}-BULK`]]), 200),
        "products"
      )
      expectValue("the products of that sku", found.map(idOf), [walk.made.bulk])
    }
  ],
  [
    "a product without a name is refused with 422",
    async ({ ask }) => expectRefusal(await ask("POST", "/api/v1/products", { sku: "x" }), 422, "name")
  ],
  [
    "an unknown id is refused with 404",
    async ({ ask }) => expectRefusal(await ask("GET", "/api/v1/products/999999999999"), 404)
  ],
  [
    "a token without the ability is refused with 403",
    async (walk) => {
      const token = await create(walk, "/api/v1/tokens", "token", { name: walk.mark, abilities: ["stores:read"] })
      const limited = walk.as(String(token.secret))
      expectStatus(await limited("GET", `/api/v1/stores/${walk.made.store}`), 200)
      expectRefusal(await limited("POST", "/api/v1/products", { name: walk.mark }), 403)
    }
  ],
  [
    "stock is put on the shelf",
    async (walk) => {
      const { bulk = 0, store = 0 } = walk.made
      await create(walk, "/api/v1/stock_levels", "stock_level", {
        product_id: bulk,
        store_id: store,
        quantity_held: held
      })
      const serialised = await create(walk, "/api/v1/products", "product", {
        name: `${walk.mark} Moving head`,
        stock_method: 2
      })
      walk.made.serialised = idOf(serialised)
      const units: Array<number> = []
      for (const number of ["1", "2"]) {
        units.push(
          idOf(
            await create(walk, "/api/v1/stock_levels", "stock_level", {
              product_id: walk.made.serialised,
              store_id: store,
              asset_number: `${walk.mark}-${number}`
            })
          )
        )
      }
      walk.made.units = units
    }
  ],
  ["all of it is free", async (walk) => expectValue("available", await freeUnits(walk), held)],
  [
    "a daily rate is put on the product",
    async (walk) => {
      const [definition] = many(
        expectStatus(
          await walk.ask("GET", "/api/v1/rate_definitions", undefined, [["q[preset_slug_eq]", "daily-rate"]]),
          200
        ),
        "rate_definitions"
      )
      await create(walk, `/api/v1/products/${walk.made.bulk}/rates`, "product_rate", {
        rate_definition_id: definition === undefined ? 0 : idOf(definition),
        transaction_type: "rental",
        price: price_minor,
        currency: walk.made.currency ?? ""
      })
    }
  ],
  [
    "the rate is calculated",
    async ({ ask, made }) => {
      const { from, to } = window()
      const body = expectStatus(
        await ask("POST", `/api/v1/products/${made.bulk}/calculate_rate`, {
          quantity: 2,
          start: from,
          end: to,
          transaction_type: "rental",
          store_id: null
        }),
        200
      )
      expectValue(
        "the total",
        one(body, "rate_breakdown").total,
        formatMoney(price_minor * days * 2, made.currency ?? "GBP")
      )
    }
  ],
  [
    "a customer is made",
    async (walk) => {
      walk.made.member = idOf(
        await create(walk, "/api/v1/members", "member", {
          name: `${walk.mark} Events Ltd`,
          membership_type: "organisation"
        })
      )
    }
  ],
  [
    "a quote is written",
    async (walk) => {
      const { from, to } = window()
      const opportunity = await create(walk, "/api/v1/opportunities", "opportunity", {
        subject: `${walk.mark} Gala`,
        member_id: walk.made.member ?? 0,
        store_id: walk.made.store ?? 0,
        starts_at: from,
        ends_at: to,
        currency: walk.made.currency ?? "GBP"
      })
      expectValue("the state", opportunity.state, 0)
      walk.made.deal = idOf(opportunity)
    }
  ],
  [
    "its line is priced",
    async ({ ask, made, mark }) => {
      const body = expectStatus(
        await ask("POST", `/api/v1/opportunities/${made.deal}/items`, {
          name: `${mark} PAR can`,
          item_id: made.bulk ?? 0,
          quantity: booked
        }),
        201
      )
      expectValue(
        "charge_excluding_tax_total",
        one(body, "opportunity").charge_excluding_tax_total,
        formatMoney(price_minor * days * booked, made.currency ?? "GBP")
      )
      expectStatus(
        await ask("POST", `/api/v1/opportunities/${made.deal}/items`, {
          name: `${mark} Moving head`,
          item_id: made.serialised ?? 0,
          quantity: 1
        }),
        201
      )
    }
  ],
  [
    "the quote becomes a quotation, then an order",
    async ({ ask, made }) => {
      expectValue(
        "the state",
        one(
          expectStatus(await ask("POST", `/api/v1/opportunities/${made.deal}/convert_to_quotation`, {}), 200),
          "opportunity"
        ).state,
        1
      )
      expectValue(
        "the state",
        one(
          expectStatus(await ask("POST", `/api/v1/opportunities/${made.deal}/convert_to_order`, {}), 200),
          "opportunity"
        ).state,
        2
      )
    }
  ],
  [
    "an order cannot be ordered again",
    async ({ ask, made }) =>
      expectRefusal(await ask("POST", `/api/v1/opportunities/${made.deal}/convert_to_order`, {}), 422, "state")
  ],
  ["the order holds its stock", async (walk) => expectValue("available", await freeUnits(walk), held - booked)],
  [
    "a unit is allocated, once",
    async ({ ask, made }) => {
      const { items } = one(
        expectStatus(await ask("GET", `/api/v1/opportunities/${made.deal}`, undefined, [["include", "items"]]), 200),
        "opportunity"
      )
      const line = rowsOr(items).at(-1)
      const [unit = 0] = made.units ?? []
      const allocate = () =>
        ask("POST", `/api/v1/opportunities/${made.deal}/quick_allocate`, {
          allocations: [{ opportunity_item_id: line?.id ?? null, stock_level_id: unit }]
        })
      expectStatus(await allocate(), 200)
      expectRefusal(await allocate(), 422)
      const assets = many(expectStatus(await ask("GET", `/api/v1/opportunities/${made.deal}/assets`), 200), "assets")
      expectValue(
        "the assigned units",
        assets.map((asset) => asset.stock_level_id ?? null),
        [unit]
      )
    }
  ],
  [
    "a case is packed, and nothing twice",
    async ({ ask, made, mark }) => {
      const container = one(
        expectStatus(
          await ask("POST", "/api/v1/containers/temporary", {
            name: `${mark} case`,
            barcode: `${mark}-CASE`,
            store_id: made.store ?? 0
          }),
          201
        ),
        "container"
      )
      made.container = idOf(container)
      // Runs in reverse order: dissolved first, then deleted.
      made.undo.push({
        what: `container ${made.container}`,
        method: "DELETE",
        path: `/api/v1/containers/${made.container}`
      })
      made.undo.push({
        what: `container ${made.container}`,
        method: "POST",
        path: `/api/v1/containers/${made.container}/dissolve`,
        body: {}
      })
      const [, unit = 0] = made.units ?? []
      const pack = () => ask("POST", `/api/v1/containers/${made.container}/pack`, { serialised_item_id: unit })
      expectStatus(await pack(), 201)
      expectRefusal(await pack(), 422, "serialised_item_id")
      expectStatus(await ask("POST", `/api/v1/containers/${made.container}/unpack`, { serialised_item_id: unit }), 200)
    }
  ],
  [
    "a deleted order gives its stock back",
    async (walk) => {
      const { ask, made } = walk
      expectStatus(await ask("DELETE", `/api/v1/opportunities/${made.deal}`), 204)
      made.undo.splice(
        made.undo.findIndex(({ path }) => path === `/api/v1/opportunities/${made.deal}`),
        1
      )
      expectRefusal(await ask("GET", `/api/v1/opportunities/${made.deal}`), 404)
      expectValue("available", await freeUnits(walk), held)
    }
  ]
]
