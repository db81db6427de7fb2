/** Reads the contents of a container, nested cases included, with a scannable code for each. */
import { containerCode, readCode, unitCode } from "../../../../core/warehouse/scanning/read-code.ts"
import { isServiceState, stateWords } from "../../../../core/products/stock/schema.ts"
import type { Query } from "../../../../core/kernel/index.ts"
import { type Row, rowIn, textOrNull } from "../../../base/answers.ts"
import type { CommandContext } from "../../../context/context.ts"
import { CliError } from "../../../base/exit-codes.ts"
import { resolveId } from "../../../context/resolve-id.ts"
import { allRows } from "../../../context/pages.ts"

interface ManifestSlot {
  readonly product_id: number
  readonly product_name: string | null
  readonly required: number
  readonly packed: number
  readonly satisfied: boolean
}
interface ManifestItem {
  readonly serialised_item_id: number
  readonly product_id: number
  readonly product_name: string | null
  readonly asset_number: string | null
  readonly serial_number: string | null
  readonly barcode: string | null
  /** Code that `pack` and `scan` resolve to this unit. */
  readonly code: string
  readonly position: string | null
  readonly packed_at: string
  /** State out of service, such as "in repair"; absent if in service. */
  readonly out_of_service?: string
  /** Time it was returned without the container, while that is out; else null. */
  readonly returned_at: string | null
}
export interface Manifest {
  readonly container_id: number
  readonly name: string
  readonly barcode: string | null
  /** Code that `pack` and `scan` resolve to this container. */
  readonly code: string
  readonly serialised_item_id: number | null
  readonly store_id: number | null
  readonly status: string
  readonly scan_mode: string
  readonly sealed_at: string | null
  readonly notes: string | null
  /** Time of a removal while sealed; null once sealed again. */
  readonly seal_broken_at: string | null
  readonly seal_broken_reason: string | null
  /** Whether the required contents are complete; null while open, false after a broken seal. */
  readonly is_compliant: boolean | null
  readonly slots: ReadonlyArray<ManifestSlot>
  readonly items: ReadonlyArray<ManifestItem>
  readonly containers: ReadonlyArray<Manifest>
}

/** Reads the manifest of a container with all nested cases. */
export const manifestOf = async (context: CommandContext, container_id: number): Promise<Manifest> => {
  const tree = await containerTree(context, container_id, new Set())
  const unit_ids = [
    ...new Set(
      [tree, ...within(tree)].flatMap(({ items, row }) => [
        ...items.map((item) => item.serialised_item_id),
        ...(row.serialised_item_id === null ? [] : [row.serialised_item_id])
      ])
    )
  ]
  const units = new Map((await levelsWith(context, "id", unit_ids.map(String))).map((row) => [row.id, row]))
  const codes = await codesOf(context, [...units.values()])
  return assembled(context, tree, units, codes)
}

/** A container with its nested ones, as read. */
interface ContainerTree {
  readonly row: Row<"container">
  readonly items: NonNullable<Row<"container">["items"]>
  readonly compliance: Row<"compliance"> | undefined
  readonly inside: ReadonlyArray<ContainerTree>
}
const within = ({ inside }: ContainerTree): ReadonlyArray<ContainerTree> =>
  inside.flatMap((one) => [one, ...within(one)])
const closed = ["sealed", "dispatched", "returned"]

const containerTree = async (context: CommandContext, id: number, seen: Set<number>): Promise<ContainerTree> => {
  seen.add(id)
  const container = rowIn(await context.read(`/api/v1/containers/${id}`), "container")
  const items = container.items ?? []
  // The API only reports completeness of closed containers.
  const compliance = closed.includes(container.status)
    ? rowIn(await context.read(`/api/v1/containers/${id}/compliance`), "compliance")
    : undefined
  const nested: Query = [
    ["q[parent_container_id_eq]", String(id)],
    ["q[status_not_eq]", "dissolved"]
  ]
  const children = (await allRows(context, "/api/v1/containers", nested)).filter(
    (row) => row.parent_container_id === id && !seen.has(row.id)
  )
  const inside: Array<ContainerTree> = []
  for (const child of children) inside.push(await containerTree(context, child.id, seen))
  return { row: container, items, compliance, inside }
}

/** Stock levels with one of these values in a column, read in batches of a hundred. */
const levelsWith = async (context: CommandContext, column: string, values: ReadonlyArray<string>) => {
  const rows: Array<Row<"stock_level">> = []
  for (let at = 0; at < values.length; at += 100) {
    const query = values.slice(at, at + 100).map((value) => [`q[${column}_in][]`, value] as const)
    rows.push(...(await allRows(context, "/api/v1/stock_levels", query)))
  }
  return rows
}

const assembled = async (
  context: CommandContext,
  { compliance, inside, items, row }: ContainerTree,
  units: ReadonlyMap<number, Row<"stock_level">>,
  codes: ReadonlyMap<number, string>
): Promise<Manifest> => {
  const containers: Array<Manifest> = []
  for (const one of inside) containers.push(await assembled(context, one, units, codes))
  const housing = row.serialised_item_id === null ? undefined : codes.get(row.serialised_item_id)
  return {
    container_id: row.id,
    name: row.name,
    barcode: textOrNull(row.barcode),
    code: await codeOfContainer(context, row.id, [housing, textOrNull(row.barcode)]),
    serialised_item_id: row.serialised_item_id,
    store_id: row.store_id,
    status: row.status,
    scan_mode: row.scan_mode,
    sealed_at: textOrNull(row.sealed_at),
    notes: textOrNull(row.notes),
    seal_broken_at: textOrNull(row.unsealed_reason) === null ? null : textOrNull(row.unsealed_at),
    seal_broken_reason: textOrNull(row.unsealed_reason),
    is_compliant:
      compliance !== undefined ? compliance.is_compliant : textOrNull(row.unsealed_reason) === null ? null : false,
    slots: (compliance?.slots ?? []).map(slotOf),
    items: items.map((item): ManifestItem => {
      const listed = compliance?.items.find((one) => one.container_item_id === item.id)
      const id = item.serialised_item_id,
        unit = units.get(id)
      return {
        serialised_item_id: id,
        product_id: item.product_id,
        product_name: textOrNull(unit?.product_name),
        asset_number: textOrNull(unit?.asset_number),
        serial_number: textOrNull(unit?.serial_number),
        barcode: textOrNull(unit?.barcode),
        code: codes.get(id) ?? unitCode(id),
        position: textOrNull(item.position),
        packed_at: item.packed_at,
        returned_at: listed?.returned_at ?? null,
        ...outOfService(unit?.service_state)
      }
    }),
    containers
  }
}
const outOfService = (state: string | undefined): { readonly out_of_service?: string } =>
  isServiceState(state) && state !== "in_service" ? { out_of_service: stateWords[state] } : {}
const slotOf = (row: Row<"compliance">["slots"][number]): ManifestSlot => ({
  product_id: row.product_id,
  product_name: row.product_name,
  required: row.required,
  packed: row.packed,
  satisfied: row.satisfied
})

/** Whether scanners return a text unchanged, and it has no quantity (`CABLE*5`). */
const scannable = (text: string | null): text is string => {
  if (text === null || /[\r\n\ufeff]/.test(text)) return false
  const { code, quantity } = readCode(text)
  return code === text && quantity === undefined
}

const columns = ["barcode", "asset_number", "serial_number"] as const
/** Code of each unit: its first unique barcode, asset number or serial number, else `unit:ID`. */
const codesOf = async (
  context: CommandContext,
  units: ReadonlyArray<Row<"stock_level">>
): Promise<ReadonlyMap<number, string>> => {
  const wanted = [
    ...new Set(units.flatMap((unit) => columns.map((column) => textOrNull(unit[column]))).filter(scannable))
  ]
  const owners = new Map<string, ReadonlyArray<number>>()
  for (const column of columns) {
    const unknown = wanted.filter((text) => !owners.has(text))
    for (const row of await levelsWith(context, column, unknown)) {
      const text = textOrNull(row[column])
      if (text !== null) owners.set(text, [...(owners.get(text) ?? []), row.id])
    }
  }
  return new Map(
    units.map((unit) => {
      const { id } = unit
      const own = columns
        .map((column) => textOrNull(unit[column]))
        .filter(scannable)
        .find((text) => {
          const [owner, ...others] = owners.get(text) ?? []
          return owner === id && others.length === 0
        })
      return [id, own ?? unitCode(id)]
    })
  )
}

/** Code of a container: that of its case, else its barcode, if unique; otherwise `container:ID`. */
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
  return containerCode(id)
}
