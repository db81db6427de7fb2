/** `count`: stocktakes by scanner, also offline: start, scan, show, close, cancel (rules/stocktakes). */
import type { Command } from "commander"
import type { Json, JsonObject } from "../../../core/kernel/index.ts"
import { cellsFor, csvRow } from "../../../core/values/csv.ts"
import { type Row, rowIn, rowsIn } from "../../base/answers.ts"
import { CliError, exit_codes, usageError } from "../../base/exit-codes.ts"
import { codesIn, eachOf } from "../../context/codes.ts"
import type { CommandContext } from "../../context/context.ts"
import { idFlag, present, queryOf } from "../../context/pages.ts"
import { notePending, printAnswer, printTable } from "../../context/print.ts"
import { type CommandAction, type Flags, oneOf, textFlag, verb } from "../../context/program.ts"
import { resolveStore } from "../../context/resolve-id.ts"
import { columnsNamed } from "../../output/table.ts"
import { oneLine, styled } from "../../output/text.ts"
import { html, type Markup, pageText, words as typed } from "../../../server/print/markup.ts"
import { checkOutputPath, heading, palette, writeView } from "../../views/frame.ts"

const path = "/api/v1/stocktakes"
type Take = Row<"stocktake">
type Lines = NonNullable<Take["stocktake_lines"]>

/** The named stocktake, or the only open one (of `--store`, if given). */
const takeOf = async (context: CommandContext, named: string | undefined, flags: Flags = {}): Promise<Take> => {
  if (named !== undefined) {
    if (!/^[1-9]\d{0,14}$/.test(named)) throw usageError(`${JSON.stringify(named)} is no id of a stocktake.`)
    return rowIn(await context.read(`${path}/${named}`), "stocktake")
  }
  const query = queryOf({ "q[status_eq]": "open", "q[store_id_eq]": await idFlag(context, flags, "store", "stores") })
  const [only, ...others] = rowsIn(await context.read(path, query), "stocktakes")
  if (only === undefined)
    throw new CliError(exit_codes.not_found, "No stocktake is open.", {
      way_out: "Start one: flightcase count start --store STORE; flightcase stocktakes list has those that are closed."
    })
  if (others.length > 0) {
    const named_ones = [only, ...others].map(({ id, store_name }) => `${id} (${store_name ?? ""})`).join(", ")
    throw new CliError(exit_codes.usage, `Several stocktakes are open: ${named_ones}.`, {
      way_out: "Give the id of the one that is meant (count scan: --count ID)."
    })
  }
  return only
}

const totalsText = (take: Take): string => {
  const { totals } = take
  if (totals === null || totals === undefined) return `Stocktake ${take.id} is ${take.status}.`
  const { counted: _counted, expected, found, ...others } = totals
  const rest = Object.entries(others)
    .filter(([, pieces]) => typeof pieces === "number" && pieces > 0)
    .map(([name, pieces]) => `${pieces} ${words[name] ?? name}`)
  return `${[`${found} found of ${expected} expected`, ...rest].join(", ")}.`
}
const words: { readonly [name: string]: string } = { elsewhere: "of another store", in_case: "in a case" }

const start: CommandAction = async (context, _args, flags) => {
  const store = await resolveStore(context, textFlag(flags, "store"))
  const body = present({
    store_id: store.id,
    product_group_id: await idFlag(context, flags, "group", "product_groups"),
    notes: textFlag(flags, "notes")
  })
  const answer = await context.post(path, body)
  if (context.options.json === true || answer.events !== undefined) return printAnswer(context, answer)
  const take = rowIn(answer.body, "stocktake")
  context.print(`${take.id}\n`)
  context.note(
    oneLine(
      `Stocktake ${take.id} of ${take.store_name ?? `store ${take.store_id}`}` +
        `${take.product_group_name === null ? "" : `, ${take.product_group_name}`} is open. ` +
        "Scan: flightcase count scan"
    )
  )
  notePending(context, answer)
}

const batch_max = 100
/** Batches of lines that are available at once, as from files and pipes; a scanner's arrive one by one. */
async function* batchesOf(codes: ReturnType<typeof codesIn>): AsyncGenerator<ReadonlyArray<string>> {
  const all = eachOf(codes)
  let next = all.next()
  let batch: Array<string> = []
  for (;;) {
    const soon = await Promise.race([next, later()])
    if (soon !== undefined && soon.done !== true) {
      batch.push(soon.value)
      next = all.next()
    }
    if (batch.length > 0 && (soon === undefined || soon.done === true || batch.length >= batch_max)) {
      yield batch
      batch = []
    } else if (soon === undefined) await next
    if (soon?.done === true) return
  }
}
const later = () => new Promise<undefined>((done) => setTimeout(() => done(undefined), 20))

const scan = async (context: CommandContext, codes: ReadonlyArray<string>, flags: Flags): Promise<number> => {
  const take = await takeOf(context, textFlag(flags, "count"), flags)
  const take_back = flags.remove === true
  const results: Array<JsonObject> = []
  let pieces = 0
  let odd = 0
  for await (const some of batchesOf(codesIn({ codes, file: textFlag(flags, "file") }))) {
    const body = { codes: [...some], ...(take_back ? { take_back } : {}) }
    const answer = await context.post(`${path}/${take.id}/scans`, body)
    for (const one of rowsIn(answer.body, "scans")) {
      results.push(one)
      pieces += one.quantity
      const is_odd =
        one.outcome === "not_counted" || (one.status !== null && one.status !== "found" && one.kind !== "bulk")
      if (is_odd) odd++
      printScan(context, one, is_odd)
    }
  }
  if (context.options.json === true) context.printJson({ scans: results, pieces, odd })
  context.note(
    `${pieces} ${take_back ? "taken back" : "counted"}${odd === 0 ? "" : `, ${odd} to look at`}: ` +
      `flightcase count show ${take.id}`
  )
  if (context.options.plan === true) context.note("Planned only: nothing was written.")
  return odd === 0 ? exit_codes.ok : exit_codes.conflict
}
type Scanned = ReturnType<typeof rowsIn<"scans">>[number]
const printScan = (context: CommandContext, one: Scanned, is_odd: boolean): void => {
  const { code, kind, name, note, outcome, quantity, status, way_out } = one
  if (is_odd) context.ring()
  if (context.options.json === true) return
  const what =
    kind === "bulk" ? `${quantity} × ${name ?? ""}` : kind === "case" ? `${name ?? ""} with ${quantity} units` : name
  const text = [is_odd && status !== null ? status : outcome, what ?? "", note ?? (is_odd ? way_out : null) ?? ""]
  const { terminal } = context
  const sign = is_odd ? styled(terminal.colour, "red", "!") : styled(terminal.colour, "green", "✓")
  context.print(
    terminal.is_tty
      ? `${sign} ${oneLine([code, ...text].join("  "))}\n`
      : `${[code, ...text].map(oneLine).join("\t").trimEnd()}\n`
  )
}

const columns = columnsNamed(
  `status, code, name=PRODUCT, location, expected, counted, opportunity_id=ORDER, on_close=CLOSING, way_out=WHAT TO DO`
)
/** Lines that differ, or that closing changes; all lines with --all. */
const shownLines = (lines: Lines, flags: Flags): Lines =>
  flags.all === true
    ? lines
    : lines.filter(
        ({ is_counted, on_close, status }) =>
          on_close !== "nothing" || (status !== "found" && !(status === "out" && !is_counted))
      )

const show: CommandAction = async (context, [named], flags) => {
  const chosen = await takeOf(context, named, flags)
  const take =
    chosen.stocktake_lines === undefined ? rowIn(await context.read(`${path}/${chosen.id}`), "stocktake") : chosen
  const file = textFlag(flags, "html")
  if (file !== undefined) return drawPage(context, take, file)
  const lines = shownLines(take.stocktake_lines ?? [], flags)
  if (flags.csv === true) return printCsv(context, lines)
  if (context.options.json === true) return context.printJson({ stocktake: { ...take, stocktake_lines: lines } })
  if (lines.length > 0) printTable(context, columns, lines)
  context.note(
    oneLine(`Stocktake ${take.id}, ${take.store_name ?? `store ${take.store_id}`}, ${take.status}: ${totalsText(take)}`)
  )
}
const style = `${palette}main { padding: 8px 20px 28px; } table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: 4px 10px 4px 0; border-bottom: 1px solid var(--line); } .n { text-align: right; }
.tick { font-size: 15px; } .sign { margin-top: 40px; }
@media print { @page { size: A4 portrait; margin: 12mm; } tr { break-inside: avoid; } }`
/** Columns of count sheets and protocols. */
const sheet_titles = ["Place", "Code", "Product", "Expected", "Counted"]
const protocol_titles = [...sheet_titles, "Result", "Purchase price"]
const lineOnPage = (line: Lines[number], is_sheet: boolean): Markup => html`<tr>
<td>${typed(line.location ?? "")}</td><td>${typed(line.code)}</td><td>${typed(line.name ?? "")}</td>
<td class="n">${line.expected}</td>${
  is_sheet
    ? html`<td class="tick">☐</td>`
    : html`<td class="n">${line.counted}</td><td>${words[line.status] ?? line.status}</td>
<td class="n">${line.unit_cost ?? ""}</td>`
}</tr>`
const placeOf = (line: Lines[number]): string => `${line.location ?? "~"} ${line.name ?? ""} ${line.code}`

/** Writes a page for paper: the count sheet of an open stocktake, or the protocol of a closed one. */
const drawPage = async (context: CommandContext, take: Take, file: string): Promise<void> => {
  checkOutputPath(context, file)
  const store = await resolveStore(context, String(take.store_id))
  const lines = take.stocktake_lines ?? []
  const is_sheet = take.status === "open"
  const title = `${is_sheet ? "Count sheet" : "Stocktake"} ${take.id}`
  const shown = is_sheet
    ? lines.filter(({ expected }) => expected > 0).toSorted((one, other) => (placeOf(one) < placeOf(other) ? -1 : 1))
    : lines
  const { expected, missing_value } = take.totals ?? {}
  const value = missing_value === undefined ? "" : ` Missing, at purchase prices: ${missing_value}.`
  const scene = { store: store.name, zone: store.zone, now: Date.now(), source: undefined }
  const sums = html`<p>${is_sheet ? `${expected ?? 0} to count.` : `${totalsText(take)}${value}`}</p>`
  const body = html`<body>
${heading(typed(title), take.product_group_name ?? "Everything at the store", scene, sums)}
<main><table>
<thead><tr>${(is_sheet ? sheet_titles : protocol_titles).map((one) => html`<th>${one}</th>`)}</tr></thead>
<tbody>${shown.map((line) => lineOnPage(line, is_sheet))}</tbody>
</table>
<p class="sign">Counted by ____________________ Closed by ____________________</p></main>
</body>`
  await writeView(context, file, pageText({ title, style, body }))
}
const printCsv = (context: CommandContext, lines: Lines): void => {
  const cells = cellsFor(false)
  const titles = Object.keys(lines[0] ?? { status: "", code: "" })
  const rows = lines.map((line: { readonly [key: string]: Json }) => titles.map((title) => cells.of(line[title])))
  context.print([titles, ...rows].map(csvRow).join(""))
}

const close: CommandAction = async (context, [named], flags) => {
  const { id } = await takeOf(context, named, flags)
  const missing_as = textFlag(flags, "missing")
  await context.agree(
    `Close stocktake ${id}, and record what is missing as ${(missing_as ?? "lost").replace("-", " ")}: sure?`,
    flags
  )
  const answer = await context.post(
    `${path}/${id}/close`,
    missing_as === undefined ? {} : { missing_as: missing_as.replace("-", "_") }
  )
  if (context.options.json === true) return printAnswer(context, answer)
  const take = rowIn(answer.body, "stocktake")
  const changed = (take.stocktake_lines ?? []).filter(({ on_close }) => on_close !== "nothing")
  if (changed.length > 0) printTable(context, columns, changed)
  const planned = context.options.plan === true
  context.note(`Stocktake ${id} ${planned ? "would be" : "is"} closed: ${totalsText(take)}`)
  if (planned) return context.note("Planned only: nothing was written.")
  notePending(context, answer)
}

const cancel: CommandAction = async (context, [named], flags) => {
  const { id } = await takeOf(context, named, flags)
  await context.agree(`Cancel stocktake ${id} with all its scans: sure?`, flags)
  const answer = await context.post(`${path}/${id}/cancel`)
  if (context.options.json === true || answer.events !== undefined) return printAnswer(context, answer)
  context.note(`Stocktake ${id} is cancelled: nothing of it is recorded in stock.`)
  notePending(context, answer)
}

export const declare = (program: Command): void => {
  const count = program.command("count").description("Count a store's stock by scanner: start, scan, show, close")
  const open = {
    "[stocktake]": "stocktake id (default: the open one)",
    "--store <store>": "use this store's open stocktake"
  }
  verb(count, "start", {
    about: "Start counting a store, or one product group there",
    "--store <store>": "store, by id or name (default: the default store)",
    "--group <group>": "product group with its subgroups, by id or name",
    "--notes <text>": "notes on the stocktake",
    run: start
  })
  verb(count, "scan", {
    about: "Count units, sealed cases and bulk products (CABLE*7) by code; repeat as needed",
    "[code...]": "codes (default: one a line from standard input)",
    "--file <file>": "read codes from this file",
    "--remove": "remove these scans from the count",
    "--count <id>": "stocktake id (default: the open one)",
    "--store <store>": "use this store's open stocktake",
    run: scan
  })
  verb(count, "show", {
    about: "Show the differences, each with the action to take",
    ...open,
    "--all": "show every line, not only differences",
    "--csv": "print the lines as CSV",
    "--html <file>": "write a page to print: a count sheet or, once closed, the report",
    run: show
  })
  verb(count, "close", {
    about: "Close the count and record missing units, found units and bulk differences",
    ...open,
    "--missing <how>": oneOf("how to record missing units (default: lost)", ["lost", "written-off"]),
    "-y, --yes": "skip the confirmation",
    run: close
  })
  verb(count, "cancel", {
    about: "Cancel the count; stock stays as it is",
    ...open,
    "-y, --yes": "skip the confirmation",
    run: cancel
  })
}
