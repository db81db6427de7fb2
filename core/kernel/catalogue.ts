/** What a catalogue of slices and registers is: the one list that server, command line, sync and tests iterate. */
import type { Endpoint, StoreRead } from "./endpoint.ts"
import type { ProjectionContext, Projector, NewEvent, Projection, Scrubs } from "./event.ts"
import { type AnyEventType, decodeData, type Follower } from "./event-type.ts"
import type { JsonObject } from "./json.ts"
import { rowsToldEvent } from "./redacted-event.ts"
import { type Reaction, type Reactions, reactionsOf } from "./react.ts"
import { clearableTables, type References, referenceClearedEvent, referencesOf, withReferences } from "./references.ts"
import { type Include, includeAlso, type Resource } from "./resource.ts"
import type { SettingGroups } from "./settings.ts"
import type { Table } from "./table.ts"

/**
 * A table outside the journal that takes the place of one an earlier release kept, which cannot be folded anew: its rows are
 * copied once, in the transaction that makes the table. The earlier table stays as it was and is not read again.
 */
export interface TableSuccession {
  readonly table: Table
  readonly from: string
  /** An expression over the earlier table for each column, in SQL that both engines understand. */
  readonly columns: { readonly [column: string]: string }
}

/** What a role can allow, `area.action`: roles and people hold permissions by their key. */
export interface Permission {
  readonly key: string
  readonly area: string
  readonly action: string
}
/** The permissions of one area, from its actions separated by blanks: `vehicles`, `view create` → `vehicles.view`, … */
export const permissionsOfArea = (area: string, actions: string): ReadonlyArray<Permission> =>
  actions.split(" ").map((action) => ({ key: `${area}.${action}`, area, action }))

/**
 * Events that a later release adds to a database, built from the rows that are there by then. They are recorded once; a seed
 * that yields no events is asked again at the next start.
 */
export type LaterSeed = (at: string) => StoreRead<ReadonlyArray<NewEvent>>

export interface Slice {
  readonly name: string
  /** Permissions that its endpoints ask for and roles can hold. */
  readonly permissions?: ReadonlyArray<Permission>
  /** Tables folded from the journal; every replica has them. */
  readonly tables?: ReadonlyArray<Table>
  /** Tables outside the journal, on the server only. */
  readonly server_tables?: ReadonlyArray<Table>
  /** What those tables take over from tables of earlier releases. */
  readonly successions?: ReadonlyArray<TableSuccession>
  /** What happens to its things: every kind of event it records. */
  readonly events?: ReadonlyArray<AnyEventType>
  /** Its own folds of what other slices record. */
  readonly follows?: ReadonlyArray<Follower>
  readonly endpoints?: ReadonlyArray<Endpoint>
  /** Other names of paths, by the path they stand for: everything below answers under them, too. */
  readonly path_aliases?: { readonly [path: string]: ReadonlyArray<string> }
  readonly resources?: ReadonlyArray<Resource>
  readonly settings?: SettingGroups
  /** Events of an empty database: reference data, nothing that looks like a customer. `id` gives fixed, small ids. */
  readonly seed?: (at: string) => ReadonlyArray<NewEvent>
  /** What releases after the first add to it, in their order; a database that was there before gets it with its next start. */
  readonly later_seeds?: ReadonlyArray<LaterSeed>
  /** What happens here, in the same transaction, when something happened in another slice. */
  readonly react?: ReadonlyArray<Reaction>
  /** What lists of other slices include on request of the rows here that point at theirs, by the plural of their resource. */
  readonly includes?: { readonly [resource: string]: { readonly [name: string]: Include } }
  /** Streams of its things that hold a user's words, such as names of tokens: they are scrubbed when that person is anonymised. */
  readonly streams_of_user?: (user_id: number) => StoreRead<ReadonlyArray<string>>
}

export interface Catalogue {
  readonly slices: ReadonlyArray<Slice>
  readonly tables: ReadonlyArray<Table>
  readonly server_tables: ReadonlyArray<Table>
  readonly table: (name: string) => Table
  /** Every kind of event this release knows, by type. */
  readonly events: ReadonlyMap<string, AnyEventType>
  readonly projection: Projection
  readonly endpoints: ReadonlyArray<Endpoint>
  readonly endpoint: (name: string) => Endpoint | undefined
  /** Every path an endpoint answers under, its own first. */
  readonly pathsOf: (endpoint: Endpoint) => ReadonlyArray<string>
  readonly resources: ReadonlyArray<Resource>
  readonly settings: SettingGroups
  /** Every permission roles can hold. */
  readonly permissions: ReadonlyArray<Permission>
  readonly scrubs: Scrubs
  readonly reactions: Reactions
  /** Who points at whom, by the table pointed at. */
  readonly references: References
}

/** One event may change tables of several slices: its own slice folds it first, then those that follow it, in the order of the list. */
const projectionOf = (events: ReadonlyMap<string, AnyEventType>, slices: ReadonlyArray<Slice>): Projection => {
  const folds: { [eventType: string]: Projector } = {}
  const add = (type: string, fold: Projector): void => {
    const before = folds[type]
    folds[type] = before === undefined ? fold : (data, meta) => [...before(data, meta), ...fold(data, meta)]
  }
  for (const { project, type } of events.values()) if (project !== undefined) add(type, project)
  for (const slice of slices) for (const { fold, type } of slice.follows ?? []) add(type, fold)
  return folds
}
const eventsOf = (declared: ReadonlyArray<AnyEventType>): ReadonlyMap<string, AnyEventType> => {
  const byType = new Map(declared.map((one) => [one.type, one]))
  if (byType.size !== declared.length) {
    const types = declared.map(({ type }) => type)
    throw new Error(`two events share a type: ${types.filter((type, at) => types.indexOf(type) !== at).join(", ")}`)
  }
  return byType
}
/** The row changes of an event that was read from a journal: decoded first, so that what earlier releases recorded folds as they meant it. */
export const foldStored = (
  { events, projection }: Pick<Catalogue, "events" | "projection">,
  { data, type }: { readonly type: string; readonly data: JsonObject },
  meta: ProjectionContext
): ReturnType<Projector> => {
  const kind = events.get(type)
  return kind === undefined ? [] : (projection[type]?.(decodeData(kind, data), meta) ?? [])
}

export const catalogueOf = (slices: ReadonlyArray<Slice>): Catalogue => {
  const tables = slices.flatMap((slice) => slice.tables ?? [])
  const server_tables = slices.flatMap((slice) => slice.server_tables ?? [])
  const path_aliases = slices.flatMap((slice) => Object.entries(slice.path_aliases ?? {}))
  const byName = new Map([...tables, ...server_tables].map((table) => [table.name, table]))
  const endpoints = slices.flatMap((slice) => slice.endpoints ?? [])
  const endpointByName = new Map(endpoints.map((endpoint) => [endpoint.name, endpoint]))
  if (endpointByName.size !== endpoints.length) {
    const names = endpoints.map((endpoint) => endpoint.name)
    throw new Error(`two endpoints share a name: ${names.filter((name, at) => names.indexOf(name) !== at).join(", ")}`)
  }
  const references = referencesOf(tables)
  const events = eventsOf([
    ...slices.flatMap((slice) => slice.events ?? []),
    ...clearableTables(references).map(referenceClearedEvent),
    rowsToldEvent((name) => byName.get(name))
  ])
  const resources = slices.flatMap((slice) => slice.resources ?? [])
  for (const [plural, includes] of slices.flatMap((slice) => Object.entries(slice.includes ?? {}))) {
    const target = resources.find((one) => one.plural === plural)
    if (target === undefined)
      throw new Error(`no resource ${plural} in the catalogue to include ${Object.keys(includes).join(", ")}`)
    includeAlso(target, includes)
  }
  return {
    references,
    slices,
    tables,
    server_tables,
    endpoints,
    events,
    table: (name) => {
      const found = byName.get(name)
      if (found === undefined) throw new Error(`no table ${name} in the catalogue`)
      return found
    },
    projection: withReferences(projectionOf(events, slices), tables, references),
    endpoint: (name) => endpointByName.get(name),
    pathsOf: ({ path }) => [
      path,
      ...path_aliases.flatMap(([of, others]) =>
        path === of || path.startsWith(`${of}/`) ? others.map((other) => other + path.slice(of.length)) : []
      )
    ],
    resources,
    reactions: reactionsOf(slices.flatMap((slice) => slice.react ?? [])),
    settings: Object.assign({}, ...slices.map((slice) => slice.settings ?? {})),
    permissions: slices.flatMap((slice) => slice.permissions ?? []),
    scrubs: Object.fromEntries(
      [...events.values()].flatMap((kind) => {
        const { scrub } = kind
        return scrub === undefined ? [] : [[kind.type, (data: JsonObject) => scrub(decodeData(kind, data))]]
      })
    )
  }
}
