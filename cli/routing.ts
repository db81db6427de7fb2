/** Which requests the replica answers: every operation of the catalogue except those only a server can do. */
import { catalogue } from "../core/catalogue.ts"
import { match } from "../core/kernel/dispatch.ts"
import type { Request } from "../core/kernel/endpoint.ts"
import { Rejection } from "../core/kernel/rejection.ts"
import { serverEndpoints } from "./derived/endpoints.ts"

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
