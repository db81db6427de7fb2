/** Files at signed addresses: complete, ranges, and refusals. */
import { Effect, Stream } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { CommandRuntime } from "../../../core/kernel/endpoints/endpoint.ts"
import { insert } from "../../../core/kernel/tables/table.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import { downloads, keepContent } from "../../../server/files/downloads.ts"
import { engines } from "../../app.ts"
import { openListener, serve, type Serving } from "../serving.ts"

const now = Date.parse("2026-11-22T12:00:00.000Z")
const pdf = Buffer.from(`%PDF-1.7\n${"x".repeat(600_000)}`)

describe.each(engines)("downloaded files on %s", (engine) => {
  let server: Serving
  beforeAll(async () => {
    server = await serve(engine, { public_url: "https://rent.example" })
    server.setClock(now)
  })
  afterAll(() => server.close())

  let made = 0
  const keep = (content: Uint8Array, name: string, type?: string): Promise<string> =>
    server.run(
      Effect.gen(function* () {
        const uuid = `00000000-0000-4000-8000-${String(++made).padStart(12, "0")}`
        const blob = yield* keepContent(Stream.make(content), 1_000_000)
        const made_at = new Date(now).toISOString()
        yield* (yield* Store).apply([
          insert(downloads, {
            uuid,
            name,
            ...blob,
            mime_type: type ?? blob.mime_type,
            owner_id: 1,
            made_at,
            expires_at: new Date(now + 30 * 86_400_000).toISOString()
          })
        ])
        return uuid
      })
    )
  const addressOf = async (uuid: string): Promise<string> => {
    const url = await server.run(
      Effect.map(CommandRuntime, ({ file_url }) => file_url?.(uuid, new Date(now).toISOString()) ?? "")
    )
    expect(url).toMatch(/^https:\/\/rent\.example\/files\//)
    return url.slice("https://rent.example".length)
  }
  const ask = (target: string, headers: { readonly [name: string]: string } = {}) =>
    server.ask(target, { token: null, headers, from: `192.0.2.${(made % 200) + 1}` })

  it("are sent byte for byte, with headers that let a browser run nothing", async () => {
    const got = await ask(await addressOf(await keep(pdf, "Angebot 12 für Ödön.pdf")))
    expect(got.status).toBe(200)
    expect(pdf.equals(got.bytes)).toBe(true)
    expect(got.headers).toMatchObject({
      "content-type": "application/pdf",
      "content-disposition":
        "inline; filename=\"Angebot 12 f_r _d_n.pdf\"; filename*=UTF-8''Angebot%2012%20f%C3%BCr%20%C3%96d%C3%B6n.pdf",
      "content-security-policy": "default-src 'none'; sandbox",
      "cross-origin-resource-policy": "same-origin",
      "x-content-type-options": "nosniff",
      "cache-control": "private, max-age=3600, immutable"
    })
  })
  it.each([
    ["page.html", "<html><script>alert(1)</script>"],
    ["drawing.svg", "<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>"],
    ["notes.txt", "plain"]
  ])("are sent as attachments only: %s", async (name, content) => {
    const got = await ask(await addressOf(await keep(Buffer.from(content), name)))
    expect(got.headers["content-disposition"]).toBe(`attachment; filename="${name}"; filename*=UTF-8''${name}`)
    expect(got.headers["content-type"]).not.toMatch(/html|svg/)
  })
  it("have names that are escaped in the Content-Disposition header", async () => {
    const got = await ask(await addressOf(await keep(Buffer.from("x"), 'a"; filename="b\r\nSet-Cookie: c=d.exe')))
    expect(got.headers["content-disposition"]).toBe(
      "attachment; filename=\"a_; filename=_bSet-Cookie: c=d.exe\"; filename*=UTF-8''a%22%3B%20filename%3D%22bSet-Cookie%3A%20c%3Dd.exe"
    )
  })
  it("can be requested by range, answer 416 beyond the end, and ignore invalid and outdated ranges", async () => {
    const address = await addressOf(await keep(pdf, "p.pdf"))
    const part = await ask(address, { range: "bytes=0-8" })
    expect([part.status, part.text, part.headers["content-range"]]).toEqual([
      206,
      "%PDF-1.7\n",
      `bytes 0-8/${pdf.length}`
    ])
    expect((await ask(address, { range: "bytes=-3" })).text).toBe("xxx")
    expect((await ask(address, { range: `bytes=${pdf.length - 2}-` })).text).toBe("xx")
    const beyond = await ask(address, { range: `bytes=${pdf.length}-` })
    expect([beyond.status, beyond.headers["content-range"]]).toEqual([416, `bytes */${pdf.length}`])
    for (const range of ["bytes=0-1,3-4", "lines=1-2", "bytes=5-4", "bytes=-"])
      expect((await ask(address, { range })).status).toBe(200)
    expect((await ask(address, { range: "bytes=0-1", "if-range": '"other"' })).status).toBe(200)
    expect((await ask(address, { range: "bytes=0-1", "if-range": part.headers["etag"]! })).status).toBe(206)
  })
  it("answer HEAD without content, ignoring the range, and with 410 if the content is missing", async () => {
    const uuid = await keep(pdf, "p.pdf")
    const address = await addressOf(uuid)
    const head = () => server.ask(address, { method: "HEAD", token: null, headers: { range: "bytes=0-1" } })
    const got = await head()
    expect([got.status, got.headers["content-type"], got.bytes.length]).toEqual([200, "application/pdf", 0])
    const { sha256 } = (await server.run(Effect.flatMap(Store, (store) => store.get(downloads, uuid))))!
    const { ServerContext } = await import("../../../server/ports/server-context.ts")
    await server.run(Effect.flatMap(ServerContext, ({ blobs }) => blobs.remove(sha256)))
    expect((await head()).status).toBe(410)
    await keep(pdf, "again.pdf")
  })
  it("answer 304 to a client that has the current ETag", async () => {
    const address = await addressOf(await keep(pdf, "p.pdf"))
    const { headers } = await ask(address)
    const again = await ask(address, { "if-none-match": headers["etag"]! })
    expect([again.status, again.text]).toEqual([304, ""])
  })
  it("answer 403 for an altered or expired URL, and 404 for a missing file", async () => {
    const uuid = await keep(pdf, "p.pdf")
    const address = await addressOf(uuid)
    const later = Number(/expires=(\d+)/.exec(address)![1]) + 1
    const wrong = [
      address.replace(/expires=\d+/, `expires=${later}`),
      address.replace(uuid, "00000000-0000-4000-8000-999999999999"),
      `${address}&more=1`,
      `${address}0`,
      address.replace(/signature=./, "signature=z"),
      `/files/${uuid}`
    ]
    for (const one of wrong) expect((await ask(one)).status, one).toBe(403)
    expect((await ask(await addressOf("00000000-0000-4000-8000-999999999999"))).status).toBe(404)
    server.setClock(now + 3_599_000)
    expect((await ask(address)).status).toBe(200)
    server.setClock(now + 3_600_000)
    expect((await ask(address)).status).toBe(403)
    server.setClock(now)
  })
  it("answer 410 if their content is missing", async () => {
    const uuid = await keep(Buffer.from("soon gone"), "g.txt")
    const { sha256 } = (await server.run(Effect.flatMap(Store, (store) => store.get(downloads, uuid))))!
    const { ServerContext } = await import("../../../server/ports/server-context.ts")
    await server.run(Effect.flatMap(ServerContext, ({ blobs }) => blobs.remove(sha256)))
    expect((await ask(await addressOf(uuid))).status).toBe(410)
  })
  it("are streamed to a client, ranges included", async () => {
    const address = await addressOf(await keep(pdf, "p.pdf"))
    const http = await openListener(server.app.answer)
    try {
      const whole = await fetch(`${http.url}${address}`)
      expect(whole.headers.get("content-length")).toBe(String(pdf.length))
      expect(pdf.equals(new Uint8Array(await whole.arrayBuffer()))).toBe(true)
      const part = await fetch(`${http.url}${address}`, { headers: { range: "bytes=1-3" } })
      expect([part.status, await part.text(), part.headers.get("content-length")]).toEqual([206, "PDF", "3"])
    } finally {
      await http.stop(1_000)
    }
  })
})
