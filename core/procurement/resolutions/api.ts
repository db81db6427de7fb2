/** Closing the shortages of an opportunity by sub-hire or purchase (rules/availability 9). */
import type { Endpoint } from "../../kernel/endpoint.ts"

export const resolutionEndpoints: ReadonlyArray<Endpoint> = []
