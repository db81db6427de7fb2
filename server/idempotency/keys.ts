/** The key's row from reservation to answer. Each step is one statement that holds on its own, whoever else tries. */
import { Effect } from "effect"
import { insert, remove, update } from "../../core/kernel/row-change.ts"
import type { Failure } from "../../core/kernel/endpoint.ts"
import { isJsonObject, type Json, type JsonObject } from "../../core/kernel/json.ts"
import { bindings } from "../../core/kernel/store/statement.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { instantOf } from "../../core/values/time.ts"
import { idempotency_keys, idempotency_results, type KeyRow } from "./schema.ts"

export const retention_millis = 24 * 3_600_000
/** In flight for longer, a request counts as abandoned: its server is gone. */
export const abandoned_millis = 60_000

/** The key is ours to work under, or somebody has it. */
export type Reserved =
  | { readonly mine: true; readonly attempt: number }
  | { readonly mine: false; readonly row: KeyRow }

export const reserveKey = (id: string, fingerprint: string, now: number): Effect.Effect<Reserved, Failure, Store> =>
  Effect.gen(function* () {
    const store = yield* Store
    const begun_at = instantOf(now),
      expires_at = instantOf(now + retention_millis)
    for (;;) {
      const fresh = bindings(store.dialect)
      const inserted = yield* store.run(
        `insert into idempotency_keys (id, fingerprint, state, attempt, headers, begun_at, expires_at) values (${[
          id,
          fingerprint,
          "in_flight",
          1,
          "{}",
          begun_at,
          expires_at
        ]
          .map(fresh.bind)
          .join(", ")}) on conflict (id) do nothing returning id`,
        fresh.values
      )
      if (inserted.length > 0) return { mine: true, attempt: 1 }
      const row = yield* store.get(idempotency_keys, id)
      // Given back between the two statements.
      if (row === undefined) continue
      const isExpired = row.expires_at <= begun_at
      const isAbandoned =
        row.state === "in_flight" &&
        Date.parse(row.begun_at) <= now - abandoned_millis &&
        row.fingerprint === fingerprint
      if (!isExpired && !isAbandoned) return { mine: false, row }
      const taking = bindings(store.dialect)
      const { bind } = taking
      const attempt = row.attempt + 1
      const taken = yield* store.run(
        `update idempotency_keys set fingerprint = ${bind(fingerprint)}, state = 'in_flight', attempt = ${bind(attempt)}, status = null, body = null, ` +
          `begun_at = ${bind(begun_at)}, expires_at = ${bind(expires_at)} where id = ${bind(id)} and attempt = ${bind(row.attempt)} and state = ${bind(row.state)} returning id`,
        taking.values
      )
      if (taken.length > 0) return { mine: true, attempt }
    }
  })

export interface StoredResult {
  readonly status: number
  readonly body: Json | undefined
  readonly headers: { readonly [name: string]: string }
  /** What the answer is about, if it can be given again. */
  readonly about?: JsonObject | undefined
}
/** Keeps the answer; false when the key was taken over meanwhile. */
export const finishKey = (
  id: string,
  attempt: number,
  { about, body, headers, status }: StoredResult
): Effect.Effect<boolean, Failure, Store> =>
  Effect.gen(function* () {
    const store = yield* Store
    const bound = bindings(store.dialect)
    const { bind } = bound
    const done = yield* store.run(
      `update idempotency_keys set state = 'done', status = ${bind(status)}, body = ${bind(body === undefined ? null : JSON.stringify(body))}, ` +
        `headers = ${bind(JSON.stringify(headers))} where id = ${bind(id)} and attempt = ${bind(attempt)} and state = 'in_flight' returning id`,
      bound.values
    )
    if (done.length === 0) return false
    yield* store.apply([
      remove(idempotency_results, id),
      ...(about === undefined ? [] : [insert(idempotency_results, { id, result: about })])
    ])
    return true
  })
/** What an answer was about; undefined where that was never kept. */
export const resultOf = (id: string): Effect.Effect<JsonObject | undefined, Failure, Store> =>
  Effect.flatMap(Store, (store) => Effect.map(store.get(idempotency_results, id), (row) => row?.result))

/** Nothing happened under the key: it is new again. */
export const releaseKey = (id: string, attempt: number): Effect.Effect<void, Failure, Store> =>
  Effect.gen(function* () {
    const store = yield* Store
    const { bind, values } = bindings(store.dialect)
    yield* store.run(
      `delete from idempotency_keys where id = ${bind(id)} and attempt = ${bind(attempt)} and state = 'in_flight'`,
      values
    )
  })

export const dropExpired = (now: number): Effect.Effect<void, Failure, Store> =>
  Effect.gen(function* () {
    const store = yield* Store
    const { bind, values } = bindings(store.dialect)
    yield* store.run(`delete from idempotency_keys where expires_at <= ${bind(instantOf(now))}`, values)
    yield* store.run("delete from idempotency_results where id not in (select id from idempotency_keys)")
  })

/**
 * Takes out the bodies of stored answers: any of them may show what was just taken out of the journal, and which do cannot be
 * told from them. What was done is answered from its result from now on; of refusals the fields remain.
 */
export const clearAnswers: Effect.Effect<void, Failure, Store> = Effect.gen(function* () {
  const store = yield* Store
  yield* store.run(
    "update idempotency_keys set state = 'cleared', body = null where state = 'done' and body is not null and status < 400"
  )
  const refusals = (yield* store.find(idempotency_keys, { state: "done" })).filter(
    (row) => row.status !== null && row.status >= 400 && row.body !== null
  )
  yield* store.apply(
    refusals.map((row) =>
      update(idempotency_keys, row.id, { body: JSON.stringify(withoutReasons(JSON.parse(row.body!) as Json)) })
    )
  )
})
const reasons_removed =
  "This was refused; why was removed when personal data was erased. Send it under a new key to be told again."
const withoutReasons = (body: Json): Json => ({
  message: reasons_removed,
  ...(isJsonObject(body) && isJsonObject(body["errors"])
    ? { errors: Object.fromEntries(Object.keys(body["errors"]).map((field) => [field, [reasons_removed]])) }
    : {})
})
