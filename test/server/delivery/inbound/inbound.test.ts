/** Inbound webhooks (rules/conventions 14), from the request to its effects. */
import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { Store } from "../../../../core/kernel/store/store.ts"
import { inboundHandler } from "../../../../server/ports/server-slice.ts"
import { plainPayment, type ToldPayment } from "../../../../server/delivery/inbound/payments.ts"
import { forgetOld, inbound_deliveries, inbound_sources, kept_days } from "../../../../server/delivery/inbound/work.ts"
import { type Engine, engines } from "../../../app.ts"
import { serve, type Serving } from "../../serving.ts"
import { signedGeneric, signedStandard, signedStripe } from "./signing.ts"
import { ranOnce } from "../jobs/words.ts"

type Headers = { readonly [name: string]: string }
const payment = (reference: string) =>
  JSON.stringify({
    type: "payment.noted",
    data: { invoice_number: "INV-7", amount: "12.50", currency: "EUR", reference }
  })

describe.each(engines)("inbound webhooks on %s", (engine: Engine) => {
  let server: Serving
  const payments: Array<ToldPayment> = []
  const failures = new Map<string, number>()
  const handlers = [
    inboundHandler({
      kinds: ["generic", "standard"],
      event: "payment.noted",
      body: plainPayment,
      run: (told) =>
        Effect.suspend(() => {
          const left = failures.get(told.payment_id) ?? 0
          failures.set(told.payment_id, left - 1)
          if (left > 0) return Effect.fail(new Error("the books are closed for a moment"))
          payments.push(told)
          return Effect.succeed(`payment ${told.payment_id} recorded`)
        })
    })
  ]
  const sources = new Map<string, { readonly id: number; readonly secret: string; readonly url: string }>()
  const sourceOf = (name: string) => sources.get(name) ?? { id: 0, secret: "", url: "" }
  const send = (name: string, body: string | Uint8Array, headers: Headers, from = "192.0.2.7") =>
    server.ask(`/api/v1/webhooks/inbound/${name}`, { method: "POST", bytes: body, token: null, headers, from })
  const sendSigned = (body: string, name = "bank") => send(name, body, signedGeneric(sourceOf(name).secret, body))
  const logs = async (name: string, query = ""): Promise<ReadonlyArray<any>> => {
    const got = await server.ask(`/api/v1/inbound_sources/${sourceOf(name).id}/logs${query}`)
    expect(got.status, got.text).toBe(200)
    return got.body.logs
  }
  const settled = (name: string, event: string) =>
    expect.poll(async () => (await logs(name)).find((log) => log.event === event)?.status, { timeout: 20_000 })

  beforeAll(async () => {
    server = await serve(engine, { public_url: "https://hire.example", slices: [{ name: "books", inbound: handlers }] })
    for (const [name, json] of [
      ["bank", { kind: "generic" }],
      ["shop", { kind: "standard" }],
      ["stripe-eu", { kind: "stripe", secret: "whsec_of-stripe-as-it-shows-it" }],
      ["other-bank", { kind: "generic" }]
    ] as const) {
      const got = await server.ask("/api/v1/inbound_sources", { json: { name, ...json } })
      expect(got.status, got.text).toBe(201)
      sources.set(name, got.body.inbound_source)
    }
  })
  afterAll(() => server?.close())

  describe("their sources", () => {
    it("have a secret that is shown on creation only, and stored encrypted and outside the journal", async () => {
      const { secret, url } = sourceOf("bank")
      expect(Buffer.from(secret.replace(/^whsec_/, ""), "base64")).toHaveLength(32)
      expect(url).toBe("https://hire.example/api/v1/webhooks/inbound/bank")
      expect(sourceOf("stripe-eu").secret).toBe("whsec_of-stripe-as-it-shows-it")
      const listed = await server.ask("/api/v1/inbound_sources")
      expect(listed.body.inbound_sources.map((one: { name: string }) => one.name)).toEqual([
        "bank",
        "other-bank",
        "shop",
        "stripe-eu"
      ])
      expect(listed.text).not.toContain("secret")
      const kept = await server.run(Effect.flatMap(Store, (store) => store.find(inbound_sources, {})))
      for (const row of kept) expect(JSON.stringify(row)).not.toContain(sourceOf(row.name).secret)
      const journal = await server.run(
        Effect.flatMap(Store, (store) => store.run("select data from journal where type = 'inbound_source.added'"))
      )
      expect(journal).toHaveLength(4)
      expect(JSON.stringify(journal)).not.toContain("whsec_")
    })
    it("are refused for a duplicate or invalid name, kind or secret", async () => {
      const refused = async (json: object, field: string) => {
        const got = await server.ask("/api/v1/inbound_sources", { json })
        expect([got.status, Object.keys(got.body.errors ?? {})], got.text).toEqual([422, [field]])
      }
      await refused({ name: "bank", kind: "generic" }, "name")
      await refused({ name: "Bank!", kind: "generic" }, "name")
      await refused({ name: "paypal", kind: "paypal" }, "kind")
      await refused({ name: "own", kind: "generic", secret: "whsec_whatever-somebody-thought-of" }, "secret")
      await refused({ name: "own", kind: "standard", secret: "whsec_short" }, "secret")
      await refused({ name: "own", kind: "stripe", secret: "short" }, "secret")
    })
    it("are created once when six requests use the same name", async () => {
      const got = await Promise.all(
        Array.from({ length: 6 }, () =>
          server.ask("/api/v1/inbound_sources", { json: { name: "twin", kind: "generic" } })
        )
      )
      expect(got.map(({ status }) => status).sort()).toEqual([201, 422, 422, 422, 422, 422])
    })
    it("are not listed without a token or with one that lacks the ability", async () => {
      const token = await server.ask("/api/v1/tokens", { json: { name: "Reads", abilities: ["products:read"] } })
      const asked = { token: token.body.token.secret }
      expect((await server.ask("/api/v1/inbound_sources", asked)).status).toBe(403)
      expect((await server.ask(`/api/v1/inbound_sources/${sourceOf("bank").id}/logs`, asked)).status).toBe(403)
      expect((await server.ask("/api/v1/inbound_sources", { token: null })).status).toBe(401)
    })
  })

  it("are answered 202 and handled afterwards", async () => {
    const got = await sendSigned(payment("first"))
    expect([got.status, got.body]).toEqual([202, { message: "Accepted" }])
    await settled("bank", "payment.noted").toBe("done")
    expect(payments.filter(({ payment_id }) => payment_id === "first")).toEqual([
      { payment_id: "first", invoice: "INV-7", amount: "12.50", currency: "EUR" }
    ])
    const [log] = await logs("bank")
    expect(log).toMatchObject({
      source: "bank",
      kind: "generic",
      event: "payment.noted",
      status: "done",
      result: "payment first recorded",
      body_excerpt: payment("first"),
      body_bytes: payment("first").length
    })
  })

  it("are stored and handled once when twenty copies arrive at once", async () => {
    const body = payment("crowd")
    const got = await Promise.all(Array.from({ length: 20 }, () => sendSigned(body)))
    expect(new Set(got.map(({ status, text }) => `${status} ${text}`))).toEqual(new Set(['202 {"message":"Accepted"}']))
    await expect
      .poll(() => payments.filter(({ payment_id }) => payment_id === "crowd").length, { timeout: 20_000 })
      .toBe(1)
    expect((await sendSigned(body)).status).toBe(202)
    expect((await logs("bank")).filter(({ body_excerpt }) => body_excerpt === body)).toHaveLength(1)
    expect(payments.filter(({ payment_id }) => payment_id === "crowd")).toHaveLength(1)
  })

  it("are handled once when sent twice under one message or event id", async () => {
    const at = Date.now()
    const shop = sourceOf("shop").secret
    for (const body of [payment("shop-1"), payment("shop-2")])
      expect((await send("shop", body, signedStandard(shop, "msg_1", at, body))).status).toBe(202)
    await settled("shop", "payment.noted").toBe("done")
    expect((await logs("shop")).map(({ delivery_id }) => delivery_id)).toEqual(["msg_1"])
    const body = JSON.stringify({ id: "evt_1", type: "customer.created", data: { object: {} } })
    const stripe = sourceOf("stripe-eu").secret
    for (const made of [at, at - 60_000])
      expect((await send("stripe-eu", body, signedStripe(stripe, made, body))).status).toBe(202)
    await settled("stripe-eu", "customer.created").toBe("done")
    expect((await logs("stripe-eu")).map(({ delivery_id, result }) => [delivery_id, result])).toEqual([
      ["evt_1", "Nothing follows from this kind of event."]
    ])
  })

  it("are answered 403 with an invalid or old signature and 404 for an unknown source, and not stored", async () => {
    const before = await logs("bank")
    const body = payment("forged")
    for (const [at, headers] of [
      ["none", {}],
      ["of another source", signedGeneric(sourceOf("other-bank").secret, body)],
      ["of another body", signedGeneric(sourceOf("bank").secret, `${body} `)],
      ["of another kind", signedStripe(sourceOf("bank").secret, Date.now(), body)]
    ] as const)
      expect((await send("bank", body, headers)).status, at).toBe(403)
    const old = Date.now() - 3_600_000
    const shop = sourceOf("shop").secret
    expect((await send("shop", body, signedStandard(shop, "msg_old", old, body))).status).toBe(403)
    expect(await logs("bank")).toEqual(before)
    expect((await send("nobody", body, {})).status).toBe(404)
  })

  it("are answered 422 if they are signed but not a JSON object or without an id, and 413 if they are too long", async () => {
    const { secret } = sourceOf("bank")
    for (const bytes of [
      Buffer.from(""),
      Buffer.from("{"),
      Buffer.from("[1]"),
      Buffer.from('"text"'),
      Buffer.from([0xff, 0xfe]),
      Buffer.from(`${"[".repeat(200)}${"]".repeat(200)}`)
    ]) {
      const got = await send("bank", bytes, signedGeneric(secret, bytes), "192.0.2.8")
      expect([got.status, Object.keys(got.body.errors ?? {})], bytes.toString()).toEqual([422, ["body"]])
    }
    const stripe = sourceOf("stripe-eu").secret
    const got = await send("stripe-eu", "{}", signedStripe(stripe, Date.now(), "{}"))
    expect([got.status, Object.keys(got.body.errors ?? {})]).toEqual([422, ["id"]])
    const long = JSON.stringify({ type: "long", text: "x".repeat(300_000) })
    expect((await sendSigned(long)).status).toBe(413)
  })

  it("are accepted with a byte order mark, blanks or escapes", async () => {
    for (const [at, body] of [
      `\ufeff{"type":"odd.mark"}`,
      ` \r\n{"type":"odd.blanks"}\t`,
      `{"type":"odd.escapes","text":"\\u0000\\ud800\\u00df"}`,
      `{"type":"\\u0000","__proto__":{"type":"x"}}`,
      `{"type":{"of":"odd"}}`
    ].entries())
      expect((await sendSigned(body)).status, String(at)).toBe(202)
    await settled("bank", "odd.escapes").toBe("done")
    await settled("bank", "odd.mark").toBe("done")
    await settled("bank", "odd.blanks").toBe("done")
  })

  it("are accepted with another content type than JSON", async () => {
    const body = JSON.stringify({ type: "typed.otherwise" })
    const headers = { ...signedGeneric(sourceOf("bank").secret, body), "content-type": "text/plain; charset=utf-8" }
    expect((await send("bank", body, headers)).status).toBe(202)
  })

  it("are retried after a temporary failure, and fail with an invalid body", async () => {
    failures.set("later", 1)
    expect((await sendSigned(payment("later"))).status).toBe(202)
    const wrong = JSON.stringify({ type: "payment.noted", data: { amount: "much" } })
    expect((await sendSigned(wrong)).status).toBe(202)
    await expect
      .poll(async () => (await logs("bank")).find((log) => log.body_excerpt === wrong)?.status, { timeout: 20_000 })
      .toBe("failed")
    expect((await logs("bank")).find((log) => log.body_excerpt === wrong)?.result).toContain("payment.noted")
    await expect
      .poll(() => payments.filter(({ payment_id }) => payment_id === "later").length, { timeout: 20_000 })
      .toBe(1)
  })

  it("are listed newest first, in pages, and filtered by status", async () => {
    const got = await server.ask(`/api/v1/inbound_sources/${sourceOf("bank").id}/logs?per_page=2&page=2`)
    const all = (await logs("bank", "?per_page=100")).map(({ id }) => id)
    expect(all).toEqual(all.toSorted((a, b) => b - a))
    expect(got.body.logs.map(({ id }: { id: number }) => id)).toEqual(all.slice(2, 4))
    expect(got.body.meta).toMatchObject({ total: all.length, per_page: 2, page: 2 })
    expect((await logs("bank", "?q[status_eq]=failed")).map(({ status }) => status)).toEqual(["failed"])
  })

  it("stay failed when they are retried after an erasure emptied them", async () => {
    const wrong = JSON.stringify({ type: "payment.noted", data: { amount: "too much" } })
    expect((await sendSigned(wrong)).status).toBe(202)
    const found = async () => (await logs("bank")).find((log) => log.body_bytes === wrong.length)
    await expect.poll(async () => (await found())?.status, { timeout: 20_000 }).toBe("failed")
    const { body } = await server.ask("/api/v1/members", { json: { name: "Ann", membership_type: "contact" } })
    const erased = await server.ask(`/api/v1/members/${body.member.id}/anonymise`, { method: "POST", json: {} })
    expect(erased.status).toBe(200)
    const path = `/api/v1/system/jobs/${encodeURIComponent(`inbound.received:${(await found()).id}`)}`
    expect((await server.ask(`${path}/retry`, { method: "POST" })).status).toBe(200)
    await expect.poll(async () => (await server.ask(path)).body.job.attempts, { timeout: 20_000 }).toBe(1)
    await expect.poll(async () => (await server.ask(path)).body.job.status, { timeout: 20_000 }).toBe("failed")
    expect((await found()).status).toBe("failed")
  })

  it("are still handled after their source was deleted, and later ones are refused", async () => {
    const body = payment("farewell")
    const gone = sourceOf("other-bank")
    const signed = signedGeneric(gone.secret, body)
    expect((await send("other-bank", body, signed)).status).toBe(202)
    expect((await server.ask(`/api/v1/inbound_sources/${gone.id}`, { method: "DELETE" })).status).toBe(204)
    expect((await send("other-bank", body, signed)).status).toBe(404)
    await expect
      .poll(() => payments.filter(({ payment_id }) => payment_id === "farewell").length, { timeout: 20_000 })
      .toBe(1)
    // Created again with a new secret, the source still recognises earlier deliveries.
    const again = await server.ask("/api/v1/inbound_sources", { json: { name: "other-bank", kind: "generic" } })
    sources.set("other-bank", again.body.inbound_source)
    expect((await send("other-bank", body, signed)).status).toBe(403)
    expect((await sendSigned(body, "other-bank")).status).toBe(202)
    expect(await logs("other-bank")).toHaveLength(1)
  })

  it("are deleted after the retention time; generic ones lose only their body, so that duplicates are known", async () => {
    const before = await server.run(Effect.flatMap(Store, (store) => store.find(inbound_deliveries, {})))
    expect(before.every(({ status }) => status !== "queued")).toBe(true)
    const due_at = new Date(Date.now() + (kept_days + 1) * 86_400_000).toISOString()
    await server.run(ranOnce(forgetOld.kind, { due_at }))
    expect(await logs("stripe-eu")).toEqual([])
    const kept = await logs("bank", "?per_page=100")
    expect(kept.length).toBeGreaterThan(3)
    expect(new Set(kept.map(({ body_excerpt }) => body_excerpt))).toEqual(new Set([null]))
    expect((await sendSigned(payment("first"))).status).toBe(202)
    expect(payments.filter(({ payment_id }) => payment_id === "first")).toHaveLength(1)
    expect((await logs("bank", "?per_page=100")).length).toBe(kept.length)
  })

  it("are refused with 429 from an address with too many invalid signatures", async () => {
    expect(
      (await server.ask("/api/v1/settings/api", { method: "PUT", json: { settings: { anonymous_rate_limit: 5 } } }))
        .status
    ).toBe(200)
    const body = payment("guessed")
    const statuses: Array<number> = []
    for (let at = 0; at < 7; at++) statuses.push((await send("bank", body, {}, "198.51.100.9")).status)
    expect(statuses).toEqual([403, 403, 403, 403, 403, 429, 429])
    const signed = signedGeneric(sourceOf("bank").secret, body)
    expect((await send("bank", body, signed, "198.51.100.9")).status).toBe(429)
    expect((await send("bank", body, signed, "198.51.100.10")).status).toBe(202)
  })
})
