/** Which answers the replica has: every operation of the catalogue but those only the server can do. */
import { catalogue } from "../core/catalogue.ts"
import { match } from "../core/kernel/dispatch.ts"
import type { Request } from "../core/kernel/endpoint.ts"
import { Rejection } from "../core/kernel/rejection.ts"
import { serverEndpoints } from "./derived/endpoints.ts"

/** A path nobody knows is answered here too: it is not found, network or not. */
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
