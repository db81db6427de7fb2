/** A server that may reach this machine, and what tests of webhooks do with it again and again. */
import { Effect } from "effect"
import { expect } from "vitest"
import { Store } from "../../../core/kernel/store/store.ts"
import { nothing_outside } from "../../../server/outside.ts"
import type { Engine } from "../../app.ts"
import { serve, type ServeOptions, type Serving } from "../serving.ts"

export const poll = { timeout: 30_000, interval: 20 }
export const outside = { ...nothing_outside, webhooks_private: true, webhooks_waits_seconds: [1, 1] }

export interface Subscribed {
  readonly id: number
  readonly secret: string
}
export interface House extends Serving {
  readonly subscribed: (events: ReadonlyArray<string>, url: string) => Promise<Subscribed>
  readonly member: (name: string) => Promise<{ readonly id: number; readonly created_at: string }>
  readonly webhook: (id: number) => Promise<any>
  readonly logs: (id: number) => Promise<ReadonlyArray<any>>
  /** Asks, and expects this status. */
  readonly did: (status: number, method: string, path: string, json?: object) => Promise<any>
  readonly sql: (text: string) => Promise<ReadonlyArray<any>>
}

export const houseOf = (server: Serving): House => {
  const did: House["did"] = async (status, method, path, json) => {
    const got = await server.ask(`/api/v1${path}`, { method, ...(json === undefined ? {} : { json }) })
    expect(got.status, got.text).toBe(status)
    return got.body
  }
  return {
    ...server,
    did,
    subscribed: async (events, url) => (await did(201, "POST", "/webhooks", { url, events })).webhook,
    member: async (name) => (await did(201, "POST", "/members", { name, membership_type: "organisation" })).member,
    webhook: async (id) => (await did(200, "GET", `/webhooks/${id}`)).webhook,
    logs: async (id) => (await did(200, "GET", `/webhooks/${id}/logs?per_page=100`)).logs,
    sql: (text) => server.run(Effect.flatMap(Store, (store) => store.run(text)))
  }
}
export const house = async (engine: Engine, options: ServeOptions = {}): Promise<House> =>
  houseOf(await serve(engine, { outside, ...options }))
