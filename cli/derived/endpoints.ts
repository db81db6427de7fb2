/** The endpoint tables that the API's nouns derive from: the core's, and those only servers have. */
import { catalogue } from "../../core/catalogue.ts"
import type { Endpoint } from "../../core/kernel/endpoint.ts"
import { alsoNameable } from "../nameable.ts"

export const coreEndpoints: ReadonlyArray<Endpoint> = catalogue.endpoints

/** Endpoints no replica can answer, such as tokens; loaded when a noun or a path is not among the core's. */
export const serverEndpoints = async (): Promise<ReadonlyArray<Endpoint>> => {
  const { serverSlices } = await import("../../server/slices.ts")
  const slices = serverSlices(() => catalogue)
  const endpoints = slices.flatMap((slice) => slice.endpoints ?? [])
  alsoNameable({ endpoints, resources: slices.flatMap((slice) => slice.resources ?? []) })
  return endpoints
}
export const allEndpoints = async (): Promise<ReadonlyArray<Endpoint>> => [
  ...coreEndpoints,
  ...(await serverEndpoints())
]
