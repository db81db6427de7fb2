/**
 * The row of an idempotency key, from its reservation to the stored answer. Each change of it is one statement that is
 * safe on its own, whatever other requests do under the same key.
 */
import { Effect, Schema } from "effect"
import { choice, insert, integer, isJsonObject, json, longText, plainTable } from "../../../core/kernel/index.ts"
import { remove, Store, text, update } from "../../../core/kernel/index.ts"
import type { Failure, Json, JsonObject, RowOf } from "../../../core/kernel/index.ts"
import { instantOf } from "../../../core/values/time.ts"

// Requests under an `Idempotency-Key` and their answers: stored on the server alone, for a day (rules/conventions 9).

export const idempotency_keys = plainTable(
  "idempotency_keys",
  "id",
  {
    /** User id and key: equal keys of two users are different rows. */
    id: text({ max: 300 }),
    /** SHA-256 over method, path, query, body and files. */
    fingerprint: text({ max: 64 }),
    /** `cleared`: done, with the body removed by an erasure, as it may contain the erased data. */
    state: choice({ in_flight: "In flight", done: "Done", cleared: "Cleared" }),
    /** Incremented with every take-over, so that the previous holder cannot finish. */
    attempt: integer(),
    status: integer({ nullable: true }),
    /** JSON text of the answer; null if it had no body, or while in flight or cleared. */
    body: longText({ nullable: true }),
    headers: json<JsonObject>({ default: {} }),
    begun_at: text({ max: 24 }),
    expires_at: text({ max: 24 })
  },
  { entity: "idempotency_key", indexes: [["expires_at"]] }
)
export type KeyRow = RowOf<typeof idempotency_keys>

/** Results of commands, by which an answer is rendered again once an erasure removed its body. */
export const idempotency_results = plainTable(
  "idempotency_results",
  "id",
  { id: text({ max: 300 }), result: json<JsonObject>({ default: {} }) },
  { entity: "idempotency_result" }
)

const retention_millis = 24 * 3_600_000
/** A request in flight for longer counts as abandoned: its server has stopped. */
const abandoned_millis = 60_000

/** `mine`: this request now holds the key; otherwise `row` is that of the request that holds or used it. */
type Reserved = { readonly mine: true; readonly attempt: number } | { readonly mine: false; readonly row: KeyRow }

/**
 * Reserves the key, or answers with the row of the request that has it. Keys that are expired, or abandoned by the same
 * request, are taken over with the next attempt number.
 */
export const reserveKey = (id: string, fingerprint: string, now: number): Effect.Effect<Reserved, Failure, Store> =>
  Effect.gen(function* () {
    const { sql } = yield* Store
    const begun_at = instantOf(now),
      expires_at = instantOf(now + retention_millis)
    for (;;) {
      const inserted = yield* sql`
        insert into idempotency_keys (id, fingerprint, state, attempt, headers, begun_at, expires_at)
        values (${id}, ${fingerprint}, 'in_flight', 1, '{}', ${begun_at}, ${expires_at})
        on conflict (id) do nothing returning id`
      if (inserted.length > 0) return { mine: true, attempt: 1 }
      const row = yield* Store.get(idempotency_keys, id)
      // Another request released it between the two statements.
      if (row === undefined) continue
      const isExpired = row.expires_at <= begun_at
      const isAbandoned =
        row.state === "in_flight" &&
        Date.parse(row.begun_at) <= now - abandoned_millis &&
        row.fingerprint === fingerprint
      if (!isExpired && !isAbandoned) return { mine: false, row }
      const attempt = row.attempt + 1
      const taken = yield* sql`
        update idempotency_keys set fingerprint = ${fingerprint}, state = 'in_flight', attempt = ${attempt},
        status = null, body = null, begun_at = ${begun_at}, expires_at = ${expires_at}
        where id = ${id} and attempt = ${row.attempt} and state = ${row.state} returning id`
      if (taken.length > 0) return { mine: true, attempt }
    }
  })

interface StoredResult {
  readonly status: number
  readonly body: Json | undefined
  readonly headers: { readonly [name: string]: string }
  /** Result of the command; only if the answer can be rendered again from it. */
  readonly about?: JsonObject | undefined
}
let decodeHeaders: ((stored: unknown) => StoredResult["headers"]) | undefined
/** The answer stored in a row; `body` is undefined if it had none. Throws if the row is damaged. */
export const storedAnswer = ({ body, headers, status }: KeyRow): StoredResult => {
  decodeHeaders ??= Schema.decodeUnknownSync(Schema.Record(Schema.String, Schema.String))
  return { status: status ?? 200, body: body === null ? undefined : jsonOf(body), headers: decodeHeaders(headers) }
}
/** Safe cast: `JSON.parse` returns JSON. */
const jsonOf = (text: string): Json => {
  const value: Json = JSON.parse(text)
  return value
}

/** Stores the answer; false if the key was taken over meanwhile. */
export const finishKey = (
  id: string,
  attempt: number,
  { about, body, headers, status }: StoredResult
): Effect.Effect<boolean, Failure, Store> =>
  Effect.gen(function* () {
    const { sql } = yield* Store
    const done = yield* sql`
      update idempotency_keys set state = 'done', status = ${status},
      body = ${body === undefined ? null : JSON.stringify(body)}, headers = ${JSON.stringify(headers)}
      where id = ${id} and attempt = ${attempt} and state = 'in_flight' returning id`
    if (done.length === 0) return false
    yield* Store.apply([
      remove(idempotency_results, id),
      ...(about === undefined ? [] : [insert(idempotency_results, { id, result: about })])
    ])
    return true
  })
/** Removes the reservation of a request that changed nothing: the key is unused again. */
export const releaseKey = (id: string, attempt: number): Effect.Effect<void, Failure, Store> =>
  Effect.gen(function* () {
    const { sql } = yield* Store
    yield* sql`delete from idempotency_keys where id = ${id} and attempt = ${attempt} and state = 'in_flight'`
  })

/** Releases all keys in flight since before `now`. Only for a database without other servers. */
export const releaseAbandoned = Effect.fnUntraced(function* (now: number): Effect.fn.Return<void, Failure, Store> {
  const { sql } = yield* Store
  yield* sql`delete from idempotency_keys where state = 'in_flight' and begun_at < ${instantOf(now)}`
})

type Fingerprints = ReadonlyArray<string>
/** Replaces status and body of a stored answer; does nothing if the key was used for another request meanwhile. */
export const changeAnswer = (
  id: string,
  fingerprints: Fingerprints,
  { body, status }: Pick<StoredResult, "status"> & { readonly body?: Json }
): Effect.Effect<void, Failure, Store> =>
  Effect.gen(function* () {
    const { sql } = yield* Store
    const text = body === undefined ? null : JSON.stringify(body)
    yield* sql`
      update idempotency_keys set status = ${status}, body = ${text} where id = ${id} and state = 'done'
      and fingerprint in ${sql.in(fingerprints)}`
  })
/** Releases the key of a request whose work had no effect. */
export const forgetAnswer = (id: string, fingerprints: Fingerprints): Effect.Effect<void, Failure, Store> =>
  Effect.gen(function* () {
    const { sql } = yield* Store
    yield* sql`
      delete from idempotency_keys where id = ${id} and state = 'done' and fingerprint in ${sql.in(fingerprints)}`
  })

/** Deletes keys whose retention has ended at `now` (milliseconds since 1970), with their results. */
export const dropExpired = Effect.fnUntraced(function* (now: number): Effect.fn.Return<void, Failure, Store> {
  const { sql } = yield* Store
  yield* sql`delete from idempotency_keys where expires_at <= ${instantOf(now)}`
  yield* sql`delete from idempotency_results where id not in (select id from idempotency_keys)`
})

/**
 * Removes the bodies of all stored answers after an erasure: any of them may contain the erased data. Successful
 * answers are rendered again from the command's result on request; of refusals only the names of the fields remain.
 */
export const clearAnswers: Effect.Effect<void, Failure, Store> = Effect.gen(function* () {
  yield* Store.run(
    "update idempotency_keys set state = 'cleared', body = null where state = 'done' and body is not null and status < 400"
  )
  const refusals = (yield* Store.find(idempotency_keys, { state: "done" })).filter(
    (row) => row.status !== null && row.status >= 400 && row.body !== null
  )
  yield* Store.apply(
    refusals.map((row) =>
      update(idempotency_keys, row.id, { body: JSON.stringify(withoutReasons(storedAnswer(row).body)) })
    )
  )
})
const reasons_removed =
  "This was refused; why was removed when personal data was erased. Send it under a new key to be told again."
const withoutReasons = (body: Json | undefined): Json => ({
  message: reasons_removed,
  ...(isJsonObject(body) && isJsonObject(body["errors"])
    ? { errors: Object.fromEntries(Object.keys(body["errors"]).map((field) => [field, [reasons_removed]])) }
    : {})
})
