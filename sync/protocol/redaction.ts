/**
 * Data a reader may not see never leaves the server: rows and columns follow the tables' visibility, guarded columns
 * their permission, and events that touch more than their reader may see are sent as the visible changes.
 */
import { createHash } from "node:crypto"
import { foldStored, full_read_permission, hasBusinessAbility, hasOnePermission } from "../../core/kernel/index.ts"
import { isJsonObject, redacted_event, redactedEventData, redactedValue } from "../../core/kernel/index.ts"
import { keyOf, visibleColumnsOf } from "../../core/kernel/index.ts"
import type { AnyRow, Catalogue, Json, JsonObject, Key, ProjectionContext, RowChange } from "../../core/kernel/index.ts"
import type { Table, Viewer, VisibleColumns } from "../../core/kernel/index.ts"
import { restrictToToken } from "../../core/kernel/endpoints/token-permissions.ts"
import { commandDecided } from "./events.ts"

interface VisibleEvent {
  readonly type: string
  readonly data: JsonObject
}
export interface Redaction {
  /** Hash of columns hidden from the user in this release, and the user's role ids. A change starts a new history. */
  readonly fingerprint: string
  /** Hash of data that the user may see but the device's token may not; "" if none. */
  readonly token_fingerprint: string
  /** Equal for readers who see the same of each event, verdicts apart. */
  readonly readers: string
  /** Whether the reader sees every row of every table, though perhaps not every column. */
  readonly whole: boolean
  /** The event as visible to this reader; undefined if none of it is. */
  readonly see: (
    event: VisibleEvent & Partial<ProjectionContext> & { readonly replica_id: number | null }
  ) => VisibleEvent | undefined
  /** Columns of a table that are sent, including the key; undefined if the reader sees none of its rows. */
  readonly columns: (table: Table) => ReadonlyArray<string> | undefined
  /**
   * The row with values hidden from this reader blank; undefined if the whole row is hidden. Send only `columns`: those
   * with a permission of their own may still hold their values.
   */
  readonly row: (table: Table, row: AnyRow) => AnyRow | undefined
  /** Whether this reader sees a column in rows other than their own. */
  readonly sees: (table: Table, column: string) => boolean
}

/** Entity of an event type: `opportunity` for `opportunity.item_added`. */
const subjectOf = (type: string): string => type.slice(0, type.indexOf("."))

/** Lookups in a catalogue, computed once for all readers. */
interface Known {
  readonly entities: ReadonlyMap<string, Table>
  readonly columns: ReadonlyMap<Table, ReadonlyArray<string>>
  readonly guarded: ReadonlyArray<{ readonly table: Table; readonly column: string; readonly by: string }>
}
const knowns = new WeakMap<Catalogue, Known>()
const knownOf = (catalogue: Catalogue): Known => {
  let known = knowns.get(catalogue)
  if (known === undefined) {
    knowns.set(
      catalogue,
      (known = {
        entities: new Map(catalogue.tables.map((table) => [table.entity, table])),
        columns: new Map(catalogue.tables.map((table) => [table, Object.keys(table.columns)])),
        guarded: catalogue.tables.flatMap((table) =>
          Object.entries(table.columns).flatMap(([column, { visible_to }]) =>
            visible_to === undefined ? [] : [{ table, column, by: visible_to }]
          )
        )
      })
    )
  }
  return known
}

/** A reader's view of tables, rows and columns. */
const readerOf = (catalogue: Catalogue, viewer: Viewer) => {
  const known = knownOf(catalogue)
  const asks = hasBusinessAbility(viewer)
  const seen = new Map<Table, VisibleColumns>(catalogue.tables.map((table) => [table, visibleColumnsOf(table, viewer)]))
  const guarded = known.guarded.filter(({ by }) => !hasOnePermission(viewer, by))
  const sentOf = (table: Table): ReadonlyArray<string> => {
    const away = guarded.filter((one) => one.table === table).map(({ column }) => column)
    const columns = known.columns.get(table)!
    return away.length === 0 ? columns : columns.filter((name) => !away.includes(name))
  }

  /** Visible columns of a row for this reader. An incomplete row does not prove that it is visible. */
  const seenRow = (table: Table, key: Key, row: AnyRow | undefined): VisibleColumns => {
    const of = seen.get(table)
    if (
      of === undefined
        ? table.visibility?.by_key === undefined && table.visibility?.by_row === undefined
        : of === "whole"
    )
      return of
    const own =
      table.visibility?.by_key?.(key, viewer) ??
      (table.visibility?.by_row === undefined || row === undefined
        ? undefined
        : asks && table.visibility.by_row(row, viewer)
          ? "whole"
          : "none")
    return own === "whole" ? "whole" : own === "none" ? undefined : of
  }
  const isVisible = (table: Table, of: VisibleColumns, column: string): boolean =>
    of !== undefined &&
    (of === "whole" || of.has(column)) &&
    column in table.columns &&
    !guarded.some((one) => one.table === table && one.column === column)
  /** Values of an update, without columns hidden from this reader. */
  const visible = (table: Table, of: VisibleColumns, values: AnyRow): AnyRow => {
    const kept = Object.entries(values).filter(([name]) => isVisible(table, of, name))
    return kept.length === Object.keys(values).length ? values : Object.fromEntries(kept)
  }
  const blanked = (table: Table, of: VisibleColumns, row: AnyRow): AnyRow => {
    const names = known.columns.get(table)!
    return names.every((name) => isVisible(table, of, name))
      ? row
      : Object.fromEntries(
          names.map((name) => [
            name,
            isVisible(table, of, name)
              ? (row[name] ?? table.columns[name]!.default ?? null)
              : redactedValue(table, name, keyOf(table, row))
          ])
        )
  }

  return { viewer, asks, seen, guarded, sentOf, seenRow, isVisible, visible, blanked }
}

/** Redacts a row change for the reader. */
const cutFor = ({ asks, blanked, isVisible, seen, seenRow, viewer, visible }: ReturnType<typeof readerOf>) => {
  const isSeenByRow = (table: Table): boolean => table.visibility?.by_row !== undefined && seen.get(table) !== "whole"
  const cutSet = (
    change: RowChange & { readonly op: "update" | "update_where" },
    of: ReturnType<typeof seenRow>
  ): ReadonlyArray<RowChange> => {
    const set = visible(change.table, of, change.set)
    return set === change.set ? [change] : Object.keys(set).length === 0 ? [] : [{ ...change, set }]
  }
  const cut = (change: RowChange): ReadonlyArray<RowChange> => {
    const { table } = change
    if (!seen.has(table)) return [change]
    switch (change.op) {
      case "insert": {
        const of = seenRow(table, keyOf(table, change.row), change.row)
        if (of === undefined) return []
        const row = blanked(table, of, change.row)
        return row === change.row ? [change] : [{ ...change, row }]
      }
      case "update": {
        const of = seenRow(table, change.key, change.set)
        if (!isSeenByRow(table)) return cutSet(change, of)
        // A row with row-level visibility appears and disappears as its visibility changes.
        const gone: RowChange = { op: "delete", table, key: change.key }
        return of === undefined || !isWhole(table, change.set)
          ? [gone]
          : [gone, { op: "insert", table, row: { ...change.set, [table.key]: change.key } }]
      }
      case "delete":
        return table.visibility?.by_row === undefined && seenRow(table, change.key, undefined) === undefined
          ? []
          : [change]
      case "update_where":
      case "delete_where":
        return cutWhere(change)
    }
  }
  /**
   * Bulk changes. Those of tables with row-level visibility are sent if the conditions prove that all rows are visible;
   * a deletion reveals no more than single deletions do.
   */
  const cutWhere = (change: RowChange & { readonly op: "update_where" | "delete_where" }): ReadonlyArray<RowChange> => {
    const { table, where } = change
    const is_by_row = isSeenByRow(table)
    const of = seen.get(table)
    // Conditions on hidden columns cannot be evaluated by the reader.
    if (!is_by_row && !Object.keys(where).every((column) => isVisible(table, of, column))) return []
    if (change.op === "delete_where") return [change]
    if (!is_by_row) return cutSet(change, of)
    const { by_row, says_by = [] } = table.visibility ?? {}
    const is_said = says_by.length > 0 && says_by.every((column) => column in where && !(column in change.set))
    return is_said && asks && by_row?.(where, viewer) === true ? [change] : []
  }
  return cut
}

/** All that decides what a reader sees of events. */
const readersLike = (
  { abilities, is_owner, permissions, person_id, role_ids, user_id }: Viewer,
  guarded: ReadonlyArray<{ readonly table: Table; readonly column: string }>
): string =>
  JSON.stringify(
    is_owner || permissions.has(full_read_permission)
      ? guarded.map(({ column, table }) => [table.name, column])
      : [user_id, person_id, role_ids, [...permissions], [...abilities]]
  )

/** Redaction for a user and their token: data hidden from either is not sent to the device. */
export const redactionFor = (catalogue: Catalogue, person: Viewer, replica_id: number): Redaction => {
  const viewer = restrictToToken(catalogue, person)
  const reader = readerOf(catalogue, viewer)
  const { asks, blanked, guarded, isVisible, seen, seenRow, sentOf } = reader
  const { entities } = knownOf(catalogue)
  const cut = cutFor(reader)
  const whole = [...seen.values()].every((one) => one === "whole")
  // Events may contain rows of their subject and its parts, so a guarded key is removed from all of them.
  const hidden = new Map<string, Set<string>>()
  for (const { table, column } of guarded) {
    for (const subject of [table.entity, table.stream?.entity ?? table.entity])
      hidden.set(subject, (hidden.get(subject) ?? new Set()).add(column))
  }
  /** The redacted event; "nothing" if none of it is visible, undefined if all of it is. */
  const cutEvent = (event: Parameters<Redaction["see"]>[0]): VisibleEvent | "nothing" | undefined => {
    const { type, data, recorded_at = "" } = event
    const changes = foldStored(catalogue, event, { recorded_at })
    const subject = entities.get(subjectOf(type))
    // Events that change no table of devices: verdicts are sent, and those about a table the reader sees completely.
    if (changes.length === 0)
      return type === commandDecided.type || (subject !== undefined && seen.get(subject) === "whole")
        ? undefined
        : "nothing"
    if (changes.every(({ table }) => seen.get(table) === "whole")) return undefined
    const left = changes.map(cut)
    if (left.every((some, at) => some.length === 1 && some[0] === changes[at])) return undefined
    const scrub = catalogue.scrubs[type]?.(data)
    return scrub === undefined && left.every((some) => some.length === 0)
      ? "nothing"
      : { type: redacted_event, data: redactedEventData(type, left.flat(), scrub) }
  }
  const own_fingerprint = (): string =>
    [shown(catalogue, seen, guarded), ...viewer.role_ids.toSorted((a, b) => a - b)].join(" ")
  let readers: string | undefined
  return {
    get readers() {
      return (readers ??= readersLike(viewer, guarded))
    },
    get fingerprint() {
      return viewer === person
        ? own_fingerprint()
        : redactionFor(catalogue, { ...person, abilities: new Set(["*"]) }, replica_id).fingerprint
    },
    get token_fingerprint() {
      return viewer === person
        ? ""
        : createHash("sha256").update(`${asks} ${own_fingerprint()}`).digest("hex").slice(0, 16)
    },
    whole,
    see: (event) => {
      if (event.type === commandDecided.type && event.replica_id !== replica_id) return undefined
      const told = hasOnePermission(viewer, full_read_permission) ? undefined : cutEvent(event)
      if (told !== undefined) return told === "nothing" ? undefined : told
      const keys = hidden.get(subjectOf(event.type))
      return { type: event.type, data: keys === undefined ? event.data : (without(event.data, keys) as JsonObject) }
    },
    columns: (table) =>
      seen.get(table) === undefined && table.visibility?.by_key === undefined && table.visibility?.by_row === undefined
        ? undefined
        : sentOf(table),
    row: (table, row) => {
      const of = seenRow(table, keyOf(table, row), row)
      return of === undefined ? undefined : of === "whole" ? row : blanked(table, of, row)
    },
    sees: (table, column) => isVisible(table, seen.get(table), column)
  }
}

/** Hash of the hidden columns by table: another release may show or have other columns for the same permissions. */
const shown = (
  catalogue: Catalogue,
  seen: ReadonlyMap<Table, VisibleColumns>,
  guarded: ReadonlyArray<{ readonly table: Table; readonly column: string }>
): string => {
  const parts = catalogue.tables
    .filter((table) => seen.get(table) !== "whole")
    .map((table) => [table.name, ...(seen.get(table) ?? [])])
  // Includes all columns if some are hidden, as a release with more columns cannot project redacted events again.
  const columns = parts.length === 0 ? [] : catalogue.tables.map((table) => [table.name, ...Object.keys(table.columns)])
  const kept = guarded.map(({ table, column }) => [table.name, column])
  return createHash("sha256")
    .update(JSON.stringify([parts, columns, kept]))
    .digest("hex")
    .slice(0, 16)
}
/**
 * Whether a change has all columns of the row; earlier events of rows with row-level visibility have only changed ones.
 */
const isWhole = (table: Table, set: AnyRow): boolean =>
  Object.entries(table.columns).every(([name, field]) => name === table.key || field.nullable || name in set)

/** A copy without these keys, at any depth. */
const without = (value: Json, cut: ReadonlySet<string>): Json =>
  Array.isArray(value)
    ? value.map((one) => without(one, cut))
    : isJsonObject(value)
      ? Object.fromEntries(
          Object.entries(value)
            .filter(([key]) => !cut.has(key))
            .map(([key, one]) => [key, without(one, cut)])
        )
      : value
