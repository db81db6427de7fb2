/** `import all FOLDER --from SYSTEM`: imports the lists that another rental system exported, open orders included. */
import { createHash } from "node:crypto"
import { existsSync, mkdirSync, readdirSync, statSync } from "node:fs"
import { basename, extname, join, resolve } from "node:path"
import { foldCase, type Json, type JsonObject } from "../../../../core/kernel/index.ts"
import { plainJson } from "../../../base/answers.ts"
import { eachOf } from "../../../context/codes.ts"
import type { CommandContext } from "../../../context/context.ts"
import { usageError } from "../../../base/exit-codes.ts"
import { type Flags, listFlag, textFlag } from "../../../context/program.ts"
import { printTable } from "../../../context/print.ts"
import { type Counts, type ImportRows, kinds, type RowVerdict } from "./send.ts"
import { importOrders } from "./open-orders.ts"
import { cell, headingIn, openList, readableRows, rowsOf, type Source, type SourceRow } from "./source.ts"
import { foreign_systems, type ForeignSystem } from "./foreign-systems.ts"
import { namesText } from "../../../../core/values/text.ts"

type ForeignList = ForeignSystem["lists"][number]
type Known = Parameters<typeof importOrders>[2]["known"]

interface FolderImport {
  readonly system: string
  readonly dry_run: boolean
  readonly flags: Flags
  readonly importRows: ImportRows
}

export const importFolder = async (
  context: CommandContext,
  folder: string,
  folder_import: FolderImport
): Promise<Counts> => {
  const { dry_run, flags } = folder_import
  const system = foreign_systems[folder_import.system]
  if (system === undefined) throw usageError(`--from is one of ${Object.keys(foreign_systems).join(", ")}.`)
  const files = filesIn(folder)
  const of_one_list = [...listFlag(flags, "map"), ...listFlag(flags, "set"), flags.mapFile, flags.verdicts]
  if (of_one_list.some((given) => given !== undefined))
    throw usageError("--map, --map-file, --set and --verdicts are for one list, not with --from.")
  const refused_folder = textFlag(flags, "refused")
  if (refused_folder !== undefined && resolve(refused_folder) === resolve(folder))
    throw usageError("--refused names the folder of the lists, which it would overwrite: name another one.")
  const found = filesOf(system, files)
  const names = files.map((file) => basename(file))
  if (found.lists.length === 0 && found.orders === undefined)
    throw usageError(
      `${folder} holds no list of ${system.label}. Its files: ${namesText(names) || "none"}.`,
      "Name them as that system calls its lists: /guide/import has the names."
    )
  const rows = { products: [], members: [] }
  const known: Known = { customers: new Set(), products: new Set(), stores: new Set(), rows }
  const lists: Array<JsonObject> = []
  const add = (file: string, counts: Counts, verdicts: ReadonlyArray<RowVerdict>): void => {
    const details = context.options.json === true ? { verdicts: plainJson(verdicts) } : {}
    lists.push({ file: basename(file), ...counts, ...details })
  }
  const promised = new Set<string>()
  for (const { file, list } of found.lists) {
    context.note(`${basename(file)}:`)
    const stock_file = list.kind === "products" ? found.stock : undefined
    const ours = await mappedList(system, list, { file, stock_file }, flags)
    const { summary, verdicts } = await importList(context, folder_import, { list, file, ours, known, promised })
    add(file, summary, verdicts)
  }
  if (found.orders !== undefined) {
    context.note(`${basename(found.orders)}:`)
    const orders = { file: found.orders, lines_file: found.lines, flags, dry_run, known }
    const { counts, verdicts } = await importOrders(context, system, orders)
    add(found.orders, counts, verdicts)
  }
  const unread = files.filter((file) => !found.all.has(file)).map((file) => basename(file))
  if (unread.length > 0) context.note(`Not read, as no list of ${system.label} is called so: ${namesText(unread)}.`)
  if (context.options.json === true) context.printJson({ lists, dry_run })
  else printTable(context, "file, created, updated, unchanged, rejected", lists)
  if (dry_run) context.note("Nothing was written. Without --plan the same rows are imported.")
  const total = (status: keyof Counts): number => lists.reduce((sum, list) => sum + Number(list[status]), 0)
  return {
    created: total("created"),
    updated: total("updated"),
    unchanged: total("unchanged"),
    rejected: total("rejected")
  }
}

/** Imports one list, and collects in `known` the names and rows that were not refused. */
const importList = (
  context: CommandContext,
  { flags, importRows }: FolderImport,
  {
    file,
    known,
    list,
    ours: { mapping, notes, source },
    promised
  }: {
    readonly list: ForeignList
    readonly file: string
    readonly ours: MappedList
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
    onAccepted: (cells) => {
      if (list.kind === "members" && cells.type !== "organisation") return
      known.rows[list.kind].push(cells)
      for (const column of columns) if (typeof cells[column] === "string") names.add(cells[column])
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

interface StockRow {
  /** Sku or name of the product, in lower case. */
  readonly product: string
  readonly store: string
  readonly code: string
  readonly quantity: string
}
interface MappedList {
  readonly source: Source
  readonly mapping: Parameters<ImportRows>[1]["mapping"]
  readonly notes: ReadonlyArray<string>
}
interface ListFiles {
  readonly file: string
  readonly stock_file: string | undefined
}

/** A list in the import's columns, words translated; products have their units and each store's quantity in columns. */
const mappedList = async (
  system: ForeignSystem,
  list: ForeignList,
  files: ListFiles,
  flags: Flags
): Promise<MappedList> => {
  const source = await openList(files.file, flags)
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
  const own = `${[system.label, list.ids].filter((word) => word !== undefined).join(" ")} `
  const rows = (await rowsOf(source)).map((row) => ({
    ...row,
    cells: withOwnIds(inOurWords(row.cells, list, sources, preset), sources.get("external_id"), own)
  }))
  const mapping = { sources, constants }
  if (list.kind !== "products") return { source: { ...source, rows: () => eachOf(rows) }, mapping, notes: [] }
  const held = files.stock_file === undefined ? undefined : await openList(files.stock_file, flags)
  const stock = await stockOf(system, sources, {
    ...{ rows, held, headers: source.headers },
    comma_decimals: (held ?? source).comma_decimals
  })
  const products = withStock(rows, sources, stock)
  const added = new Set(products.flatMap(({ cells }) => Object.keys(cells)))
  const headers = [...new Set([...source.headers, ...added])].filter((header) => !stock.consumed.includes(header))
  const hash = createHash("sha256").update(`${source.hash} ${stock.hash}`).digest("hex")
  const keys = new Set(products.map(({ cells }) => keyOf(cells, sources)))
  const isAlone = namesAlone(products, sources)
  const lost = [...new Set(stock.rows.map(({ product }) => product))].filter((one) => !keys.has(one) && !isAlone(one))
  return {
    source: { ...source, headers, hash, rows: () => eachOf(products) },
    mapping,
    notes:
      lost.length === 0
        ? []
        : [`Stock of no product, or of several, in ${basename(files.file)} is left out: ${namesText(lost)}.`]
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
  /** Whether rows of the products' file stand for one unit each. */
  readonly is_by_unit: boolean
  readonly comma_decimals: boolean
  readonly hash: string
}
const stockOf = async (
  { stock }: ForeignSystem,
  sources: Sources,
  {
    comma_decimals,
    headers,
    held,
    rows
  }: {
    readonly comma_decimals: boolean
    readonly rows: ReadonlyArray<SourceRow>
    readonly headers: ReadonlyArray<string>
    readonly held: Awaited<ReturnType<typeof openList>> | undefined
  }
): Promise<Stock> => {
  const used = new Set(sources.values())
  const free = held?.headers ?? headers.filter((header) => !used.has(header))
  const heading = (column: keyof ForeignSystem["stock"]["columns"]) => headingIn(free, stock.columns[column])
  const [product, store, code, quantity] = [heading("product"), heading("store"), heading("code"), heading("quantity")]
  const all = held === undefined ? rows : await readableRows(held, "stock")
  return {
    rows: all.map(({ cells }) => ({
      product: held === undefined ? keyOf(cells, sources) : foldCase(cell(cells, product)),
      store: cell(cells, store),
      code: cell(cells, code),
      quantity: cell(cells, quantity)
    })),
    consumed: held === undefined ? [store, code, quantity] : [],
    is_by_unit: held === undefined && code !== undefined,
    comma_decimals,
    hash: held?.hash ?? ""
  }
}

/** Whether a name is that of one product alone; the stock of other names cannot be assigned. */
const namesAlone = (rows: ReadonlyArray<SourceRow>, sources: Sources): ((name: string) => boolean) => {
  const keys = Map.groupBy(rows, ({ cells }) => nameIn(cells, sources))
  return (name) => new Set(keys.get(name)?.map(({ cells }) => keyOf(cells, sources))).size === 1
}
/** Products with the stock of each store in columns; where rows stand for units, one row for each product. */
const withStock = (
  rows: ReadonlyArray<SourceRow>,
  sources: Sources,
  { comma_decimals, is_by_unit, rows: stock_rows }: Stock
): ReadonlyArray<SourceRow> => {
  const byProduct = Map.groupBy(stock_rows, ({ product }) => product)
  const isAlone = namesAlone(rows, sources)
  const seen = new Set<string>()
  return rows.flatMap((row) => {
    const key = keyOf(row.cells, sources)
    // Further units of a product add no row: the product is in the row of its first unit.
    if (seen.has(key) && is_by_unit && row.broken === undefined) return []
    seen.add(key)
    const name = nameIn(row.cells, sources)
    const names = isAlone(name) ? [key, name] : [key]
    const held = [...new Set(names)].flatMap((one) => byProduct.get(one) ?? [])
    const method = cell(row.cells, sources.get("stock_method"))
    return [{ ...row, cells: { ...row.cells, ...stockCells(held, method, comma_decimals) } }]
  })
}

const preset_column = "rate.preset"
/** The cells with a prefix before the id, as other systems and lists may use the same ids. */
const withOwnIds = (cells: JsonObject, heading: string | undefined, own: string): JsonObject => {
  const id = cell(cells, heading)
  return heading === undefined || id === "" ? cells : { ...cells, [heading]: `${own}${id}` }
}
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
  // Goods for sale get the preset for sales if none is named.
  if (preset !== undefined && is_rented) changed[preset_column] = preset
  return changed
}

/** Quantity in a cell, undefined if it is no number: 1200 for `1,200`, with decimal commas for `1.200`. */
const countIn = (text: string, comma_decimals: boolean): number | undefined => {
  const plain = comma_decimals
    ? text.replace(/\.(?=\d{3}(\D|$))/g, "").replace(",", ".")
    : text.replace(/,(?=\d{3}(\D|$))/g, "")
  return /^\d+(\.\d+)?$/.test(plain) ? Number(plain) : undefined
}
/**
 * Columns `stock.STORE`: codes of units, or a quantity. A unit of quantity 0 is gone; a code beside a quantity above
 * one names no unit, unless the product is serialised. An unreadable quantity is passed on, to be refused.
 */
const stockCells = (rows: ReadonlyArray<StockRow>, method: string, comma_decimals: boolean): JsonObject => {
  const [is_bulk, is_serialised] = [/^bulk/i.test(method), /^serial/i.test(method)]
  const cells: { [column: string]: Json } = {}
  for (const [store, held] of Map.groupBy(rows, (row) => row.store)) {
    const counted = held.map((row) => ({ ...row, count: countIn(row.quantity, comma_decimals) }))
    const isUnit = ({ code, count, quantity }: (typeof counted)[number]): boolean =>
      code !== "" && !is_bulk && count !== 0 && (is_serialised || quantity === "" || count === 1)
    const codes = counted.filter(isUnit).map(({ code }) => code)
    const unreadable = counted.find(({ count, quantity }) => quantity !== "" && count === undefined)
    const known = counted.flatMap(({ count }) => count ?? [])
    const quantity = unreadable?.quantity ?? String(known.reduce((sum, count) => sum + count, 0))
    const value =
      codes.length > 0 ? [...new Set(codes)].join("; ") : unreadable !== undefined || known.length > 0 ? quantity : ""
    if (value !== "") cells[store === "" ? "stock" : `${stock_of}${store}`] = value
  }
  return cells
}
