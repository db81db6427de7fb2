/**
 * Devices of users with few permissions answer like the server: nothing visible is missing, rules have their facts, and
 * they hold nothing hidden.
 */
import { beforeAll, describe, expect, it } from "vitest"
import { catalogue } from "../../core/catalogue.ts"
import type { Endpoint, Params } from "../../core/kernel/endpoints/endpoint.ts"
import { hasOnePermission } from "../../core/kernel/fields/rejection.ts"
import { systemRoles } from "../../core/people/users/decide.ts"
import { roles, users, viewerOf } from "../../core/people/users/permissions.ts"
import { owner, permissionsOfRole, plays_everything, viewerWith } from "../app.ts"
import { anyCommand, commandKinds, type Look } from "../sim/any-command.ts"
import { randomOf } from "../sim/random.ts"
import { seed_data } from "../sim/seed-data.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { Effect } from "effect"
import { beyondVisibility } from "./beyond-visibility.ts"
import type { InspectedDevice } from "./inspected-device.ts"
import { serverOfSuite } from "./opening.ts"
import type { Body } from "../answers.ts"

const { permissions } = catalogue
const areas = [...new Set(permissions.map(({ area }) => area))]
export const people: Holders = [
  ...systemRoles.filter(({ name }) => name !== "Admin").map(({ name }) => [name, permissionsOfRole(name)] as const),
  ...areas.map(
    (area) => [`all of ${area}`, permissions.filter((one) => one.area === area).map(({ key }) => key)] as const
  ),
  ...permissions
    .filter(({ action }) => action !== "access" && action !== "view")
    .map(({ key }) => [`${key} alone`, [key]] as const),
  ...permissions
    .filter(
      ({ action, area }) =>
        action === "view" &&
        permissions.some((one) => one.area === area && one.action !== "view" && one.action !== "access")
    )
    .map(({ key }) => [`${key} alone`, [key]] as const)
]
/** Tokens of an owner, by their abilities. */
export const tokens: Holders = [
  ["sync", []],
  ["read products", ["products:read"]],
  ["read members", ["members:read"]],
  ["read opportunities", ["opportunities:read"]],
  ["write opportunities", ["opportunities:write"]],
  ["read availability", ["availability:read"]],
  ["read and write rates", ["rates:read", "rates:write"]],
  ["read activities and views", ["activities:read", "custom-views:read"]],
  ["read stock and containers", ["stock:read", "containers:read"]],
  ["read users", ["users:read"]],
  ["set notification preferences", ["notification-preferences:read", "notification-preferences:write"]],
  ["read the action log", ["action-log:read"]]
]
const permitted = (held: ReadonlyArray<string>, { permission }: Endpoint): boolean =>
  permission === null || [permission].flat().some((one) => hasOnePermission(viewerWith(held, ["*"]), one))

/** Values of query fields by name. */
const given: { readonly [field: string]: string } = {
  product_id: "1",
  product_ids: "1,2,5",
  store_id: "1",
  store_ids: "1",
  from: "2026-06-20T00:00:00Z",
  to: "2026-07-10T00:00:00Z",
  starts_at: "2026-06-20T00:00:00Z",
  ends_at: "2026-07-10T00:00:00Z",
  start_date: "2026-06-20",
  end_date: "2026-07-10",
  quantity: "3",
  days: "14",
  year: "2026",
  month: "7",
  entity_type: "products",
  version_a: "1",
  version_b: "2",
  left: "1",
  right: "2",
  include_kits: "true"
}
/** Labels of a store; scanning the codes of a unit, a case and a bulk product. */
const more_questions: { readonly [endpoint: string]: ReadonlyArray<string> } = {
  "labels.show": ["store_id=1", "codes[]=MH-3&codes[]=container:7&codes[]=K-1"]
}
const includes = [...new Set(catalogue.resources.flatMap((one) => Object.keys(one.includes)))].join(",")
/** Users whose commands are tested as well. */
export const commanders = people.filter(
  ([name]) => ["Sales", "Warehouse", "Operations Manager"].includes(name) || name.startsWith("all of ")
)

type Holders = ReadonlyArray<readonly [name: string, permissions: ReadonlyArray<string>]>
/** Declares the tests of some users, tokens and commanders. */
export const describeFewRights = (of: {
  readonly people: Holders
  readonly tokens: Holders
  readonly commanders: Holders
}) =>
  describe("a device of a user with few permissions", () => {
    const rights = fewRights()
    it.each(of.people)(
      "answers queries like the server, and holds nothing beyond what its user may see (%s)",
      (_, held) => rights.sameAnswers(held)
    )
    it.each(of.tokens)("answers queries like the server (all permissions, limited by a token to %s)", (_, abilities) =>
      rights.sameAnswersWithToken(abilities)
    )
    it.each(of.commanders)("accepts and refuses commands like the server, for the same reasons (%s)", (_, held) =>
      rights.sameVerdicts(held)
    )
    it("is reported by these checks if it holds data beyond its user's permissions", () => rights.findsWhatIsBeyond())
  })

/** A server with all kinds of data and devices of users with few permissions; both get the same queries. */
const fewRights = () => {
  const server = serverOfSuite()
  const ids = new Map<string, ReadonlyArray<number | string>>()
  const below = (path: string): string => path.slice("/api/v1".length)
  beforeAll(async () => {
    for (const { body, method, path } of seed_data) {
      const answer = await server.call(method, below(path), body)
      expect(answer.status, `${method} ${path} ${JSON.stringify(answer.body)}`).toBeLessThan(500)
    }
    // A customer's order that is short: some users see shortages but not customers.
    const did = async (path: string, body: object) => {
      const answer = await server.call("POST", path, body)
      expect(answer.status, `${path} ${JSON.stringify(answer.body)}`).toBeLessThan(300)
      return answer.body
    }
    const { member } = await did("/members", { name: "Customer", membership_type: "organisation" })
    const order = { subject: "Short", store_id: 1, member_id: member.id }
    const time = { starts_at: "2026-06-22T09:00:00Z", ends_at: "2026-06-24T09:00:00Z" }
    const { opportunity } = await did("/opportunities", { ...order, ...time })
    await did(`/opportunities/${opportunity.id}/items`, { name: "Heads", item_id: 1, quantity: 500 })
    await did(`/opportunities/${opportunity.id}/convert_to_quotation`, {})
    const { stocktake } = await did("/stocktakes", { store_id: 1 })
    await did(`/stocktakes/${stocktake.id}/scans`, { codes: ["unit:1", "unit:2", "NOBODY-KNOWS-1"] })
    const { store } = await did("/stores", { name: "Other store" })
    const moved = { from_store_id: 1, to_store_id: store.id, starts_at: "2026-06-22T09:00:00Z", codes: ["unit:1"] }
    await did("/transfers", moved)
    for (const [name, rows] of Object.entries(await server.tables()))
      ids.set(
        name,
        rows.map((row) => row[catalogue.table(name).key])
      )
  })
  let made = 0
  interface Held {
    readonly device: InspectedDevice
    readonly token: string
    readonly beyond: () => Promise<ReadonlyArray<string>>
  }
  const deviceOf = async (held: ReadonlyArray<string>, abilities: ReadonlyArray<string> = ["*"]): Promise<Held> => {
    const { secret, user_id } = await server.person({ name: `Person ${++made}`, permissions: held, abilities })
    const snapshot_beyond = made % 2 === 0 ? 0 : Number.POSITIVE_INFINITY
    const device = await server.filled({ limit: 1_000, snapshot_beyond }, secret)
    const viewer = await server.run(
      Effect.gen(function* () {
        const store = yield* Store
        return viewerOf((yield* store.get(users, user_id))!, yield* store.find(roles, {}), null)
      })
    )
    return { device, token: secret, beyond: async () => beyondVisibility(viewer, await device.tables()) }
  }

  const paths = (endpoint: Endpoint): ReadonlyArray<string> => {
    let found = [below(endpoint.path)]
    for (const [name, { table }] of Object.entries(endpoint.params as Params)) {
      found = found.flatMap((path) =>
        (ids.get(table.name) ?? []).slice(0, 4).map((id) => path.replace(`{${name}}`, String(id)))
      )
    }
    return found.filter((path) => !path.includes("{"))
  }
  const questions = catalogue.endpoints.filter(
    (endpoint) =>
      endpoint.kind === "query" && !endpoint.server_only && !endpoint.public && endpoint.produces === undefined
  )

  /** Queries that a device answers differently from the server. */
  const differencesIn = async ({ device, token }: Held, may: (endpoint: Endpoint) => boolean) => {
    const different: Array<unknown> = []
    let asked = 0
    const one = async (endpoint: Endpoint, path: string, query: URLSearchParams, body?: object): Promise<void> => {
      const request = [endpoint.method, endpoint.method === "GET" ? `${path}?${query}` : path, body] as const
      const there = await server.call(...request, token)
      const here = await device.call(...request)
      asked++
      const at_server =
        here.status === 503 ? (here.body.errors?.at_server as ReadonlyArray<string> | undefined) : undefined
      // A device filled from rows refers its user to the server for earlier history, and for rows it does not hold.
      if (at_server?.includes("history") === true) return
      if (at_server !== undefined) {
        const include = query
          .get("include")!
          .split(",")
          .filter((name) => name !== at_server[0])
        return one(
          endpoint,
          path,
          new URLSearchParams({ ...Object.fromEntries(query), include: include.join(",") }),
          body
        )
      }
      // A missing row is reported before a missing permission; a device may hold no rows of a kind.
      const may_ask = may(endpoint) && (endpoint.authorize === undefined || there.status !== 403)
      if (!may_ask && [here, there].every(({ status }) => status === 403 || status === 404)) return
      // Without `members:read` the device holds no members, so only the server knows a member's preferences.
      if (endpoint.name === "members.notification_preferences.list" && here.status === 404) {
        expect((await device.tables())["members"]).toEqual([])
        return
      }
      const [said, told] = [there, here].map(({ status, body }) =>
        JSON.stringify([status, body ?? null])
          .replace(/"rate_limit":\d+/, '"rate_limit": as started')
          // Each response has its own time.
          .replace(/"generated_at":"[^"]*"/, '"generated_at": now')
          // Devices do not know which secrets are set.
          .replace(/,"(dkim_private_key|smtp_url)":null/g, "")
          // Only the server signs addresses of documents.
          .replace(/"download_url":"http[^"]*"/g, '"download_url":null')
      )
      if (said !== told) different.push({ [`${endpoint.name} ${path}?${query}`]: { there: said, here: told } })
    }
    for (const endpoint of questions) {
      const fields = Object.keys(endpoint.fields).filter((name) => given[name] !== undefined)
      for (const path of may(endpoint) ? paths(endpoint) : paths(endpoint).slice(0, 1)) {
        const query = new URLSearchParams({
          ...Object.fromEntries(fields.map((name) => [name, given[name]!])),
          ...(endpoint.method === "GET" ? { include: includes } : {})
        })
        const body =
          endpoint.method === "GET"
            ? undefined
            : Object.fromEntries(
                fields.map((name) => [name, /^\d+$/.test(given[name]!) ? Number(given[name]) : given[name]!])
              )
        await one(endpoint, path, query, body)
        for (const more of more_questions[endpoint.name] ?? []) await one(endpoint, path, new URLSearchParams(more))
      }
    }
    expect(asked).toBeGreaterThan(questions.length / 2)
    return different
  }

  const sameAnswers = async (held: ReadonlyArray<string>): Promise<void> => {
    const device = await deviceOf(held)
    expect(await device.beyond()).toEqual([])
    expect(await differencesIn(device, (endpoint) => permitted(held, endpoint))).toEqual([])
  }
  const sameAnswersWithToken = async (abilities: ReadonlyArray<string>): Promise<void> => {
    const everything = permissions.map(({ key }) => key)
    const may = ({ ability }: Endpoint): boolean =>
      ability === null || [ability].flat().some((one) => abilities.includes(one))
    expect(await differencesIn(await deviceOf(everything, ["sync:read", "sync:write", ...abilities]), may)).toEqual([])
  }
  const sameVerdicts = async (held: ReadonlyArray<string>): Promise<void> => {
    const { device, token, beyond } = await deviceOf(held)
    const chance = randomOf(made)
    const look: Look = (sql, values = []) =>
      server.run(Effect.flatMap(Store, (store) => store.run(sql, values as ReadonlyArray<string>))) as ReturnType<Look>
    const different: Array<unknown> = []
    for (const endpoint of commandKinds.filter((kind) => permitted(held, kind))) {
      for (let time = 0; time < (plays_everything ? 2 : 1); time++) {
        const { body, method, path: whole } = await anyCommand(chance, look, endpoint)
        const path = below(whole)
        const differs = (there: unknown, here: unknown) =>
          different.push({ [`${endpoint.name} ${path} ${JSON.stringify(body)}`]: { there, here } })
        const here = await device.plan(method, path, body)
        if (here.status < 300) {
          const { command } = await device.call(method, path, body)
          await device.sync()
          const refused = command === undefined ? undefined : device.outbox.find(command.id)
          if (refused !== undefined && refused.state !== "accepted") differs(JSON.stringify(refused.error), "taken")
          continue
        }
        const there = await server.call(method, path, body, token)
        const reason = (answer: Pick<typeof there, "status"> & { readonly body: Body }) =>
          JSON.stringify(answer.status < 300 ? "taken" : [answer.status, Object.keys(answer.body?.errors ?? {})])
        // Another user's view does not exist on the device.
        if (here.status === 404 && there.status === 403) continue
        if (reason(here) !== reason(there))
          differs(JSON.stringify(there).slice(0, 400), JSON.stringify(here).slice(0, 400))
        await device.sync()
      }
    }
    expect(different).toEqual([])
    expect(await beyond()).toEqual([])
  }
  const findsWhatIsBeyond = async (): Promise<void> => {
    const tables = await server.tables()
    const found = beyondVisibility(viewerWith(["products.view"], ["*"]), tables)
    expect(found.some((cell) => cell.startsWith("opportunities/"))).toBe(true)
    expect(found.some((cell) => cell.startsWith("products/") && !cell.includes("."))).toBe(false)
    expect(beyondVisibility(owner, tables)).toEqual([])
  }
  return { sameAnswers, sameAnswersWithToken, sameVerdicts, findsWhatIsBeyond }
}
