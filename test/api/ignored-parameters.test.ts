/** Lists accept any parameters, and report unsupported ones in `meta.ignored` (rules/conventions 3 to 5). */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { engines } from "../app.ts"
import { type Got, serve, type Serving } from "../server/serving.ts"

const lists = [
  "products",
  "members",
  "opportunities",
  "stores",
  "invoices",
  "purchase_orders",
  "documents",
  "containers",
  "users",
  "tokens",
  "webhooks",
  "request_logs",
  "system/jobs",
  "notifications",
  "actions",
  "stock_levels",
  "custom_views"
]

describe.each(engines)("parameters and fields of requests on %s", (engine) => {
  let server: Serving
  beforeAll(async () => {
    server = await serve(engine, { lenient: true })
  })
  afterAll(() => server.close())
  const asked = (path: string, query: ReadonlyArray<readonly [string, string]>): Promise<Got> =>
    server.ask(
      `/api/v1/${path}?${new URLSearchParams(query.map(([name, value]): [string, string] => [name, value])).toString()}`
    )

  it.each(lists)("lists of %s report filters, sorts and includes they do not offer", async (path) => {
    const got = await asked(path, [
      ["q[no_such_thing_eq]", "1"],
      ["q[id]", "1"],
      ["q[cf.nothing_in][]", "1"],
      ["sort", "-no_such_thing"],
      ["include", "nobody"]
    ])
    expect(got.status, got.text).toBe(200)
    expect(new Set(got.body.meta.ignored)).toEqual(
      new Set(["q[no_such_thing_eq]", "q[id]", "q[cf.nothing_in][]", "sort=-no_such_thing", "include=nobody"])
    )
  })
  it.each(["shortages", "settings", "permissions", "boards", "calendar_feeds", "endpoints", "document_types"])(
    "the list %s, which has no filters, reports every filter, sort and include",
    async (path) => {
      const got = await asked(path, [
        ["q[id_eq]", "1"],
        ["sort", "id"],
        ["include", "nobody"]
      ])
      expect(got.status, got.text).toBe(200)
      expect(got.body.meta.ignored).toEqual(["q[id_eq]", "sort=id", "include=nobody"])
      expect((await asked(path, [])).body.meta).not.toHaveProperty("ignored")
    }
  )
  it("unknown fields are reported beside the created row, and refused by name in strict mode", async () => {
    const send = (json: object, strict: boolean, method = "POST", path = "products") =>
      server.ask(`/api/v1/${path}`, {
        method,
        json,
        headers: { prefer: `respond-async, handling=${strict ? "strict" : "lenient"}` }
      })
    const odd = { name: "Lamp", wieght: 3, id: 7, product_type: "rental" }
    const made = await send(odd, false)
    expect([made.status, made.body.meta]).toEqual([201, { ignored: ["wieght", "id"] }])
    const refused = await send(odd, true)
    expect([refused.status, refused.body.errors]).toEqual([
      422,
      {
        wieght: ["There is no field or parameter wieght here. Did you mean weight?"],
        id: ["There is no field or parameter id here."]
      }
    ])
    expect((await send({ name: "Lamp" }, true)).body).not.toHaveProperty("meta")
    const { id } = made.body.product
    expect((await send({ name: "Spot", nmae: "x" }, false, "PUT", `products/${id}`)).body.meta.ignored).toEqual([
      "nmae"
    ])
    const shown = await asked(`products/${id}`, [
      ["bogus", "1"],
      ["include", "nobody"]
    ])
    expect(shown.body.meta.ignored).toEqual(["bogus", "include=nobody"])
    expect(
      (await send({ token: 1, name: "T", abilities: ["*"], rate_limit: 5 }, true, "POST", "tokens")).body.errors
    ).toEqual({
      token: [expect.any(String)],
      rate_limit: ["There is no field or parameter rate_limit here. Did you mean rate_limit_per_minute?"]
    })
  })
  it("unknown settings are reported beside the group, and refused by name in strict mode", async () => {
    const put = (group: string, settings: object, handling: string) =>
      server.ask(`/api/v1/settings/${group}`, {
        method: "PUT",
        json: { settings },
        headers: { prefer: `handling=${handling}` }
      })
    const dropped = await put("company", { city: "Leeds", timezon: "UTC" }, "lenient")
    expect([dropped.status, dropped.body.settings.city, dropped.body.meta]).toEqual([
      200,
      "Leeds",
      { ignored: ["settings.timezon"] }
    ])
    const refused = await put("numbering", { "opportunity.digit": 4, "hue": 1, "constructor": 2 }, "strict")
    const near = ["There is no setting opportunity.digit here. Did you mean opportunity.digits?"]
    expect([refused.status, refused.body.errors]).toEqual([
      422,
      Object.fromEntries(
        [
          ["opportunity.digit", near],
          ["hue", ["There is no setting hue here."]],
          ["constructor", ["There is no setting constructor here."]]
        ].flatMap(([key, said]) => [
          [key, said],
          [`settings.${String(key)}`, said]
        ])
      )
    ])
    expect((await put("company", { city: "York" }, "strict")).body).not.toHaveProperty("meta")
  })
  it("misspelt, unknown and repeated list parameters are refused in strict mode, with the nearest names", async () => {
    const got = await server.ask(
      "/api/v1/opportunities?q[statsu_eq]=1&sort=subjetc&include=membre&bogus=1&per_page=5&q[subject_eq]=a&q[subject_eq]=b",
      { headers: { prefer: "handling=strict" } }
    )
    expect(got.status).toBe(422)
    const rest = await server.ask(
      "/api/v1/opportunities?q[statsu_eq]=1&sort=subjetc&include=membre&q[subject_eq]=a&q[subject_eq]=b",
      { headers: { prefer: "handling=strict" } }
    )
    expect([Object.keys(got.body.errors), rest.body.errors]).toEqual([
      ["bogus"],
      {
        "q[statsu_eq]": ["There is no filter statsu here. Did you mean q[status_eq]?"],
        "sort": ["There is no sort subjetc here. Did you mean subject?"],
        "include": ["There is no include membre here. Did you mean member?"],
        "q[subject_eq]": ["This is given more than once, and only the last one counts."]
      }
    ])
  })
  it("lists of several pages link to the next and the last page", async () => {
    const got = async (path: string) => (await server.ask(`/api/v1/${path}`)).headers["link"]
    for (const name of ["East", "West", "North"]) await server.ask("/api/v1/product_groups", { json: { name } })
    const groups = "product_groups?q[name_end]=t&per_page=1"
    expect(await got(groups)).toBe(
      ["next", "last"]
        .map((rel) => `</api/v1/product_groups?q%5Bname_end%5D=t&per_page=1&page=2>; rel="${rel}"`)
        .join(", ")
    )
    expect(await got(`${groups}&page=2`)).toMatch(/^<[^,]*&page=2>; rel="last"$/)
    expect(await got("product_groups?q[name_end]=t")).toBeUndefined()
  })
  it("repeated _in keys are joined; of other repeated keys the last one counts, and the key is reported", async () => {
    const ids = []
    for (const name of ["One", "Two", "Three"])
      ids.push((await server.ask("/api/v1/stores", { json: { name } })).body.store.id)
    const found = async (query: ReadonlyArray<readonly [string, string]>) => {
      const { stores, meta } = (await asked("stores", query)).body
      return [stores.map((one) => one.id), meta.ignored]
    }
    const by_id = (...values: ReadonlyArray<unknown>) => values.map((one) => ["q[id_in]", String(one)] as const)
    expect(await found([...by_id(ids[0], ids[2]), ["sort", "id"]])).toEqual([[ids[0], ids[2]], undefined])
    expect(await found([...by_id(`${ids[0]},${ids[1]}`, ids[2]), ["sort", "id"]])).toEqual([ids, undefined])
    expect(await found([...by_id(ids[0], `${ids[1]},${ids[2]}`), ["sort", "id"]])).toEqual([ids, undefined])
    expect(
      await found([
        ["q[id_eq]", String(ids[0])],
        ["q[id_eq]", String(ids[1])]
      ])
    ).toEqual([[ids[1]], ["q[id_eq]"]])
  })
  it("resolving shortages accepts the opportunity's includes in strict mode, and refuses others", async () => {
    const {
      body: { opportunity }
    } = await server.ask("/api/v1/opportunities", {
      json: { subject: "Gala", starts_at: "2026-12-01T09:00:00Z", ends_at: "2026-12-04T09:00:00Z" }
    })
    const refused = async (include: string): Promise<ReadonlyArray<string>> => {
      const path = `/api/v1/opportunities/${opportunity.id}/shortages/resolve?include=${include}`
      const got = await server.ask(path, { json: { resolution: "subhire" }, headers: { prefer: "handling=strict" } })
      expect(got.status).toBe(422)
      return Object.keys(got.body.errors)
    }
    expect(await refused("items")).not.toContain("include")
    expect(await refused("nobody")).toContain("include")
  })
  it("valid parameters are not reported as ignored", async () => {
    for (const path of ["products", "members", "request_logs", "actions"]) {
      const got = await asked(path, [
        ["q[id_gt]", "0"],
        ["sort", "-created_at"]
      ])
      expect(got.status, got.text).toBe(200)
      if (path !== "request_logs")
        expect([path, Object.keys(got.body.meta)]).toEqual([path, ["total", "per_page", "page"]])
    }
    const got = await asked("products", [
      ["q[type_eq]", "rental"],
      ["q[productGroup.name_cont]", "x"],
      ["q[s]", "name desc"],
      ["include", "productGroup,components"],
      ["page", "1"]
    ])
    expect(got.body.meta).toEqual({ total: 0, per_page: 20, page: 1 })
  })
})
