/** Allowed and refused texts in every text field of the catalogue, on both engines. */
import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { Endpoint } from "../../core/kernel/endpoints/endpoint.ts"
import { journal } from "../../core/kernel/events/journal.ts"
import type { Json, JsonObject } from "../../core/kernel/fields/field.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { type AskAny, broken_texts, furnishOddly, odd_text, type Said } from "../any-text.ts"
import { both_engines, plays_everything } from "../app.ts"
import { serve, type Serving } from "./serving.ts"
import type { Body } from "../answers.ts"

const textsIn = (value: Json): ReadonlyArray<string> =>
  typeof value === "string"
    ? [value]
    : typeof value !== "object" || value === null
      ? []
      : Object.values(value as JsonObject).flatMap(textsIn)

describe.each(both_engines)("text fields of the API on %s", (engine) => {
  let server: Serving
  let said: ReadonlyArray<Said>
  const taken: Array<string> = []
  const unnamed: Array<string> = []
  let refused = 0
  const onBroken = (endpoint: Endpoint, field: string, status: number, body: Body): void => {
    if (status < 400) taken.push(`${endpoint.name} ${field}: ${status}`)
    else if (status !== 422 || body.errors?.[field] === undefined)
      unnamed.push(`${endpoint.name} ${field}: ${status} ${JSON.stringify(body)}`)
    else refused++
  }
  beforeAll(async () => {
    server = await serve(engine, { lenient: true })
    const ask: AskAny = ({ method, path, body }) => server.ask(path, { method, json: body })
    said = await furnishOddly(ask, onBroken)
  })
  afterAll(() => server.close())
  const rows = () =>
    server.run(
      Effect.flatMap(Store, (store) =>
        Effect.forEach(server.app.catalogue.tables, (table) =>
          Effect.map(store.find(table, {}), (found) => ({ table, found }))
        )
      )
    )

  it("refuse a lone surrogate or NUL with 422 naming the field", () => {
    expect(taken).toEqual([])
    expect(unnamed).toEqual([])
    expect(refused).toBeGreaterThan(plays_everything ? 300 : 100)
  })
  it.each<readonly [path: string, method: string, body: (text: string) => JsonObject, field: string]>([
    ["products", "POST", (text) => ({ name: "Lamp", tag_list: [text] }), "tag_list.0"],
    ["products", "POST", (text) => ({ name: "Lamp", custom_fields: { note: text } }), "custom_fields.note"],
    [
      "list_names/13/values",
      "POST",
      (text) => ({ name: "A value", metadata: { deep: [{ [text]: 1 }] } }),
      "metadata.deep.0"
    ],
    ["tokens", "POST", (text) => ({ name: text, abilities: ["*"] }), "name"],
    ["sync/replicas", "POST", (text) => ({ name: text }), "name"],
    ["settings/company", "PUT", (text) => ({ settings: { name: text } }), "settings.name"]
  ])("refuse a lone surrogate or NUL in nested values of %s", async (path, method, body, field) => {
    for (const text of broken_texts) {
      const got = await server.ask(`/api/v1/${path}`, { method, json: body(text) })
      expect([got.status, Object.keys(got.body.errors ?? {})], got.text).toEqual([422, expect.arrayContaining([field])])
    }
  })
  it("refuse a lone surrogate or NUL in an import row without refusing the other rows", async () => {
    for (const text of broken_texts) {
      const got = await server.ask("/api/v1/products/import", {
        json: {
          rows: [
            { name: text, sku: "BROKEN-1" },
            { name: "Fine", sku: `FINE-${broken_texts.indexOf(text)}`, description: odd_text }
          ]
        }
      })
      expect(
        got.body.results.map((row) => [row.status, Object.keys(row.errors ?? {})]),
        got.text
      ).toEqual([
        ["rejected", ["name"]],
        ["created", []]
      ])
    }
  })
  it("store every other text unchanged", async () => {
    // Texts recorded in events only: a reason, a note on a shortage.
    const events = await server.run(Effect.flatMap(Store, (store) => store.find(journal, {})))
    const there = new Set(events.flatMap(({ data }) => textsIn(data as Json)))
    expect(said.length).toBeGreaterThan(150)
    // Notes on shortages are stored only with shortages; the text of a mail is stored with the mail.
    const is_elsewhere = ({ endpoint, field }: Said): boolean =>
      field === "shortage_notes" || (endpoint === "purchase_orders.send" && field === "message")
    expect(said.filter((one) => !there.has(one.text) && !is_elsewhere(one))).toEqual([])
    const in_rows = new Set((await rows()).flatMap(({ found }) => found.flatMap((row) => textsIn(row as Json))))
    expect(said.filter(({ text }) => in_rows.has(text)).length).toBeGreaterThan(100)
  })
  it("are matched by the list filters eq, cont and in, even with unusual characters", async () => {
    let looked = 0
    const problems: Array<string> = []
    for (const { table, found } of await rows()) {
      const path = `/api/v1/${table.name}`
      const list = server.app.catalogue.endpoints.find(
        (endpoint) => endpoint.method === "GET" && endpoint.path === path
      )
      if (list === undefined) continue
      for (const column of Object.keys(table.columns)) {
        const row = found.find(
          (one) => String((one as any)[column]).includes(odd_text) && ((one as any).deleted_at ?? null) === null
        ) as any
        if (row === undefined) continue
        const idsBy = async (predicate: string, value: string): Promise<ReadonlyArray<number>> => {
          const got = await server.ask(`${path}?q[${column}_${predicate}]=${encodeURIComponent(value)}&per_page=100`)
          const key = Object.keys(got.body).find((name) => Array.isArray(got.body[name]))!
          return got.body[key].map((one: Record<"id", unknown>) => one.id)
        }
        // Lists ignore filters they do not have.
        if ((await idsBy("eq", `no ${row[column]}`)).length > 0) continue
        looked++
        for (const [predicate, value] of [
          ["eq", row[column]],
          ["cont", odd_text],
          ["in", row[column]]
        ] as const) {
          if (!(await idsBy(predicate, value)).includes(row.id)) problems.push(`${path} ${column} ${predicate}`)
        }
      }
    }
    expect(problems).toEqual([])
    expect(looked).toBeGreaterThan(15)
  })
})
