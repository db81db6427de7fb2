/** Responses to browsers and crawlers outside the API. */
import { createHash } from "node:crypto"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import "../programs.ts"
import { serve, type Serving } from "./serving.ts"

let server: Serving
beforeAll(async () => {
  server = await serve("sqlite")
})
afterAll(() => server.close())
const get = (path: string, accept = "text/html,*/*") => server.ask(path, { token: null, headers: { accept } })

describe("outside the API", () => {
  it("/ links to the guide, the API's description and the health check", async () => {
    const { headers, status, text } = await get("/")
    expect(status).toBe(200)
    expect(headers["content-type"]).toBe("text/html; charset=utf-8")
    const links = [...text.matchAll(/href="([^"]+)"/g)].map(([, target]) => target!).filter((one) => one !== "data:,")
    expect(links).toEqual(["guide/", "docs", "api/v1/openapi.json", "api/v1/system/health"])
    for (const link of links) expect((await get(`/${link}`)).status).toBe(200)
  })
  it("the guide and /docs run only their own scripts, connect only to this server, and have an ETag", async () => {
    for (const path of ["/guide/", "/guide/tour", "/guide/rules/", "/docs"]) {
      const { headers, status, text } = await get(path)
      expect([path, status, headers["content-type"]]).toEqual([path, 200, "text/html; charset=utf-8"])
      expect(text.replace(/ xmlns="[^"]*"/g, "")).not.toMatch(/<(script|link|img)[^>]+(src|href)="https?:/)
      const policy = headers["content-security-policy"] ?? ""
      expect(policy).toMatch(/^default-src 'none'; script-src 'self' 'sha256-.*; connect-src 'self'/)
      for (const [, script = ""] of text.matchAll(/<script(?![^>]*src=)[^>]*>([^]*?)<\/script>/g))
        expect(policy).toContain(createHash("sha256").update(script).digest("base64"))
      expect(headers["cache-control"]).toBe("no-cache")
      const again = await server.ask(path, { token: null, headers: { "if-none-match": headers["etag"] ?? "" } })
      expect(again.status).toBe(304)
      const [asset = ""] = /\/(guide|docs)\/assets\/[^"]+\.js/.exec(text) ?? []
      const script = await get(asset)
      expect([script.status, script.headers["content-type"]]).toEqual([200, "text/javascript; charset=utf-8"])
      expect(script.headers["cache-control"]).toBe("public, max-age=31536000, immutable")
    }
    expect((await get("/guide")).headers["location"]).toBe("/guide/")
    expect((await get("/guide/../../package.json")).status).toBe(404)
    expect((await server.ask("/guide/", { method: "POST", token: null })).status).toBe(404)
  })
  it("all links within the guide lead to an existing page and heading", async () => {
    const pages = new Map<string, string>()
    const left = ["/guide/"]
    const missing: Array<string> = []
    const page = async (path: string): Promise<string> => {
      const held = pages.get(path)
      if (held !== undefined) return held
      const { status, text } = await get(path)
      pages.set(path, status === 200 ? text : "")
      if (status === 200) left.push(path)
      return status === 200 ? text : ""
    }
    for (let path = left.pop(); path !== undefined; path = left.pop()) {
      for (const [, href = ""] of (await page(path)).matchAll(/<a [^>]*?href="([^"]+)"/g)) {
        if (/^https?:/.test(href)) continue
        const { hash, pathname } = new URL(href, `http://guide${path}`)
        const target = await page(pathname)
        if (target === "" || (hash !== "" && !target.includes(`id="${decodeURIComponent(hash.slice(1))}"`)))
          missing.push(`${path}: ${href}`)
      }
    }
    expect(missing).toEqual([])
    expect(pages.size).toBeGreaterThan(25)
  })
  it("robots.txt asks crawlers to stay away", async () => {
    expect((await get("/robots.txt")).text).toBe("User-agent: *\nDisallow: /\n")
  })
  it.each(["/favicon.ico", "/nowhere", "/apis"])("%s answers 404, as a page or as JSON", async (path) => {
    const page = await get(path)
    expect([page.status, page.headers["content-type"]]).toEqual([404, "text/html; charset=utf-8"])
    const answer = await get(path, "application/json")
    expect([answer.status, answer.body.message]).toEqual([404, expect.stringContaining("/api/v1")])
  })
  it("unknown API paths answer 401 without a token", async () => {
    expect((await get("/api/v1/nowhere")).status).toBe(401)
    expect((await get("/api")).status).toBe(401)
  })
})
