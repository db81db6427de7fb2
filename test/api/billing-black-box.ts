/**
 * Fixture of black-box cases: a company with customers, suppliers, goods, people and a movable clock; all over HTTP.
 */
import { spawnSync } from "node:child_process"
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect } from "effect"
import PostalMime, { type Email } from "postal-mime"
import { expect } from "vitest"
import { get } from "../../core/kernel/endpoints/endpoint.ts"
import { text } from "../../core/kernel/fields/field.ts"
import * as Shown from "../../core/kernel/lists/answer-schema.ts"
import { nothing_outside } from "../../server/ports/outside.ts"
import type { Engine } from "../app.ts"
import { rentalHouse } from "../rental-house.ts"
import { pagesOfPdf } from "../server/print/pdf-text.ts"
import { type Got, type Sent, serve, type ServeOptions, type Serving } from "../server/serving.ts"
import { type Delivered, receiver } from "../server/delivery/webhooks/receiver.ts"
import type { Body } from "../answers.ts"

export const now = "2026-06-18T12:00:00.000Z"
export const soon = { timeout: 60_000, interval: 25 }
export const patiently = { timeout: 60_000, interval: 50 }
export const minute = 60_000
export const hour = 60 * minute
export const day = 24 * hour
const public_url = "https://hire.example"
export const hire = { starts_at: "2026-07-01T00:00:00Z", ends_at: "2026-07-05T00:00:00Z" }

export interface Token {
  readonly id: number
  readonly secret: string
  readonly name: string
  readonly user_id: number
}
export interface Person {
  readonly user_id: number
  readonly member_id: number
  readonly email: string
  readonly name: string
  readonly token: Token
}
/** Query string of an object such as `{"q[id_eq]": 1}`. */
export const queryOf = (query: object): string =>
  new URLSearchParams(Object.entries(query).map(([key, value]): [string, string] => [key, String(value)])).toString()

/**
 * Organisations of class Standard pay 20 % on class Standard and 5 % on Reduced; Exempt has no rule. Yen and dinars
 * have an exchange rate; the clock shows `now`; webhooks may reach this machine.
 */
export const openBooks = async (engine: Engine, options: ServeOptions = {}) => {
  const data_folder = await mkdtemp(join(tmpdir(), "flightcase-house-"))
  const server = await serve(engine, {
    data_folder,
    public_url,
    outside: { ...nothing_outside, webhooks_private: true, webhooks_waits_seconds: [1, 1] },
    ...options
  })
  const setClock = (iso: string): void => server.setClock(Date.parse(iso))
  setClock(now)
  let clock = Date.parse(now)
  let count = 0
  const ask = (method: string, path: string, json?: unknown, more: Sent = {}): Promise<Got> =>
    server.ask(`/api/v1${path}`, { ...(json === undefined ? {} : { json }), ...more, method })
  const house = rentalHouse((method, path, body) => ask(method, path, body))
  const post = (path: string, json: unknown = {}): Promise<Got> => ask("POST", path, json)
  const put = (path: string, json: unknown = {}): Promise<Got> => ask("PUT", path, json)
  /** Creates something; returns the created row. */
  const made = <const Path extends string>(path: Path, json: object = {}) => house.create(path, json)
  const get = async (path: string) => (await ask("GET", path)).body
  const good = (path: string) => house.must("GET", path)

  const organisation = await house.named("organisation_tax_classes", "Standard")
  const standard = await house.named("product_tax_classes", "Standard")
  const exempt = await house.named("product_tax_classes", "Exempt")
  const reduced: number = (await made("/product_tax_classes", { name: "Reduced" })).id
  await made("/tax_rules", {
    organisation_tax_class_id: organisation,
    product_tax_class_id: reduced,
    tax_rate_id: await house.named("tax_rates", "Reduced")
  })
  const member = await house.customer({ name: "Payer", sale_tax_class_id: organisation })
  for (const code of ["JPY", "KWD"]) {
    await house.must("PUT", `/currencies/${code}`, { is_enabled: true })
    await made("/exchange_rates", { source_currency_code: "GBP", target_currency_code: code, rate: "2" })
  }
  const product = await house.product({ name: "Stage", tax_class_id: standard })
  /** A supplier whose goods are taxed as class Standard. */
  const supplier = await house.customer({ name: "Big Cranes Ltd", purchase_tax_class_id: organisation })
  const sub_hire_group: number = (await made("/cost_groups", { name: "Lamps hired" })).id
  const purchase_group: number = (await made("/cost_groups", { name: "Lamps bought" })).id
  const groups = { sub_rental_cost_group_id: sub_hire_group, purchase_cost_group_id: purchase_group }
  /** Serialised: 12.50 to sub-hire, 250.00 to buy; 20 % tax. */
  const lamp = await house.product({
    ...{ name: "Lamp", stock_method: 2, sub_rental_price: 1250, purchase_price: 25_000 },
    ...{ tax_class_id: reduced, purchase_tax_class_id: standard, ...groups }
  })
  /** Bulk: 1.25 to sub-hire, 9.99 to buy; 5 % tax. */
  const cable = await house.product({
    ...{ name: "Cable", sub_rental_price: 125, purchase_price: 999 },
    ...{ tax_class_id: standard, purchase_tax_class_id: reduced, ...groups }
  })

  /** Creates a draft invoice; by default one row of 100.00 at 20 % tax. */
  const draft = (more: object = {}) =>
    made("/invoices", { member_id: member, items: [{ name: "Stage", unit_price: "100.00" }], ...more })
  const checkout = (id: number, json: unknown = {}, more: Sent = {}): Promise<Got> =>
    ask("POST", `/opportunities/${id}/invoices`, json, more)
  /** Creates a draft purchase order for the hire; by default one non-product row of 100.00 at 20 % tax. */
  const order = (more: object = {}) =>
    made("/purchase_orders", {
      ...{ supplier_id: supplier, ...hire },
      items: [{ name: "Crane", unit_cost: "100.00", tax_class_id: standard }],
      ...more
    })
  const order_of = async (id: number, include = "items") =>
    (await get(`/purchase_orders/${id}?include=${include}`)).purchase_order
  const sent = async (more?: object) => {
    const { id } = await made(`/purchase_orders/${(await order(more)).id}/send`)
    return order_of(id)
  }
  const receive = (id: number, lines: unknown, more: object = {}, how: Sent = {}): Promise<Got> =>
    ask("POST", `/purchase_orders/${id}/receive`, { lines, ...more }, how)
  /** Creates a token of the owner, by default with ability `*`. */
  const token = async (more: object = {}): Promise<Token> => {
    const it = await made("/tokens", { name: `Till ${++count}`, abilities: ["*"], ...more })
    return { id: it.id, secret: it.secret, name: it.name, user_id: it.user_id }
  }
  /** Creates an active user with only these permissions, and a token, by default with ability `*`. */
  const person = async (
    permissions: ReadonlyArray<string> = [],
    abilities: ReadonlyArray<string> = ["*"]
  ): Promise<Person> => {
    const name = `Somebody ${++count}`
    const email = `somebody${count}@house.example`
    const role = await made("/roles", { name: `Role ${count}`, permissions })
    const user = await made("/users", { name, email, roles: [role.name], active: true, send_invitation: false })
    const own = await token({ user_id: user.id, abilities })
    return { user_id: user.id, member_id: user.member_id, email, name, token: own }
  }
  return {
    ...{ server, data_folder, ask, get, post, put, made, member, organisation, standard, reduced, exempt },
    ...{ supplier, lamp, cable, sub_hire_group, purchase_group, draft, checkout, order, order_of, sent, receive },
    ...{ token, person, setClock },
    remove: (path: string) => ask("DELETE", path),
    issued: async (more: object = {}, when: object = {}) => made(`/invoices/${(await draft(more)).id}/issue`, when),
    shown: async (id: number, include = "items,payments,credit_notes") =>
      (await get(`/invoices/${id}?include=${include}`)).invoice,
    /** Creates an opportunity with sale lines at 20 % tax; sold, so that days do not matter. */
    job: async (lines: ReadonlyArray<object> = [{ unit_price: "100.00" }], more: object = {}) => {
      const { id } = await house.opportunity({
        ...{ member_id: member, starts_at: "2026-07-01T09:00:00Z", ends_at: "2026-07-04T09:00:00Z" },
        ...more
      })
      for (const line of lines)
        await made(`/opportunities/${id}/items`, { name: "A line", item_id: product, transaction_type: 1, ...line })
      return (await get(`/opportunities/${id}?include=items,costs`)).opportunity
    },
    billed: async (id: number, json?: unknown) => {
      const got = await checkout(id, json)
      expect(got.status, got.text).toBe(201)
      return got.body.invoice
    },
    /** Creates a sent purchase order and receives all of it. */
    received: async (more?: object, receipt?: object) => {
      const { id, items } = await sent(more)
      const got = await receive(id, items.map(everything), receipt)
      expect(got.status, got.text).toBe(200)
      return order_of(id)
    },
    /** Creates an organisation, by default untaxed. */
    organisation_of: (more: object = {}) => house.customer(more),
    /** Bearer token of a new user with these permissions and abilities. */
    tokenOf: async (permissions: ReadonlyArray<string>, abilities: ReadonlyArray<string>) =>
      (await person(permissions, abilities)).token.secret,
    /** Bearer token of a new user with this role alone. */
    tokenOfRole: async (role: string): Promise<string> => {
      const email = `${role.replaceAll(" ", "")}@example.com`
      const user = await made("/users", { name: role, email, roles: [role], active: true })
      return (await made("/tokens", { name: role, abilities: ["*"], user_id: user.id })).secret
    },
    /** Sends a request with a token, or without one if null. */
    by: (who: Token | null, method: string, path: string, json?: unknown, more: Sent = {}) =>
      ask(method, path, json, { token: who === null ? null : who.secret, ...more }),
    /** Advances the clock, which then stands still; returns its instant. */
    later: (millis: number) => {
      clock += millis
      server.setClock(clock)
      return clock
    },
    inbox: async (who: Person) => {
      const got = await ask("GET", "/notifications?per_page=100", undefined, { token: who.token.secret })
      expect(got.status, got.text).toBe(200)
      return got.body.notifications
    },
    instant: () => new Date(clock).toISOString(),
    usage: (query: object = {}) => good(`/usage?${queryOf(query)}`),
    /** Rows of the request log. */
    logs: async (query: object = {}) =>
      (await good(`/request_logs?${queryOf({ per_page: 100, ...query })}`)).request_logs,
    /** Mails in the outbox, oldest first; only those to an address if one is given. */
    mails: async (to?: string): Promise<ReadonlyArray<Email>> => {
      const folder = join(data_folder, "outbox")
      const names = await readdir(folder).catch(() => [])
      const files = names.filter((name) => name.endsWith(".eml")).sort()
      const mails = await Promise.all(files.map(async (name) => PostalMime.parse(await readFile(join(folder, name)))))
      return to === undefined
        ? mails
        : mails.filter((mail) => JSON.stringify([mail.to, mail.cc, mail.bcc]).includes(to))
    },
    close: async () => {
      await server.close()
      await rm(data_folder, { recursive: true, force: true })
    }
  }
}
/** Options of a server whose GET /broken always fails with 500. */
export const with_broken: ServeOptions = {
  lenient: true,
  undescribed: () => {},
  slices: [
    {
      name: "broken",
      endpoints: [
        get("/api/v1/broken", {
          ...{ answer: Shown.list(text()), name: "broken.list", summary: "Breaks", ability: null, permission: null },
          run: () => Effect.die(new Error("a fault"))
        })
      ]
    }
  ]
}
export type Books = Awaited<ReturnType<typeof openBooks>>

/** Status of a refusal and the fields it names. */
export const refusal = (got: Got): ReadonlyArray<unknown> => [got.status, ...Object.keys(got.body?.errors ?? {}).sort()]

/** A receipt line for all that is still to come of a row. */
export const everything = (item: Body["purchase_order"]["items"][number]): object => ({
  item_id: item.id,
  quantity: item.outstanding_quantity
})

/** Subscribes to these events; returns the deliveries received. */
export const listening = async (yard: Books, events: ReadonlyArray<string>) => {
  const hook = await receiver()
  await yard.made("/webhooks", { url: hook.url, events })
  const told = (event: string): ReadonlyArray<Delivered> => hook.got.filter((one) => one.body.event === event)
  return {
    told,
    /** Data of the first matching delivery of an event. */
    heard: async (event: string, which: (data: Body) => boolean = () => true) => {
      const found = () => told(event).find((one) => which(one.body.data))
      await expect.poll(() => found() !== undefined, soon).toBe(true)
      return found()!.body
    },
    close: hook.close
  }
}

/** The job once it has ended. */
export const ended = async (yard: Books, job_id: string) => {
  const job = async () => (await yard.get(`/system/jobs/${encodeURIComponent(job_id)}`)).job
  await expect.poll(async () => ["done", "failed"].includes((await job())?.status), soon).toBe(true)
  return job()
}

/** Opens a file by its signed address, without a token. */
export const opened = (server: Serving, url: string, more: Sent = {}): Promise<Got> => {
  const { pathname, search } = new URL(url, public_url)
  return server.ask(pathname + search, { token: null, ...more })
}

/** Text of a PDF, by `pdftotext` if installed. */
export const wordsOf = (bytes: Uint8Array): string => {
  expect(Buffer.from(bytes.subarray(0, 5)).toString("latin1")).toBe("%PDF-")
  const read = spawnSync("pdftotext", ["-layout", "-", "-"], { input: bytes, encoding: "utf8" })
  return read.status === 0 ? read.stdout : pagesOfPdf(bytes).join("\n")
}

export const keyed = (key: string): Sent => ({ headers: { "idempotency-key": key } })
/** Key, requests and units of each usage row. */
export const counts = (usage: Body): ReadonlyArray<readonly [string, number, number]> =>
  usage.usage.map((row) => [row.key, row.request_count, row.weighted_units])
/** Sends the same request a number of times. */
export const times = async <A>(many: number, act: (at: number) => Promise<A>): Promise<ReadonlyArray<A>> => {
  const got: Array<A> = []
  for (let at = 0; at < many; at++) got.push(await act(at))
  return got
}
/** A calendar of two days, which weighs 5 units. */
export const calendar = "/availability/calendar?store_id=1&from=2026-07-01&to=2026-07-02"

/** A request that needs an ability and a permission of an area, with its status where both are held. */
type Guarded = readonly [
  name: string,
  method: string,
  path: () => Promise<string>,
  able: "read" | "write",
  permission: string,
  status: number,
  json?: (path: string) => unknown
]
/**
 * Expects 403 without the permission and without the ability, 401 without a token, and the status with both; returns that
 * response. `area`: all its permissions. `seeing`: permissions of every caller; `besides`: of the one without permission.
 */
export const needsBoth = async (
  { ask, tokenOf }: Pick<Books, "ask" | "tokenOf">,
  [area, names]: readonly [area: string, permissions: ReadonlyArray<string>],
  [, method, at, able, permission, status, json]: Guarded,
  { besides = [], seeing = [] }: { readonly [held in "besides" | "seeing"]?: ReadonlyArray<string> } = {}
): Promise<Got> => {
  const path = await at()
  const body = await json?.(path)
  const held = (those: ReadonlyArray<string>) => [...those.map((name) => `${area}.${name}`), ...seeing]
  const asked = async (permissions: ReadonlyArray<string>, abilities: ReadonlyArray<string>) =>
    ask(method, path, body, { token: await tokenOf(permissions, abilities) })
  const others = names.filter((name) => name !== permission)
  expect((await asked([...held(others), ...besides], ["*"])).status).toBe(403)
  expect((await asked(held(names), [`${area}:${able === "read" ? "write" : "read"}`])).status).toBe(403)
  const done = await asked(held([permission]), [`${area}:${able}`])
  expect(done.status, done.text.slice(0, 300)).toBe(status)
  expect((await ask(method, path, body, { token: null })).status).toBe(401)
  return done
}
