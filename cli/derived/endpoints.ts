/** The endpoint tables the nouns derive from: the core's, and what only servers have beside. */
import { catalogue } from "../../core/catalogue.ts"
import type { Endpoint } from "../../core/kernel/endpoint.ts"

export const coreEndpoints: ReadonlyArray<Endpoint> = catalogue.endpoints

/** Endpoints no replica knows (tokens, users, webhooks …); loaded when a noun or a path is not among the core's. */
export const serverEndpoints = async (): Promise<ReadonlyArray<Endpoint>> => {
  const { serverSlices } = await import("../../server/slices.ts")
  return serverSlices(() => catalogue).flatMap((slice) => slice.endpoints ?? [])
}
