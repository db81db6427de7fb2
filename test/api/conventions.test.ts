/** Acceptance scenarios of cases/conventions.md, sections A, B, C, E, G and H, by their numbers. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { both_engines } from "../app.ts"
import { type Got, type Sent, serve, type Serving } from "../server/serving.ts"

const errorKeys = (got: Got): readonly [number, ReadonlyArray<string>] => [
  got.status,
  Object.keys(got.body?.errors ?? {})
]

describe.each(both_engines)("conventions on %s", (engine) => {
  let server: Serving
  beforeAll(async () => {
    server = await serve(engine, { lenient: true })
  })
  afterAll(() => server.close())

  const api = (path: string, sent?: Sent): Promise<Got> => server.ask(`/api/v1${path}`, sent)
  const post = (path: string, json: object = {}, sent: Sent = {}): Promise<Got> =>
    api(path, { method: "POST", json, ...sent })
  const put = (path: string, json: object): Promise<Got> => api(path, { method: "PUT", json })
  const made = async (path: string, json: object): Promise<any> => {
    const got = await post(path, json)
    expect(got.status, got.text).toBe(201)
    return Object.values(got.body as object)[0]
  }
  const tokenFor = async (abilities: ReadonlyArray<string>, more: object = {}): Promise<string> =>
    (await made("/tokens", { name: "Test", abilities, ...more })).secret
  const memberOf = (name: string, membership_type = "organisation", more: object = {}): Promise<any> =>
    made("/members", { name, membership_type, ...more })

  describe("authentication and errors", () => {
    it("A1 without an Authorization header: 401, a message and no errors", async () => {
      const got = await api("/members", { token: null })
      expect(got.status).toBe(401)
      expect(got.headers["content-type"]).toMatch(/^application\/json/)
      expect(Object.keys(got.body)).toEqual(["message"])
    })
    it("A1 an unknown token, and another scheme, are like no token", async () => {
      for (const token of ["nobody-has-this-token", "1|wrong-secret-of-a-token"])
        expect((await api("/members", { token })).status).toBe(401)
      expect((await api("/members", { token: null, headers: { authorization: "Basic b3duZXI6eA==" } })).status).toBe(
        401
      )
    })
    it("A3 the owner with a token that may do all: 200", async () => {
      expect((await api("/members")).status).toBe(200)
    })
    it("A3 the owner is not exempt from abilities: 403, and the message names the missing one", async () => {
      const got = await api("/members", { token: await tokenFor(["products:read"]) })
      expect(got.status).toBe(403)
      expect(got.body.message).toContain("members:read")
      expect(Object.keys(got.body)).toEqual(["message"])
    })
    it("A3 the ability to write does not imply the one to read", async () => {
      const token = await tokenFor(["members:write"])
      expect((await api("/members", { token })).status).toBe(403)
      expect((await post("/members", { name: "Written", membership_type: "contact" }, { token })).status).toBe(201)
    })
    it("A5 a deactivated user with a token: 403 with that reason", async () => {
      const user = await made("/users", { name: "Leaver", email: "leaver@example.com", roles: ["Admin"], active: true })
      const token = await tokenFor(["*"], { user_id: user.id })
      expect((await api("/members", { token })).status).toBe(200)
      expect((await api(`/users/${user.id}`, { method: "DELETE" })).status).toBe(204)
      const got = await api("/members", { token })
      expect(got.status).toBe(403)
      expect(got.body.message).toMatch(/deactivated/)
    })
    it("A7 Read Only may not merge, whatever the token allows; but an unknown member is 404 first", async () => {
      const user = await made("/users", {
        name: "Reader",
        email: "reader@example.com",
        roles: ["Read Only"],
        active: true
      })
      const token = await tokenFor(["members:write"], { user_id: user.id })
      const [a, b] = [await memberOf("Kept"), await memberOf("Double")]
      const got = await post(`/members/${a.id}/merge`, { secondary_id: b.id }, { token })
      expect(got.status).toBe(403)
      expect(Object.keys(got.body)).toEqual(["message"])
      expect((await post("/members/999999/merge", { secondary_id: b.id }, { token })).status).toBe(404)
      expect((await api(`/members/${b.id}`)).status).toBe(200)
    })
    it("A9 without an Accept header, or with one for pages, errors are JSON", async () => {
      for (const headers of [{}, { accept: "text/html" }]) {
        const got = await post("/members", {}, { headers })
        expect(got.status).toBe(422)
        expect(got.headers["content-type"]).toMatch(/^application\/json/)
        expect(Object.keys(got.body)).toEqual(["message", "errors"])
        expect(got.body.message).toBe(`${got.body.errors.name[0]} (and 1 more error)`)
      }
    })
    it("A11 malformed JSON: 422 at body", async () => {
      expect(errorKeys(await api("/members", { method: "POST", bytes: `{"name": "x"` }))).toEqual([422, ["body"]])
    })
    it("A13 an unknown path: 404 with a message", async () => {
      const got = await api("/nope")
      expect(got.status).toBe(404)
      expect(Object.keys(got.body)).toEqual(["message"])
    })
    it("A13 a wrong verb on a known path: 405 with Allow", async () => {
      const got = await api("/members", { method: "DELETE" })
      expect([got.status, got.headers["allow"]]).toEqual([405, "GET, POST"])
    })
  })

  describe("rate limits", () => {
    let limited: Serving
    beforeAll(async () => {
      limited = await serve(engine, { rate_limit: 2 })
      limited.setClock(Date.parse("2026-06-18T12:00:10Z"))
    })
    afterAll(() => limited.close())

    it("B2 the third call within a minute: 429 with the time to retry", async () => {
      const answers = [
        await limited.ask("/api/v1/members"),
        await limited.ask("/api/v1/members"),
        await limited.ask("/api/v1/members")
      ]
      expect(answers.map((got) => got.status)).toEqual([200, 200, 429])
      expect(answers.map((got) => [got.headers["x-ratelimit-limit"], got.headers["x-ratelimit-remaining"]])).toEqual([
        ["2", "1"],
        ["2", "0"],
        ["2", "0"]
      ])
      expect(answers[2]!.headers["retry-after"]).toBe("50")
      expect(answers[2]!.headers["x-ratelimit-reset"]).toBe(String(Date.parse("2026-06-18T12:01:00Z") / 1000))
      expect(Object.keys(answers[2]!.body)).toEqual(["message"])
    })
    it("B2 the next minute is a new one", async () => {
      limited.setClock(Date.parse("2026-06-18T12:01:00Z"))
      expect((await limited.ask("/api/v1/members")).status).toBe(200)
    })
    it("B4 a token with its own limit has its own bucket; the user's other tokens share the user's", async () => {
      limited.setClock(Date.parse("2026-06-18T12:05:00Z"))
      await limited.ask("/api/v1/settings/api", { method: "PUT", json: { settings: { rate_limit: 60 } } })
      const secret = async (json: object): Promise<string> =>
        (await limited.ask("/api/v1/tokens", { json: { name: "x", abilities: ["*"], ...json } })).body.token.secret
      const [two, other] = [await secret({ rate_limit_per_minute: 2 }), await secret({})]
      const statuses = []
      for (const token of [two, two, two, other])
        statuses.push((await limited.ask("/api/v1/members", { token })).status)
      expect(statuses).toEqual([200, 200, 429, 200])
    })
  })

  describe("lists", () => {
    const products = new Map<string, number>()
    const names = (got: Got): ReadonlyArray<string> => got.body.products.map((one: { name: string }) => one.name)
    beforeAll(async () => {
      const groups: { [name: string]: number } = {}
      for (const name of ["Lighting", "Audio"]) groups[name] = (await made("/product_groups", { name })).id
      const add = async (name: string, more: object = {}): Promise<void> => {
        products.set(name, (await made("/products", { name, ...more })).id)
      }
      await add("Alpha", { product_group_id: groups["Lighting"], description: "x" })
      await add("Zulu", { product_group_id: groups["Audio"], description: "y" })
      await add("Mike")
      await add("Consumable", { product_type: "sale" })
      await add("Tape", { product_type: "sale" })
      await add("Labour", { product_type: "service" })
      await add("50% off")
      await add("500")
      for (let at = products.size; at < 25; at++)
        await add(`Filler ${String(at).padStart(2, "0")}`, { product_type: "service" })
    })

    it("C2 25 products, page 2 of 10", async () => {
      const got = await api("/products?page=2&per_page=10")
      expect(got.body.products).toHaveLength(10)
      expect(got.body.meta).toEqual({ total: 25, per_page: 10, page: 2 })
    })
    it("C2 beyond the last page the list is empty and the total true", async () => {
      const got = await api("/products?page=99&per_page=10")
      expect([got.status, got.body.products, got.body.meta]).toEqual([200, [], { total: 25, per_page: 10, page: 99 }])
    })
    it("C4 per_page 0 and page -3 are 1 and 1", async () => {
      expect((await api("/products?per_page=0&page=-3")).body.meta).toEqual({ total: 25, per_page: 1, page: 1 })
    })
    it("C4 more than 100 a page are 100; an invalid number is the default", async () => {
      expect((await api("/products?per_page=5000")).body.meta.per_page).toBe(100)
      expect((await api("/products?per_page=ten&page=two")).body.meta).toEqual({ total: 25, per_page: 20, page: 1 })
    })
    it("C6 an unknown field does not filter", async () => {
      const got = await api("/products?q[description_cont]=x")
      expect([got.status, got.body.meta.total]).toEqual([200, 25])
    })
    it("C8 values of a choice in any case", async () => {
      const both = await api("/products?q[type_in][]=Rental&q[type_in][]=SALE&per_page=100")
      expect(new Set(both.body.products.map((one: { product_type: string }) => one.product_type))).toEqual(
        new Set(["rental", "sale"])
      )
      expect(both.body.meta.total).toBe(7)
      expect((await api("/products?q[type_in]=Rental,SALE")).body.meta.total).toBe(7)
      expect((await api("/products?q[type_eq]=nonsense")).body.meta.total).toBe(0)
    })
    it("C10 a filter on the group's name", async () => {
      expect(names(await api("/products?q[productGroup.name_eq]=Lighting"))).toEqual(["Alpha"])
    })
    it("C12 a per cent sign is only a per cent sign", async () => {
      expect(names(await api("/products?q[name_cont]=50%25"))).toEqual(["50% off"])
      expect(names(await api("/products?q[name_cont]=5_%25"))).toEqual([])
    })
    it("C14 sort by a field or by q[s]", async () => {
      const three = [..."Alpha Zulu Mike".split(" ")].map((name) => `q[id_in][]=${products.get(name)}`).join("&")
      for (const sort of ["sort=-name", "q[s]=name%20desc", "sort=-name&q[s]=name%20asc"]) {
        expect(names(await api(`/products?${three}&${sort}`))).toEqual(["Zulu", "Mike", "Alpha"])
      }
    })
    it("C14 a sort that is not offered keeps the usual order", async () => {
      expect(names(await api("/products?sort=-description&per_page=3"))).toEqual(["Alpha", "Zulu", "Mike"])
    })
    it("C16 unknown includes are ignored, known ones are included", async () => {
      const id = products.get("Alpha")!
      const got = await api(`/products/${id}?include=secretRelation,stock_levels`)
      expect(got.status).toBe(200)
      expect(got.body.product.stock_levels.map((one: { product_id: number }) => one.product_id)).toEqual([id])
      expect(Object.hasOwn(got.body.product, "secretRelation")).toBe(false)
      expect((await api(`/products/${id}?include=stockLevels`)).body.product.stock_levels).toHaveLength(1)
    })
    it("C18 a custom field filters once it is searchable, and not before", async () => {
      const field = await made("/custom_fields", { name: "po_reference", module_type: "Member", field_type: 0 })
      const [a, b] = [
        await memberOf("With PO", "contact", { custom_fields: { po_reference: "PO-123" } }),
        await memberOf("Without PO", "contact")
      ]
      const found = async (query: string): Promise<ReadonlyArray<number>> =>
        (await api(`/members?q[id_in][]=${a.id}&q[id_in][]=${b.id}&${query}`)).body.members.map(
          (one: { id: number }) => one.id
        )
      expect(await found("q[cf.po_reference_eq]=PO-123")).toEqual([a.id, b.id])
      expect((await put(`/custom_fields/${field.id}`, { is_searchable: true })).status).toBe(200)
      expect(await found("q[cf.po_reference_eq]=PO-123")).toEqual([a.id])
      expect(await found(`q[cf.${field.id}_eq]=PO-123`)).toEqual([a.id])
    })
  })

  describe("members and nested records", () => {
    it("E1 a member with required fields only", async () => {
      expect(await memberOf("Plain")).toMatchObject({
        is_active: true,
        membership_type: "organisation",
        day_cost: "0.00",
        hour_cost: "0.00",
        distance_cost: "0.00",
        flat_rate_cost: "0.00",
        tag_list: []
      })
    })
    it("E3 an archived member no longer owns anything", async () => {
      const x = await memberOf("Archived owner", "contact")
      await api(`/members/${x.id}`, { method: "DELETE" })
      expect(
        errorKeys(await post("/members", { name: "Owned", membership_type: "organisation", owned_by: x.id }))
      ).toEqual([422, ["owned_by"]])
    })
    it("E5 restoring an archived member; twice is once; an unknown id is 404", async () => {
      const { id } = await memberOf("Back again")
      await api(`/members/${id}`, { method: "DELETE" })
      expect((await api(`/members/${id}`)).status).toBe(404)
      for (let at = 0; at < 2; at++) {
        const got = await post(`/members/${id}/restore`)
        expect([got.status, got.body.member.is_active]).toEqual([200, true])
      }
      expect((await post("/members/999999/restore")).status).toBe(404)
    })
    it("E7 an invalid merge is refused at secondary_id and archives no member", async () => {
      const [primary, archived, contact] = [
        await memberOf("Primary"),
        await memberOf("Archived"),
        await memberOf("Contact", "contact")
      ]
      await api(`/members/${archived.id}`, { method: "DELETE" })
      await made("/users", { name: "Twin", email: "twin@example.com", roles: [], active: true })
      const [user, other] = (await api("/members?q[membership_type_eq]=user")).body.members
      const before = (await api("/members")).body.meta.total
      for (const [id, secondary_id] of [
        [primary.id, primary.id],
        [primary.id, archived.id],
        [primary.id, 999_999],
        [primary.id, contact.id],
        [user.id, other.id],
        [primary.id, undefined]
      ]) {
        expect(errorKeys(await post(`/members/${id}/merge`, { secondary_id }))).toEqual([422, ["secondary_id"]])
      }
      expect((await api("/members")).body.meta.total).toBe(before)
    })
    it("E9 users cannot anonymise themselves", async () => {
      const me = (await api("/members?q[membership_type_eq]=user")).body.members[0]
      expect(errorKeys(await post(`/members/${me.id}/anonymise`))).toEqual([422, ["member"]])
    })
    it("E11 an address of A under B is 404", async () => {
      const [a, b] = [await memberOf("A"), await memberOf("B")]
      const address = await made(`/members/${a.id}/addresses`, { street: "1 High Street" })
      expect((await put(`/members/${b.id}/addresses/${address.id}`, { street: "Elsewhere" })).status).toBe(404)
      expect((await api(`/members/${b.id}/addresses/${address.id}`, { method: "DELETE" })).status).toBe(404)
      expect((await api(`/members/${a.id}/addresses`)).body.addresses[0].street).toBe("1 High Street")
    })
    it("E13 an organisation and a venue are not related; one side must be a contact", async () => {
      const [organisation, venue, contact] = [
        await memberOf("Firm"),
        await memberOf("Hall", "venue"),
        await memberOf("Person", "contact")
      ]
      const relate = (id: number, related_member_id: number): Promise<Got> =>
        post(`/members/${id}/relationships`, { related_member_id })
      for (const [a, b] of [
        [organisation, venue],
        [organisation, await memberOf("Second")],
        [venue, await memberOf("Stage", "venue")],
        [contact, contact]
      ]) {
        expect(errorKeys(await relate(a.id, b.id))).toEqual([422, ["related_member_id"]])
      }
      expect((await relate(organisation.id, contact.id)).status).toBe(201)
      expect(errorKeys(await relate(contact.id, organisation.id))).toEqual([422, ["related_member_id"]])
    })
    it("E15 the primary of two addresses is also returned separately, on request", async () => {
      const { id } = await memberOf("Two doors")
      const first = await made(`/members/${id}/addresses`, { street: "Front" })
      const second = await made(`/members/${id}/addresses`, { street: "Back", is_primary: true })
      const { member } = (await api(`/members/${id}?include=addresses`)).body
      expect(member.primary_address.id).toBe(second.id)
      expect(member.addresses.map((one: { id: number }) => one.id)).toEqual([first.id, second.id])
      const unasked = (await api(`/members/${id}`)).body.member
      expect([unasked.primary_address, unasked.addresses]).toEqual([null, []])
    })
    it("E17 a defined field without a value is null", async () => {
      await made("/custom_fields", { name: "allergies", module_type: "Member", field_type: 0 })
      const { id } = await memberOf("Unasked", "contact")
      expect((await api(`/members/${id}`)).body.member.custom_fields.allergies).toBeNull()
    })
  })

  // The text of the feeds, as it is had with a token.
  describe("calendar feeds", () => {
    const activity = (more: object): Promise<any> =>
      made("/activities", { subject: "Visit", starts_at: "2031-07-01T09:00:00Z", ...more })
    const eventsOf = async (user_id: number): Promise<ReadonlyArray<ReadonlyArray<string>>> => {
      const { text } = await api(`/calendar_feeds/export?user_id=${user_id}`)
      return text
        .replaceAll("\r\n ", "")
        .split("BEGIN:VEVENT\r\n")
        .slice(1)
        .map((part) => part.split("\r\n"))
    }
    const person = async (name: string): Promise<number> =>
      (await made("/users", { name, email: `${name.toLowerCase()}@example.com`, roles: [], active: true })).id

    it("G2 the headers of a feed", async () => {
      const got = await api("/calendar_feeds/export")
      expect(got.status).toBe(200)
      expect(got.headers["content-type"]).toBe("text/calendar; charset=utf-8")
      expect(got.headers["content-disposition"]).toMatch(/^inline; filename="?[a-z]+-calendar\.ics"?$/)
    })
    it("G4 Alice's feed contains only Alice's activities", async () => {
      const [alice, bob] = [await person("Alice"), await person("Bob")]
      await activity({ subject: "Hers", owned_by: alice })
      await activity({ subject: "His", owned_by: bob })
      expect((await eventsOf(alice)).map((lines) => lines.find((line) => line.startsWith("SUMMARY")))).toEqual([
        "SUMMARY:Hers"
      ])
    })
    it("G6 commas, semicolons, backslashes and line ends are escaped", async () => {
      const user = await person("Esc")
      await activity({ subject: "A, b; c\\d\nnext", owned_by: user })
      expect((await eventsOf(user))[0]).toContain("SUMMARY:A\\, b\\; c\\\\d\\nnext")
    })
    it("G8 without an end an activity lasts half an hour", async () => {
      const user = await person("Half")
      await activity({ owned_by: user })
      expect((await eventsOf(user))[0]).toEqual(
        expect.arrayContaining(["DTSTART:20310701T090000Z", "DTEND:20310701T093000Z"])
      )
    })
    it("G10 the status of completed, cancelled and on-hold activities", async () => {
      const user = await person("States")
      const done = await activity({ owned_by: user, starts_at: "2031-07-01T01:00:00Z" })
      await post(`/activities/${done.id}/complete`)
      await activity({ owned_by: user, starts_at: "2031-07-01T02:00:00Z", status_id: 2003 })
      await activity({ owned_by: user, starts_at: "2031-07-01T03:00:00Z", status_id: 2004 })
      expect((await eventsOf(user)).map((lines) => lines.filter((line) => /^(STATUS|X-COMPLETED)/.test(line)))).toEqual(
        [["STATUS:CONFIRMED", "X-COMPLETED:TRUE"], ["STATUS:CANCELLED"], ["STATUS:CONFIRMED"]]
      )
    })
  })

  describe("money that is sent", () => {
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
      ["H2", `"125"`, "GBP", "125.00"],
      ["H2", "12550", "GBP", "125.50"],
      ["H2", "125.5", "GBP", "125.50"],
      ["H2", `"1e3"`, "GBP", "1000.00"],
      ["H4", `"125"`, "JPY", "125"],
      ["H4", "125", "JPY", "125"],
      ["H4", `"1.125"`, "KWD", "1.125"]
    ])("%s %s in %s is %s", async (_case, price, currency, expected) => {
      const got = await priced(price, currency)
      expect([got.status, got.body.product_rate?.price]).toEqual([201, expected])
    })
    it.each([
      ["H4", `"1.5"`, "JPY"],
      ["H2", `"1.005"`, "GBP"],
      ["H2", "-1", "GBP"],
      ["H2", `"a lot"`, "GBP"],
      ["H2", "2147483648", "GBP"],
      ["H4", "2147483648", "JPY"]
    ])("%s %s in %s is refused at price", async (_case, price, currency) => {
      expect(errorKeys(await priced(price, currency))).toEqual([422, ["price"]])
    })
  })
})
