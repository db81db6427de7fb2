/** Decides which requests the replica answers: all of the catalogue's, except those that need the server. */
import { catalogue } from "../../core/catalogue.ts"
import { match, Rejection, type Endpoint, type Request } from "../../core/kernel/index.ts"
import { alsoNameable } from "../base/nameable.ts"

// Endpoints from which the nouns are derived: those of core, and those that only servers have.

/** Endpoints that only servers have, such as tokens; loaded for a noun or path that core does not have. */
const serverEndpoints = async (): Promise<ReadonlyArray<Endpoint>> => {
  const { serverSlices } = await import("../../server/host/slices.ts")
  const slices = serverSlices(() => catalogue)
  const endpoints = slices.flatMap((slice) => slice.endpoints ?? [])
  alsoNameable({ endpoints, resources: slices.flatMap((slice) => slice.resources ?? []) })
  return endpoints
}
export const allEndpoints = async (): Promise<ReadonlyArray<Endpoint>> => [
  ...catalogue.endpoints,
  ...(await serverEndpoints())
]

/** Whether the replica answers a request; also for unknown paths, with 404. */
export const isAnsweredLocally = async (request: Pick<Request, "method" | "path">): Promise<boolean> => {
  const found = match(catalogue, request.method, request.path)
  if (!(found instanceof Rejection)) return !found.endpoint.server_only
  return (
    found.kind === "not_found" &&
    !(await serverEndpoints()).some((endpoint) => pathPattern(endpoint.path).test(request.path))
  )
}
const pathPattern = (path: string): RegExp =>
  new RegExp(`^${path.replace(/[.]/g, "\\.").replace(/\{\w+\}/g, "[^/]+")}/?$`)
/** Whether a request changes data, unlike reads and calculations. Server-only paths are judged by method. */
export const isWrite = (request: Pick<Request, "method" | "path">): boolean => {
  if (request.method === "GET") return false
  const found = match(catalogue, request.method, request.path)
  return found instanceof Rejection || found.endpoint.kind === "command"
}
