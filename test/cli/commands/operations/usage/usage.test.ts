/** `usage`: its requests, and how it prints the responses. */
import { createServer, type Server } from "node:http"
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { typeHere } from "../../../command-line.ts"
import type { Ran } from "../../../session.ts"
import { words } from "../../../../words.ts"

const folder = mkdtempSync(join(tmpdir(), "flightcase-usage-"))
let server: Server
let url = ""
let asked: Array<string> = []
let polls = 0
const window = { preset: "7d", from: "2026-07-01T12:30:00.000Z", to: "2026-07-08T12:30:00.000Z" }
const row = (key: string, label: string | null, request_count: number, weighted_units: number) => ({
  key,
  label,
  request_count,
  weighted_units
})
const of_dimension: { readonly [dimension: string]: ReadonlyArray<object> } = {
  endpoint: [
    row("availability.calendar", "GET /api/v1/availability/calendar", 150, 750),
    row("members.list", "GET /api/v1/members", 1_200, 1_200),
    row("usage.index", "GET /api/v1/usage", 50, 0)
  ],
  day: [row("2026-07-02", null, 200, 300), row("2026-07-08", null, 1_200, 1_650)],
  token: [row("none", null, 3, 0)]
}
const csv = "key,label,request_count,weighted_units\nmembers.list,GET /api/v1/members,1200,1200\n"
const answers = (path: string, query: URLSearchParams): object | string | undefined => {
  const dimension = query.get("dimension") ?? "endpoint"
  switch (path) {
    case "/api/v1/usage":
      return {
        usage: of_dimension[dimension] ?? [],
        meta: {
          totals:
            dimension === "token"
              ? { request_count: 3, weighted_units: 0 }
              : { request_count: 1_400, weighted_units: 1_950 },
          window,
          dimension
        }
      }
    case "/api/v1/usage/export":
      return { message: "Accepted", job_id: "6d1c5a0e-0000-4000-8000-000000000000" }
    case "/api/v1/system/jobs/6d1c5a0e-0000-4000-8000-000000000000":
      polls++
      return {
        job: {
          id: "6d1c5a0e-0000-4000-8000-000000000000",
          status: polls < 3 ? "running" : "done",
          progress: 0.5,
          error: null,
          download_url: polls < 3 ? null : `${url}/files/7?signature=x`
        }
      }
    case "/files/7":
      return csv
    case "/api/v1/tokens":
      return {
        tokens: [
          { id: 4, name: "Shop" },
          { id: 5, name: "Twin" },
          { id: 6, name: "Twin" }
        ],
        meta: {}
      }
    case "/api/v1/request_logs":
      return {
        request_logs: [
          {
            id: 9,
            channel: "api",
            method: "GET",
            uri: "/api/v1/members",
            route_name: "members.list",
            status_code: 422,
            duration_ms: 12,
            weighted_units: 1,
            personal_access_token_id: 4,
            user_id: 1,
            request_id: "r-1",
            created_at: "2026-07-08T12:00:00.000Z"
          }
        ],
        meta: { total: 1, per_page: 20, page: 1 }
      }
    default:
      return undefined
  }
}
beforeAll(async () => {
  server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "", "http://localhost")
    asked.push(decodeURIComponent(request.url ?? ""))
    const answer = answers(pathname, searchParams)
    const is_file = typeof answer === "string"
    const { authorization } = request.headers
    // One token is revoked while its export is made.
    const is_refused = authorization === "Bearer unknown" || (authorization === "Bearer revoked" && polls > 1)
    response.writeHead(is_refused ? 401 : answer === undefined ? 404 : 200, {
      "content-type": is_file ? "text/csv" : "application/json",
      ...(is_file ? { "content-disposition": 'attachment; filename="usage-7d.csv"' } : {})
    })
    response.end(is_file ? answer : JSON.stringify(answer ?? { message: "Not found." }))
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  url = `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
  rmSync(folder, { recursive: true, force: true })
})
beforeEach(() => {
  asked = []
  polls = 0
})
const type = (words: ReadonlyArray<string>, env: { readonly [name: string]: string } = {}): Promise<Ran> =>
  typeHere(words, {
    env: {
      PATH: process.env["PATH"] ?? "",
      HOME: folder,
      FLIGHTCASE_HOME: join(folder, "home"),
      FLIGHTCASE_URL: url,
      FLIGHTCASE_TOKEN: "1|secret",
      FLIGHTCASE_NO_BACKGROUND: "1",
      ...env
    },
    folder,
    input: ""
  })
const seen = { FLIGHTCASE_TTY: "1", COLUMNS: "100", NO_COLOR: "1" }
const shown = async (words: ReadonlyArray<string>, env?: { readonly [name: string]: string }): Promise<string> => {
  const ran = await type(words, env)
  expect([ran.code, ran.err]).toEqual([0, ""])
  return ran.out
}

/** On a terminal it also requests the stores' time zones, which are left out here. */
const askedOfUsage = (): ReadonlyArray<string> => asked.filter((path) => path.startsWith("/api/v1/usage"))

describe("the table of flightcase usage", () => {
  it("has no heading in a pipe, and needs one request", async () => {
    expect(await shown(["usage"])).toBe(
      "availability.calendar\tGET /api/v1/availability/calendar\t150\t750\n" +
        "members.list\tGET /api/v1/members\t1200\t1200\nusage.index\tGET /api/v1/usage\t50\t0\n"
    )
    expect(asked).toEqual(["/api/v1/usage"])
  })
  it("shows the window, a block per day and each row's share on a terminal", async () => {
    expect(await shown(["usage"], seen)).toMatchInlineSnapshot(`
      "7d  2026-07-01 12:30 to 2026-07-08 12:30 UTC  1,400 calls  1,950 units
      ·▂·····█  1,200 calls on the busiest day

      ENDPOINT               CALL                            CALLS  UNITS  SHARE
      availability.calendar  GET /api/v1/availability/cale…    150    750    38%  ███████████████
      members.list           GET /api/v1/members             1,200  1,200    62%  ████████████████████████
      usage.index            GET /api/v1/usage                  50      0     0%
      "
    `)
    // Days come first: the request itself counts, and no day may have more calls than the total.
    expect(askedOfUsage()).toEqual(["/api/v1/usage?dimension=day", "/api/v1/usage"])
  })
  it("lists every day of the window with --by day, from one request", async () => {
    expect(await shown(["usage", "--by", "day"], seen)).toMatchInlineSnapshot(`
      "7d  2026-07-01 12:30 to 2026-07-08 12:30 UTC  1,400 calls  1,950 units
      ·▂·····█  1,200 calls on the busiest day

      DAY         CALLS  UNITS  SHARE
      2026-07-01      0      0     0%
      2026-07-02    200    300    15%  ████▍
      2026-07-03      0      0     0%
      2026-07-04      0      0     0%
      2026-07-05      0      0     0%
      2026-07-06      0      0     0%
      2026-07-07      0      0     0%
      2026-07-08  1,200  1,650    85%  ████████████████████████
      "
    `)
    expect(askedOfUsage()).toEqual(["/api/v1/usage?dimension=day"])
  })
  it("has rows that fit a narrow terminal, and a coloured heading where colour is enabled", async () => {
    const { COLUMNS: _c, NO_COLOR: _n, ...env } = seen
    const out = await shown(["usage"], { ...env, COLUMNS: "60", CLICOLOR_FORCE: "1" })
    expect(out).toContain("\u001b[1m7d")
    for (const line of out
      .replaceAll(/\u001b\[\d+m/g, "")
      .split("\n")
      .slice(2))
      expect([...line].length).toBeLessThanOrEqual(60)
  })
  it("shows shares of calls if no call cost units", async () => {
    expect(await shown(["usage", "--by", "token"], seen)).toMatch(/none\s+3\s+0\s+100%\s+█+/)
  })
  it("is replaced by the server's JSON with --json", async () => {
    expect(JSON.parse(await shown(["usage", "--json"], seen))).toMatchObject({
      usage: [{ key: "availability.calendar" }, {}, {}],
      meta: { dimension: "endpoint", window }
    })
  })
})
describe("the request of flightcase usage", () => {
  it.each([
    [["--window", "30d", "--by", "status"], "window=30d&dimension=status"],
    [["--from", "2026-06-01", "--to", "2026-06-30"], "window=custom&from=2026-06-01&to=2026-06-30"],
    [["--channel", "webhook_sent", "--token", "4"], "channel=webhook_sent&token_id=4"]
  ])("turns the flags %o into the query %s", async (flags, query) => {
    await shown(["usage", ...flags])
    expect(asked).toEqual([`/api/v1/usage?${query}`])
  })
  it("accepts the name of one token, and refuses an unknown or ambiguous name", async () => {
    await shown(["usage", "--token", "Shop"])
    expect(asked.at(-1)).toBe("/api/v1/usage?token_id=4")
    expect(await type(["usage", "--token", "Twin"])).toMatchObject({
      code: 2,
      err: expect.stringContaining("ids 5, 6")
    })
    expect(await type(["usage", "--token", "Nobody"])).toMatchObject({ code: 3 })
  })
  it("is refused for an unknown login, with a note that --token is only a filter", async () => {
    expect(await type(["usage", "--token", "4"], { FLIGHTCASE_TOKEN: "unknown" })).toMatchObject({
      code: 4,
      err: expect.stringContaining("set FLIGHTCASE_TOKEN: --token of usage says whose calls are shown")
    })
    const others: ReadonlyArray<readonly [token: string, words: ReadonlyArray<string>]> = [
      ["revoked", ["usage", "export", "-o", "-"]],
      ["unknown", ["usage", "logs", "--token", "4"]],
      ["unknown", ["usage", "logs", "--token", "4", "--all"]]
    ]
    for (const [FLIGHTCASE_TOKEN, words] of others)
      expect(await type(words, { FLIGHTCASE_TOKEN })).toMatchObject({
        code: 4,
        err: expect.stringContaining("--token of usage says whose calls are shown")
      })
  })
})
describe("the exported usage", () => {
  it("is downloaded once its job is done, under its own or the given name, and overwrites no file", async () => {
    const ran = await type(["usage", "export", "--by", "token"])
    expect([ran.code, ran.out, ran.err]).toEqual([0, "", `Wrote usage-7d.csv, ${csv.length} bytes.\n`])
    expect(readFileSync(join(folder, "usage-7d.csv"), "utf8")).toBe(csv)
    expect(asked[0]).toBe("/api/v1/usage/export?dimension=token")
    expect(polls).toBe(3)
    expect((await type(["usage", "export"])).code).toBe(2)
    expect(JSON.parse(await shown(["usage", "export", "-o", "mine.csv", "--json"]))).toEqual({
      usage_export: { job_id: expect.any(String), file: "mine.csv", bytes: csv.length }
    })
    expect(existsSync(join(folder, "mine.csv"))).toBe(true)
    expect(await shown(["usage", "export", "-o", "-"])).toBe(csv)
    expect(await type(["usage", "export", "-o", "nowhere/mine.csv"])).toMatchObject({
      code: 2,
      err: expect.stringContaining("There is no folder nowhere to write nowhere/mine.csv to.")
    })
  })
})
describe("the list of logged calls", () => {
  it("is filtered by flags, with an end date that includes the whole day", async () => {
    const flags = words("--status 422 --route members.list --token Shop --from 2026-07-01 --to 2026-07-02")
    const out = await shown(["usage", "logs", ...flags, "--sort", "status_code", "--per-page", "50"])
    expect(out).toBe("2026-07-08T12:00:00.000Z\tapi\tGET\t/api/v1/members\t422\t12\t1\t4\t1\tr-1\n")
    expect(asked.at(-1)).toBe(
      "/api/v1/request_logs?q[route_name_eq]=members.list&q[status_code_eq]=422&q[personal_access_token_id_eq]=4" +
        "&q[created_at_gteq]=2026-07-01T00:00:00.000Z&q[created_at_lteq]=2026-07-02T23:59:59.999Z&sort=status_code&per_page=50"
    )
    expect(await type(["usage", "logs", "--status", "abc"])).toMatchObject({ code: 2 })
    await shown(["usage", "logs", "--all"])
    expect(JSON.parse(await shown(["usage", "logs", "--json"]))).toMatchObject({ request_logs: [{ id: 9 }] })
  })
})
