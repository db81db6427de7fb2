/**
 * Rows that nearly every answer looks up and few people change (groups, stores, custom fields): read once and used
 * again until something is committed here, another server on the database tells of a commit, or a second is nearly over.
 */
import { Clock, Effect, Option } from "effect"
import type { Key } from "../core/kernel/row-change.ts"
import type { Sql, StoreShape } from "../core/kernel/store/store.ts"
import type { RowOf, Table } from "../core/kernel/table.ts"

export interface ReferenceCache {
  /** The same store, except that outside of transactions rows of reference tables may be those kept. */
  readonly over: (store: StoreShape) => StoreShape
  /** Something was committed: nothing kept counts any more. */
  readonly forget: () => void
}

const believed_millis = 900
const rows_kept = 10_000
const lists_kept = 500

export const makeReferenceCache = (): ReferenceCache => {
  let rows = new Map<Table, Map<Key, unknown>>()
  let lists = new Map<string, ReadonlyArray<unknown>>()
  let count = 0
  let until = 0
  let generation = 0
  const forget = (): void => {
    generation++
    if (count === 0) return
    rows = new Map()
    lists = new Map()
    count = 0
  }
  const fresh = (now: number): void => {
    if (now < until && now > until - 2 * believed_millis && count < rows_kept) return
    forget()
    until = now + believed_millis
  }

  const over = (store: StoreShape): StoreShape => {
    // A transaction sees its own changes, and what it sees may yet be taken back.
    const outside = <A>(kept: (now: number) => Sql<A>, plain: () => Sql<A>): Sql<A> =>
      Effect.flatMap(Effect.serviceOption(store.sql.transactionService), (transaction) =>
        Option.isSome(transaction) ? plain() : Effect.flatMap(Clock.currentTimeMillis, kept)
      )

    const getMany = <T extends Table>(table: T, keys: ReadonlyArray<Key>): Sql<ReadonlyArray<RowOf<T>>> =>
      !table.reference || keys.length === 0
        ? store.getMany(table, keys)
        : outside(
            (now) => {
              fresh(now)
              let known = rows.get(table)
              if (known === undefined) rows.set(table, (known = new Map()))
              const distinct = [...new Set(keys)]
              const found: ReadonlyArray<unknown> = distinct
                .map((key) => known.get(key))
                .filter((row) => row !== undefined)
              const missing = distinct.filter((key) => !known.has(key))
              if (missing.length === 0) return Effect.succeed(found as ReadonlyArray<RowOf<T>>)
              const begun = generation
              return Effect.map(store.getMany(table, missing), (read) => {
                read.forEach(Object.freeze)
                // A change that came while this was being read would otherwise be missed.
                if (begun === generation) {
                  count += missing.length
                  for (const key of missing) known.set(key, undefined)
                  for (const row of read)
                    known.set((row as { readonly [column: string]: unknown })[table.key] as Key, row)
                }
                return [...(found as ReadonlyArray<RowOf<T>>), ...read]
              })
            },
            () => store.getMany(table, keys)
          )

    const find: StoreShape["find"] = <T extends Table>(
      table: T,
      where: Parameters<StoreShape["find"]>[1],
      options?: Parameters<StoreShape["find"]>[2]
    ) =>
      !table.reference
        ? store.find(table, where, options)
        : outside(
            (now): Sql<ReadonlyArray<RowOf<T>>> => {
              fresh(now)
              const asked = `${table.name} ${JSON.stringify([where, options])}`
              const known = lists.get(asked)
              if (known !== undefined) return Effect.succeed(known as ReadonlyArray<RowOf<T>>)
              const begun = generation
              return Effect.map(store.find(table, where, options), (read) => {
                read.forEach(Object.freeze)
                if (begun === generation && lists.size < lists_kept) {
                  count += read.length + 1
                  lists.set(asked, Object.freeze(read))
                }
                return read
              })
            },
            () => store.find(table, where, options)
          )
    return { ...store, getMany, find }
  }
  return { over, forget }
}
