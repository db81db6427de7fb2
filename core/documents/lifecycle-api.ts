/** Endpoints of documents: generated, finalised, voided (interface 4.9). */
import type { Endpoint } from "../kernel/endpoint.ts"

export const documentEndpoints: ReadonlyArray<Endpoint> = []
