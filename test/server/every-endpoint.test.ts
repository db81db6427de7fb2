import { system_jobs } from "../../server/delivery/jobs/queue-table.ts"
import { jobRow } from "./delivery/jobs/words.ts"
import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { Endpoint, Param, Params } from "../../core/kernel/endpoints/endpoint.ts"
import type { Fields, JsonObject } from "../../core/kernel/fields/field.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { type AnyRow, insert, type Table } from "../../core/kernel/tables/table.ts"
import { errorText, type Log } from "../../server/ports/log.ts"
import { engines, plays_everything } from "../app.ts"
import { anyBody, anyRow, row_id, text_value } from "./any-row.ts"
import { type Got, type Sent, serve, type Serving } from "./serving.ts"

/** Values of path parameters that name no row. */
const free_text: { readonly [param: string]: string } = { group: "company" }

/** Values of columns whose formats are stricter than declared. */
const formed: { readonly [table: string]: AnyRow } = {
  notifications: { user_id: 1, in_inbox: true },
  opportunity_items: { path: "0001" },
  restores: { manifest: { position: 0, events: 0, schema_version: 1, tables: [], ids: {}, numbers: {} } }
}

const paramsOf = (endpoint: Endpoint): Params => endpoint.params as Params
const pathOf = (endpoint: Endpoint, id: number | string): string =>
  endpoint.path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const param: Param | undefined = paramsOf(endpoint)[name]
    return param === undefined
      ? (free_text[name] ?? "x")
      : param.table.columns[param.table.key]?.type.kind === "text" && id === row_id
        ? text_value
        : String(id)
  })
const isWrite = (endpoint: Endpoint): boolean => endpoint.method !== "GET"
const nameOf = (endpoint: Endpoint): string => `${endpoint.method} ${endpoint.path}`

/** Valid and invalid bodies, none of which may cause a 5xx response. */
const wrongBodies = (fields: Fields): ReadonlyArray<unknown> => {
  const of = (value: unknown): object => Object.fromEntries(Object.keys(fields).map((name) => [name, value]))
  const fitting = anyBody(fields)
  return [
    undefined,
    {},
    [],
    "x",
    7,
    null,
    ...[
      null,
      "",
      "x",
      "0",
      -1,
      0,
      1.5,
      1e300,
      true,
      [],
      {},
      [null],
      [{}],
      [[]],
      "\u0000",
      "\ud800",
      "x".repeat(70_000),
      { __proto__: null },
      "9".repeat(400),
      row_id
    ].map(of),
    fitting,
    ...Object.keys(fields).flatMap((name) => someOf(wrong_values).map((value) => ({ ...fitting, [name]: value })))
  ]
}
const wrong_values = [
  null,
  "\u0000",
  [{}],
  -1,
  99_999_999_999_999_999_999,
  "2026-02-30",
  "9999-12-31T23:59:59Z",
  "0001-01-01"
]
let turn = 0
/** Returns all values, or in the short run a quarter in turn, so that fields and endpoints together use all. */
const someOf = <A>(all: ReadonlyArray<A>): ReadonlyArray<A> => {
  turn++
  return plays_everything ? all : all.filter((_, at) => at % 4 === turn % 4)
}
const odd_queries = [
  "q[id_eq]=%00&q[name_cont]=%FF&page=x&per_page=-1&sort=%00&include=%00,a.b.c,__proto__",
  "view_id=%00&q[x.y_eq]=1&q[cf.1_eq]=%00&q[created_at_lt]=%00&from=%00&to=x&date=x"
]

describe.each(engines)("every endpoint on %s", (engine) => {
  let server: Serving
  let endpoints: ReadonlyArray<Endpoint>
  /** A token without abilities, and one whose user has no permissions. */
  let unable: string, nobody: string
  const problems: Array<string> = []
  const faults = new Map<unknown, unknown>()
  const log: Log = {
    flush: () => {},
    at: (_level, _event, details) => {
      if (details?.["error"] !== undefined) faults.set(details["request_id"], details["error"])
    }
  }
  const why = (got: Got): string => {
    const failure = faults.get(got.headers["x-request-id"])
    return failure === undefined ? got.text.slice(0, 200) : errorText(failure).split("\n").slice(0, 4).join(" ")
  }
  const say = (endpoint: Endpoint, got: Got, expected: string, sent: Sent = {}): void => {
    problems.push(
      `${nameOf(endpoint)}: ${expected}, not ${got.status} ${why(got)}${sent.json === undefined ? "" : ` to ${JSON.stringify(sent.json).slice(0, 300)}`}`
    )
  }
  /** Expects no failures; prints at most three per endpoint. */
  const none = (): void => {
    const told = new Map<string, number>()
    expect(
      problems.splice(0).filter((problem) => {
        const endpoint = problem.split(":")[0]!
        told.set(endpoint, (told.get(endpoint) ?? 0) + 1)
        return told.get(endpoint)! <= 3
      })
    ).toEqual([])
  }
  const sendTo = (endpoint: Endpoint, id: number | string, sent: Sent = {}, query = ""): Promise<Got> =>
    server.ask(`${pathOf(endpoint, id)}${query}`, {
      method: endpoint.method,
      ...(isWrite(endpoint) && !("json" in sent) && !("bytes" in sent) ? { json: {} } : {}),
      ...sent
    })

  beforeAll(async () => {
    server = await serve(engine, {
      lenient: true,
      log,
      anonymous_rate_limit: 10_000,
      undescribed: (problem) => problems.push(problem)
    })
    endpoints = server.app.catalogue.endpoints
    const tables = new Map<string, { readonly table: Table; readonly set: { [column: string]: number } }>()
    for (const endpoint of endpoints) {
      for (const param of Object.values(paramsOf(endpoint))) {
        const entry = tables.get(param.table.name) ?? { table: param.table, set: {} }
        if (param.of !== undefined) entry.set[param.of.column] = row_id
        tables.set(param.table.name, entry)
      }
    }
    await server.run(
      Effect.gen(function* () {
        const store = yield* Store
        for (const { table, set } of tables.values()) {
          if (table.name === system_jobs.name) {
            // A view of the job queue.
            yield* Effect.orDie(store.run(jobRow(engine, text_value)))
            continue
          }
          const row: AnyRow = Object.fromEntries(
            Object.entries({ ...anyRow(table), ...formed[table.name], ...set }).filter(
              ([, value]) => value !== undefined
            )
          )
          yield* Effect.catch(store.apply([insert(table, row as never)]), (cause) =>
            Effect.die(new Error(`no row for ${table.name}: ${cause.reason.message}`))
          )
        }
      })
    )
    const issue = async (json: object): Promise<string> => {
      const got = await server.ask("/api/v1/tokens", { json })
      expect(got.status).toBe(201)
      return got.body.token.secret
    }
    unable = await issue({ name: "Unable", abilities: ["schema:read"] })
    const user = await server.ask("/api/v1/users", {
      json: { name: "Nobody", email: "nobody@example.com", roles: [], active: true }
    })
    nobody = await issue({ name: "Nobody's", abilities: ["*"], user_id: user.body.user.id })
  })
  afterAll(() => server.close())

  it("is one of more than fifty", () => {
    expect(endpoints.length).toBeGreaterThan(50)
  })
  it("answers 401 without a token, unless it is public", async () => {
    for (const endpoint of endpoints.filter((one) => !one.public)) {
      for (const token of [null, "not-a-token-anybody-has"]) {
        const got = await sendTo(endpoint, row_id, { token })
        if (got.status !== 401 || typeof got.body?.message !== "string") say(endpoint, got, "401")
      }
    }
    none()
  })
  it("answers 404 for an unknown or invalid id before it checks permissions and body", async () => {
    for (const endpoint of endpoints.filter((one) => Object.keys(paramsOf(one)).length > 0 && !one.public)) {
      for (const sent of [
        {},
        { token: unable },
        { token: nobody },
        ...(isWrite(endpoint) ? [{ bytes: "{" }, { bytes: "x", headers: { "content-type": "text/plain" } }] : [])
      ]) {
        for (const id of someOf([999_999, "0", "-1", "1.5", "abc", "%00", "99999999999999999999", "1e2"])) {
          const got = await sendTo(endpoint, id, sent)
          if (got.status !== 404 || Object.keys(got.body ?? {}).join() !== "message")
            say(endpoint, got, `404 for ${id}`, sent)
        }
      }
    }
    none()
  })
  it("answers 403 without the ability before it reads the body", async () => {
    for (const endpoint of endpoints.filter((one) => one.ability !== null)) {
      for (const sent of [{}, ...(isWrite(endpoint) ? [{ bytes: "{" }] : [])]) {
        const got = await sendTo(endpoint, row_id, { token: unable, ...sent })
        if (got.status !== 403 || Object.keys(got.body ?? {}).join() !== "message")
          say(endpoint, got, "403 for the ability")
      }
    }
    none()
  })
  it("answers 403 without the permission before it reads the body", async () => {
    for (const endpoint of endpoints.filter((one) => one.permission !== null)) {
      for (const sent of [{}, ...(isWrite(endpoint) ? [{ bytes: "{" }] : [])]) {
        const got = await sendTo(endpoint, row_id, { token: nobody, ...sent })
        if (got.status !== 403 || Object.keys(got.body ?? {}).join() !== "message")
          say(endpoint, got, "403 for the permission")
      }
    }
    none()
  })
  it("answers 422 for a body that is not JSON, and 415 for another type", async () => {
    for (const endpoint of endpoints.filter((one) => isWrite(one) && !one.public)) {
      const broken = await sendTo(endpoint, row_id, { bytes: `{"a":` })
      if (broken.status !== 422 || Object.keys(broken.body?.errors ?? {}).join() !== "body")
        say(endpoint, broken, "422 at errors.body")
      const typed = await sendTo(endpoint, row_id, {
        bytes: "a=b",
        headers: { "content-type": "application/x-www-form-urlencoded" }
      })
      if (typed.status !== 415) say(endpoint, typed, "415")
    }
    none()
  })
  it("answers odd queries of a read without a 5xx status", async () => {
    for (const endpoint of endpoints.filter((one) => !isWrite(one) && one.name !== "replicas.follow")) {
      for (const query of odd_queries) {
        const got = await sendTo(endpoint, row_id, {}, `?${query}`)
        if (got.status >= 500) say(endpoint, got, `no fault for ?${query}`)
      }
      const given: JsonObject = anyBody(endpoint.fields as Fields)
      for (const value of someOf([
        "",
        "x",
        "-1",
        "%00",
        "99999999999999999999",
        "2026-02-30",
        "2026-06-18",
        "%5B%5D"
      ])) {
        const got = await sendTo(
          endpoint,
          row_id,
          {},
          `?${Object.keys(given)
            .map((name) => `${name}=${value}`)
            .join("&")}`
        )
        if (got.status >= 500) say(endpoint, got, `no fault for ${value}`)
      }
    }
    none()
  })
  it("answers invalid bodies of a write without a 5xx status, with errors by field", { timeout: 600_000 }, async () => {
    // Deletions come last, so that other requests find rows.
    const writes = endpoints
      .filter(isWrite)
      .toSorted((a, b) => Number(a.method === "DELETE") - Number(b.method === "DELETE"))
    for (const endpoint of writes) {
      for (const json of wrongBodies(endpoint.fields as Fields)) {
        const sent = json === undefined ? { bytes: "" } : { json }
        const got = await sendTo(endpoint, row_id, sent)
        if (got.status >= 500) say(endpoint, got, "no fault", sent)
        if (
          got.status === 422 &&
          (typeof got.body.message !== "string" || Object.keys(got.body.errors ?? {}).length === 0)
        )
          say(endpoint, got, "errors by field", sent)
      }
    }
    none()
  })
  it("leaves the server healthy after the requests above", async () => {
    expect((await server.ask("/api/v1/system/health", { token: null })).status).toBe(200)
  })
})
