/** Public addresses of documents: made, changed, revoked, read and answered (interface 4.9). */
import type { Endpoint } from "../../core/kernel/endpoint.ts"

export const linkEndpoints: ReadonlyArray<Endpoint> = []
