/** Endpoints of what comes from suppliers and what goes back to them (interface 4.12). */
import type { Endpoint } from "../../kernel/endpoint.ts"

export const receivingEndpoints: ReadonlyArray<Endpoint> = []
