/**
 * Prepares the input of a matched endpoint: 404 for rows of the path, 403, then 422 for the body (rules/conventions 1).
 */
import { Effect } from "effect"
import { CommandRuntime, type Endpoint, type Input, type Params, type Request } from "../endpoints/endpoint-types.ts"
import type { References } from "../events/references.ts"
import { type Fields, isJsonObject, type JsonObject } from "../fields/field.ts"
import { missingReferenceText, readFields, type Reference } from "../fields/input.ts"
import { strictErrors } from "../endpoints/ignored.ts"
import type { FieldErrors, Rejection, Viewer } from "../fields/rejection.ts"
import { forbidden, hasAbility, hasOnePermission, invalid, invalidField, notFound } from "../fields/rejection.ts"
import { baseCurrency } from "../events/settings.ts"
import { type Failure, Store, type StoreRead } from "../store/store.ts"
import { type AnyRow, type Table, wordsOf } from "../tables/table.ts"
import { visibleColumnsOf } from "../tables/visibility.ts"

/** A matched request and its caller. */
export interface EndpointCall {
  readonly endpoint: Endpoint
  readonly params: { readonly [name: string]: string }
  readonly request: Request
  readonly viewer: Viewer
}
/**
 * Checks the caller, not the body: 404 for rows of the path, 403, then 404 for tables hidden from this user. Returns
 * the rows by parameter.
 */
export const authorizeCall = ({
  endpoint,
  params,
  request: { body, query },
  viewer
}: Omit<EndpointCall, "request"> & {
  readonly request: Pick<Request, "query"> & Partial<Pick<Request, "body">>
}): Effect.Effect<Rows, Failure, Store | CommandRuntime> =>
  Effect.flatMapEager(pathRows(endpoint, params), (rows) =>
    Effect.flatMapEager(checkPermission(endpoint, viewer), () => {
      if (endpoint.authorize !== undefined)
        return Effect.as(endpoint.authorize({ rows, query, viewer, sent: body }), rows)
      return endpoint.permission === null
        ? Effect.succeed(rows)
        : Effect.mapEager(checkSight(endpoint, viewer), () => rows)
    })
  )
/**
 * 404 if a path parameter's table is hidden from this user, as their device receives none of its rows. Tables with
 * `by_row` or `by_key` are exempt; endpoints with `authorize` or without a permission are not checked.
 */
const checkSight = (endpoint: Endpoint, viewer: Viewer): Effect.Effect<void, Rejection> => {
  for (const [, { table }] of declaredOf(endpoint)) {
    const { visibility } = table
    if (visibility === undefined || visibility.by_row !== undefined || visibility.by_key !== undefined) continue
    if (visibleColumnsOf(table, viewer) === undefined) return Effect.fail(notFound(noSuch(table)))
  }
  return Effect.void
}

/** The endpoint's input, within the caller's generator; 404, 403 or 422, in this order (rules/conventions 1). */
export const prepare = function* (
  call: EndpointCall,
  runtime: CommandRuntime["Service"],
  now: string,
  happened_at = now
): CommandRuntime.Reads<Input> {
  const { endpoint, params, request, viewer } = call
  const rows = yield* authorizeCall(call)
  if (request.body_fault !== undefined) return yield* request.body_fault
  const settings = yield* runtime.settings
  const given =
    endpoint.kind === "query" && endpoint.method === "GET" ? queryBody(request, endpoint.fields) : (request.body ?? {})
  if (!isJsonObject(given)) return yield* invalidField("body", "The body must be a JSON object.")
  // Money is read in the currency of the changed row, or of its parent.
  const current = Object.values(rows).at(-1)
  const read = readFields(endpoint.fields, given, {
    mode: endpoint.mode,
    base_currency: baseCurrency(settings),
    ...(current === undefined ? {} : { current })
  })
  const faults = { ...strictErrors(endpoint, request), ...endpoint.check?.(read.values, given), ...read.errors }
  const errors =
    read.references.length === 0
      ? faults
      : { ...faults, ...(yield* referenceErrors(runtime.catalogue, endpoint, read.references, faults)) }
  if (Object.keys(errors).length > 0) return yield* invalid(errors)
  return {
    rows,
    params,
    values: read.values,
    body: given,
    query: request.query,
    strict: request.strict === true,
    viewer,
    settings,
    now,
    happened_at,
    composed: runtime.catalogue.composed,
    ...(request.files === undefined ? {} : { files: request.files })
  }
}

/** Rows by parameter of the path. */
type Rows = { readonly [name: string]: AnyRow }
/** Rows of the path's parameters. Without `every`, only the id where `run` finds the row. */
export const pathRows = (
  endpoint: Endpoint,
  params: { readonly [name: string]: string },
  every = false
): StoreRead<Rows> => rowsFrom(declaredOf(endpoint), 0, params, every, {})
type Declared = ReadonlyArray<readonly [name: string, param: Params[string]]>
const declared_params = new WeakMap<Params, Declared>()
/** Parameters of the path in their order, listed once for each endpoint. */
const declaredOf = ({ params }: Endpoint): Declared => {
  let declared = declared_params.get(params)
  if (declared === undefined) declared_params.set(params, (declared = Object.entries<Params[string]>(params)))
  return declared
}
/** Rows of the parameters from `at` on, added to those before. */
const rowsFrom = (
  declared: Declared,
  at: number,
  params: { readonly [name: string]: string },
  every: boolean,
  rows: Rows
): StoreRead<Rows> => {
  const first = declared[at]
  if (first === undefined) return Effect.succeed(rows)
  const [name, { found_by_run, of, table, with_deleted }] = first
  const text = params[name]
  const key = table.columns[table.key]?.type.kind === "text" ? text : rowId(text)
  if (key === undefined) return Effect.fail(notFound(noSuch(table)))
  if (found_by_run === true && !every)
    return rowsFrom(declared, at + 1, params, every, { ...rows, [name]: { id: key } })
  return Effect.flatMap(Store.get(table, key), (row: AnyRow | undefined) => {
    const is_deleted = table.soft_delete && with_deleted !== true && row?.["deleted_at"] !== null
    const is_elsewhere = of !== undefined && row?.[of.column] !== rows[of.param]?.["id"]
    if (row === undefined || is_deleted || is_elsewhere) return Effect.fail(notFound(noSuch(table)))
    return rowsFrom(declared, at + 1, params, every, { ...rows, [name]: row })
  })
}
const noSuch = (table: Table): string => `No such ${wordsOf(table)}.`
/** Parses an id in a path; undefined for anything but a positive integer. */
const rowId = (text: string | undefined): number | undefined =>
  text !== undefined && /^[1-9]\d{0,15}$/.test(text) && Number.isSafeInteger(Number(text)) ? Number(text) : undefined

/** The 403 for deactivated users and their devices. */
export const deactivated_message = "This account has been deactivated."
/** 403 for a deactivated account, a missing permission or a missing ability, in this order. */
export const checkPermission = (endpoint: Endpoint, viewer: Viewer): Effect.Effect<void, Rejection> => {
  if (!viewer.is_active) return Effect.fail(forbidden(deactivated_message))
  const permissions = asList(endpoint.permission)
  if (permissions.length > 0 && !permissions.some((one) => hasOnePermission(viewer, one))) {
    return Effect.fail(forbidden(`This needs the permission ${permissions.join(" or ")}.`))
  }
  const abilities = asList(endpoint.ability)
  if (abilities.length > 0 && !abilities.some((one) => hasAbility(viewer, one))) {
    return Effect.fail(forbidden(`The token lacks the ability ${abilities.join(" or ")}.`))
  }
  return Effect.void
}
const asList = (value: string | ReadonlyArray<string> | null): ReadonlyArray<string> =>
  value === null ? [] : typeof value === "string" ? [value] : value

/**
 * Query parameters as a body. The last value of a plain name counts, and all values of `name[]`. Lists may be separated
 * by commas (`ids=1,2`), repeated (`ids=1&ids=2`) or in brackets (`ids[]=1&ids[]=2`).
 */
const queryBody = (request: Request, fields: Fields): JsonObject => {
  const body: { [name: string]: string | Array<string> } = {}
  const add = (name: string, values: ReadonlyArray<string>): void => {
    const before = body[name]
    body[name] = Array.isArray(before) ? [...before, ...values] : [...values]
  }
  for (const [key, value] of request.query) {
    const bracketed = key.endsWith("]") && !key.startsWith("q[") ? /^(.*)\[\d*\]$/.exec(key)?.[1] : undefined
    if (bracketed !== undefined) add(bracketed, [value])
    else if (!Object.hasOwn(fields, key) || fields[key]?.type.kind !== "list") body[key] = value
    // An empty value means no values, not one empty text.
    else if (value.trim() === "") body[key] ??= value
    else {
      const values = value.split(",").map((one) => one.trim())
      add(key, values)
    }
  }
  return body
}

/** Whether deleting a row of the table checks or changes rows that refer to it. */
const isDeletable = (references: References, table: Table): boolean =>
  (references.get(table.name) ?? []).some(
    ({ rule }) => rule !== undefined && rule.on_delete !== "keep" && rule.on_delete !== "handled"
  )

/** Errors of references, with those that `run` finds only where the request is refused anyway. */
const referenceErrors = function* (
  catalogue: CommandRuntime["Service"]["catalogue"],
  { finds, kind }: Endpoint,
  references: ReadonlyArray<Reference>,
  faults: FieldErrors
): Store.Reads<FieldErrors> {
  const is_command = kind === "command"
  if (finds.length === 0 || Object.keys(faults).length > 0)
    return yield* missingReferences(catalogue, references, is_command)
  const others = references.filter(({ path }) => !finds.includes(path))
  const errors = yield* missingReferences(catalogue, others, is_command)
  return Object.keys(errors).length === 0 ? errors : yield* missingReferences(catalogue, references, is_command)
}
/** Rows with their ids, whole where the command may read them again: SQLite remembers them. */
const rowsThere = (table: Table, ids: ReadonlyArray<number>, is_command: boolean) =>
  Store.use(({ dialect, getMany, pickMany }): StoreRead<ReadonlyArray<AnyRow>> =>
    table.reference || (is_command && dialect === "sqlite")
      ? getMany(table, ids)
      : pickMany(table, table.soft_delete ? ["id", "deleted_at"] : ["id"], ids)
  )
/**
 * 422 for ids in the body without a row; one query per table. `lock`: keeps the rows from being deleted until the
 * command commits.
 */
const missingReferences = function* (
  catalogue: CommandRuntime["Service"]["catalogue"],
  references: ReadonlyArray<Reference>,
  lock: boolean
): Store.Reads<FieldErrors> {
  const errors: { [path: string]: ReadonlyArray<string> } = {}
  for (const [name, wanted] of Map.groupBy(references, (one) => one.table)) {
    const table = catalogue.table(name)
    const ids = wanted.map((one) => one.id)
    const read =
      lock && isDeletable(catalogue.references, table) ? Store.getManyLocked(table, ids) : rowsThere(table, ids, lock)
    const rows = new Map((yield* read).map((row: AnyRow) => [row["id"], row]))
    for (const one of wanted) {
      const row = rows.get(one.id)
      if (row === undefined || (one.live && table.soft_delete && row["deleted_at"] !== null))
        errors[one.path] = [missingReferenceText(one.path)]
    }
  }
  return errors
}
