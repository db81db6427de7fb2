/** What a container holds, cases inside it included, with the code that is scanned for each unit and each case. */
import type { Json, JsonObject } from "../../../core/kernel/json.ts"
import type { Query } from "../../../core/kernel/query.ts"
import type { CommandContext } from "../../context.ts"
import { CliError } from "../../exit-codes.ts"
import { resolveId } from "../../resolve-id.ts"
import { allRows } from "../../pages.ts"

export interface ManifestSlot {
  readonly product_id: number
  readonly product_name: string | null
  readonly required: number
  readonly packed: number
  readonly satisfied: boolean
}
export interface ManifestItem {
  readonly serialised_item_id: number
  readonly product_id: number
  readonly product_name: string | null
  readonly asset_number: string | null
  readonly serial_number: string | null
  readonly barcode: string | null
  /** What a scanner should read off it: `pack` and `scan` find this unit by it and no other. */
  readonly code: string
  readonly position: string | null
  readonly packed_at: string
}
export interface Manifest {
  readonly container_id: number
  readonly name: string
  readonly barcode: string | null
  /** What names this container to `pack`. */
  readonly code: string
  readonly serialised_item_id: number | null
  readonly store_id: number | null
  readonly status: string
  readonly scan_mode: string
  readonly sealed_at: string | null
  readonly notes: string | null
  /** Whether all that belongs in it is in it; null while it is open, when nobody has asked yet. */
  readonly is_compliant: boolean | null
  readonly slots: ReadonlyArray<ManifestSlot>
  readonly items: ReadonlyArray<ManifestItem>
  readonly containers: ReadonlyArray<Manifest>
}

/** The manifest of a container by id. Cases are nested as deep as they are packed. */
export const manifestOf = async (context: CommandContext, container_id: number): Promise<Manifest> => {
  const tree = await held(context, container_id, new Set())
  const unit_ids = [
    ...new Set(
      [tree, ...within(tree)].flatMap(({ items, row }) => [
        ...items.map((item) => Number(item["serialised_item_id"])),
        ...(row["serialised_item_id"] === null ? [] : [Number(row["serialised_item_id"])])
      ])
    )
  ]
  const units = new Map(
    (await rowsIn(context, "/api/v1/stock_levels", "id", unit_ids.map(String))).map((row) => [Number(row["id"]), row])
  )
  const codes = await codesOf(context, [...units.values()])
  return assembled(context, tree, units, codes)
}

interface Held {
  readonly row: JsonObject
  readonly items: ReadonlyArray<JsonObject>
  readonly compliance: JsonObject | undefined
  readonly inside: ReadonlyArray<Held>
}
const within = ({ inside }: Held): ReadonlyArray<Held> => inside.flatMap((one) => [one, ...within(one)])
const closed = ["sealed", "dispatched", "returned"]

const held = async (context: CommandContext, id: number, seen: Set<number>): Promise<Held> => {
  seen.add(id)
  const { container } = (await context.read(`/api/v1/containers/${id}`)) as { readonly container: JsonObject }
  const items = (container["items"] ?? []) as ReadonlyArray<JsonObject>
  // A container says whether it is complete once it is closed.
  const compliance = closed.includes(String(container["status"]))
    ? ((await context.read(`/api/v1/containers/${id}/compliance`))["compliance"] as JsonObject)
    : undefined
  const product_ids = [...new Set(items.map((item) => String(item["product_id"])))]
  const children = (
    await rowsIn(context, "/api/v1/containers", "product_id", product_ids, [["q[status_not_eq]", "dissolved"]])
  ).filter((row) => row["parent_container_id"] === id && !seen.has(Number(row["id"])))
  const inside: Array<Held> = []
  for (const child of children) inside.push(await held(context, Number(child["id"]), seen))
  return { row: container, items, compliance, inside }
}

/** Rows whose column has one of these values: a page of them at a time. */
const rowsIn = async (
  context: CommandContext,
  path: string,
  column: string,
  values: ReadonlyArray<string>,
  more: Query = []
): Promise<ReadonlyArray<JsonObject>> => {
  const rows: Array<JsonObject> = []
  for (let at = 0; at < values.length; at += 100) {
    rows.push(
      ...(await allRows(context, path, [
        ...values.slice(at, at + 100).map((value) => [`q[${column}_in][]`, value] as const),
        ...more
      ]))
    )
  }
  return rows
}

const assembled = async (
  context: CommandContext,
  { compliance, inside, items, row }: Held,
  units: ReadonlyMap<number, JsonObject>,
  codes: ReadonlyMap<number, string>
): Promise<Manifest> => {
  const containers: Array<Manifest> = []
  for (const one of inside) containers.push(await assembled(context, one, units, codes))
  const housing = row["serialised_item_id"] === null ? undefined : codes.get(Number(row["serialised_item_id"]))
  return {
    container_id: Number(row["id"]),
    name: String(row["name"]),
    barcode: textOf(row["barcode"]),
    code: await codeOfContainer(context, Number(row["id"]), [housing, textOf(row["barcode"])]),
    serialised_item_id: row["serialised_item_id"] as number | null,
    store_id: row["store_id"] as number | null,
    status: String(row["status"]),
    scan_mode: String(row["scan_mode"]),
    sealed_at: textOf(row["sealed_at"]),
    notes: textOf(row["notes"]),
    is_compliant: compliance === undefined ? null : compliance["is_compliant"] === true,
    slots: (compliance?.["slots"] ?? []) as unknown as ReadonlyArray<ManifestSlot>,
    items: items.map((item): ManifestItem => {
      const id = Number(item["serialised_item_id"]),
        unit = units.get(id) ?? {}
      return {
        serialised_item_id: id,
        product_id: Number(item["product_id"]),
        product_name: textOf(unit["product_name"]),
        asset_number: textOf(unit["asset_number"]),
        serial_number: textOf(unit["serial_number"]),
        barcode: textOf(unit["barcode"]),
        code: codes.get(id) ?? String(id),
        position: textOf(item["position"]),
        packed_at: String(item["packed_at"])
      }
    }),
    containers
  }
}
const textOf = (value: Json | undefined): string | null => (typeof value === "string" && value !== "" ? value : null)

/** Scanners send whole lines without the space around them; a code with any of that would not come back as it is. */
const scannable = (text: string | null): text is string =>
  text !== null && text === text.trim() && !/[\r\n\ufeff]/.test(text)

const columns = ["barcode", "asset_number", "serial_number"] as const
/** For each unit the first of barcode, asset number and serial number that leads to it alone, in the order scans are looked up; else its id. */
export const codesOf = async (
  context: CommandContext,
  units: ReadonlyArray<JsonObject>
): Promise<ReadonlyMap<number, string>> => {
  const wanted = [
    ...new Set(
      units.flatMap((unit) => [...columns.map((column) => textOf(unit[column])), String(unit["id"])]).filter(scannable)
    )
  ]
  const owners = new Map<string, ReadonlyArray<number>>()
  for (const column of columns) {
    const found = await rowsIn(
      context,
      "/api/v1/stock_levels",
      column,
      wanted.filter((text) => !owners.has(text))
    )
    for (const row of found) {
      const text = textOf(row[column])
      if (text !== null) owners.set(text, [...(owners.get(text) ?? []), Number(row["id"])])
    }
  }
  return new Map(
    units.map((unit) => {
      const id = Number(unit["id"])
      const own = columns
        .map((column) => textOf(unit[column]))
        .filter(scannable)
        .find((text) => owners.get(text)?.length === 1 && owners.get(text)![0] === id && !counted.test(text))
      return [id, own ?? String(id)]
    })
  )
}
/** `CABLE*5` is read as five of a bulk product. */
const counted = /^.+?\s*\*\s*\d{1,6}$/s

/** Its case's code, which `scan` knows too, else its own barcode; its id when neither leads to it alone. */
const codeOfContainer = async (
  context: CommandContext,
  id: number,
  candidates: ReadonlyArray<string | null | undefined>
): Promise<string> => {
  for (const text of candidates) {
    if (text === null || text === undefined || !scannable(text)) continue
    try {
      if ((await resolveId(context, "containers", text)) === id) return text
    } catch (error) {
      if (!(error instanceof CliError)) throw error
    }
  }
  return String(id)
}
