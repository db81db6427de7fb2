/** Which requests the replica answers: every operation of the catalogue except those only a server can do. */
import { catalogue } from "../../core/catalogue.ts"
import type { Endpoint, Request } from "../../core/kernel/endpoints/endpoint.ts"
import { alsoNameable } from "../base/nameable.ts"
import { match } from "../../core/kernel/runtime/engine.ts"
import { Rejection } from "../../core/kernel/fields/rejection.ts"

// The endpoint tables that the API's nouns derive from: the core's, and those only servers have.

export const coreEndpoints: ReadonlyArray<Endpoint> = catalogue.endpoints

/** Endpoints that no replica can answer, such as tokens; loaded when a noun or a path is not among the core's. */
const serverEndpoints = async (): Promise<ReadonlyArray<Endpoint>> => {
  const { serverSlices } = await import("../../server/host/slices.ts")
  const slices = serverSlices(() => catalogue)
  const endpoints = slices.flatMap((slice) => slice.endpoints ?? [])
  alsoNameable({ endpoints, resources: slices.flatMap((slice) => slice.resources ?? []) })
  return endpoints
}
export const allEndpoints = async (): Promise<ReadonlyArray<Endpoint>> => [
  ...coreEndpoints,
  ...(await serverEndpoints())
]

/** A path that no endpoint has is answered by the replica too: with 404. */
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
/** Whether a request changes something: no read, no calculation. Paths only servers have count by their method. */
export const isWrite = (request: Pick<Request, "method" | "path">): boolean => {
  if (request.method === "GET") return false
  const found = match(catalogue, request.method, request.path)
  return found instanceof Rejection || found.endpoint.kind === "command"
}
