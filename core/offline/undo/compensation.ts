/**
 * How recorded commands are undone by further commands (rules/undo 3). A compensation is a pure function of the command
 * and its changes; it returns requests by endpoint name, or the reason why there are none.
 */
import { currencyColumn, isJsonObject, sameJson } from "../../kernel/index.ts"
import type { Catalogue, Endpoint, Field, Fields, Json, JsonObject } from "../../kernel/index.ts"

/** A row that the command changed, as the device remembers it. */
export interface ChangedRow {
  readonly table: string
  readonly key: number | string
  /** Its columns before; undefined for a row that the command made. */
  readonly before: JsonObject | undefined
  /** The previous columns as in responses: money as text, custom fields by name. */
  readonly shown: JsonObject
  /** The columns that the command set. */
  readonly set: JsonObject
  /** Its columns now; undefined once the row is gone. */
  readonly now: JsonObject | undefined
}
/** A recorded command. */
export interface Done {
  readonly endpoint: Endpoint
  readonly params: { readonly [name: string]: string }
  readonly body: JsonObject
  /** In the order in which the command changed them. */
  readonly rows: ReadonlyArray<ChangedRow>
  /** Name of a row in messages: `order 1042`, `6 × Pointe`, `stock level A-1`. */
  readonly called: (table: string, key: Json | undefined) => string
}

/** The id of a row that an earlier request of the same compensation creates, by the index of that request. */
export type MadeBy = { readonly made_by: number; readonly table: string }
export interface UndoRequest {
  /** The endpoint's name. */
  readonly name: string
  readonly params: { readonly [name: string]: string | number | MadeBy }
  readonly body?: { readonly [field: string]: Json | MadeBy }
  /**
   * Message if the rules refuse it: it and all later requests with `otherwise` are left out, the rest is applied. Empty
   * if a refusal means that an earlier request has already done it: then it alone is left out, silently.
   */
  readonly otherwise?: string
}
/** State that must be unchanged since the command, so that no later change is lost. */
export interface Expected {
  readonly table: string
  readonly key: number | string
  /** A column, or one value of a document in it: `custom_fields.12`. */
  readonly column: string
}
export type Undoing =
  | {
      readonly kind: "requests"
      /** Applied in this order, all or none but those with `otherwise`. Empty: nothing is left to undo. */
      readonly requests: ReadonlyArray<UndoRequest>
      /** The state after undoing, as a sentence. */
      readonly says: string
      readonly expects?: ReadonlyArray<Expected>
      /** Rows that others must not have changed since. */
      readonly untouched?: ReadonlyArray<Pick<ChangedRow, "table" | "key">>
    }
  | { readonly kind: "cannot"; readonly because: string; readonly instead: string }

export type Compensation = (done: Done, catalogue: Catalogue) => Undoing

export const cannot = (because: string, instead: string): Undoing => ({ kind: "cannot", because, instead })
/** Compensation for a kind of command that cannot be undone. */
export const never =
  (because: string, instead: string): Compensation =>
  () =>
    cannot(because, instead)

export const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
export const requests = (
  all: ReadonlyArray<UndoRequest>,
  says: string,
  guards: { readonly expects?: ReadonlyArray<Expected>; readonly untouched?: ReadonlyArray<ChangedRow> } = {}
): Undoing => ({ kind: "requests", requests: all, says: sentence(says), ...guards })

const unknown_before = cannot(
  "How things were before is not remembered on this device",
  "set it by hand as it should be"
)
export const rowsOf = (done: Done, table: string): ReadonlyArray<ChangedRow> =>
  done.rows.filter((row) => row.table === table)
export const madeIn = (done: Done, table: string): ReadonlyArray<ChangedRow> =>
  rowsOf(done, table).filter(({ before }) => before === undefined)
/** The changed row that a path parameter names; undefined if the command did not change it. */
export const rowOfParam = (done: Done, param: string): ChangedRow | undefined => {
  const table = tableOfParam(done.endpoint, param)
  return done.rows.find((row) => row.table === table && String(row.key) === done.params[param])
}
export const tableOfParam = (endpoint: Endpoint, param: string): string | undefined =>
  endpoint.params[param]?.table.name
/** Name of the first parameter's row; empty if the path has no parameters. */
export const subjectOf = (done: Done): string => {
  const [param] = Object.keys(done.endpoint.params)
  const table = param === undefined ? undefined : tableOfParam(done.endpoint, param)
  return table === undefined || param === undefined ? "" : done.called(table, done.params[param])
}

/**
 * Body values that restore fields as shown in answers. `missing`: fields that cannot be restored. Null is sent as an
 * empty text where null would keep the field.
 */
const valuesBefore = (
  fields: Fields,
  shown: JsonObject,
  names: ReadonlyArray<string>,
  columns: JsonObject = shown
): { readonly body: { readonly [field: string]: Json }; readonly missing: ReadonlyArray<string> } => {
  const body: { [field: string]: Json } = {}
  const missing: Array<string> = []
  for (const name of names) {
    const field = fields[name]
    if (field === undefined || field.computed) continue
    // Responses contain lists of rows only if the request includes them.
    if (!(name in shown) || (isRows(field) && !(name in columns))) missing.push(name)
    else if (shown[name] !== null) body[name] = shown[name] ?? null
    else if (field.on_null === "clear") body[name] = null
    else if (field.nullable) body[name] = ""
    else missing.push(name)
  }
  return { body: { ...body, ...currenciesBeside(fields, shown, Object.keys(body)) }, missing }
}
const isRows = ({ type }: Field): boolean => type.kind === "list" && type.of.type.kind === "object"
/** Currency fields, which amounts are read in. */
const currenciesBeside = (fields: Fields, shown: JsonObject, names: ReadonlyArray<string>): JsonObject =>
  Object.fromEntries(
    names.flatMap((name) => {
      const currency = currencyColumn(fields[name])
      const value = currency === undefined ? undefined : shown[currency]
      return currency === undefined || fields[currency] === undefined || value === undefined || value === null
        ? []
        : [[currency, value] as const]
    })
  )

/** Undoes an update by the same update with the earlier values, unless somebody else set them since. */
export const backToBefore: Compensation = (done) => {
  const row = lastOfPath(done)
  if (row?.before === undefined) return unknown_before
  return putBack(done, row, Object.keys(done.body))
}
/** `shown`: values to restore if they differ from those in answers. */
export const putBack = (
  done: Done,
  row: ChangedRow,
  names: ReadonlyArray<string>,
  shown: JsonObject = row.shown
): Undoing => {
  const fields = done.endpoint.fields
  const custom = done.body["custom_fields"]
  const before: JsonObject = isJsonObject(custom)
    ? { ...shown, custom_fields: customBefore(shown["custom_fields"], custom) }
    : shown
  const { body, missing } = valuesBefore(fields, before, names, row.before)
  if (missing.length > 0)
    return cannot(`What ${missing.join(", ").replaceAll("_", " ")} was before cannot be put back`, "set it by hand")
  const changed = Object.keys(body).filter((name) => name in row.set)
  const values = names.filter((name) => name in body && name !== "custom_fields")
  const what = values.map((name) => `${name.replaceAll("_", " ")} ${valueText(before[name])}`).join(", ")
  return requests(
    [{ name: done.endpoint.name, params: done.params, body }],
    `${done.called(row.table, row.key)} is as before${what === "" ? "" : `: ${what}`}`,
    {
      expects: changed
        .flatMap((name) => watchedOf(row, name))
        .map((column) => ({ table: row.table, key: row.key, column }))
    }
  )
}
/** Only the custom fields that the command changed: values sent unchanged may have other authors. */
const customBefore = (shown: Json | undefined, sent: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(sent).flatMap(([key, value]) => {
      const before = (isJsonObject(shown) ? shown[key] : undefined) ?? null
      return sameJson(before, value) ? [] : [[key, before] as const]
    })
  )
/** Columns to watch for a field: of `custom_fields` the values that the command changed, else the field itself. */
export const watchedOf = ({ before, set }: ChangedRow, name: string): ReadonlyArray<string> => {
  const [was, is] = [before?.[name], set[name]]
  if (name !== "custom_fields" || !isJsonObject(is)) return [name]
  const old = isJsonObject(was) ? was : {}
  return [...new Set([...Object.keys(old), ...Object.keys(is)])]
    .filter((key) => !sameJson(old[key] ?? null, is[key] ?? null))
    .map((key) => `${name}.${key}`)
}
const valueText = (value: Json | undefined): string =>
  value === null || value === undefined || value === ""
    ? "empty"
    : typeof value === "object"
      ? JSON.stringify(value)
      : String(value)

/** Deletes a created row by another endpoint with the same parameters plus the row itself. */
export const deleteMade =
  (name: string, word = "deleted again"): Compensation =>
  (done, catalogue) => {
    const endpoint = catalogue.endpoint(name)
    const last = endpoint === undefined ? undefined : Object.keys(endpoint.params).at(-1)
    const table = endpoint === undefined || last === undefined ? undefined : tableOfParam(endpoint, last)
    const [made] = table === undefined ? [] : madeIn(done, table)
    if (endpoint === undefined || last === undefined || made === undefined) return unknown_before
    const params = { ...paramsFor(endpoint, done), [last]: Number(made.key) }
    const of = Object.keys(done.endpoint.params).length === 0 ? "" : `${subjectOf(done)}: `
    return requests([{ name, params }], `${of}${done.called(made.table, made.key)} ${word}`, { untouched: [made] })
  }
const paramsFor = (endpoint: Endpoint, { params }: Done): { readonly [name: string]: string } =>
  Object.fromEntries(Object.entries(params).filter(([name]) => name in endpoint.params))

/** Expects these columns of a row to be as the command set them; columns it did not set are skipped. */
export const asSet = (row: ChangedRow | undefined, ...columns: ReadonlyArray<string>): ReadonlyArray<Expected> =>
  row === undefined
    ? []
    : columns.filter((column) => column in row.set).map((column) => ({ table: row.table, key: row.key, column }))
/** The changed row that the last path parameter names; undefined if the command did not change it. */
const lastOfPath = (done: Done): ChangedRow | undefined => {
  const param = Object.keys(done.endpoint.params).at(-1)
  return param === undefined ? undefined : rowOfParam(done, param)
}
/** The opposite of a command, which takes the same path and no body, while these columns are as it set them. */
export const opposite =
  (name: string, word: string, ...columns: ReadonlyArray<string>): Compensation =>
  (done) =>
    requests([{ name, params: done.params }], `${subjectOf(done)} ${word}`, {
      expects: asSet(lastOfPath(done), ...columns)
    })
/** Deletes a restored row again, unless others have changed it since. */
export const deleteRestored =
  (name: string): Compensation =>
  (done) => {
    const row = lastOfPath(done)
    const untouched = row === undefined ? [] : [row]
    return requests([{ name, params: done.params }], `${subjectOf(done)} deleted again`, { untouched })
  }

/** Creates a permanently deleted row again with its values, under a new id. */
export const makeAgain =
  (name: string): Compensation =>
  (done, catalogue) => {
    const endpoint = catalogue.endpoint(name)
    const row = lastOfPath(done)
    if (endpoint === undefined || row?.before === undefined) return unknown_before
    const with_it = done.rows.filter((one) => one !== row && isLostWith(one, row))
    if (with_it.length > 0)
      return cannot(
        `What belonged to it went with it: ${with_it.map((one) => done.called(one.table, one.key)).join(", ")}`,
        "make it again by hand"
      )
    const body = bodyAgain(endpoint, row)
    const missing = Object.entries(endpoint.fields).filter(([field, one]) => one.required && !(field in body))
    if (missing.length > 0) return cannot("Not all of it is known on this device", "make it again by hand")
    return requests(
      [{ name, params: paramsFor(endpoint, done), body }],
      `${done.called(row.table, row.key)} is made again, under a new id`
    )
  }
/** Whether the row was deleted along with another, or lost its reference to it. */
const isLostWith = ({ before, key, now, set }: ChangedRow, gone: ChangedRow): boolean =>
  before !== undefined &&
  typeof key === "number" &&
  (now === undefined || Object.entries(set).some(([column, value]) => value === null && before[column] === gone.key))
/** Body for creating a row again: all of its fields that had a value. */
export const bodyAgain = (endpoint: Endpoint, row: ChangedRow): { readonly [field: string]: Json } => {
  const fields = endpoint.fields
  const names = Object.keys(fields).filter((name) => (row.shown[name] ?? null) !== null)
  return valuesBefore(fields, row.shown, names, row.before).body
}
