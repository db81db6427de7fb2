/** Sends rows in chunks, counts results, and resumes interrupted imports. */
import { memberColumns, organisationsIn } from "../../../../core/imports/member-columns.ts"
import { type Columns, rateColumns, readRows, textCell } from "../../../../core/imports/rows.ts"
import { partsIn, productColumns } from "../../../../core/imports/part-rows.ts"
import { foldCase, json_body_bytes_max, type Json, type JsonObject } from "../../../../core/kernel/index.ts"
import { appendFileSync, existsSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Schedule, Schema } from "effect"
import { repeated } from "../../../../sync/http-client.ts"
import type { QueryResult } from "../../../../sync/device/device.ts"
import { decodeAnswer, decoderOf } from "../../../base/answers.ts"
import type { CommandContext } from "../../../context/context.ts"
import { CliError, exit_codes } from "../../../base/exit-codes.ts"
import { progressOf } from "../../../context/print.ts"
import type { Flags } from "../../../context/program.ts"
import type { readMapping } from "./mapping.ts"
import type { Source, SourceRow } from "./source.ts"

// Kinds of imports: path, columns, and an example file.

const statuses = ["created", "updated", "unchanged", "rejected"] as const
type Status = (typeof statuses)[number]
export interface RowVerdict {
  readonly row: number
  readonly line?: number
  readonly status: Status
  readonly id: number | null
  readonly key: string | null
  readonly errors?: { readonly [field: string]: ReadonlyArray<string> }
  /** Row of the file about the same record; as the server sends it, row of the request. */
  readonly same_as_row?: number
  /** Unknown columns. Servers up to 0.1.0 name them in the warnings only. */
  readonly ignored?: ReadonlyArray<string>
  readonly warnings?: ReadonlyArray<string>
}

/** Names that rows of a dry run may refer to, as earlier rows would have created them. */
interface Promised {
  readonly field: string
  /** Names that an accepted row would create. */
  readonly known: (cells: JsonObject, verdict: RowVerdict) => ReadonlyArray<string>
  /** Names that a row refers to. */
  readonly named: (cells: JsonObject) => ReadonlyArray<string>
}
export interface Kind {
  readonly path: string
  readonly columns: Columns
  readonly promised: ReadonlyArray<Promised>
  /** A small example file that can be imported as it is. */
  readonly example: string
}

const promisedSkus: Promised = {
  field: "promised_skus",
  known: (_cells, { key }) => (key === null ? [] : [key]),
  named: (cells) => partsIn(cells.components ?? null).flatMap((part) => textCell(part, "sku") ?? [])
}
const memberCells = (cells: JsonObject): JsonObject => readRows([cells], memberColumns)[0]?.cells ?? {}
const textsIn = (cells: JsonObject, columns: ReadonlyArray<string>): ReadonlyArray<string> =>
  columns.flatMap((column) => textCell(cells, column) ?? [])
const promisedNumbers: Promised = {
  field: "promised_numbers",
  known: (cells, { status }) =>
    status === "created" ? textsIn(memberCells(cells), ["mapping_id", "account_number"]) : [],
  named: (cells) => organisationsIn(memberCells(cells)) ?? []
}
const promisedNames: Promised = {
  field: "promised_names",
  known: (cells, { status }) => (status === "created" ? textsIn(memberCells(cells), ["name"]).map(foldCase) : []),
  named: (cells) => (organisationsIn(memberCells(cells)) ?? []).map(foldCase)
}

export const kinds: { readonly [kind: string]: Kind | undefined } = {
  products: {
    path: "/api/v1/products/import",
    columns: productColumns,
    promised: [promisedSkus],
    example: `sku,name,group,stock_method,weight (kg),replacement_charge,stock,rate.preset,rate.price,components
PAR-64,PAR 64 floodlight,Lighting / Floodlights,bulk,3.1,45.00,24,daily-rate,4.50,
MH-1,Moving head,Lighting / Moving heads,serialised,21.5,1200.00,MH-1-01; MH-1-02,daily-rate,35.00,
PAR-BAR,Bar of four PAR 64,Lighting / Floodlights,bulk,,,,daily-rate,15.00,PAR-64 x 4
`
  },
  rates: {
    path: "/api/v1/rate_definitions/import",
    columns: rateColumns,
    promised: [],
    example: `engine,name,description
Daily Rate,Daily Rate,
Weekly Rate,Weekly Rate,
`
  },
  members: {
    path: "/api/v1/members/import",
    columns: memberColumns,
    promised: [promisedNumbers, promisedNames],
    example: `number,type,name,organisation,credit_limit,on_stop,street,city,country,email,phone,contact.name,tags
C-100,organisation,Acme Events,,5000.00,no,1 High Street,Leeds,GB,info@acme.example,0113 4960000,Ann Lee,"tv, vip"
V-7,venue,Riverside Hall,,,,Quay 3,Leeds,United Kingdom,,,,
P-31,contact,Sam Okafor,C-100,,,,,,sam@acme.example,+44 7700 900123,,
`
  }
}

export type Counts = { readonly [S in Status]: number }

/** One list to import. */
interface ListImport {
  readonly given: string
  readonly kind: Kind
  readonly source: Source
  readonly mapping: ReturnType<typeof readMapping>
  readonly flags: Flags
  readonly refused_file: string | undefined
  /** Names that rows of earlier lists would create, in a dry run of several lists. */
  readonly promised?: Set<string>
  /** Called with the columns of each row that is not refused. */
  readonly onAccepted?: (cells: JsonObject) => void
}
interface ListImported {
  readonly summary: Counts & { readonly rows: number; readonly dry_run: boolean }
  readonly verdicts: ReadonlyArray<RowVerdict>
}
export type ImportRows = (context: CommandContext, list: ListImport) => Promise<ListImported>

/** Progress of an import, saved after each chunk. Sending a chunk twice does no harm. */
interface ImportProgress {
  readonly rows: number
  readonly counts: Counts
  /** Length of the results file at that point; a resumed import cuts off the rest. */
  readonly verdict_bytes: number
}
const decodeProgress = decoderOf<ImportProgress>(() => {
  const count = Schema.Finite
  return Schema.Struct({
    rows: count,
    counts: Schema.Struct({ created: count, updated: count, unchanged: count, rejected: count }),
    verdict_bytes: count
  })
})
const decodeVerdicts = decoderOf<{ readonly results: ReadonlyArray<RowVerdict> }>(() => {
  const texts = Schema.Array(Schema.String)
  return Schema.Struct({
    results: Schema.Array(
      Schema.Struct({
        row: Schema.Finite,
        status: Schema.Literals(statuses),
        id: Schema.NullOr(Schema.Finite),
        key: Schema.NullOr(Schema.String),
        errors: Schema.optionalKey(Schema.Record(Schema.String, texts)),
        same_as_row: Schema.optionalKey(Schema.Finite),
        ignored: Schema.optionalKey(texts),
        warnings: Schema.optionalKey(texts)
      })
    )
  })
})
interface Resumable {
  readonly at: ImportProgress
  readonly save: (standing: ImportProgress) => void
  readonly finished: () => void
}
const not_begun: ImportProgress = {
  rows: 0,
  counts: { created: 0, updated: 0, unchanged: 0, rejected: 0 },
  verdict_bytes: 0
}

export const resumable = (folder: string, identity: string, restart: boolean): Resumable => {
  const file = join(folder, `${identity}.json`)
  const read = (): ImportProgress => {
    if (restart || !existsSync(file)) return not_begun
    try {
      return decodeProgress(JSON.parse(readFileSync(file, "utf8")))
    } catch {
      return not_begun
    }
  }
  return {
    at: read(),
    save: (standing) => {
      writeFileSync(`${file}.new`, JSON.stringify(standing), { mode: 0o600 })
      renameSync(`${file}.new`, file)
    },
    finished: () => rmSync(file, { force: true })
  }
}

interface SendOptions {
  readonly kind: Kind
  readonly dry_run: boolean
  /** Stores that a dry run treats as existing. */
  readonly promised_stores: ReadonlyArray<string>
  readonly chunk: number
  readonly source: Source
  readonly map: (cells: JsonObject) => JsonObject
  readonly state: Resumable | undefined
  readonly verdicts_file: string | undefined
  readonly onVerdict: (verdict: RowVerdict, row: SourceRow) => void
  readonly promised?: Set<string> | undefined
}
interface SendResult {
  readonly counts: Counts
  readonly warnings: Warnings
}
/** Rows with a warning; without their count for a column, which is named at the first row of each request. */
type Warnings = ReadonlyMap<string, { readonly count: number | undefined; readonly row: number }>

/** Maximum size of a row: a request's, less its fixed parts. */
const row_bytes_max = json_body_bytes_max - 65_536
/** Maximum size of several rows in a request; names that a dry run adds are in these rows, and no longer. */
const rows_bytes_max = 500_000
const bytesOf = (value: Json): number => Buffer.byteLength(JSON.stringify(value))
/** A mapped row, or an error naming the column that makes it too long for a request. */
const measured = (source: SourceRow, cells: JsonObject): Mapped => {
  const bytes = bytesOf(cells)
  if (bytes <= row_bytes_max) return { source, cells, bytes }
  const [[column, longest] = ["row", bytes]] = Object.entries(source.cells)
    .map(([name, value]) => [name, bytesOf(value)] as const)
    .sort(([, one], [, other]) => other - one)
  const broken =
    `This takes ${longest} bytes, the whole row ${bytes}, and no more than ${row_bytes_max} of a row can be sent: ` +
    "shorten it, or leave the cell empty."
  return { source: { ...source, broken, broken_column: column }, cells: {}, bytes: 0 }
}

export const sendRows = async (context: CommandContext, sending: SendOptions): Promise<SendResult> => {
  const { source, state, verdicts_file } = sending
  const counts = { ...(state?.at ?? not_begun).counts }
  const warnings = new Map<string, { count: number | undefined; row: number }>()
  const progress = progressOf(context)
  let done = state?.at.rows ?? 0
  let bytes = state?.at.verdict_bytes ?? 0
  if (verdicts_file !== undefined) {
    // Continues the results file of an interrupted import; a new import starts a new file.
    if (bytes > 0 && existsSync(verdicts_file)) truncateSync(verdicts_file, bytes)
    else {
      writeFileSync(verdicts_file, "")
      bytes = 0
    }
  }
  // A dry run creates nothing, so names that earlier rows would create are sent with rows that refer to them.
  const promised = sending.promised ?? new Set<string>()
  const flush = async (rows: ReadonlyArray<Mapped>): Promise<void> => {
    const found = await judged(context, sending, rows, promised)
    let lines = ""
    for (const [at, verdict] of found.entries()) {
      const row = rows[at]
      if (row === undefined) continue
      if (sending.dry_run && verdict.status !== "rejected")
        for (const { field, known } of sending.kind.promised)
          for (const text of known(row.cells, verdict)) promised.add(`${field} ${text}`)
      counts[verdict.status]++
      for (const [at, text] of (verdict.warnings ?? []).entries()) {
        const { count, row } = warnings.get(text) ?? { count: 0, row: verdict.row }
        const is_column = at < (verdict.ignored?.length ?? 0)
        warnings.set(text, { count: is_column ? undefined : (count ?? 0) + 1, row })
      }
      progress.end()
      sending.onVerdict(verdict, row.source)
      lines += `${JSON.stringify(verdict)}\n`
    }
    if (verdicts_file !== undefined) {
      appendFileSync(verdicts_file, lines)
      bytes += Buffer.byteLength(lines)
    }
    done = rows.at(-1)?.source.row ?? done
    state?.save({ rows: done, counts, verdict_bytes: bytes })
    progress.at(sending.dry_run ? "Checked" : "Imported", done, undefined)
  }
  try {
    let rows: Array<Mapped> = []
    let size = 0
    for await (const row of source.rows()) {
      if (row.row <= (state?.at.rows ?? 0)) continue
      const mapped = measured(row, sending.map(row.cells))
      if (rows.length > 0 && (rows.length >= sending.chunk || size + mapped.bytes > rows_bytes_max)) {
        await flush(rows)
        rows = []
        size = 0
      }
      rows.push(mapped)
      size += mapped.bytes
    }
    if (rows.length > 0) await flush(rows)
  } catch (error) {
    throw sending.dry_run ? error : interrupted(error, done)
  } finally {
    progress.end()
  }
  state?.finished()
  return { counts, warnings }
}

interface Mapped {
  readonly source: SourceRow
  readonly cells: JsonObject
  /** Size of the cells as sent. */
  readonly bytes: number
}

/** Results of rows: from the server, and errors of rows that could not be read. */
const judged = async (
  context: CommandContext,
  { kind, dry_run, promised_stores }: SendOptions,
  rows: ReadonlyArray<Mapped>,
  promised: ReadonlySet<string>
): Promise<ReadonlyArray<RowVerdict>> => {
  const sent = rows.filter(({ source }) => source.broken === undefined)
  const answer =
    sent.length === 0
      ? undefined
      : await patiently(context, () =>
          context.requestAtServer({
            method: "POST",
            path: kind.path,
            body: {
              rows: sent.map(({ cells }): Json => cells),
              dry_run,
              ...(dry_run ? promisedBefore(kind, sent, promised) : {}),
              ...(promised_stores.length === 0 ? {} : { promised_stores })
            }
          })
        )
  if (answer !== undefined && answer.status >= 400)
    throw (await import("../../../base/response-errors.ts")).responseError(answer)
  const results = answer === undefined ? [] : decodeAnswer(decodeVerdicts, answer.body).results
  let next = 0
  return rows.map(({ source }): RowVerdict => {
    const place = { row: source.row, ...(source.line === undefined ? {} : { line: source.line }) }
    if (source.broken !== undefined)
      return {
        ...place,
        status: "rejected",
        id: null,
        key: null,
        errors: { [source.broken_column ?? "row"]: [source.broken] }
      }
    const verdict = results[next++]
    if (verdict === undefined)
      throw new CliError(exit_codes.failed, `The server gave ${results.length} verdicts for ${sent.length} rows.`)
    return { ...verdict, ...place, ...repeatIn(verdict, sent) }
  })
}

/** The error of a row about the same record as an earlier one, which the file counts differently from the request. */
const repeatIn = ({ key, same_as_row }: RowVerdict, sent: ReadonlyArray<Mapped>): Partial<RowVerdict> => {
  const earlier = same_as_row === undefined ? undefined : sent[same_as_row - 1]?.source.row
  return earlier === undefined
    ? {}
    : { same_as_row: earlier, errors: { row: [`Row ${earlier} is already about ${key}.`] } }
}

/** Names of earlier rows that these rows refer to. */
const promisedBefore = (kind: Kind, rows: ReadonlyArray<Mapped>, promised: ReadonlySet<string>): JsonObject =>
  Object.fromEntries(
    kind.promised.flatMap(({ field, named }) => {
      const known = [...new Set(rows.flatMap(({ cells }) => named(cells)))].filter((text) =>
        promised.has(`${field} ${text}`)
      )
      return known.length === 0 ? [] : [[field, known]]
    })
  )

/** Retries after half a second, one and two seconds. */
const back_soon = Schedule.upTo(Schedule.exponential("500 millis"), { times: 3 })
/** Retries a request for a while, as a server may be restarting; sending a chunk again does no harm. */
const patiently = async (context: CommandContext, ask: () => Promise<QueryResult>): Promise<QueryResult> => {
  const attempt = (): Promise<QueryResult | CliError> =>
    ask().catch((error: unknown) => {
      if (!(error instanceof CliError) || error.code !== exit_codes.network || context.offline) throw error
      return error
    })
  const answer = await repeated(attempt, back_soon, (answer) => answer instanceof CliError || answer.status >= 500)
  if (answer instanceof CliError) throw answer
  return answer
}
const interrupted = (error: unknown, done: number): unknown =>
  error instanceof CliError && done > 0
    ? new CliError(error.code, error.message, {
        errors: error.errors,
        cause: error,
        way_out: [
          ...(error.way_out === undefined ? [] : [error.way_out]),
          `The first ${done} rows are in; the same command again leaves them as they are and goes on behind them.`
        ].join(" ")
      })
    : error
