/** Opportunity lines against stock, many at once: what is free for each, its own claims aside (availability 6.8). */
import { Effect } from "effect"
import type { Fault } from "../kernel/endpoint.ts"
import { Store } from "../kernel/store/store.ts"
import { inOrder } from "../values/period.ts"
import { millisOf } from "../values/time.ts"
import type { Book } from "./book.ts"
import { type LineAsked, type LineAvailability, lineAvailability } from "./line.ts"
import { type BookContext, loadBooks } from "./load.ts"
import { spacious } from "./window.ts"

/** A product-backed line with its window (`lineWindow`) and store (`storeOfLine`) resolved. */
export interface LineAtStore extends LineAsked { readonly store_id: number }

/** The books of all stores the lines take from, over the span of all lines: one fixed set of queries. */
export const booksForLines = Effect.fnUntraced(function*(
  lines: ReadonlyArray<LineAtStore>, context: BookContext
): Effect.fn.Return<ReadonlyMap<number, Book>, Fault, Store> {
  if (lines.length === 0) return new Map()
  const windows = lines.map((line) => inOrder({ from: millisOf(line.starts_at), to: millisOf(line.ends_at) }))
  return yield* loadBooks({
    store_ids: [...new Set(lines.map((line) => line.store_id))],
    product_ids: [...new Set(lines.map((line) => line.product_id))],
    window: spacious({
      from: windows.reduce((first, { from }) => Math.min(first, from), Number.POSITIVE_INFINITY),
      to: windows.reduce((last, { to }) => Math.max(last, to), Number.NEGATIVE_INFINITY)
    })
  }, context)
})

/** One entry per line whose store exists, in the lines' order. */
export const availabilityOfLines = Effect.fnUntraced(function*(
  lines: ReadonlyArray<LineAtStore>, context: BookContext
): Effect.fn.Return<ReadonlyArray<LineAvailability>, Fault, Store> {
  const books = yield* booksForLines(lines, context)
  return lines.flatMap((line) => {
    const book = books.get(line.store_id)
    return book === undefined ? [] : [lineAvailability(book, line)]
  })
})
