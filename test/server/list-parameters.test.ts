/** Parameters with several values: all ways to write them have the same result on both engines. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { catalogue } from "../../core/catalogue.ts"
import { both_engines } from "../app.ts"
import { serve, type Serving } from "./serving.ts"

const span = "from=2026-07-01T00:00:00Z&to=2026-07-03T00:00:00Z"
/** By endpoint and parameter: two valid values, and other required parameters. */
const values: {
  readonly [parameter: string]: {
    readonly two: readonly [string, string]
    readonly target: string
    readonly rest: string
  }
} = {
  "availability.calendar product_ids": {
    two: ["1", "2"],
    target: "/api/v1/availability/calendar",
    rest: `store_id=1&${span}`
  },
  "availability.gantt asset_ids": {
    two: ["1", "2"],
    target: "/api/v1/availability/1/gantt",
    rest: `store_id=1&${span}`
  },
  "calendar_feeds.export with": { two: ["orders", "returns"], target: "/api/v1/calendar_feeds/export", rest: "" },
  "labels.show codes": { two: ["Cable 1", "Lamp 1"], target: "/api/v1/labels", rest: "" },
  "labels.zpl codes": { two: ["Cable 1", "Lamp 1"], target: "/api/v1/labels/zpl", rest: "" },
  "search.show kinds": { two: ["products", "units"], target: "/api/v1/search", rest: "q=Lamp" },
  "rate_engine.schema modifiers": {
    two: ["multiplier", "factor"],
    target: "/api/v1/rate_engine/schema",
    rest: "strategy=period"
  }
}
const listed = catalogue.endpoints
  .filter((endpoint) => endpoint.method === "GET")
  .flatMap((endpoint) =>
    Object.entries(endpoint.fields as { [name: string]: { type: { kind: string } } })
      .filter(([, field]) => field.type.kind === "list")
      .map(([name]) => `${endpoint.name} ${name}`)
  )

describe.each(both_engines)("a list in a query string, on %s", (engine) => {
  let server: Serving
  beforeAll(async () => {
    server = await serve(engine)
    server.setClock(Date.parse("2026-06-18T12:00:00Z"))
    for (const name of ["Cable", "Lamp", "Case"]) {
      const { body } = await server.ask("/api/v1/products", { json: { name, stock_method: 2 } })
      await server.ask("/api/v1/stock_levels", {
        json: { product_id: body.product.id, store_id: 1, serial_number: `${name} 1` }
      })
    }
  })
  afterAll(() => server.close())

  it("is tested here for every query parameter that takes several values", () => {
    expect(Object.keys(values).toSorted()).toEqual(listed.toSorted())
  })
  it.each(Object.entries(values))(
    "may be written with commas, repetition, brackets or indexes: %s",
    async (key, { two: [a, b], target, rest }) => {
      const name = key.split(" ")[1]!
      const asked = (query: string) => server.ask(`${target}?${rest}&${query}`)
      const forms = [
        `${name}=${a},${b}`,
        `${name}=${a}&${name}=${b}`,
        `${name}[]=${a}&${name}[]=${b}`,
        `${name}[0]=${a}&${name}[1]=${b}`,
        `${name}=${a}&${name}[]=${b}`,
        `${name}=${a}, ${b}`
      ]
      const got = await Promise.all(forms.map(asked))
      expect(got.map((one) => [one.status, one.text])).toEqual(forms.map(() => [200, got[2]!.text]))
      const [one, indexed] = await Promise.all([asked(`${name}=${a}`), asked(`${name}[]=${a}`)])
      expect([one.status, one.text]).toEqual([200, indexed.text])
      if (key !== "availability.gantt asset_ids") expect(one.text).not.toBe(got[0]!.text)
    }
  )
  it("is refused with its invalid value named", async () => {
    const got = await server.ask(`/api/v1/availability/calendar?store_id=1&${span}&product_ids=1,x`)
    expect([got.status, Object.keys(got.body.errors)]).toEqual([422, ["product_ids.1"]])
  })
  it("is described in OpenAPI as an exploded array, with examples of its forms", async () => {
    const { body } = await server.ask("/api/v1/openapi.json")
    const parameter = body.paths["/api/v1/availability/calendar"].get.parameters.find(
      (one: { name: string }) => one.name === "product_ids"
    )
    expect(parameter).toMatchObject({
      style: "form",
      explode: true,
      schema: { type: "array", items: { type: "integer" } }
    })
    expect(parameter.description).toContain("product_ids=1,2")
    expect(parameter.description).toContain("product_ids[]=1")
  })
})
