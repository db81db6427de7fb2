/** `import all FOLDER --from SYSTEM`: imports the lists that another rental system exported, open orders included. */
import { createHash } from "node:crypto"
import { existsSync, mkdirSync, readdirSync, statSync } from "node:fs"
import { basename, extname, join } from "node:path"
import type { Json, JsonObject } from "../../../../core/kernel/fields/field.ts"
import { foldCase } from "../../../../core/kernel/tables/table.ts"
import { plainJson } from "../../../base/answers.ts"
import type { CommandContext } from "../../../context/context.ts"
import { usageError } from "../../../base/exit-codes.ts"
import { type Flags, textFlag } from "../../../context/program.ts"
import { columnsNamed, tableText } from "../../../output/table.ts"
import { type Counts, type ImportRows, kinds, type RowVerdict } from "./send.ts"
import { writingOf } from "./mapping.ts"
import { firstOf, importOrders, type Known, type TheirOrder } from "./open-orders.ts"
import { openSource, type Source, type SourceRow } from "./source.ts"
import { foreign_systems, type ForeignSystem } from "./systems.ts"

type ForeignList = ForeignSystem["lists"][number]
type StockColumns = ForeignSystem["stock"]["columns"]

interface Moving {
  readonly system: string
  readonly dry_run: boolean
  readonly flags: Flags
  readonly importRows: ImportRows
}

export const importFolder = async (context: CommandContext, folder: string, moving: Moving): Promise<Counts> => {
  const system = foreign_systems[moving.system]
  if (system === undefined) throw usageError(`--from is one of ${Object.keys(foreign_systems).join(", ")}.`)
  const files = filesIn(folder)
  const found = filesOf(system, files)
  const names = files.map((file) => basename(file))
  if (found.lists.length === 0 && found.orders === undefined)
    throw usageError(
      `${folder} holds no list of ${system.label}. Its files: ${firstOf(names) || "none"}.`,
      "Name them as that system calls its lists: /guide/import has the names."
    )
  const known: Known = { customers: new Set(), products: new Set(), stores: new Set() }
  const lists: Array<JsonObject> = []
  const add = (file: string, counts: Counts, verdicts: ReadonlyArray<RowVerdict>): void => {
    const details = context.options.json === true ? { verdicts: plainJson(verdicts) } : {}
    lists.push({ file: basename(file), ...counts, ...details })
  }
  const promised = new Set<string>()
  for (const { file, list } of found.lists) {
    context.note(`${basename(file)}:`)
    const stock_file = list.kind === "products" ? found.stock : undefined
    const ours = await ourList(system, list, { file, stock_file }, moving.flags)
    const { summary, verdicts } = await importList(context, moving, { list, file, ours, known, promised })
    add(file, summary, verdicts)
  }
  if (found.orders !== undefined) {
    context.note(`${basename(found.orders)}:`)
    const orders = await theirOrders(system, found.orders, found.lines, moving.flags)
    const { counts, verdicts } = await importOrders(context, system, { ...orders, dry_run: moving.dry_run, known })
    add(found.orders, counts, verdicts)
  }
  const unread = files.filter((file) => !found.all.has(file)).map((file) => basename(file))
  if (unread.length > 0) context.note(`Not read, as no list of ${system.label} is called so: ${firstOf(unread)}.`)
  if (context.options.json === true) context.printJson({ lists, dry_run: moving.dry_run })
  else context.print(tableText(columnsNamed("file, created, updated, unchanged, rejected"), lists, context.terminal))
  if (moving.dry_run) context.note("Nothing was written. Without --plan the same rows are imported.")
  const total = (status: keyof Counts): number => lists.reduce((sum, list) => sum + Number(list[status]), 0)
  return {
    created: total("created"),
    updated: total("updated"),
    unchanged: total("unchanged"),
    rejected: total("rejected")
  }
}

/** Imports one list, and notes the names that it has or would create. */
const importList = (
  context: CommandContext,
  { flags, importRows }: Moving,
  {
    file,
    known,
    list,
    ours: { mapping, notes, source },
    promised
  }: {
    readonly list: ForeignList
    readonly file: string
    readonly ours: OurList
    readonly known: Known
    readonly promised: Set<string>
  }
): ReturnType<ImportRows> => {
  for (const note of notes) context.note(note)
  if (flags.createStores === true)
    for (const header of source.headers ?? [])
      if (header.startsWith(stock_of)) known.stores.add(foldCase(header.slice(stock_of.length)))
  const refused_folder = textFlag(flags, "refused")
  if (refused_folder !== undefined) mkdirSync(refused_folder, { recursive: true })
  const refused_file = refused_folder === undefined ? undefined : join(refused_folder, basename(file))
  const [names, columns] =
    list.kind === "products" ? [known.products, ["sku", "name"]] : [known.customers, ["name", "number"]]
  return importRows(context, {
    ...{ given: list.kind, kind: kindOf(list), source, mapping, flags, refused_file, promised },
    onTaken: (cells) => {
      for (const column of columns) if (typeof cells[column] === "string") names.add(foldCase(cells[column]))
    }
  })
}

/** Prefix of the columns with a store's stock. */
const stock_of = "stock."
const kindOf = ({ kind }: ForeignList) => {
  const found = kinds[kind]
  if (found === undefined) throw new Error(`There is no import of ${kind}.`)
  return found
}
/** `stock levels` for `stock_levels.csv`. */
const nameOf = (file: string): string => basename(file, extname(file)).replace(/[_-]+/g, " ")
const filesIn = (folder: string): ReadonlyArray<string> => {
  if (folder === "" || !existsSync(folder) || !statSync(folder).isDirectory())
    throw usageError("Which folder?", "Name the folder with the lists: flightcase import all FOLDER --from SYSTEM.")
  return readdirSync(folder)
    .filter((name) => /\.(csv|txt|tsv)$/i.test(name))
    .sort()
    .map((name) => join(folder, name))
}

const filesOf = ({ lists, orders, stock }: ForeignSystem, files: ReadonlyArray<string>) => {
  const called = (pattern: RegExp | undefined) => files.find((file) => pattern?.test(nameOf(file)) === true)
  const found = {
    lists: lists.flatMap((list) =>
      files.filter((file) => list.file.test(nameOf(file))).map((file) => ({ list, file }))
    ),
    stock: called(stock.file),
    orders: called(orders.file),
    lines: called(orders.lines_file)
  }
  const { lines, lists: listed, orders: ordered, stock: held } = found
  return { ...found, all: new Set([...listed.map(({ file }) => file), held, ordered, lines]) }
}

/** The first of these headings that a file has, as it writes it; of a template all headings must be there. */
const headingIn = (headers: ReadonlyArray<string>, candidates: ReadonlyArray<string>): string | undefined => {
  const written = (name: string): string | undefined =>
    headers.find((header) => foldCase(header.trim()) === foldCase(name.trim()))
  for (const candidate of candidates) {
    if (!candidate.includes("{")) {
      const heading = written(candidate)
      if (heading !== undefined) return heading
      continue
    }
    const parts = [...candidate.matchAll(/\{([^{}]+)\}/g)].map(([, name = ""]) => written(name))
    if (parts.every((part) => part !== undefined)) {
      let at = 0
      return candidate.replace(/\{[^{}]+\}/g, () => `{${parts[at++] ?? ""}}`)
    }
  }
  return undefined
}
const cell = (cells: JsonObject, heading: string | undefined): string =>
  heading === undefined || cells[heading] === undefined || cells[heading] === null ? "" : String(cells[heading]).trim()

const open = async (file: string, flags: Flags): Promise<Source & { readonly headers: ReadonlyArray<string> }> => {
  const source = await openSource(file, textFlag(flags, "delimiter"), flags.raw === true)
  if (source.headers === undefined) throw usageError(`${file} is JSON; lists of another system are CSV files.`)
  return { ...source, headers: source.headers }
}
const rowsOf = async (source: Source): Promise<Array<SourceRow>> => {
  const rows: Array<SourceRow> = []
  for await (const row of source.rows()) rows.push(row)
  return rows
}

interface StockRow {
  /** Sku or name of the product, in lower case. */
  readonly product: string
  readonly store: string
  readonly code: string
  readonly quantity: string
}
interface OurList {
  readonly source: Source
  readonly mapping: Parameters<ImportRows>[1]["mapping"]
  readonly notes: ReadonlyArray<string>
}
interface ListFiles {
  readonly file: string
  readonly stock_file: string | undefined
}

/** A list with our mapping: words translated, and of products the units and quantities of each store in columns. */
const ourList = async (system: ForeignSystem, list: ForeignList, files: ListFiles, flags: Flags): Promise<OurList> => {
  const source = await open(files.file, flags)
  const sources = new Map<string, string>()
  for (const [column, candidates] of Object.entries(list.columns)) {
    const heading = headingIn(source.headers, candidates)
    if (heading !== undefined) sources.set(column, heading)
  }
  if (!sources.has("name"))
    throw usageError(
      `${files.file} has no column for the name: ${(list.columns.name ?? []).join(", ")}.`,
      `Import that file alone: flightcase import ${list.kind} ${files.file} --map name=…`
    )
  const constants = new Map(Object.entries(list.otherwise ?? {}).filter(([column]) => !sources.has(column)))
  const preset = constants.get(preset_column)
  constants.delete(preset_column)
  const rows = (await rowsOf(source)).map((row) => ({ ...row, cells: inOurWords(row.cells, list, sources, preset) }))
  const mapping = { sources, constants }
  if (list.kind !== "products") return { source: { ...source, rows: () => stream(rows) }, mapping, notes: [] }
  const held = files.stock_file === undefined ? undefined : await open(files.stock_file, flags)
  const stock = await stockOf(system, sources, { rows, headers: source.headers, held })
  const products = withStock(rows, sources, stock)
  const added = new Set(products.flatMap(({ cells }) => Object.keys(cells)))
  const headers = [...new Set([...source.headers, ...added])].filter((header) => !stock.consumed.includes(header))
  const hash = createHash("sha256").update(`${source.hash} ${stock.hash}`).digest("hex")
  const named = new Set(products.flatMap(({ cells }) => [keyOf(cells, sources), nameIn(cells, sources)]))
  const lost = [...new Set(stock.rows.map(({ product }) => product))].filter((product) => !named.has(product))
  return {
    source: { ...source, headers, hash, rows: () => stream(products) },
    mapping,
    notes:
      lost.length === 0 ? [] : [`The stock names products that are not in ${basename(files.file)}: ${firstOf(lost)}.`]
  }
}

type Sources = ReadonlyMap<string, string>
const nameIn = (cells: JsonObject, sources: Sources): string => foldCase(cell(cells, sources.get("name")))
/** Sku, or else name, of a product. */
const keyOf = (cells: JsonObject, sources: Sources): string =>
  foldCase(cell(cells, sources.get("sku"))) || nameIn(cells, sources)

interface Stock {
  readonly rows: ReadonlyArray<StockRow>
  /** Headings that are read as stock, and not as columns of products. */
  readonly consumed: ReadonlyArray<string | undefined>
  readonly has_own_file: boolean
  readonly hash: string
}
const stockOf = async (
  { stock }: ForeignSystem,
  sources: Sources,
  {
    headers,
    held,
    rows
  }: {
    readonly rows: ReadonlyArray<SourceRow>
    readonly headers: ReadonlyArray<string>
    readonly held: (Source & { readonly headers: ReadonlyArray<string> }) | undefined
  }
): Promise<Stock> => {
  const heading = (column: keyof StockColumns) => headingIn(held?.headers ?? headers, stock.columns[column])
  const [product, store, code, quantity] = [heading("product"), heading("store"), heading("code"), heading("quantity")]
  const all = held === undefined ? rows : await rowsOf(held)
  return {
    rows: all.map(({ cells }) => ({
      product: held === undefined ? keyOf(cells, sources) : foldCase(cell(cells, product)),
      store: cell(cells, store),
      code: cell(cells, code),
      quantity: cell(cells, quantity)
    })),
    consumed: held === undefined ? [store, code, quantity] : [],
    has_own_file: held !== undefined,
    hash: held?.hash ?? ""
  }
}

/** Products with the stock of each store in columns, one row for each product. */
const withStock = (
  rows: ReadonlyArray<SourceRow>,
  sources: Sources,
  { has_own_file, rows: stock_rows }: Stock
): ReadonlyArray<SourceRow> => {
  const byProduct = Map.groupBy(stock_rows, ({ product }) => product)
  const seen = new Set<string>()
  return rows.flatMap((row) => {
    const key = keyOf(row.cells, sources)
    // Without a file of stock, each unit has a row: the product is in the first one.
    if (seen.has(key) && !has_own_file && row.broken === undefined) return []
    seen.add(key)
    const held = [...new Set([key, nameIn(row.cells, sources)])].flatMap((one) => byProduct.get(one) ?? [])
    const method = cell(row.cells, sources.get("stock_method"))
    return [{ ...row, cells: { ...row.cells, ...stockCells(held, method) } }]
  })
}
async function* stream(rows: ReadonlyArray<SourceRow>): AsyncGenerator<SourceRow> {
  yield* rows
}

const preset_column = "rate.preset"
const inOurWords = (
  cells: JsonObject,
  { words = {} }: ForeignList,
  sources: Sources,
  preset: string | undefined
): JsonObject => {
  const changed: { [heading: string]: Json } = { ...cells }
  for (const [column, by_word] of Object.entries(words)) {
    const heading = sources.get(column)
    const ours = heading === undefined ? undefined : by_word[cell(cells, heading).toLowerCase()]
    if (heading !== undefined && ours !== undefined) changed[heading] = ours
  }
  const type = sources.get("product_type")
  const is_rented = type === undefined || !/^sale/i.test(cell(changed, type))
  // Goods for sale get the preset for sales without it.
  if (preset !== undefined && is_rented) changed[preset_column] = preset
  return changed
}

/** 1200 for `1,200` and `1.200`; 0 for other texts. */
const countIn = (text: string): number => Number(text.replace(/[.,](?=\d{3}$)/, "").replace(",", ".")) || 0
/** Columns `stock.STORE`: codes of units, or a quantity; a code beside a quantity above one names no unit. */
const stockCells = (rows: ReadonlyArray<StockRow>, method: string): JsonObject => {
  const is_bulk = /^bulk/i.test(method)
  const cells: { [column: string]: Json } = {}
  for (const [store, held] of Map.groupBy(rows, (row) => row.store)) {
    const codes = is_bulk
      ? []
      : held.filter(({ code, quantity }) => code !== "" && countIn(quantity) <= 1).map(({ code }) => code)
    const quantity = held.reduce((sum, one) => sum + countIn(one.quantity), 0)
    const value =
      codes.length > 0
        ? [...new Set(codes)].join("; ")
        : held.some((one) => one.quantity !== "")
          ? String(quantity)
          : ""
    if (value !== "") cells[store === "" ? "stock" : `${stock_of}${store}`] = value
  }
  return cells
}

/** Orders of a file with their lines: from the file of lines, or from the same rows, one for each line. */
const theirOrders = async (
  { orders: { columns, lines } }: ForeignSystem,
  file: string,
  lines_file: string | undefined,
  flags: Flags
): Promise<{ readonly orders: ReadonlyArray<TheirOrder>; readonly writing: ReturnType<typeof writingOf> }> => {
  const source = await open(file, flags)
  const heading = (column: keyof typeof columns): string | undefined => headingIn(source.headers, columns[column])
  for (const column of ["number", "customer", "starts", "ends"] as const)
    if (heading(column) === undefined) throw usageError(`${file} has no column ${columns[column].join(" or ")}.`)
  const at = Object.fromEntries(Object.keys(columns).map((column) => [column, heading(column as keyof typeof columns)]))
  const held = lines_file === undefined ? source : await open(lines_file, flags)
  const line_at = Object.fromEntries(
    Object.entries(lines).map(([column, names]) => [column, headingIn(held.headers, names)])
  )
  const line_rows = Map.groupBy(await rowsOf(held), ({ cells }) => cell(cells, line_at.number))
  const orders = new Map<string, TheirOrder>()
  for (const { cells, line, row } of await rowsOf(source)) {
    const of = (column: string): string => cell(cells, at[column])
    const number = of("number")
    if (number === "" || orders.has(number)) continue
    orders.set(number, {
      ...{
        row,
        line,
        number,
        subject: of("subject"),
        customer: of("customer"),
        starts: of("starts"),
        ends: of("ends")
      },
      ...{ store: of("store"), status: of("status") },
      lines: (line_rows.get(number) ?? [])
        .map(({ cells }) => ({
          product: cell(cells, line_at.product),
          sku: cell(cells, line_at.sku),
          quantity: cell(cells, line_at.quantity),
          total: cell(cells, line_at.total)
        }))
        .filter(({ product, sku }) => product !== "" || sku !== "")
    })
  }
  return { orders: [...orders.values()], writing: writingOf(textFlag(flags, "locale"), source.comma_decimals) }
}
