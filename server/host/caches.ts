/** Caches of a server: settings and reference rows, used for less than a second and never after its own changes. */
import type { Catalogue, Failure, Key, NewEvent, RowOf, Settings, Sql, StoreShape } from "../../core/kernel/index.ts"
import { keyOf, Store, type Table, type Where } from "../../core/kernel/index.ts"
import { Clock, Effect, Option, Schema } from "effect"
import { storedSettings } from "../../core/kernel/runtime/server-runtime.ts"
import { endSharedCommit } from "../../sync/sqlite/shared-commits.ts"
import { makeAuthentication } from "../access/tokens/authenticate.ts"

// Notifies other servers on a Postgres. The statement that appends events does so itself (`CommitNotice`); other
// changes are notified after their commit, in one notice for all made while the previous one was sent. A lost notice
// only delays others, whose caches live less than a second.

interface PeerNotifier {
  readonly notify: (settingsChanged: boolean) => void
  /** Resolves once all pending notices are sent. */
  readonly sent: () => Promise<void>
}

/** Payloads of notices. Other releases on the same database send and read them too. */
const wire = { journal: "", settings: "standing" } as const
/** Payload of a notice of new events, or of changed users, roles, tokens or settings. */
const payloadOf = (settingsChanged: boolean): string => (settingsChanged ? wire.settings : wire.journal)
const decodePayload = Schema.decodeUnknownOption(Schema.Literals([wire.journal, wire.settings]))

/**
 * Whether a notice may mean changed users, roles, tokens or settings: any payload but that of a plain commit, as other
 * releases may send others.
 */
export const mayChangeSettings = (payload: string): boolean =>
  Option.getOrElse(decodePayload(payload), () => wire.settings) === wire.settings

/** Sends a notice. It is not stored, so that its transaction need not wait for the disk. */
export const sendNotice = (channel: string, payload: string): Effect.Effect<void, never, Store> =>
  Store.run(
    "with quick as materialized (select set_config('synchronous_commit', 'off', true)) " +
      "select pg_notify($1, $2) from quick",
    [channel, payload]
  ).pipe(
    Effect.asVoid,
    Effect.catchCause((cause) => Effect.logWarning("other servers not told", cause))
  )

/** `send` must not reject. */
export const makePeerNotifier = (send: (payload: string) => Promise<void>): PeerNotifier => {
  let waiting: string | undefined
  let sending: Promise<void> | undefined
  const sendAll = async (): Promise<void> => {
    while (waiting !== undefined) {
      const payload = waiting
      waiting = undefined
      await send(payload)
    }
    sending = undefined
  }
  return {
    notify: (settingsChanged) => {
      waiting = payloadOf(settingsChanged || waiting === wire.settings)
      sending ??= sendAll()
    },
    sent: () => sending ?? Promise.resolve()
  }
}

interface SettingsCache {
  /** The current settings, cached. Outside transactions only. */
  readonly settings: (now: number) => Effect.Effect<Settings, Failure, Store>
  /** The settings for a decision: cached, or read without caching, as the transaction may be rolled back. */
  readonly settingsWithin: ReturnType<typeof storedSettings>
  readonly forget: () => void
}

const believed_millis = 900

const makeSettingsCache = (catalogue: Catalogue): SettingsCache => {
  let kept: { readonly settings: Settings; readonly until: number } | undefined
  let generation = 0
  const fresh = (now: number): Settings | undefined =>
    kept !== undefined && now < kept.until && now > kept.until - 2 * believed_millis ? kept.settings : undefined
  const read = storedSettings(catalogue)
  return {
    settings: (now) => {
      const known = fresh(now)
      if (known !== undefined) return Effect.succeed(known)
      const begun = generation
      return Effect.tap(read, (settings) =>
        Effect.sync(() => {
          // Not cached when something changed during the read.
          if (begun === generation) kept = { settings, until: now + believed_millis }
        })
      )
    },
    settingsWithin: Effect.withFiber((fiber) => {
      const known = fresh(fiber.getRef(Clock.Clock).currentTimeMillisUnsafe())
      return known === undefined ? read : Effect.succeed(known)
    }),
    forget: () => {
      generation++
      kept = undefined
    }
  }
}

// Caches reference rows that nearly every answer reads and few users change (groups, stores, custom fields). Cleared
// when one changes, here or on another server, and after 900 ms.

interface ReferenceCache {
  /** The store with reference tables read through the cache outside transactions. */
  readonly over: (store: StoreShape) => StoreShape
  /** Marks the transaction's changes as announced by the notice of its events. */
  readonly announced: Effect.Effect<void, never, Store>
  /** Clears the cache. */
  readonly forget: () => void
}

const rows_believed_millis = 900
const rows_kept = 10_000
const lists_kept = 500

/** Rows and lists in memory until cleared or expired. Values read during a change are not cached. */
const makeKept = () => {
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
    if (now < until && now > until - 2 * rows_believed_millis && count < rows_kept) return
    forget()
    until = now + rows_believed_millis
  }
  const rowsOf = <T extends Table>(
    table: T,
    keys: ReadonlyArray<Key>,
    readMissing: (missing: ReadonlyArray<Key>) => Sql<ReadonlyArray<RowOf<T>>>,
    now: number
  ): Sql<ReadonlyArray<RowOf<T>>> => {
    fresh(now)
    let known = rows.get(table)
    if (known === undefined) rows.set(table, (known = new Map()))
    const [key] = keys
    const row: unknown = keys.length === 1 && key !== undefined ? known.get(key) : undefined
    if (row !== undefined) return Effect.succeed([row as RowOf<T>])
    const distinct = [...new Set(keys)]
    const held: ReadonlyArray<unknown> = distinct.map((key) => known.get(key)).filter((row) => row !== undefined)
    const found = held as ReadonlyArray<RowOf<T>>
    const missing = distinct.filter((key) => !known.has(key))
    if (missing.length === 0) return Effect.succeed(found)
    const begun = generation
    return Effect.map(readMissing(missing), (read) => {
      read.forEach(Object.freeze)
      if (begun === generation) {
        count += missing.length
        for (const key of missing) known.set(key, undefined)
        for (const row of read) known.set(keyOf(table, row), row)
      }
      return [...found, ...read]
    })
  }
  const listOf = <Row>(
    asked: string,
    readList: () => Sql<ReadonlyArray<Row>>,
    now: number
  ): Sql<ReadonlyArray<Row>> => {
    fresh(now)
    const known = lists.get(asked)
    if (known !== undefined) return Effect.succeed(known as ReadonlyArray<Row>)
    const begun = generation
    return Effect.map(readList(), (read) => {
      read.forEach(Object.freeze)
      if (begun === generation && lists.size < lists_kept) {
        count += read.length + 1
        lists.set(asked, Object.freeze(read))
      }
      return read
    })
  }
  return { forget, rowsOf, listOf }
}

/** Names of lists by their conditions, for those requested with the same objects each time. */
const list_names = new WeakMap<Where, { readonly table: Table; readonly options: unknown; readonly name: string }>()
const listName = (table: Table, where: Where, options: unknown): string => {
  const known = list_names.get(where)
  if (known?.table === table && known.options === options) return known.name
  const name = `${table.name} ${JSON.stringify([where, options])}`
  list_names.set(where, { table, options, name })
  return name
}

/** Transactions that changed reference rows, by connection, and whether a notice of events announces it. */
type Changing = WeakMap<object, { is_announced: boolean }>

/** `changed`: called after a commit that changed such rows, unless a notice of events announces it. */
const makeReferenceCache = (changed: () => void): ReferenceCache => {
  const { forget, listOf, rowsOf } = makeKept()
  const changing: Changing = new WeakMap()
  const announced = Effect.flatMap(Store, (store) =>
    Effect.map(store.openTransaction, (transaction) => {
      const one = transaction === undefined ? undefined : changing.get(transaction)
      if (one !== undefined) one.is_announced = true
    })
  )
  const over = (store: StoreShape): StoreShape => {
    // Transactions bypass the cache, as they see their own changes and may be rolled back; except for reads marked
    // `cached` if they changed no reference rows.
    const outside = <A>(kept: (now: number) => Sql<A>, plain: () => Sql<A>, cached = false): Sql<A> =>
      Effect.withFiber((fiber) => {
        const transaction = store.transactionOf(fiber)
        return transaction === undefined || (cached && !changing.has(transaction))
          ? kept(fiber.getRef(Clock.Clock).currentTimeMillisUnsafe())
          : plain()
      })
    const getMany: StoreShape["getMany"] = (table, keys, options) =>
      !table.reference || keys.length === 0
        ? store.getMany(table, keys)
        : outside(
            (now) => rowsOf(table, keys, (missing) => store.getMany(table, missing), now),
            () => store.getMany(table, keys),
            options?.cached
          )
    const find: StoreShape["find"] = (table, where, options) =>
      !table.reference
        ? store.find(table, where, options)
        : outside(
            (now) => listOf(listName(table, where, options), () => store.find(table, where, options), now),
            () => store.find(table, where, options),
            options?.cached
          )
    return { ...watched(store, changing, changed), getMany, find }
  }
  return { over, announced, forget }
}

/** The store with `changed` called once after the commit of a transaction that changed reference rows. */
const watched = (store: StoreShape, changing: Changing, changed: () => void): StoreShape => ({
  ...store,
  apply: (changes) =>
    !changes.some(({ table }) => table.reference)
      ? store.apply(changes)
      : Effect.flatMap(store.openTransaction, (transaction) => {
          const own = (transaction && changing.get(transaction)) ?? { is_announced: false }
          if (transaction !== undefined) changing.set(transaction, own)
          const told = Effect.sync(() => {
            if (!own.is_announced) changed()
            own.is_announced = true
          })
          return store.apply(changes).pipe(Effect.andThen(store.sql.afterCommit(told)), Effect.andThen(endSharedCommit))
        }),
  transaction: (effect) =>
    Effect.flatMap(store.openTransaction, (outer) => {
      const ended = Effect.map(store.openTransaction, (own) => own !== undefined && changing.delete(own))
      return store.transaction(outer === undefined ? Effect.ensuring(effect, ended) : effect)
    })
})

/** Types of events after which cached users, roles, tokens and settings are read again. */
const changes_settings = /^(user|role|setting|token)/

/** Connects caches, listeners of this process, and other servers to the commits of this one. */
export const makeCommits = (catalogue: Catalogue, peers: PeerNotifier | undefined, recorded: () => void) => {
  const settings_cache = makeSettingsCache(catalogue)
  const authentication = makeAuthentication()
  const kept = makeReferenceCache(() => replaced())
  const listeners = new Set<() => void>()
  const references = new Set(catalogue.tables.flatMap(({ entity, reference }) => (reference ? [`${entity}.`] : [])))
  /** Whether these events change what servers cache: users, roles, tokens, settings, reference rows. */
  const changesSettings = (events: ReadonlyArray<NewEvent>): boolean =>
    events.some(({ type }) => changes_settings.test(type) || references.has(type.slice(0, type.indexOf(".") + 1)))
  const forget = (): void => {
    settings_cache.forget()
    authentication.forget()
    kept.forget()
  }
  const tellListeners = (): void => {
    for (const listener of [...listeners]) listener()
  }
  /** After a commit of events, which notified other servers itself. */
  const committed = (settingsChanged: boolean): void => {
    recorded()
    if (settingsChanged) forget()
    tellListeners()
  }
  /** After a change of cached rows, or of everything. */
  const replaced = (): void => {
    committed(true)
    peers?.notify(true)
  }
  const rowsWritten = (): void => {
    tellListeners()
    peers?.notify(false)
  }
  const onCommit = (listener: () => void) => {
    listeners.add(listener)
    return () => listeners.delete(listener)
  }
  return {
    settings_cache,
    authentication,
    kept,
    announced: kept.announced,
    changesSettings,
    forget,
    tellListeners,
    committed,
    replaced,
    rowsWritten,
    onCommit,
    payloadOf
  }
}
