/** `?explain=1`: the answer explains how each figure was computed. */
import { type Query, valueOf } from "../kernel/query.ts"

export const isExplained = (query: Query): boolean => ["1", "true"].includes(valueOf(query, "explain") ?? "")
