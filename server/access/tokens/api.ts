/**
 * Tokens over the API. The owner and administrators issue them and change their limits; everybody sees and revokes
 * their own; managers of users see all, and revoke those that may do no more than they. The secret is shown once.
 */
import { Clock, Effect, Result } from "effect"
import { command, created, forbidden, get, hasAbility, hasOnePermission, integer } from "../../../core/kernel/index.ts"
import { invalid, journal, listOf, noContent, notFound, ok, remove, renderById } from "../../../core/kernel/index.ts"
import { resource, Shown, Store, update, updateWhere, viewContext } from "../../../core/kernel/index.ts"
import type { Failure, FieldErrors, Rejection, RowChange, Viewer } from "../../../core/kernel/index.ts"
import { memberAnonymised } from "../../../core/people/personal-data/erase.ts"
import { anonymous_name, userAccessReset, userDeactivated } from "../../../core/people/users/decide.ts"
import { isAdministrator, missingRight, roles } from "../../../core/people/users/permissions.ts"
import { tokensIssuedBy } from "../../../sync/server/devices.ts"
import { monthOf, monthUnits } from "../../http/limit-month.ts"
import { madeWithSecret, withSecret } from "../../ports/secret-box.ts"
import type { ServerSlice } from "../../ports/server-slice.ts"
import { type User, userById } from "../../ports/server-context.ts"
import {
  expiryOf,
  hashOf,
  secretFor,
  token_fields,
  tokenChanged,
  tokenEvents,
  tokenIssued,
  tokenRevoked,
  type TokenRow,
  tokens,
  tokens_by_month
} from "./issue.ts"

export const tokenResource = resource({
  singular: "token",
  table: tokens,
  filters: ["user_id", "expires_at", "last_used_at", "created_at", "updated_at"],
  sorts: ["created_at", "updated_at", "last_used_at", "expires_at"],
  shows: {
    units_this_month: integer({ describe: "Weighted units used or reserved this month (UTC), a few seconds delayed" })
  },
  load: (rows) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) =>
      monthUnits(
        rows.map(({ id }) => id),
        monthOf(now)
      )
    ),
  view: (base, { id }, _found, _context, units) => ({ ...base, units_this_month: units.get(id) ?? 0 })
})

/** A token just issued: the only answer with its secret. */
export const issuedResource = withSecret(
  tokenResource,
  "IssuedToken",
  "Bearer token for the Authorization header; only in this response"
)

const manages_users = "users.edit"
/** Whether this person may see and revoke tokens of others. */
const managesTokens = (viewer: Viewer): boolean => hasOnePermission(viewer, manages_users)

const list = get("/api/v1/tokens", {
  answer: Shown.page(() => tokenResource),
  name: "tokens.list",
  summary: "List your tokens, or everyone's if you manage users",
  ability: "tokens:read",
  permission: null,
  server_only: true,
  run: (input) =>
    listOf(tokenResource, input, {
      where: { revoked_at: null, ...(managesTokens(input.viewer) ? {} : { user_id: input.viewer.user_id }) }
    })
})

const { id: token_id, name, abilities, user_id, expires_at, rate_limit_per_minute, monthly_units } = tokens.columns
const issued_columns = { id: token_id, name, abilities, user_id, expires_at, rate_limit_per_minute, monthly_units }

/** Whether this person may issue tokens and change their limits. */
const administers = (viewer: Viewer) =>
  Effect.map(Store.getMany(roles, viewer.role_ids), (held) => isAdministrator(viewer, held))

interface IssueFacts {
  readonly user: User | undefined
  readonly issuer: TokenRow | undefined
  readonly abilities: ReadonlySet<string>
  readonly is_administrator: boolean
}

/** Issues a token. The journal records its user and abilities, but neither its secret nor the hash. */
const issue = (abilities: () => ReadonlySet<string>) =>
  command("POST", "/api/v1/tokens", {
    answer: { token: Shown.row(() => issuedResource) },
    name: "tokens.create",
    summary: "Issue a token; its secret is only in this response",
    ability: "tokens:write",
    permission: manages_users,
    server_only: true,
    fields: token_fields,
    creates: [tokens],
    streams: () => [],
    facts: ({ values, viewer }): Effect.Effect<IssueFacts, Failure, Store> =>
      Effect.all({
        user: userById(values.user_id ?? viewer.user_id),
        issuer: viewer.token_id === null ? Effect.undefined : Store.get(tokens, viewer.token_id),
        abilities: Effect.sync(abilities),
        is_administrator: administers(viewer)
      }),
    decide: (facts, input, context) => {
      const { values, viewer, settings, now } = input
      const refusal = refusalToIssue(facts, values, viewer, now)
      if (refusal !== undefined) return Result.fail(refusal)
      const id = context.id(tokens)
      const row = {
        id,
        name: values.name,
        abilities: values.abilities,
        user_id: facts.user!.user_id,
        expires_at: expiryOf(values.expires_at ?? null, facts.issuer, settings, now),
        rate_limit_per_minute: values.rate_limit_per_minute ?? null,
        monthly_units: values.monthly_units ?? null
      }
      return Result.succeed({
        events: [
          tokenIssued.make({
            id,
            name: row.name,
            user_id: row.user_id,
            abilities: row.abilities,
            expires_at: row.expires_at
          })
        ],
        result: row
      })
    },
    result: Shown.keys(issued_columns),
    // Within the transaction that records the event.
    respond: (result, input) => {
      const secret = secretFor(result.id)
      const row = { ...result, hash: hashOf(secret), last_used_at: null, revoked_at: null }
      return Effect.map(madeWithSecret(tokenResource, row, secret, input), created)
    }
  })

const refusalToIssue = (
  { user, abilities, is_administrator }: IssueFacts,
  values: { readonly abilities: ReadonlyArray<string>; readonly expires_at?: string | null },
  viewer: Viewer,
  now: string
): Rejection | undefined => {
  if (!is_administrator) return forbidden("Only the owner and administrators issue tokens.")
  const errors: { [field: string]: FieldErrors[string] } = {}
  if (user === undefined) errors["user_id"] = ["The selected user does not exist."]
  values.abilities.forEach((ability, at) => {
    if (ability !== "*" && !abilities.has(ability)) errors[`abilities.${at}`] = [`There is no ability ${ability}.`]
  })
  if (values.expires_at !== undefined && values.expires_at !== null && values.expires_at <= now)
    errors["expires_at"] = ["The time of expiry must lie ahead."]
  if (Object.keys(errors).length > 0) return invalid(errors)
  // A token grants no more than its issuer may do.
  return beyondViewer(viewer, user!, values.abilities)
}

/** 403 if a token of this user with these abilities may do more than the viewer who handles it; else undefined. */
const beyondViewer = (viewer: Viewer, user: User, abilities: ReadonlyArray<string>): Rejection | undefined => {
  const lacked = user.user_id === viewer.user_id ? undefined : missingRight(viewer, user)
  if (lacked !== undefined) return forbidden(`This token's user holds ${lacked}, which you do not have.`)
  const ability = abilities.find((one) => !hasAbility(viewer, one))
  return ability === undefined ? undefined : forbidden(`Your own token lacks the ability ${ability}.`)
}

/** Changeable properties of a token. More abilities or a later expiry need a new token. */
const changed_fields = {
  name: token_fields.name,
  rate_limit_per_minute: token_fields.rate_limit_per_minute,
  monthly_units: token_fields.monthly_units
}
type Changeable = Pick<TokenRow, keyof typeof changed_fields>

const changeOf = (token: TokenRow, values: Partial<Changeable>): { after: Changeable; is_other: boolean } => {
  const {
    name = token.name,
    rate_limit_per_minute = token.rate_limit_per_minute,
    monthly_units = token.monthly_units
  } = values
  const is_other =
    name !== token.name ||
    rate_limit_per_minute !== token.rate_limit_per_minute ||
    monthly_units !== token.monthly_units
  return { after: { name, rate_limit_per_minute, monthly_units }, is_other }
}

const change = command("PATCH", "/api/v1/tokens/{id}", {
  answer: { token: Shown.row(() => tokenResource) },
  name: "tokens.update",
  summary: "Rename a token or change its limits, effective from the next request",
  ability: "tokens:write",
  permission: manages_users,
  server_only: true,
  params: { id: { table: tokens } },
  fields: changed_fields,
  // The rows of tokens that ended with a device or an account stay, so that refusals can say why.
  authorize: ({ rows: { id: token } }) => (token.revoked_at === null ? Effect.void : Effect.fail(notFound())),
  facts: ({ rows, viewer }) => Effect.all({ user: userById(rows.id.user_id), is_administrator: administers(viewer) }),
  decide: ({ is_administrator, user }, { rows: { id: token }, values, viewer }) => {
    if (!is_administrator) return Result.fail(forbidden("Only the owner and administrators change tokens."))
    const refusal = user === undefined ? undefined : beyondViewer(viewer, user, token.abilities)
    if (refusal !== undefined) return Result.fail(refusal)
    const { after, is_other } = changeOf(token, values)
    return Result.succeed({
      events: is_other ? [tokenChanged.make({ id: token.id, user_id: token.user_id, ...after })] : [],
      result: { id: token.id }
    })
  },
  respond: Effect.fnUntraced(function* ({ id }, input) {
    const { after, is_other } = changeOf(input.rows.id, input.values)
    if (is_other) yield* Store.apply([update(tokens, id, { ...after, updated_at: input.now })])
    return ok(yield* renderById(tokenResource, id, input.query, viewContext(input)))
  })
})

const revoke = command("DELETE", "/api/v1/tokens/{id}", {
  name: "tokens.delete",
  summary: "Revoke a token; it stops working at once",
  ability: "tokens:write",
  permission: null,
  server_only: true,
  params: { id: { table: tokens } },
  facts: ({ rows }) => userById(rows.id.user_id),
  decide: (user, { rows: { id: token }, viewer }) => {
    if (token.user_id !== viewer.user_id && !managesTokens(viewer)) {
      return Result.fail(forbidden(`A token of somebody else needs the permission ${manages_users}.`))
    }
    const refusal = user === undefined ? undefined : beyondViewer(viewer, user, token.abilities)
    if (refusal !== undefined) return Result.fail(refusal)
    return Result.succeed({
      events: [tokenRevoked.make({ id: token.id, user_id: token.user_id })],
      result: { id: token.id }
    })
  },
  respond: Effect.fnUntraced(function* (_result, { rows }) {
    // Devices that enrolled with it lose their own tokens as well.
    const issued = yield* tokensIssuedBy(rows.id.id)
    yield* Store.apply([rows.id.id, ...issued].map((id) => remove(tokens, id)))
    return noContent
  })
})

/** `abilities`: all those used by endpoints; available once the catalogue is complete. */
const ends_tokens = new Set([userDeactivated.type, userAccessReset.type, memberAnonymised.type])

export const tokensSlice = (abilities: () => ReadonlySet<string>): ServerSlice => ({
  name: "tokens",
  server_tables: [tokens],
  migrations: [tokens_by_month],
  resources: [tokenResource],
  events: tokenEvents,
  endpoints: [list, issue(abilities), change, revoke],
  // A user's tokens and devices, whose names are personal data; deleted tokens are found in the journal alone.
  streams_of_user: (user_id) =>
    Effect.map(Store.find(journal, { type: tokenIssued.type }, { order: ["position"] }), (issued) =>
      issued.filter(({ data }) => data["user_id"] === user_id).map(({ stream }) => stream)
    ),
  concerns: (events) => Effect.succeed(events.some(({ type }) => ends_tokens.has(type))),
  recorded: Effect.fnUntraced(function* (events) {
    yield* Store.apply(
      events.flatMap(({ data, recorded_at, type }): ReadonlyArray<RowChange> => {
        // Deactivating an account revokes its tokens for good; until it is active again the refusal says why
        // (rules/conventions 11).
        if (type === userDeactivated.type || (type === userAccessReset.type && data["ends_sessions"] === true))
          return [updateWhere(tokens, { user_id: Number(data["id"]), revoked_at: null }, { revoked_at: recorded_at })]
        const erased = type === memberAnonymised.type ? data["user_id"] : null
        return typeof erased === "number"
          ? [updateWhere(tokens, { user_id: erased }, { name: anonymous_name, updated_at: recorded_at })]
          : []
      })
    )
  })
})
