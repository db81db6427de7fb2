/** Requests and expectations that all scenarios share. */
import { expect } from "vitest"
import type { Row } from "../../cli/base/answers.ts"
import type { Complete } from "../answers.ts"
import { type RentalHouse, rentalHouse } from "../rental-house.ts"
import type { Serving } from "../server/serving.ts"
import type { Answering, Look, Reply } from "./playing.ts"

/** Type of the row under a key in the response to a change. */
export type Made<Key extends string> = Complete<Row<Key>>
export interface Calling extends Answering {
  readonly get: (path: string) => Promise<Reply>
  readonly post: (path: string, body?: unknown) => Promise<Reply>
  readonly put: (path: string, body?: unknown) => Promise<Reply>
  readonly patch: (path: string, body?: unknown) => Promise<Reply>
  readonly remove: (path: string) => Promise<Reply>
  /** Creates something; returns the created row by its key. */
  readonly made: <Key extends string>(path: string, body: unknown, key: Key) => Promise<Made<Key>>
  readonly later: (look: Look) => void
}

export const callingOf = (by: Answering, looks: Array<Look>): Calling => {
  const post: Calling["post"] = (path, body = {}) => by.ask("POST", path, body)
  return {
    ...by,
    post,
    get: (path) => by.ask("GET", path),
    put: (path, body) => by.ask("PUT", path, body),
    patch: (path, body) => by.ask("PATCH", path, body),
    remove: (path) => by.ask("DELETE", path),
    made: async (path, body, key) => {
      const reply = await post(path, body)
      expect([200, 201], `${path} ${JSON.stringify(reply.body)}`).toContain(reply.status)
      return reply.body[key]
    },
    later: (look) => void looks.push(look)
  }
}

/** Expects 422 with errors on exactly these fields. */
export const refusedOn = (reply: Reply, ...fields: ReadonlyArray<string>): void =>
  expect([reply.status, Object.keys(reply.body?.errors ?? {})], JSON.stringify(reply.body)).toEqual([422, fields])
/** Totals of a document, whatever its type. */
export const amounts = (document: {
  readonly subtotal: string
  readonly tax_total: string
  readonly total: string
}): ReadonlyArray<string> => [document.subtotal, document.tax_total, document.total]

/** Creates records on a server as its owner. */
export const houseAt = (server: Pick<Serving, "ask">): RentalHouse =>
  rentalHouse((method, path, json) => server.ask(`/api/v1${path}`, { method, ...(json === undefined ? {} : { json }) }))
