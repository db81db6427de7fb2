/** Errors, members, feeds and amounts over HTTP; other conventions are tested beside their rules. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { engines } from "../app.ts"
import { type Got, type Sent, serve, type Serving } from "../server/serving.ts"

const errorKeys = (got: Got): readonly [number, ReadonlyArray<string>] => [
  got.status,
  Object.keys(got.body?.errors ?? {})
]

describe.each(engines)("conventions on %s", (engine) => {
  let server: Serving
  beforeAll(async () => {
    server = await serve(engine, { lenient: true })
  })
  afterAll(() => server.close())

  const api = (path: string, sent?: Sent): Promise<Got> => server.ask(`/api/v1${path}`, sent)
  const post = (path: string, json: object = {}, sent: Sent = {}): Promise<Got> =>
    api(path, { method: "POST", json, ...sent })
  const made = async (path: string, json: object) => {
    const got = await post(path, json)
    expect(got.status, got.text).toBe(201)
    return Object.values(got.body as object)[0]
  }
  const memberOf = (name: string, membership_type = "organisation", more: object = {}) =>
    made("/members", { name, membership_type, ...more })

  describe("errors", () => {
    it("are JSON, whether the Accept header is missing or asks for HTML", async () => {
      for (const headers of [{}, { accept: "text/html" }]) {
        const got = await post("/members", {}, { headers })
        expect(got.status).toBe(422)
        expect(got.headers["content-type"]).toMatch(/^application\/json/)
        expect(Object.keys(got.body)).toEqual(["message", "errors"])
        expect(got.body.message).toBe(`${got.body.errors.name[0]} (and 1 more error)`)
      }
    })
  })

  describe("members", () => {
    it("an archived member cannot be an owner", async () => {
      const x = await memberOf("Archived owner", "contact")
      await api(`/members/${x.id}`, { method: "DELETE" })
      expect(
        errorKeys(await post("/members", { name: "Owned", membership_type: "organisation", owned_by: x.id }))
      ).toEqual([422, ["owned_by"]])
    })
    it("the primary of two addresses is also returned separately, on request", async () => {
      const { id } = await memberOf("Two doors")
      const first = await made(`/members/${id}/addresses`, { street: "Front" })
      const second = await made(`/members/${id}/addresses`, { street: "Back", is_primary: true })
      const { member } = (await api(`/members/${id}?include=addresses`)).body
      expect(member.primary_address?.id).toBe(second.id)
      expect(member.addresses.map((one) => one.id)).toEqual([first.id, second.id])
      const unasked = (await api(`/members/${id}`)).body.member
      expect([unasked.primary_address, unasked.addresses]).toEqual([null, []])
    })
  })

  describe("calendar feeds", () => {
    it("a feed is sent as text/calendar, with an inline disposition", async () => {
      const got = await api("/calendar_feeds/export")
      expect(got.status).toBe(200)
      expect(got.headers["content-type"]).toBe("text/calendar; charset=utf-8")
      expect(got.headers["content-disposition"]).toMatch(/^inline; filename="?[a-z]+-calendar\.ics"?$/)
    })
  })

  describe("amounts in requests", () => {
    const priced = async (price: string, currency: string): Promise<Got> => {
      const product = await made("/products", { name: "Priced" })
      const rate_definition_id = (await api("/rate_definitions?per_page=1")).body.rate_definitions[0].id
      return post(`/products/${product.id}/rates`, {
        rate_definition_id,
        transaction_type: "rental",
        price: JSON.parse(price),
        currency
      })
    }
    it.each([
      [`"125"`, "GBP", "125.00"],
      ["12550", "GBP", "125.50"],
      ["125.5", "GBP", "125.50"],
      [`"1e3"`, "GBP", "1000.00"],
      [`"125"`, "JPY", "125"],
      ["125", "JPY", "125"],
      [`"1.125"`, "KWD", "1.125"]
    ])("a price of %s in %s is read as %s", async (price, currency, expected) => {
      const got = await priced(price, currency)
      expect([got.status, got.body.product_rate?.price]).toEqual([201, expected])
    })
    it.each([
      [`"1.5"`, "JPY"],
      [`"1.005"`, "GBP"],
      ["-1", "GBP"],
      [`"a lot"`, "GBP"],
      ["2147483648", "GBP"],
      ["2147483648", "JPY"]
    ])("a price of %s in %s is refused", async (price, currency) => {
      expect(errorKeys(await priced(price, currency))).toEqual([422, ["price"]])
    })
  })
})
