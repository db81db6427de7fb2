/** Finds references to missing rows, which no command may leave behind. */
import { Effect } from "effect"
import { Store, type StoreShape, type Table } from "../core/kernel/index.ts"
import { onDeleteEffect, type References } from "../core/kernel/events/references.ts"
import { countsSql } from "../core/kernel/runtime/reference-checks.ts"
import { bindings, chunked, quote, whereSql } from "../core/kernel/store/statement.ts"

/** A reference to a missing row, for messages. */
interface DanglingReference {
  readonly holder: string
  readonly id: unknown
  readonly column: string
  readonly target: string
  readonly missing: unknown
}
/**
 * Finds references to missing rows. With `clear`, archived rows count as missing; `keep` is checked only where deleted
 * rows are archived.
 */
export const danglingReferences = Effect.fnUntraced(function* (
  references: References,
  tableNamed: (name: string) => Table
) {
  const store = yield* Store
  const found: Array<DanglingReference> = []
  const all = [...references.values()].flat()
  const filled = yield* tablesWithRows(store, [...new Set(all.map(({ holder }) => holder.name))])
  for (const one of all.filter(({ holder }) => filled.has(holder.name))) {
    const { column, holder, is_list, rule } = one
    const target = tableNamed(one.target)
    // Historical references may name a row deleted since, unless deleted rows are kept (archived) anyway.
    const past = rule === undefined || onDeleteEffect(one) === "keep"
    if (past && rule?.on_delete !== "refuse" && !target.soft_delete) continue
    const bound = bindings(store.dialect)
    // Rows deleted with their parent stay archived and keep their references.
    const archived = onDeleteEffect(one) === "delete" && holder.soft_delete ? [`${quote("deleted_at")} is null`] : []
    const counts = past && rule?.on_delete === "refuse" ? countsSql(one, store, bound, tableNamed) : []
    const where = [whereSql(holder, one.where, store.dialect, bound), ...archived, ...counts].join(" and ")
    const from = `(select * from ${quote(holder.name)} where ${where}) holder`
    const there = `from ${quote(target.name)} target where ${target.soft_delete && onDeleteEffect(one) === "clear" ? "target.deleted_at is null and " : ""}target.${quote(target.key)}`
    const key = `holder.${quote(holder.key)}`
    const text = is_list
      ? store.dialect === "pg"
        ? `select ${key} as id, listed.id::bigint as missing from ${from} cross join jsonb_array_elements_text(holder.${quote(column)}) as listed (id) where not exists (select 1 ${there} = listed.id::bigint)`
        : `select ${key} as id, listed.value as missing from ${from}, json_each(holder.${quote(column)}) as listed where not exists (select 1 ${there} = listed.value)`
      : `select ${key} as id, holder.${quote(column)} as missing from ${from} where holder.${quote(column)} is not null and not exists (select 1 ${there} = holder.${quote(column)})`
    for (const row of yield* store.run<{ id: unknown; missing: unknown }>(text, bound.values))
      found.push({ holder: holder.name, id: row.id, column, target: target.name, missing: row.missing })
  }
  return found
})
const tablesWithRows = Effect.fnUntraced(function* (store: StoreShape, names: ReadonlyArray<string>) {
  const filled = new Set<string>()
  // SQLite joins at most 500 selects.
  for (const some of chunked(names, 400)) {
    const each = some.map((name) => `select '${name}' as name where exists (select 1 from ${quote(name)})`)
    for (const { name } of yield* store.run<{ name: string }>(each.join(" union all "))) filled.add(name)
  }
  return filled
})
