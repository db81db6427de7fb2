/**
 * Sends the same invalid requests to every endpoint on both engines. FUZZ_SEED replays or varies the run, FUZZ_TIMES
 * repeats it.
 */
import * as fc from "fast-check"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { Endpoint } from "../../core/kernel/endpoints/endpoint.ts"
import { rebuild } from "../../core/kernel/runtime/schema.ts"
import { canonicalJson, type Json, type JsonObject } from "../../core/kernel/fields/field.ts"
import type { AnyRow } from "../../core/kernel/tables/table.ts"
import { errorText, type Log } from "../../server/ports/log.ts"
import { engines } from "../app.ts"
import type { Got } from "../server/serving.ts"
import { fairQuestionsTo, type Question, questionsTo } from "./requests.ts"
import type { Rows } from "./values.ts"
import { alignIds, createSampleData, openWorld, type World } from "./world.ts"

const seed = Number(process.env["FUZZ_SEED"] ?? 20_260_618)
const times = Number(process.env["FUZZ_TIMES"] ?? 1)

const refusals = new Set([401, 403, 404, 405, 409, 410, 413, 415, 422, 425])
/** Their responses depend on the process or on random names. */
const engine_bound = new Set(["metrics", "replicas.follow", "system.checks", "system.health"])
/** Recorded in the background: two servers may differ in progress. */
const isByAndBy = ({ name }: Endpoint): boolean => /^(usage|request_logs|notifications|jobs)\./.test(name)

/** Written in the background: stored responses, exports and their files, metered calls, notifications, scheduled work. */
const besides = new Set([
  "blobs",
  "downloads",
  "idempotency_keys",
  "request_logs",
  "usage_hours",
  "month_units",
  "rate_windows",
  "job_notes",
  "timed_work"
])
const isLasting = (table: string): boolean => !besides.has(table) && !/^notification(s|_mailings|_burst)/.test(table)

const hashOf = (text: string): number =>
  [...text].reduce((hash, letter) => (Math.imul(hash, 31) + letter.codePointAt(0)!) | 0, seed)

describe(`arbitrary requests, with FUZZ_SEED=${seed}`, () => {
  let worlds: ReadonlyArray<World>
  let token: string
  const problems: Array<string> = []
  /** Undescribed responses since the last check. */
  const undescribed: Array<string> = []
  /** Failures reported by endpoint: three are enough. */
  const told_of = new Map<string, number>()
  const faults = new Map<unknown, unknown>()
  const log: Log = {
    flush: () => {},
    at: (_level, _event, details) => {
      if (details?.["error"] !== undefined) faults.set(details["request_id"], details["error"])
    }
  }

  beforeAll(async () => {
    worlds = await Promise.all(
      engines.map((engine) => openWorld(engine, { log, undescribed: (problem) => undescribed.push(problem) }))
    )
    await Promise.all(worlds.map(createSampleData))
    // Fuzzing changes the rate limit in the settings; a token with its own limit is not affected.
    const issued = await Promise.all(
      worlds.map((world) =>
        world.ask("/api/v1/tokens", {
          json: { name: "Fuzz", abilities: ["*"], rate_limit_per_minute: 10_000, monthly_units: 0 }
        })
      )
    )
    expect(issued.map((got) => got.status)).toEqual([201, 201])
    tokens.push(...issued.map((got) => got.body.token.secret as string))
    token = issued[0]!.body.token.id
  })
  afterAll(() => Promise.all((worlds ?? []).map((world) => world.server.close())))
  const tokens: Array<string> = []

  const rowsOf = async (world: World, names: (name: string) => boolean): Promise<Rows> => {
    const { catalogue } = world.server.app
    const rows = new Map<string, ReadonlyArray<AnyRow>>()
    for (const table of [...catalogue.tables, ...catalogue.server_tables])
      if (names(table.name)) rows.set(table.name, await world.rowsOf(table))
    return rows
  }
  const say = (endpoint: Endpoint, { target, sent }: Question, what: string): void => {
    const body = typeof sent.bytes === "string" ? sent.bytes : sent.bytes === undefined ? "" : "(bytes)"
    const before = told_of.get(endpoint.name) ?? 0
    told_of.set(endpoint.name, before + 1)
    if (before < 3)
      problems.push(`${endpoint.name}: ${what}\n    ${sent.method} ${target.slice(0, 400)} ${body.slice(0, 600)}`)
  }
  const because = (got: Got): string => {
    const failure = faults.get(got.headers["x-request-id"])
    return failure === undefined ? got.text.slice(0, 300) : errorText(failure).split("\n").slice(0, 6).join(" ")
  }

  it(
    "are answered as documented, alike on SQLite and Postgres, and change nothing when refused",
    { timeout: 600_000 * times },
    async () => {
      const [first] = worlds as [World, World]
      const { catalogue } = first.server.app
      const answered = new Map<string, Set<number>>()
      let asked = 0
      let heads = await Promise.all(worlds.map((world) => world.head()))
      for (let round = 1; round <= times; round++) {
        // Deletions come last, so that other requests find rows.
        const ending = catalogue.endpoints.filter(({ produces }) => produces !== "text/event-stream")
        const order = ending.toSorted(
          (a, b) =>
            Number(a.method === "DELETE") - Number(b.method === "DELETE") ||
            hashOf(`${round}${a.name}`) - hashOf(`${round}${b.name}`)
        )
        let rows: Rows = new Map()
        for (const [at, endpoint] of order.entries()) {
          if (at % 10 === 0) rows = await rowsOf(first, (name) => name !== "countries")
          const amount = endpoint.method === "GET" ? 4 : 5 + Math.ceil(Object.keys(endpoint.fields).length / 4)
          const from = { seed: hashOf(`${round}${endpoint.name}`) }
          for (const question of [
            ...fc.sample(fairQuestionsTo(endpoint, catalogue, rows), {
              ...from,
              numRuns: Object.keys(endpoint.params).length > 0 && endpoint.kind === "command" ? 5 : 2
            }),
            ...fc.sample(questionsTo(endpoint, catalogue, rows), { ...from, numRuns: amount })
          ]) {
            if (/^tokens\.(delete|update)$/.test(endpoint.name) && new RegExp(`/${token}\\b`).test(question.target))
              continue
            // The caller's access may be reset, but the calling sessions must not end.
            if (endpoint.name === "users.reset_password" && String(question.sent.bytes).includes("end_sessions"))
              continue
            const sampled = asked++ % 40 === 0
            const before = sampled ? await Promise.all(worlds.map((world) => rowsOf(world, isLasting))) : []
            const got = await Promise.all(
              worlds.map((world, at) => world.ask(question.target, { ...question.sent, token: tokens[at]! }))
            )
            const now = await Promise.all(worlds.map((world) => world.head()))
            if (endpoint.method !== "GET") await alignIds(worlds as [World, World])
            for (const problem of undescribed.splice(0)) say(endpoint, question, problem)
            for (const [at, one] of got.entries()) {
              const where = `on ${worlds[at]!.engine}`
              const statuses = answered.get(endpoint.name) ?? new Set()
              answered.set(endpoint.name, statuses.add(one.status))
              if (one.status < 300) {
                if (endpoint.method === "GET" && now[at] !== heads[at])
                  say(endpoint, question, `a read was recorded ${where}`)
                continue
              }
              if (!refusals.has(one.status)) say(endpoint, question, `${one.status} ${where}: ${because(one)}`)
              // HTML pages show errors as HTML.
              else if (!isError(one) && endpoint.produces !== "text/html")
                say(endpoint, question, `no error as documented ${where}: ${one.text.slice(0, 300)}`)
              if (now[at] !== heads[at])
                say(endpoint, question, `${one.status} ${where}, yet ${now[at]! - heads[at]!} events were recorded`)
              const changed = sampled ? unlike(before[at]!, await rowsOf(worlds[at]!, isLasting)) : undefined
              if (changed !== undefined) say(endpoint, question, `${one.status} ${where}, yet ${changed}`)
            }
            heads = now
            if (isByAndBy(endpoint)) continue
            if (got[0]!.status !== got[1]!.status)
              say(
                endpoint,
                question,
                `${got[0]!.status} on ${worlds[0]!.engine} (${because(got[0]!)}), ${got[1]!.status} on ${worlds[1]!.engine} (${because(got[1]!)})`
              )
            else if (!engine_bound.has(endpoint.name) && told(got[0]!) !== told(got[1]!))
              say(endpoint, question, `told differently: ${difference(told(got[0]!), told(got[1]!))}`)
          }
        }
      }
      if (process.env["FUZZ_REPORT"] !== undefined) {
        console.log(
          asked,
          "asked;",
          [...answered]
            .filter(([, statuses]) => ![...statuses].some((status) => status < 300))
            .map(([name, statuses]) => `${name} ${[...statuses].join()}`)
            .join("; ")
        )
      }
      expect(problems.join("\n")).toBe("")
    }
  )
  it("leave tables equal to those rebuilt from the journal", async () => {
    for (const world of worlds) {
      const names = new Set(world.server.app.catalogue.tables.map((table) => table.name))
      const before = await rowsOf(world, (name) => names.has(name))
      await world.server.run(rebuild(world.server.app.catalogue))
      expect(unlike(before, await rowsOf(world, (name) => names.has(name)))).toBeUndefined()
    }
  })
  it("leave the same rows on SQLite and Postgres", async () => {
    const names = new Set(worlds[0]!.server.app.catalogue.tables.map((table) => table.name))
    const [a, b] = await Promise.all(worlds.map((world) => rowsOf(world, (name) => names.has(name))))
    expect(unlike(a!, b!)).toBeUndefined()
  })
  it("leave the server healthy", async () => {
    for (const world of worlds) expect((await world.ask("/api/v1/system/health", { token: null })).status).toBe(200)
  })
})

/** The first row that differs, ignoring times of last use, which are written outside the journal. */
const unlike = (before: Rows, after: Rows): string | undefined => {
  const written = (row: AnyRow | undefined): string =>
    row === undefined ? "no row" : canonicalJson({ ...row, last_used_at: null } as Json)
  for (const [table, rows] of before) {
    const others = after.get(table) ?? []
    for (let at = 0; at < Math.max(rows.length, others.length); at++) {
      if (written(rows[at]) !== written(others[at]))
        return `${table}: ${written(rows[at]).slice(0, 600)} became ${written(others[at]).slice(0, 600)}`
    }
  }
  return undefined
}
/** `{message}`, with `errors` by field for invalid values; journal readers get a restart message instead. */
const isError = ({ body, status }: Got): boolean => {
  if (Array.isArray(body)) return status === 409
  const { message, errors, ...rest } = (body ?? {}) as JsonObject
  return (
    typeof message === "string" &&
    message !== "" &&
    Object.keys(rest).length === 0 &&
    (errors === undefined
      ? status !== 422
      : Object.keys(errors as object).length > 0 &&
        Object.values(errors as object).every(
          (texts) => Array.isArray(texts) && texts.length > 0 && texts.every((text) => typeof text === "string")
        ))
  )
}
/** The part of a response that both engines share: no secrets, request ids or times of last use. */
const told = ({ body, text }: Got): string =>
  (body === undefined ? text : canonicalJson(body as Json))
    .replace(/"(secret|last_used_at)":"[^"]*"/g, "")
    // Each server signs board links with its own secret.
    .replace(/(\/board\/\d+-\d+-)[\w-]+/g, "$1")
    // Units are counted shortly after the response.
    .replace(/"units_this_month":\d+/g, "")
    .replace(/"offset":"(\d+)_\d+"/g, "$1")
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[47][0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g, "")
const difference = (a: string, b: string): string => {
  const at = [...a].findIndex((letter, index) => letter !== b[index])
  return `…${a.slice(Math.max(0, at - 60), at + 120)} and …${b.slice(Math.max(0, at - 60), at + 120)}`
}
