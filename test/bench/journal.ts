/**
 * A journal as a server writes it: an imported catalogue, customers, quotes and orders, stock movements, corrections.
 */
import { Effect, Layer, ManagedRuntime } from "effect"
import { catalogue } from "../../core/catalogue.ts"
import { serverRuntime } from "../../core/kernel/runtime/server-runtime.ts"
import { answer } from "../../core/kernel/runtime/engine.ts"
import type { StoredEvent } from "../../core/kernel/events/event-type.ts"
import { eventsAfter, lastPosition } from "../../core/kernel/events/journal.ts"
import type { Json } from "../../core/kernel/fields/field.ts"
import { ensureSchema, seed } from "../../core/kernel/runtime/schema.ts"
import { Store } from "../../core/kernel/store/store.ts"
import type { Viewer } from "../../core/kernel/fields/rejection.ts"
import * as Sqlite from "../../sync/sqlite/client.ts"
import { type Body, bodyRead } from "../answers.ts"

export const owner: Viewer = {
  user_id: 1,
  name: "Owner",
  person_id: null,
  is_owner: true,
  is_active: true,
  role_ids: [],
  permissions: new Set(),
  abilities: new Set(["*"]),
  token_id: null
}

/** Rows of a price list: products with stock, a rate and all other columns. */
export const priceList = (count: number): ReadonlyArray<{ readonly [column: string]: Json }> =>
  Array.from({ length: count }, (_, at) => ({
    name: `${kinds[at % kinds.length]} ${at}`,
    sku: `SKU-${at}`,
    barcode: `50${1_000_000 + at}`,
    description: `${kinds[at % kinds.length]} in a case, with clamp and safety bond.`,
    group: `Group ${at % 12} / Kind ${at % 60}`,
    weight: `${1 + (at % 40)}.5`,
    replacement_charge: `${100 + (at % 900)}.00`,
    purchase_price: `${50 + (at % 700)}.00`,
    tags: [kinds[at % kinds.length]!.toLowerCase(), `shelf-${at % 30}`],
    stock: { "Main Warehouse": 1 + (at % 50) },
    rate: { preset: "daily-rate", price: `${5 + (at % 200)}.00` }
  }))
const kinds = [
  "Moving head",
  "Par can",
  "Dimmer",
  "Speaker",
  "Amplifier",
  "Microphone",
  "Truss",
  "Hoist",
  "Screen",
  "Projector"
]

/** Rows of a customer list, each with a number, an address, an e-mail address and a telephone number. */
export const customerList = (count: number): ReadonlyArray<{ readonly [column: string]: Json }> =>
  Array.from({ length: count }, (_, at) => ({
    number: `C-${at}`,
    type: "organisation",
    name: `Customer ${at} Ltd`,
    credit_limit: `${500 + (at % 90) * 100}.00`,
    on_stop: at % 20 === 0 ? "yes" : "no",
    street: `${1 + (at % 200)} High Street`,
    city: "Leeds",
    postcode: `LS${1 + (at % 29)} 1AA`,
    country: "GB",
    email: `info@customer-${at}.example`,
    phone: `+44 113 ${4_000_000 + at}`,
    tags: "regular, festival"
  }))

/** At least `least` events, written by commands in an in-memory database. */
export const writtenJournal = async (least: number): Promise<ReadonlyArray<StoredEvent>> => {
  let made = 0
  const runtime = ManagedRuntime.make(
    Layer.merge(
      Layer.provide(Store.layer, Sqlite.layer({ path: ":memory:" })),
      serverRuntime({ catalogue, commandId: () => `command-${++made}` })
    )
  )
  try {
    const ask = (method: string, path: string, body: Json): Promise<Body> =>
      runtime.runPromise(
        Effect.map(answer(catalogue, { method, path: `/api/v1${path}`, query: [], body }, owner), ({ body }) =>
          bodyRead(body)
        )
      )
    await runtime.runPromise(
      Effect.andThen(ensureSchema(catalogue, "server"), seed(catalogue, "2026-01-01T00:00:00.000Z"))
    )
    const rows = priceList(Math.ceil(least / 9))
    const products: Array<number> = []
    for (let from = 0; from < rows.length; from += 500) {
      const { results } = await ask("POST", "/products/import", { rows: rows.slice(from, from + 500) })
      for (const { id } of results) products.push(id!)
    }
    const customers: Array<number> = []
    for (let at = 0; at < 300; at++)
      customers.push(
        (
          await ask("POST", "/members", {
            name: `Customer ${at}`,
            membership_type: "organisation",
            tag_list: ["regular"]
          })
        ).member.id
      )
    for (let day = 0; (await runtime.runPromise(Effect.flatMap(Store, lastPosition))) < least; day++)
      await oneDay(ask, day, products, customers)
    const events: Array<StoredEvent> = []
    for (;;) {
      const page = await runtime.runPromise(
        Effect.flatMap(Store, (store) => eventsAfter(store, events.at(-1)?.position ?? 0, 5_000))
      )
      if (page.length === 0) return events
      events.push(...page)
    }
  } finally {
    await runtime.dispose()
  }
}

/** Quotes with lines, some of which become orders; changed prices and names; stock found and written off. */
const oneDay = async (
  ask: (method: string, path: string, body: Json) => Promise<Body>,
  day: number,
  products: ReadonlyArray<number>,
  customers: ReadonlyArray<number>
): Promise<void> => {
  const product = (at: number): number => products[(day * 97 + at * 31) % products.length]!
  const starts = new Date(Date.UTC(2026, 5, 1 + (day % 300), 9)).toISOString(),
    ends = new Date(Date.UTC(2026, 5, 4 + (day % 300), 17)).toISOString()
  for (let quote = 0; quote < 4; quote++) {
    const { opportunity } = await ask("POST", "/opportunities", {
      subject: `Show ${day}-${quote}`,
      member_id: customers[(day * 7 + quote) % customers.length]!,
      store_id: 1,
      starts_at: starts,
      ends_at: ends
    })
    for (let line = 0; line < 5; line++) {
      await ask("POST", `/opportunities/${opportunity.id}/items`, {
        name: `Line ${line}`,
        item_id: product(quote * 5 + line),
        quantity: "1"
      })
    }
  }
  for (let at = 0; at < 30; at++)
    await ask("PUT", `/products/${product(100 + at)}`, {
      description: `Checked on day ${day}, shelf ${at}.`,
      weight: `${10 + ((day + at) % 30)}.25`
    })
  for (let at = 0; at < 4; at++)
    await ask("PUT", `/members/${customers[(day + at * 13) % customers.length]!}`, {
      description: `Called on day ${day}.`
    })
}
