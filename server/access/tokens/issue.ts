/** Tokens: events, table and expiry; issues them to devices, and to users authenticated by a mailed code. */
import { Effect, Schema } from "effect"
import { appendEvents, CommandRuntime, eventType, insert, integer, list } from "../../../core/kernel/index.ts"
import { settingNumber, Store, table, text, timestamp, updateWhere } from "../../../core/kernel/index.ts"
import type { AnyEventType, RowChange, RowOf, Settings, Viewer } from "../../../core/kernel/index.ts"
import { hash, randomBytes, timingSafeEqual } from "node:crypto"
import { addColumn, type TableMigration } from "../../../core/kernel/store/table-migration.ts"
import { allocateId } from "../../../core/kernel/runtime/ids.ts"
import type { DeviceTokensShape } from "../../../sync/server/tables.ts"

// Events of tokens. They never contain secrets.

export const tokenIssued = eventType("token.issued", {
  meaning: "A token was issued to a user or one of their devices.",
  data: () =>
    Schema.Struct({
      id: Schema.Int,
      name: Schema.String,
      user_id: Schema.NullOr(Schema.Int),
      abilities: Schema.Array(Schema.String),
      expires_at: Schema.NullOr(Schema.String)
    }),
  project: "changes_no_table"
})
export const tokenChanged = eventType("token.changed", {
  meaning: "A token's name or limits changed: its new values.",
  data: () =>
    Schema.Struct({
      id: Schema.Int,
      user_id: Schema.NullOr(Schema.Int),
      name: Schema.String,
      rate_limit_per_minute: Schema.NullOr(Schema.Int),
      monthly_units: Schema.NullOr(Schema.Int)
    }),
  project: "changes_no_table"
})
export const tokenRevoked = eventType("token.revoked", {
  meaning: "A token was revoked.",
  data: () => Schema.Struct({ id: Schema.Int, user_id: Schema.NullOr(Schema.Int) }),
  project: "changes_no_table"
})

export const tokenEvents: ReadonlyArray<AnyEventType> = [tokenIssued, tokenChanged, tokenRevoked]

// Bearer tokens: on the server alone, with a hash instead of the secret (rules/conventions 11).

export const token_fields = {
  name: text({ required: true }),
  abilities: list(text({ max: 100 }), { required: true, min_items: 1, max_items: 200, distinct: true }),
  user_id: integer({ min: 1, max: Number.MAX_SAFE_INTEGER, describe: "User to issue it to; default: the caller" }),
  expires_at: timestamp({ nullable: true }),
  rate_limit_per_minute: integer({
    nullable: true,
    on_null: "clear",
    min: 1,
    max: 10_000,
    describe: "Requests per minute; default: the setting api.rate_limit"
  }),
  monthly_units: integer({
    nullable: true,
    on_null: "clear",
    min: 0,
    max: 1_000_000_000,
    describe: "Weighted units per UTC calendar month, 0 for no limit; default: the setting api.monthly_units"
  })
}
export const tokens = table(
  "tokens",
  {
    ...token_fields,
    /** SHA-256 of the complete secret, in hex. */
    hash: text({ secret: true, length: 64 }),
    last_used_at: timestamp({ nullable: true, computed: true }),
    /** Set when its user is deactivated, their sessions are ended or its device is revoked; never cleared. */
    revoked_at: timestamp({ nullable: true, hidden: true, computed: true })
  },
  { indexes: [["user_id"]], uniques: [{ columns: ["hash"], field: "name", message: "Try again." }] }
)
/** Adds `monthly_units` to tokens of earlier releases, as null: the setting's limit applies. */
export const tokens_by_month: TableMigration = {
  id: 2,
  name: "monthly_units_of_tokens",
  table: tokens,
  up: addColumn("tokens", "monthly_units", integer({ nullable: true }), "null")
}
export type TokenRow = RowOf<typeof tokens>

export const hashOf = (secret: string): string => hash("sha256", secret, "hex")
export const isSecretOf = (row: { readonly hash: string }, hash: string): boolean =>
  timingSafeEqual(Buffer.from(row.hash, "hex"), Buffer.from(hash, "hex"))

/** A new secret: the token's id and 256 random bits. */
export const secretFor = (id: number): string => `${id}|${randomBytes(32).toString("base64url")}`

/** The change that stores a new token; its event is recorded apart. */
export const insertToken = (
  row: Pick<TokenRow, "id" | "name" | "abilities" | "user_id" | "expires_at">,
  secret: string,
  now: string,
  limits: Pick<TokenRow, "rate_limit_per_minute" | "monthly_units"> = {
    rate_limit_per_minute: null,
    monthly_units: null
  }
): RowChange =>
  insert(tokens, {
    ...row,
    rate_limit_per_minute: limits.rate_limit_per_minute,
    monthly_units: limits.monthly_units,
    hash: hashOf(secret),
    last_used_at: null,
    revoked_at: null,
    created_at: now,
    updated_at: now,
    deleted_at: null
  })

// Tokens issued to devices: each opens no more than the token the device enrolled with, and ends with it.

const recording = Effect.fnUntraced(function* (viewer: Viewer, now: string) {
  return {
    command_id: yield* (yield* CommandRuntime).commandId,
    actor_id: viewer.user_id,
    replica_id: null,
    recorded_at: now
  }
})

export const deviceTokens: DeviceTokensShape = {
  issue: Effect.fnUntraced(function* (name, viewer, now) {
    const issuer = viewer.token_id === null ? undefined : yield* Store.get(tokens, viewer.token_id)
    const id = yield* allocateId("tokens")
    const secret = secretFor(id)
    const row = {
      id,
      name,
      abilities: [...viewer.abilities],
      user_id: viewer.user_id,
      expires_at: issuer?.expires_at ?? null
    }
    yield* Store.apply([insertToken(row, secret, now, issuer)])
    yield* appendEvents([tokenIssued.make(row)], yield* recording(viewer, now))
    return { id: row.id, secret }
  }),
  abilitiesOf: Effect.fnUntraced(function* (token_id, now) {
    const token = yield* Store.get(tokens, token_id)
    return token === undefined || token.revoked_at !== null || (token.expires_at !== null && token.expires_at <= now)
      ? undefined
      : token.abilities
  }),
  // Keeps the row, so that requests with it are refused with the reason.
  end: Effect.fnUntraced(function* (token_id, viewer, now) {
    const token = yield* Store.get(tokens, token_id)
    if (token === undefined || token.revoked_at !== null) return
    yield* Store.apply([updateWhere(tokens, { id: token_id }, { revoked_at: now })])
    yield* appendEvents([tokenRevoked.make({ id: token_id, user_id: token.user_id })], yield* recording(viewer, now))
  })
}

// When a token ends (rules/conventions 11).

/** The earliest of the requested expiry, the settings' limit and the issuing token's expiry. */
export const expiryOf = (
  asked: string | null,
  issuer: TokenRow | undefined,
  settings: Settings,
  now: string
): string | null => {
  const days = settingNumber(settings, "api", "token_expiration_days")
  const at_most = days > 0 ? new Date(Date.parse(now) + days * 86_400_000).toISOString() : null
  return [asked, at_most, issuer?.expires_at ?? null].filter((one) => one !== null).sort()[0] ?? null
}

/** Issues a user a token of all abilities, in the caller's transaction, which must also record `event`. */
export const issueOwnToken = Effect.fnUntraced(function* (
  { name, user_id }: { readonly name: string; readonly user_id: number },
  settings: Settings,
  now: string
) {
  const id = yield* allocateId(tokens.name)
  const secret = secretFor(id)
  const row = { id, name, user_id, abilities: ["*"], expires_at: expiryOf(null, undefined, settings, now) }
  yield* Store.apply([insertToken(row, secret, now)])
  return { id, secret, event: tokenIssued.make(row) }
})
