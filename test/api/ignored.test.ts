/** Lists answer whatever they are asked, and say in `meta.ignored` what they do not offer (rules/conventions 3 to 5). */
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

describe.each(engines)("what lists leave out of account on %s", (engine) => {
  let server: Serving
  beforeAll(async () => {
    server = await serve(engine)
  })
  afterAll(() => server.close())
  const asked = (path: string, query: ReadonlyArray<readonly [string, string]>): Promise<Got> =>
    server.ask(
      `/api/v1/${path}?${new URLSearchParams(query.map(([name, value]): [string, string] => [name, value])).toString()}`
    )

  it.each(lists)("%s name filters, sorts and includes they do not offer", async (path) => {
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
    "%s come whole, and name any filter, sort and include",
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
  it("say nothing where everything is offered", async () => {
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
