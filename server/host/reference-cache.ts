/**
 * A cache of rows that nearly every answer reads and few people change (groups, stores, custom fields). It is cleared
 * when one of them changes, here or on another server of the same database, and after 900 ms.
 */
import { Clock, Effect, Option } from "effect"
import type { Sql, StoreShape } from "../../core/kernel/store/store.ts"
import type { Key, RowOf, Table } from "../../core/kernel/tables/table.ts"

interface ReferenceCache {
  /** The same store, which outside of transactions may answer from the cache for reference tables. */
  readonly over: (store: StoreShape) => StoreShape
  /** Clears the cache. */
  readonly forget: () => void
}

const believed_millis = 900
const rows_kept = 10_000
const lists_kept = 500

/** `changed`: called after a commit that changed such rows. */
export const makeReferenceCache = (changed: () => void): ReferenceCache => {
  let rows = new Map<Table, Map<Key, unknown>>()
  let lists = new Map<string, ReadonlyArray<unknown>>()
  let count = 0
  let until = 0
  let generation = 0
  /** Connections of transactions that changed such rows. */
  const changing = new WeakSet<object>()
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
    // Not within a transaction, which sees its own changes and may be rolled back; but for definitions that it has not
    // changed.
    const outside = <A>(kept: (now: number) => Sql<A>, plain: () => Sql<A>, cached = false): Sql<A> =>
      Effect.flatMap(Effect.serviceOption(store.sql.transactionService), (transaction) =>
        Option.isNone(transaction) || (cached && !changing.has(transaction.value[0]))
          ? Effect.flatMap(Clock.currentTimeMillis, kept)
          : plain()
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
            () => store.find(table, where, options),
            options?.cached
          )
    return { ...watched(store, changing, changed), getMany, find }
  }
  return { over, forget }
}

/** The same store, which keeps account of transactions that change reference rows, and says so when they commit. */
const watched = (store: StoreShape, changing: WeakSet<object>, changed: () => void): StoreShape => ({
  ...store,
  apply: (changes) =>
    !changes.some(({ table }) => table.reference)
      ? store.apply(changes)
      : Effect.flatMap(Effect.serviceOption(store.sql.transactionService), (transaction) => {
          if (Option.isSome(transaction)) changing.add(transaction.value[0])
          return Effect.andThen(store.apply(changes), store.sql.afterCommit(Effect.sync(changed)))
        }),
  transaction: (effect) =>
    Effect.flatMap(Effect.serviceOption(store.sql.transactionService), (outer) => {
      const ended = Effect.map(
        Effect.serviceOption(store.sql.transactionService),
        (own) => Option.isSome(own) && changing.delete(own.value[0])
      )
      return store.transaction(Option.isSome(outer) ? effect : Effect.ensuring(effect, ended))
    })
})
