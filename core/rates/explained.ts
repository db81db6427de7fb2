/** `?explain=1` on what shows prices: the answer says how each figure came about, too. Without it, it does not. */
import { type Query, valueOf } from "../kernel/query.ts"

export const isExplained = (query: Query): boolean => ["1", "true"].includes(valueOf(query, "explain") ?? "")
