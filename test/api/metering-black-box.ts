/** What black-box cases of metering and notifications begin with: a house with people, tokens and a clock that is moved. */
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import PostalMime, { type Email } from "postal-mime"
import { expect } from "vitest"
import { nothing_outside } from "../../server/outside.ts"
import type { Engine } from "../app.ts"
import type { Got, Sent, ServeOptions } from "../server/serving.ts"
import { type Books, now, openBooks } from "./billing-black-box.ts"
import { public_url } from "./procurement-black-box.ts"

export const patiently = { timeout: 60_000, interval: 50 }
export const minute = 60_000
export const hour = 60 * minute
export const day = 24 * hour

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
export interface House extends Books {
  readonly data_folder: string
  /** A token of the owner's with ability `*`, unless told. */
  readonly token: (more?: object) => Promise<Token>
  /** Somebody active with just these permissions, and a token with ability `*` unless told. */
  readonly person: (permissions?: ReadonlyArray<string>, abilities?: ReadonlyArray<string>) => Promise<Person>
  /** Asks with a token (none: null). */
  readonly by: (token: Token | null, method: string, path: string, json?: unknown, more?: Sent) => Promise<Got>
  /** The clock goes ahead by as much, and stands; the instant it shows. */
  readonly later: (millis: number) => number
  readonly instant: () => string
  /** `usage?` that must succeed. */
  readonly usage: (query?: object) => Promise<any>
  /** Rows of `request_logs?` that must succeed. */
  readonly logs: (query?: object) => Promise<ReadonlyArray<any>>
  /** Mails of the outbox, as they came; to that address alone where one is given. */
  readonly mails: (to?: string) => Promise<ReadonlyArray<Email>>
}

/** `{"q[id_eq]": 1}` as a query. */
export const queryOf = (query: object): string =>
  new URLSearchParams(Object.entries(query).map(([key, value]): [string, string] => [key, String(value)])).toString()

export const openHouse = async (engine: Engine, options: ServeOptions = {}): Promise<House> => {
  const data_folder = await mkdtemp(join(tmpdir(), "flightcase-house-"))
  const books = await openBooks(engine, {
    data_folder,
    public_url,
    outside: { ...nothing_outside, webhooks_private: true, webhooks_waits_seconds: [1, 1] },
    ...options
  })
  let clock = Date.parse(now)
  let count = 0
  const { made, ask } = books
  const good = async (path: string): Promise<any> => {
    const got = await ask("GET", path)
    expect(got.status, `${path} ${got.text}`).toBe(200)
    return got.body
  }
  const token: House["token"] = async (more = {}) => {
    const it = await made("/tokens", { name: `Till ${++count}`, abilities: ["*"], ...more })
    return { id: it.id, secret: it.secret, name: it.name, user_id: it.user_id }
  }
  return {
    ...books,
    data_folder,
    token,
    person: async (permissions = [], abilities = ["*"]) => {
      const name = `Somebody ${++count}`
      const email = `somebody${count}@house.example`
      const role = await made("/roles", { name: `Role ${count}`, permissions })
      const user = await made("/users", { name, email, roles: [role.name], active: true })
      return {
        ...{ user_id: user.id, member_id: user.member_id, email, name },
        token: await token({ user_id: user.id, abilities })
      }
    },
    by: (who, method, path, json, more = {}) =>
      ask(method, path, json, { token: who === null ? null : who.secret, ...more }),
    later: (millis) => {
      clock += millis
      books.setClock(new Date(clock).toISOString())
      return clock
    },
    instant: () => new Date(clock).toISOString(),
    usage: (query = {}) => good(`/usage?${queryOf(query)}`),
    logs: async (query = {}) => (await good(`/request_logs?${queryOf({ per_page: 100, ...query })}`)).request_logs,
    mails: async (to) => {
      const folder = join(data_folder, "outbox")
      const names = await readdir(folder).catch(() => [])
      const files = names.filter((name) => name.endsWith(".eml")).sort()
      const mails = await Promise.all(files.map(async (name) => PostalMime.parse(await readFile(join(folder, name)))))
      return to === undefined
        ? mails
        : mails.filter((mail) => JSON.stringify([mail.to, mail.cc, mail.bcc]).includes(to))
    },
    close: async () => {
      await books.close()
      await rm(data_folder, { recursive: true, force: true })
    }
  }
}

/** The key, requests and units of rows of usage. */
export const counts = (usage: any): ReadonlyArray<readonly [string, number, number]> =>
  usage.usage.map((row: any) => [row.key, row.request_count, row.weighted_units])
/** Asks the same so many times. */
export const times = async <A>(many: number, act: (at: number) => Promise<A>): Promise<ReadonlyArray<A>> => {
  const got: Array<A> = []
  for (let at = 0; at < many; at++) got.push(await act(at))
  return got
}
/** A grid of two days, which weighs 5. */
export const calendar = "/availability/calendar?store_id=1&from=2026-07-01&to=2026-07-02"
