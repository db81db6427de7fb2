/** A rental company on a server: requests with the expected status, and its rows. */
import { Effect } from "effect"
import { expect } from "vitest"
import { Store } from "../../core/kernel/store/store.ts"
import { rentalHouse } from "../rental-house.ts"
import type { Serving } from "./serving.ts"

export const poll = { timeout: 30_000, interval: 20 }

export const houseOn = <S extends Serving>(server: S) => {
  /** Paths are relative to /api/v1: `/stores`. Sent as the owner, unless another user's token is given. */
  const asks = (method: string, path: string, json?: unknown, token?: string | null) =>
    server.ask(`/api/v1${path}`, { method, json, ...(token === undefined ? {} : { token }) })
  return {
    ...rentalHouse((method, path, json) => asks(method, path, json)),
    ...server,
    asks,
    /** Sends a request and expects this status. */
    did: async (status: number, method: string, path: string, json?: object, token?: string | null) => {
      const got = await asks(method, path, json, token)
      expect(got.status, `${method} ${path}: ${got.text}`).toBe(status)
      return got.body
    },
    sql: (text: string) => server.run(Effect.flatMap(Store, (store) => store.run<any>(text)))
  }
}
