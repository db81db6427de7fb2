/** The catalogue: the one list of slices and registers that server, command line, sync and tests iterate. */
import { inCatalogue } from "../lists/answer-schema.ts"
import type { Catalogue, Endpoint, Permission, Slice } from "./endpoint-types.ts"
import {
  type AnyEventType,
  decodeData,
  type Projection,
  type ProjectionContext,
  type Projector
} from "../events/event-type.ts"
import type { JsonObject } from "../fields/json.ts"
import { rowsToldEvent } from "../events/journal.ts"
import { reactionsOf } from "../events/react.ts"
import { clearableTables, referenceClearedEvent, referencesOf, withReferences } from "../events/references.ts"
import { as_declared, type Composed, type Includes, type Resource } from "../lists/resource-types.ts"

export type { Catalogue, LaterSeed, Permission, Slice } from "./endpoint-types.ts"

/** The permissions of one area, from its actions separated by blanks: `vehicles`, `view create` → `vehicles.view`, … */
export const permissionsOfArea = (area: string, actions: string): ReadonlyArray<Permission> =>
  actions.split(" ").map((action) => ({ key: `${area}.${action}`, area, action }))

/**
 * One event may change tables of several slices: its own slice folds it first, then those that follow it, in the order
 * of the list.
 */
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
/** Row changes of a stored event, decoded first, so that events of earlier releases project as intended. */
export const foldStored = (
  { events, projection }: Pick<Catalogue, "events" | "projection">,
  { data, type }: { readonly type: string; readonly data: JsonObject },
  meta: ProjectionContext
): ReturnType<Projector> => {
  const kind = events.get(type)
  return kind === undefined ? [] : (projection[type]?.(decodeData(kind, data), meta) ?? [])
}

/**
 * Resources with the includes that other slices declare on them. Declarations stay unchanged: several catalogues may be
 * composed of the same slices. Throws if no resource has the name, or two slices declare different includes.
 */
const composedResources = (
  slices: ReadonlyArray<Slice>
): { readonly resources: ReadonlyArray<Resource>; readonly composed: Composed } => {
  const declared = slices.flatMap((slice) => slice.resources ?? [])
  const added = new Map<Resource, Includes>()
  for (const [plural, includes] of slices.flatMap((slice) => Object.entries(slice.includes ?? {}))) {
    const resource = declared.find((one) => one.plural === plural)
    if (resource === undefined)
      throw new Error(`no resource ${plural} in the catalogue to include ${Object.keys(includes).join(", ")}`)
    const present = added.get(resource) ?? resource.includes
    for (const [name, include] of Object.entries(includes)) {
      if (present[name] !== undefined && present[name] !== include)
        throw new Error(`two slices include ${name} in ${resource.plural}`)
    }
    added.set(resource, { ...present, ...includes })
  }
  if (added.size === 0) return { resources: declared, composed: as_declared }
  const byDeclared = new Map<unknown, unknown>(
    [...added].map(([resource, includes]) => [resource, { ...resource, includes }])
  )
  // Safe: a composed copy has the type of the resource it was copied from.
  const composed: Composed = <R>(resource: R): R => (byDeclared.get(resource) as R | undefined) ?? resource
  return { resources: declared.map(composed), composed }
}
/** The endpoint with its answer Schemas as this catalogue composes them. The Schemas are built on first use. */
const within = (composed: Composed, endpoint: Endpoint): Endpoint =>
  composed === as_declared
    ? endpoint
    : {
        ...endpoint,
        get answer() {
          return endpoint.answer === undefined ? undefined : inCatalogue(endpoint.answer, composed)
        },
        get error_answers() {
          return Object.fromEntries(
            Object.entries(endpoint.error_answers).map(([status, shown]) => [
              status,
              shown === null ? null : inCatalogue(shown, composed)
            ])
          )
        }
      }

export const catalogueOf = (slices: ReadonlyArray<Slice>): Catalogue => {
  const tables = slices.flatMap((slice) => slice.tables ?? [])
  const server_tables = slices.flatMap((slice) => slice.server_tables ?? [])
  const path_aliases = slices.flatMap((slice) => Object.entries(slice.path_aliases ?? {}))
  const told = tables.find(({ columns }) => Object.values(columns).some(({ secret }) => secret))
  if (told !== undefined) throw new Error(`${told.name} holds a secret and is folded from the journal, which tells it`)
  const byName = new Map([...tables, ...server_tables].map((table) => [table.name, table]))
  const { composed, resources } = composedResources(slices)
  const endpoints = slices.flatMap((slice) => slice.endpoints ?? []).map((endpoint) => within(composed, endpoint))
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
    composed,
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
