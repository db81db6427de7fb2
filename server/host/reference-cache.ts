/**
 * A cache of rows that nearly every answer reads and few people change (groups, stores, custom fields). It is cleared
 * by every commit, here or on another server of the same database, and after 900 ms.
 */
import { Clock, Effect, Option } from "effect"
import type { Key } from "../../core/kernel/tables/row-change.ts"
import type { Sql, StoreShape } from "../../core/kernel/store/store.ts"
import type { RowOf, Table } from "../../core/kernel/tables/table.ts"

interface ReferenceCache {
  /** The same store, which outside of transactions may answer from the cache for reference tables. */
  readonly over: (store: StoreShape) => StoreShape
  /** Clears the cache. */
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
    // Never within a transaction: it sees its own changes, which may be rolled back.
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
                // Not cached when something changed during the read.
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
