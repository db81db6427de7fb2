/** What a browser or a crawler gets outside the interface. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { serve, type Serving } from "./serving.ts"

let server: Serving
beforeAll(async () => {
  server = await serve("sqlite")
})
afterAll(() => server.close())
const get = (path: string, accept = "text/html,*/*") => server.ask(path, { token: null, headers: { accept } })

describe("outside the interface", () => {
  it("/ is a page that leads to the interface and to the health check", async () => {
    const { headers, status, text } = await get("/")
    expect(status).toBe(200)
    expect(headers["content-type"]).toBe("text/html; charset=utf-8")
    const links = [...text.matchAll(/href="([^"]+)"/g)].map(([, target]) => target!).filter((one) => one !== "data:,")
    expect(links).toEqual(["docs", "api/v1/openapi.json", "api/v1/system/health"])
    for (const link of links) expect((await get(`/${link}`)).status).toBe(200)
  })
  it("robots.txt asks crawlers to stay away", async () => {
    expect((await get("/robots.txt")).text).toBe("User-agent: *\nDisallow: /\n")
  })
  it.each(["/favicon.ico", "/nowhere", "/apis"])("%s is not found, as a page or as JSON", async (path) => {
    const page = await get(path)
    expect([page.status, page.headers["content-type"]]).toEqual([404, "text/html; charset=utf-8"])
    const answer = await get(path, "application/json")
    expect([answer.status, answer.body.message]).toEqual([404, expect.stringContaining("/api/v1")])
  })
  it("the interface still asks for a token first", async () => {
    expect((await get("/api/v1/nowhere")).status).toBe(401)
    expect((await get("/api")).status).toBe(401)
  })
})
