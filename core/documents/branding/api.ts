/** How documents look and what they say around their facts, by store and type (rules/billing 3). */
import type { Endpoint } from "../../kernel/endpoint.ts"

export const layoutEndpoints: ReadonlyArray<Endpoint> = []
