import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { body_depth_max, json_body_bytes_max } from "../../core/kernel/fields/input.ts"
import { serve, type Serving } from "./serving.ts"

describe("the API with unusual requests", () => {
  let server: Serving
  beforeAll(async () => {
    server = await serve("sqlite", { lenient: true })
  })
  afterAll(() => server.close())
  const post = (
    bytes: string | Uint8Array,
    headers: { readonly [name: string]: string } = {},
    target = "/api/v1/products"
  ) => server.ask(target, { method: "POST", bytes, headers })

  it.each([
    ["cut off", `{"name":"x"`],
    ["plain text", "hello"],
    ["a comma too many", `{"name":"x",}`],
    ["single quotes", `{'name':'x'}`],
    ["two values", "{} {}"],
    ["not UTF-8", new Uint8Array([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x7d])],
    ["a lone continuation byte", new Uint8Array([0x22, 0x80, 0x22])],
    ["nested too deep", `{"a":`.repeat(body_depth_max + 1) + "1" + "}".repeat(body_depth_max + 1)],
    ["a hundred thousand brackets", "[".repeat(100_000)],
    ["a list", "[]"],
    ["a number", "7"],
    ["a text", `"x"`]
  ])("refuses a body with 422 at errors.body: %s", async (_, bytes) => {
    const got = await post(bytes)
    expect(got.status).toBe(422)
    expect(Object.keys(got.body.errors)).toEqual(["body"])
    expect(got.body.message).toBe(got.body.errors.body[0])
  })
  it("does not count brackets inside strings as nesting", async () => {
    expect((await post(JSON.stringify({ name: `${"[{".repeat(200)}\\"`.slice(0, 200) }))).status).toBe(201)
  })
  it("reads an empty or blank body, and null, as an empty object", async () => {
    for (const bytes of ["", " \r\n\t", "null"]) {
      const got = await post(bytes)
      expect(got.status).toBe(422)
      expect(Object.keys(got.body.errors)).toEqual(["name"])
    }
  })
  it("skips a byte order mark before the body", async () => {
    expect((await post(`\ufeff{"name":"Marked"}`)).status).toBe(201)
  })
  it.each([
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "application/xml",
    "application/json; charset=utf-16",
    "nonsense"
  ])("refuses a body of type %s with 415", async (type) => {
    const got = await post(`{"name":"x"}`, { "content-type": type })
    expect(got.status).toBe(415)
    expect(Object.keys(got.body)).toEqual(["message"])
  })
  it.each([
    "application/json",
    "application/json; charset=utf-8",
    'Application/JSON;charset="UTF-8"',
    "application/vnd.api+json"
  ])("accepts a body of type %s", async (type) => {
    expect((await post(`{"name":"x"}`, { "content-type": type })).status).toBe(201)
  })
  it("accepts a body of the maximum length, and answers 413 for one byte more", async () => {
    const frame = JSON.stringify({ name: "x", ignored: "" })
    const filled = (length: number): string => JSON.stringify({ name: "x", ignored: "y".repeat(length - frame.length) })
    expect((await post(filled(json_body_bytes_max))).status).toBe(201)
    const over = await post(filled(json_body_bytes_max + 1))
    expect(over.status).toBe(413)
    expect(Object.keys(over.body)).toEqual(["message"])
  })
  it("checks the path and permission before the body: 404 and 403 precede 415, 413 and 422", async () => {
    const target = "/api/v1/products/999999/merge"
    expect((await post("{", {}, target)).status).toBe(404)
    expect((await post("x", { "content-type": "text/plain" }, target)).status).toBe(404)
    expect((await post("x".repeat(json_body_bytes_max + 1), {}, target)).status).toBe(404)
    const made = await server.ask("/api/v1/tokens", { json: { name: "Reads", abilities: ["products:read"] } })
    for (const bytes of ["{", "x".repeat(json_body_bytes_max + 1)]) {
      expect(
        (await server.ask("/api/v1/products", { method: "POST", bytes, token: made.body.token.secret })).status
      ).toBe(403)
    }
  })
  it("gives keys named __proto__ and constructor no effect, in bodies and queries", async () => {
    const got = await post(
      `{"name":"x","__proto__":{"is_kit":true},"constructor":{"prototype":{"y":1}},"toString":7,"custom_fields":{"__proto__":{"z":1}}}`
    )
    expect(got.status).toBe(201)
    expect(got.body.product.is_kit).toBe(false)
    expect({} as { is_kit?: unknown; y?: unknown; z?: unknown }).toEqual({})
    expect(({} as { z?: unknown }).z).toBeUndefined()
    expect((await post(`{"__pr\\u006fto__":{"name":"x"}}`)).status).toBe(422)
    expect(
      (
        await server.ask(
          "/api/v1/products?__proto__=1&__proto__[]=2&constructor=3&q[__proto___eq]=4&q[constructor_eq]=5&sort=__proto__&include=__proto__,constructor"
        )
      ).status
    ).toBe(200)
  })
  it.each([
    "/api/v1/products/%",
    "/api/v1/products/%zz",
    "/api/v1/%E0%A4%A/x",
    "/api/v1/products/%00",
    "/api/v1/products/1%2F2",
    "/api/v1/products/-1",
    "/api/v1/products/1.5",
    "/api/v1/products/1e3",
    "/api/v1/products/99999999999999999999",
    "/api/v1/products/%F0%9F%92%A1",
    "/api/v1/nope",
    "/api/v2/products",
    "//",
    "/../etc/passwd",
    "/api/v1/products/__proto__",
    "*",
    "/api/v1/settings/__proto__",
    "/api/v1/settings/%00"
  ])("answers 404 for the path %s", async (target) => {
    const got = await server.ask(target)
    expect(got.status).toBe(404)
    expect(Object.keys(got.body)).toEqual(["message"])
  })
  it.each(["DELETE", "OPTIONS", "TRACE", "PROPFIND", "FOO"])(
    "answers 405 with the allowed verbs for %s on a list",
    async (method) => {
      const got = await server.ask("/api/v1/products", { method })
      expect(got.status).toBe(405)
      expect(got.headers["allow"]).toBe("GET, POST")
      expect(Object.keys(got.body)).toEqual(["message"])
    }
  )
  it.each([
    "q[name_cont]=%",
    "q[name_cont]=%FF%FE",
    "q[name_eq]=%00",
    "q[id_eq]=%00",
    "q[id_in][]=x&q[id_in][]=",
    "q[=1",
    "q[]=1",
    "q[[]]=1",
    "q[name_eq][][]=1",
    "q",
    "=",
    "&&&",
    "page=%00&per_page=%00",
    "sort=%00",
    "include=%00",
    "page=99999999999999999999",
    "q[created_at_gt]=%00",
    "q[is_active_eq]=%00",
    "q[cf.%00_eq]=1",
    "q[product_group.name_eq]=%00",
    `${"q[name_cont]=x&".repeat(2_000)}`
  ])("accepts the query %s", async (query) => {
    expect((await server.ask(`/api/v1/products?${query}`)).status).toBe(200)
  })
  it("returns a valid request id, and replaces an invalid one", async () => {
    expect(
      (await server.ask("/api/v1/products", { headers: { "x-request-id": "Till-7.2026_06" } })).headers["x-request-id"]
    ).toBe("Till-7.2026_06")
    for (const id of ["", "a b", "x".repeat(65), "ä", "a\r\nset-cookie: x"]) {
      expect(
        (await server.ask("/api/v1/products", { headers: { "x-request-id": id } })).headers["x-request-id"]
      ).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    }
  })
  it("answers HEAD with 200, without a token with 401, and for a missing row with 404", async () => {
    expect((await server.ask("/api/v1/products", { method: "HEAD" })).status).toBe(200)
    expect((await server.ask("/api/v1/products", { method: "HEAD", token: null })).status).toBe(401)
    expect((await server.ask("/api/v1/products/999999", { method: "HEAD" })).status).toBe(404)
  })
})
