/** The endpoint catalogue as rows (rules/conventions 16): paths, parameters and weights. */
import { type Catalogue, type Endpoint, operationOf, resourceOf } from "../../../core/kernel/endpoints/endpoint.ts"

/** Endpoints under /api; pages and metrics are left out. */
export const interfaceOf = (catalogue: Catalogue): ReadonlyArray<Endpoint> =>
  catalogue.endpoints.filter(
    ({ path }) => path.startsWith("/api/") || path.startsWith("/files/") || path.endsWith(".ics")
  )

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** Rows of the catalogue, sorted by path, then method. Alternative abilities are in one row. */
export const catalogueRows = (catalogue: Catalogue) =>
  catalogue.endpoints
    .filter((endpoint) => endpoint.path.startsWith("/api/"))
    .toSorted((a, b) => compare(a.path, b.path) || compare(a.method, b.method))
    .map((endpoint) => ({
      name: endpoint.name,
      method: endpoint.method,
      uri: endpoint.path,
      resource: resourceOf(endpoint) || null,
      operation: operationOf(endpoint),
      ability: endpoint.ability === null ? null : [endpoint.ability].flat().join("|"),
      price_weight: endpoint.metering_weight
    }))
