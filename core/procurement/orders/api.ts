/** Endpoints of purchase orders but for what is received and returned (interface 4.12). */
import type { Endpoint } from "../../kernel/endpoint.ts"

export const orderEndpoints: ReadonlyArray<Endpoint> = []
