/** Finds what to label, with a code that scans as exactly that, and writes ZPL (rules/availability 8.7). */
import { Effect } from "effect"
import { hasOnePermission, invalid, invalidField, Store, type Input, type Viewer } from "../../kernel/index.ts"
import { containers, type ContainerRow, live_statuses } from "../../products/packing.ts"
import { type ProductRow, products, serialised } from "../../products/products/schema.ts"
import { stock_levels, type StockLevelRow } from "../../products/stock/schema.ts"
import type { label_fields, LabelShown, SymbolKind } from "./schema.ts"
import { lookUpAll } from "../scanning/codes.ts"
import { containerCode, readCode, unitCode } from "../scanning/read-code.ts"

type Asked = Input<{}, typeof label_fields>
interface Labels {
  readonly labels: ReadonlyArray<LabelShown>
  readonly meta: { readonly total: number; readonly per_page: number; readonly page: number }
}

/** Reads the requested labels. 422 on `codes` if nothing is named, and on each code that names nothing. */
export const loadLabels = Effect.fnUntraced(function* (input: Pick<Asked, "values" | "viewer">): Store.Reads<Labels> {
  const { codes = null, page = 1, per_page = 500, product_id = null, store_id = null } = input.values
  const paged = (labels: ReadonlyArray<LabelShown>, total: number): Labels => ({
    labels,
    meta: { total, per_page, page }
  })
  if (codes !== null && codes.length > 0) {
    const found = yield* labelsOfCodes(codes)
    return paged(found.slice((page - 1) * per_page, page * per_page), found.length)
  }
  const product = product_id === null ? undefined : yield* Store.get(products, product_id)
  if (product !== undefined && product.stock_method !== serialised) {
    const own = productLabel(product)
    return own === undefined
      ? yield* invalidField("product_id", `${product.name} is counted and has neither a barcode nor an SKU to print.`)
      : paged(page === 1 ? [own] : [], 1)
  }
  if (product_id === null && store_id === null)
    return yield* invalidField("codes", "Name codes, or a product_id or store_id to label all units of.")
  return yield* everything({ page, per_page, product_id, store_id }, input.viewer, paged)
})

/** All units of a product or at a store, then containers without a unit there. */
const everything = Effect.fnUntraced(function* (
  asked: {
    readonly page: number
    readonly per_page: number
    readonly product_id: number | null
    readonly store_id: number | null
  },
  viewer: Viewer,
  paged: (labels: ReadonlyArray<LabelShown>, total: number) => Labels
): Store.Reads<Labels> {
  const { page, per_page, product_id, store_id } = asked
  const where = {
    stock_category: 50,
    is_gone: false,
    is_sub_hired: false,
    ...(product_id === null ? {} : { product_id }),
    ...(store_id === null ? {} : { store_id })
  }
  const ids = yield* Store.pick(stock_levels, ["id"], where, { order: ["product_id", "asset_number", "id"] })
  const boxes =
    product_id !== null || store_id === null || !hasOnePermission(viewer, "containers.view")
      ? []
      : yield* Store.find(
          containers,
          { store_id, serialised_item_id: null, status: live_statuses },
          { order: ["name", "id"] }
        )
  const [from, to] = [(page - 1) * per_page, page * per_page]
  const wanted = ids.slice(from, to).map(({ id }) => id)
  const byId = yield* Store.byId(stock_levels, wanted)
  const levels = wanted.flatMap((id) => byId.get(id) ?? [])
  return paged(
    [
      ...(yield* unitLabels(levels)),
      ...(yield* containerLabels(boxes.slice(Math.max(0, from - ids.length), Math.max(0, to - ids.length))))
    ],
    ids.length + boxes.length
  )
})

const labelsOfCodes = Effect.fnUntraced(function* (
  codes: ReadonlyArray<string>
): Store.Reads<ReadonlyArray<LabelShown>> {
  const errors: { [field: string]: ReadonlyArray<string> } = {}
  const found: Array<StockLevelRow | ContainerRow | LabelShown> = []
  for (const [at, { named, problem }] of (yield* lookUpAll(codes)).entries()) {
    const own = named?.kind === "product" ? productLabel(named.product) : undefined
    if (named?.kind === "unit") found.push(named.level)
    else if (named?.kind === "container") found.push(named.container)
    else if (own !== undefined) found.push(own)
    else
      errors[`codes.${at}`] = [
        named === undefined
          ? (problem ?? "")
          : `${named.product.name} is tracked unit by unit; name its units, or the product by product_id.`
      ]
  }
  if (Object.keys(errors).length > 0) return yield* invalid(errors)
  const units = yield* unitLabels(found.filter(isLevel))
  const boxes = yield* containerLabels(found.filter(isContainer))
  const of = (kind: LabelShown["kind"], labels: ReadonlyArray<LabelShown>, id: number) =>
    labels.filter((one) => one.kind === kind && one.id === id).slice(0, 1)
  return found.flatMap((one) =>
    isLevel(one) ? of("unit", units, one.id) : isContainer(one) ? of("container", boxes, one.id) : one
  )
})
const isLevel = (one: object): one is StockLevelRow => "stock_category" in one
const isContainer = (one: object): one is ContainerRow => "scan_mode" in one

/** Label of a bulk product, such as for its shelf; undefined for units, and for goods without a code. */
const productLabel = (product: ProductRow): LabelShown | undefined => {
  const code = [product.barcode, product.sku].find(isScannable)
  return product.stock_method === serialised || code === undefined || code === null
    ? undefined
    : { code, title: product.name, more: null, kind: "product", id: product.id, is_case: false }
}

/** Whether scanners return a text unchanged, and it contains no quantity, as `CABLE*5` does. */
const isScannable = (text: string | null | undefined): text is string => {
  if (text === null || text === undefined || text === "" || /[\p{Cc}\ufeff]/u.test(text)) return false
  const { code, quantity } = readCode(text)
  return code === text && quantity === undefined
}

const code_columns = ["barcode", "asset_number", "serial_number"] as const
/** Units present that have one of these texts as a code. Three queries. */
const ownersOf = Effect.fnUntraced(function* (
  texts: ReadonlyArray<string>
): Store.Reads<ReadonlyMap<string, ReadonlySet<number>>> {
  const owners = new Map<string, Set<number>>()
  for (const column of code_columns)
    for (const row of yield* Store.pick(stock_levels, ["id", column], { [column]: texts, is_gone: false })) {
      const text = row[column]
      if (typeof text === "string") owners.set(text, (owners.get(text) ?? new Set()).add(row.id))
    }
  return owners
})

/** Labels of units, with the first code that only the unit has, else `unit:ID`. */
const unitLabels = Effect.fnUntraced(function* (
  levels: ReadonlyArray<StockLevelRow>
): Store.Reads<ReadonlyArray<LabelShown>> {
  if (levels.length === 0) return []
  const own = (level: StockLevelRow) => code_columns.map((column) => level[column]).filter(isScannable)
  const owners = yield* ownersOf([...new Set(levels.flatMap(own))])
  const product_ids = [...new Set(levels.map(({ product_id }) => product_id))]
  const names = new Map((yield* Store.pickMany(products, ["id", "name"], product_ids)).map((one) => [one.id, one.name]))
  const cases = new Map(
    (yield* Store.pick(containers, ["name", "serialised_item_id"], {
      serialised_item_id: levels.map(({ id }) => id),
      status: live_statuses
    })).map((one) => [one.serialised_item_id, one.name])
  )
  return levels.map((level) => {
    const code = own(level).find((text) => (owners.get(text)?.size ?? 0) < 2) ?? unitCode(level.id)
    const case_name = cases.get(level.id)
    const serial = level.serial_number === code || level.serial_number === null ? null : `S/N ${level.serial_number}`
    const more = [serial, level.location].filter((one) => one !== null && one !== "").join(" · ")
    return {
      code,
      title: case_name ?? names.get(level.product_id) ?? level.item_name ?? `Product ${level.product_id}`,
      more: more === "" ? null : more,
      kind: "unit",
      id: level.id,
      is_case: case_name !== undefined
    }
  })
})

/** Labels of containers, with their barcode if neither a unit nor another container in use has it. */
const containerLabels = Effect.fnUntraced(function* (
  boxes: ReadonlyArray<ContainerRow>
): Store.Reads<ReadonlyArray<LabelShown>> {
  const texts = boxes.map(({ barcode }) => barcode).filter(isScannable)
  if (boxes.length === 0) return []
  const owners = yield* ownersOf(texts)
  const alike = Map.groupBy(
    yield* Store.pick(containers, ["id", "barcode"], { barcode: texts, status: live_statuses }),
    ({ barcode }) => barcode
  )
  return boxes.map((box) => {
    const is_own = isScannable(box.barcode) && !owners.has(box.barcode) && (alike.get(box.barcode)?.length ?? 0) < 2
    return {
      code: is_own && box.barcode !== null ? box.barcode : containerCode(box.id),
      title: box.name,
      more: null,
      kind: "container",
      id: box.id,
      is_case: true
    }
  })
})

// ZPL II: one label format for each label. The text is ASCII; other characters are written as bytes of UTF-8.

interface ZplOptions {
  readonly symbol?: SymbolKind
  readonly width_mm?: number
  readonly height_mm?: number
  readonly dots_per_mm?: number
}

/** Field data with `^`, `~`, `_` and everything but printable ASCII as hexadecimal bytes, which `^FH` reads. */
const fieldData = (text: string): string =>
  [...new TextEncoder().encode(text.toWellFormed())]
    .map((byte) => {
      const sign = String.fromCharCode(byte)
      return /[ -}]/.test(sign) && sign !== "^" && sign !== "_" && sign !== "~"
        ? sign
        : `_${byte.toString(16).toUpperCase().padStart(2, "0")}`
    })
    .join("")

/** Content for `^BC`: starts in subset C for pairs of digits, else in B, with escapes for signs that ZPL reserves. */
const code128Data = (text: string): string =>
  /^(\d\d){2,}$/.test(text)
    ? `>;${text}`
    : `>:${fieldData([...text].map((sign) => ({ ">": ">0", "^": "><", "~": ">=" })[sign] ?? sign).join(""))}`
/** Width of a Code 128 symbol in modules, without quiet zones: 11 for each sign, start and check, 13 for stop. */
const code128Modules = (text: string): number =>
  11 * ((/^(\d\d){2,}$/.test(text) ? text.length / 2 : text.length) + 2) + 13

/** Bytes that QR codes of level M hold, by version from 1 on. */
const qr_capacities = [14, 26, 42, 62, 84, 106, 122, 152, 180, 213, 251, 287, 331]
const qrModules = (text: string): number => {
  const bytes = new TextEncoder().encode(text).length
  const version = qr_capacities.findIndex((most) => bytes <= most)
  return 21 + 4 * (version < 0 ? qr_capacities.length : version)
}

/** Narrowest module that label printers print reliably, in millimetres. */
const module_least_mm = 0.19
const quiet_modules = 10

type PrintedLabel = Pick<LabelShown, "code" | "title" | "more" | "is_case">
/** Labels in ZPL II, each as a format of its own; QR also where Code 128 cannot hold the code or gets too narrow. */
export const zplOf = (
  labels: ReadonlyArray<PrintedLabel>,
  { dots_per_mm = 8, height_mm = 32, symbol = "code128", width_mm = 57 }: ZplOptions = {}
): string => {
  const [width, height] = [width_mm * dots_per_mm, height_mm * dots_per_mm]
  const pad = Math.round(1.5 * dots_per_mm)
  const line = Math.round(Math.min(3, height_mm / 10) * dots_per_mm)
  const textAt = (x: number, y: number, wide: number, lines: number, text: string, alignment: "L" | "C" = "L") =>
    text === "" ? [] : [`^FO${x},${y}^A0N,${line},0^FB${wide},${lines},0,${alignment},0^FH^FD${fieldData(text)}^FS`]
  const one = ({ code, is_case, more, title }: PrintedLabel): string => {
    const mark = is_case ? [`^FO0,0^GB${pad},${height},${pad}^FS`] : []
    const left = is_case ? 2 * pad : pad
    const room = width - left - pad
    const modules = code128Modules(code) + 2 * quiet_modules
    const module = Math.min(Math.floor(room / modules), Math.ceil(dots_per_mm / 2))
    const fits = symbol === "code128" && /^[\u0020-\u007e]{1,80}$/.test(code) && module >= module_least_mm * dots_per_mm
    if (fits) {
      const top = pad + line + Math.round(line / 2)
      const bottom = height - pad - line * (more === null ? 1 : 2) - Math.round(line / 2)
      const wide = (modules - 2 * quiet_modules) * module
      const symbol_left = left + Math.floor((room - wide) / 2)
      return [
        ...mark,
        ...textAt(left, pad, room, 1, title),
        `^BY${module}^FO${symbol_left},${top}^BCN,${bottom - top},N,N,N^FH^FD${code128Data(code)}^FS`,
        ...textAt(left, bottom + Math.round(line / 2), room, 1, code, "C"),
        ...textAt(left, height - pad - line, room, 1, more ?? "")
      ].join("\n")
    }
    const side = Math.min(height - 2 * pad, Math.floor(room / 2))
    const dots = Math.max(1, Math.min(10, Math.floor(side / (qrModules(code) + 8))))
    const beside = left + side + pad
    return [
      ...mark,
      `^FO${left + 4 * dots},${pad + 4 * dots}^BQN,2,${dots}^FH^FDMA,${fieldData(code)}^FS`,
      ...textAt(beside, pad, width - beside - pad, 2, title),
      ...textAt(beside, pad + 3 * line, width - beside - pad, 2, more ?? ""),
      ...textAt(beside, height - pad - 2 * line, width - beside - pad, 2, code)
    ].join("\n")
  }
  return labels.map((label) => `^XA\n^CI28\n^PW${width}\n^LL${height}\n${one(label)}\n^XZ\n`).join("")
}
