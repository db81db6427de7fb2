/** `import`: imports lists into a running server, in batches, with a result for each row. */
import { createHash } from "node:crypto"
import { Argument, type Command, Option } from "commander"
import { namedIn } from "../../../../core/imports/rows.ts"
import type { Json } from "../../../../core/kernel/index.ts"
import { plainJson, rowsIn } from "../../../base/answers.ts"
import type { CommandContext } from "../../../context/context.ts"
import { fetched } from "../../../context/writes.ts"
import { withValues } from "../../../output/program.ts"
import { exit_codes, usageError } from "../../../base/exit-codes.ts"
import { homeFolder, privateFolder } from "../../../base/server-choice.ts"
import { recordText } from "../../../output/table.ts"
import { oneLine } from "../../../output/text.ts"
import { type CommandAction, type Flags, listFlag, repeatable, textFlag, verb } from "../../../context/program.ts"
import { type Counts, type ImportRows, type Kind, kinds, resumable, type RowVerdict, sendRows } from "./send.ts"
import { mapperFor, readMapping, refusedRows, writingOf } from "./mapping.ts"
import { foreign_systems } from "./foreign-systems.ts"
import { openSource } from "./source.ts"

const warnings_shown = 20
const chunk_max = 500

export const declare = (program: Command): void => {
  verb(program, "import", {
    about: "Import products, rates or members from CSV or JSON, or an export into an empty server",
    "<kind>": (typed) =>
      withValues(new Argument(typed, "products, rates, members or all"), { words: [...Object.keys(kinds), "all"] }),
    "[file]":
      "CSV with a header row, or JSON; - for standard input; for all: the folder of an export, or with --from of lists",
    "--example": "print a small example file",
    "--dry-run": "check the rows and write nothing; same as --plan",
    "--map <column=Column,…>": repeatable(
      "fill a column from a column of the file, or from a template: name={Manufacturer} {Model}"
    ),
    "--map-file <file>": "read --map from a file: one column=Column per line, or JSON",
    "--set <column=value>": repeatable("fixed value for every row"),
    "--create-stores": "create missing stores named in stock columns",
    "--verdicts <file>": "write each row's verdict as a line of JSON",
    "--refused <file>": "write refused rows with reasons, to correct and import again; with --from, a folder",
    "--raw": "take CSV cells as they are: keep a leading ' before what looks like a formula",
    "--locale <locale>": "locale of numbers and dates, such as de (default: ISO dates, decimal commas if ; delimits)",
    "--delimiter <sign>": "column delimiter, if it is not detected; tab for tabs",
    "--chunk <rows>": (typed) => new Option(typed, `rows per request, at most ${chunk_max}`).default(String(chunk_max)),
    "--restart": "start from the first row, even after an interrupted import",
    "--from <system>": (typed) =>
      withValues(new Option(typed, "for all: the rental system that wrote the folder's lists"), {
        words: Object.keys(foreign_systems)
      }),
    run: runImport
  }).addHelpText(
    "after",
    `
flightcase import products price-list.csv
flightcase import members --example > customers.csv
flightcase import members customers.csv --plan --refused refused.csv
flightcase import all ./export-of-may --url https://new.example --token T
flightcase import all ./lists --from rentman --plan
flightcase import products fixtures.csv --map "name={Manufacturer} {Model},sku=Key,weight=Weight (kg)" --set "group=Lighting"
Columns: /guide/import of the server`
  )
}

const isDry = (context: CommandContext, flags: Flags): boolean => flags.dryRun === true || context.options.plan === true

const runImport: CommandAction = async (context, [given = "", file = ""], flags) => {
  if (given === "all") {
    if (file === "") throw usageError("Which export?", "Name its folder: flightcase import all FOLDER.")
    const system = textFlag(flags, "from")
    if (system !== undefined) {
      const dry_run = isDry(context, flags)
      const { importFolder } = await import("./foreign-lists.ts")
      const counts = await importFolder(context, file, { system, dry_run, flags, importRows })
      if (!dry_run && changed(counts)) await fetched(context)
      return counts.rejected > 0 ? exit_codes.invalid : exit_codes.ok
    }
    return (await import("./import-all.ts")).importAll(context, file, isDry(context, flags))
  }
  if (flags.from !== undefined)
    throw usageError("--from is for all lists of a folder: flightcase import all FOLDER --from …")
  const kind = namedIn(kinds, given)
  if (kind === undefined)
    throw usageError(`${JSON.stringify(given)} cannot be imported: say products, rates, members or all.`)
  if (flags.example === true) {
    context.print(kind.example)
    return exit_codes.ok
  }
  if (file === "") throw usageError("Which file?", `flightcase import ${given} --example shows what it may hold.`)
  return importFile(context, given, kind, file, flags)
}

const importFile = async (
  context: CommandContext,
  given: string,
  kind: Kind,
  file: string,
  flags: Flags
): Promise<number> => {
  const mapping = readMapping(listFlag(flags, "map"), textFlag(flags, "mapFile"), listFlag(flags, "set"))
  const source = await openSource(file, textFlag(flags, "delimiter"), flags.raw === true)
  const { summary, verdicts } = await importRows(context, {
    given,
    kind,
    source,
    mapping,
    flags,
    refused_file: textFlag(flags, "refused")
  })
  if (summary.rows === 0) context.note("The file has no rows, so there was nothing to import.")
  if (context.options.json === true) context.printJson({ import: summary, verdicts: plainJson(verdicts) })
  else context.print(recordText(summary, context.terminal))
  if (!summary.dry_run && changed(summary)) await fetched(context)
  return summary.rejected > 0 ? exit_codes.invalid : exit_codes.ok
}

/** Imports the rows of one list, and reports refused rows and warnings on standard error. */
const importRows: ImportRows = async (context, list) => {
  const { flags, given, kind, mapping, onAccepted, promised, refused_file, source } = list
  const chunk = Number(flags.chunk)
  if (!Number.isInteger(chunk) || chunk < 1 || chunk > chunk_max)
    throw usageError(`--chunk is a number from 1 to ${chunk_max}.`)
  const writing = writingOf(textFlag(flags, "locale"), source.comma_decimals)
  const mapper = mapperFor(mapping, source.headers, kind.columns, writing)
  for (const note of source.notes) context.note(note)
  if (mapper.left_out.length > 0)
    context.note(`Left out, because nothing is mapped from them: ${mapper.left_out.join(", ")}.`)
  const dry_run = isDry(context, flags)
  const columns = [...(source.headers ?? []), ...mapping.sources.keys(), ...mapping.constants.keys()]
  const promised_stores =
    given === "products" ? await prepareStores(context, columns, flags.createStores === true, dry_run) : []
  const told = [
    given,
    source.raw ? "raw" : "",
    writing.locale ?? "",
    source.hash,
    [...mapping.sources],
    [...mapping.constants]
  ]
  const state = dry_run ? undefined : stateOf(context, told, flags.restart === true)
  const verdicts: Array<RowVerdict> = []
  const refused = refusedRows(refused_file, source, (state?.at.rows ?? 0) > 0)
  const { counts, warnings } = await sendRows(context, {
    kind,
    dry_run,
    promised_stores,
    chunk,
    source,
    map: mapper.map,
    state,
    verdicts_file: textFlag(flags, "verdicts"),
    promised,
    onVerdict: (verdict, row) => {
      if (context.options.json === true) verdicts.push(verdict)
      if (verdict.status !== "rejected") return onAccepted?.(mapper.map(row.cells))
      const reasons = reasonsIn(verdict, mapper.headings(row.cells))
      context.note(rejection(verdict, reasons))
      refused?.(row, reasons)
    }
  })
  tellWarnings(context, warnings)
  const rows = counts.created + counts.updated + counts.unchanged + counts.rejected
  return { summary: { rows, ...counts, dry_run }, verdicts }
}
/** Progress of an interrupted import of this file into this server. */
const stateOf = (context: CommandContext, told: Json, restart: boolean): ReturnType<typeof resumable> => {
  const identity = createHash("sha256")
    .update(JSON.stringify([...(Array.isArray(told) ? told : [told]), whereTo(context)]))
    .digest("hex")
    .slice(0, 32)
  const state = resumable(privateFolder(homeFolder(context.env), "imports"), identity, restart)
  if (state.at.rows > 0) context.note(`Going on after row ${state.at.rows}, where this import was interrupted.`)
  return state
}

/**
 * Reports missing stores named by columns such as `stock.Northern Depot` before any row is sent, or creates them with
 * `make`. A dry run with `make` returns their names instead, so that rows may refer to them.
 */
const prepareStores = async (
  context: CommandContext,
  columns: ReadonlyArray<string>,
  make: boolean,
  dry_run: boolean
): Promise<ReadonlyArray<string>> => {
  const named = [...new Set(columns.flatMap((column) => /^stock\.(.+)$/is.exec(column.trim())?.[1]?.trim() ?? []))]
  if (named.length === 0) return []
  const list = await context.requestAtServer({ method: "GET", path: "/api/v1/stores", query: [["per_page", "100"]] })
  if (list.status >= 400) return []
  const known = new Set(rowsIn(list.body, "stores").map(({ name }) => String(name).toLowerCase()))
  const missing = named.filter((name) => !known.has(name.toLowerCase()))
  if (missing.length > 0 && !make)
    context.note(
      `There is no store ${missing.join(", ")} yet, so rows with stock there are refused; --create-stores makes ${missing.length === 1 ? "it" : "them"}.`
    )
  if (make && dry_run) return missing
  for (const name of make ? missing : []) {
    await context.askServer({ method: "POST", path: "/api/v1/stores", body: { name } })
    context.note(
      `Made the store ${name}; give it its time zone: flightcase stores update ${JSON.stringify(name)} --timezone …`
    )
  }
  return []
}
const changed = (counts: Counts): boolean => counts.created + counts.updated > 0

/** URL of the server, as an interrupted import resumes only there. */
const whereTo = (context: CommandContext): string => context.serverChoice().url ?? ""

/** An error text with the file's heading, and with yes and no for true and false. */
const inItsWords = (text: string, heading: string): string =>
  text
    .replace(/^The [a-z0-9 .]+ field /, () => `The ${heading} field `)
    .replace(/ must be true or false\.$/, " must be yes or no.")

/** Errors of a result by heading of the file, found by field or by the field's parent. */
const underHeadings = (
  errors: { readonly [field: string]: ReadonlyArray<string> },
  places: ReadonlyMap<string, string>
): ReadonlyArray<readonly [heading: string, texts: ReadonlyArray<string>]> =>
  Object.entries(errors).map(([field, texts]) => {
    const steps = field.split(".")
    const near = steps.map((_, at) => steps.slice(0, steps.length - at).join("."))
    const heading = near.map((place) => places.get(place)).find((one) => one !== undefined)
    return heading === undefined ? [field, texts] : [heading, texts.map((text) => inItsWords(text, heading))]
  })

const reasonsIn = ({ errors }: RowVerdict, places: ReadonlyMap<string, string>): string =>
  underHeadings(errors ?? {}, places)
    .map(([heading, texts]) => `${heading}: ${texts.join(" ")}`)
    .join("; ")
const rejection = ({ row, line, key }: RowVerdict, reasons: string): string => {
  const where = line === undefined ? `row ${row}` : `row ${row} (line ${line})`
  return oneLine(`✗ ${where}${key === null ? "" : ` ${key}`}: ${reasons}`)
}
const tellWarnings = (context: CommandContext, warnings: Awaited<ReturnType<typeof sendRows>>["warnings"]): void => {
  const sorted = [...warnings].sort(([, { count: a = 1 }], [, { count: b = 1 }]) => b - a)
  for (const [text, { count, row }] of sorted.slice(0, warnings_shown)) {
    const rows = count === undefined ? `from row ${row}` : count === 1 ? `row ${row}` : `${count} rows, first ${row}`
    context.note(oneLine(`! ${text} (${rows})`))
  }
  if (sorted.length > warnings_shown)
    context.note(`! and ${sorted.length - warnings_shown} other warnings; --verdicts FILE keeps them all.`)
}
