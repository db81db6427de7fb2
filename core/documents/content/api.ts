/** The types of documents and the fields that their texts may name (interface 4.9). */
import type { Endpoint } from "../../kernel/endpoint.ts"

export const documentTypeEndpoints: ReadonlyArray<Endpoint> = []
