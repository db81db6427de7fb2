/** How far an order is, as whoever scans reads it: whole pieces, those that are back among those that went out. */
import { Effect } from "effect"
import type { Failure } from "../kernel/failure.ts"
import type { Settings } from "../kernel/settings.ts"
import type { Store } from "../kernel/store/store.ts"
import { type LinePieces, loadLinePieces } from "../opportunities/pieces.ts"
import type { count_fields } from "./result.ts"

export type Counts = { readonly [K in keyof typeof count_fields]: number }

const sumOf = (lines: ReadonlyArray<LinePieces>): Counts => {
  const total = { asked: 0, packed: 0, out: 0, back: 0, to_go: 0 }
  for (const line of lines) {
    const [asked, out] = [Math.ceil(line.wanted), Math.floor(line.gone)]
    total.asked += asked
    total.packed += Math.floor(line.packed)
    total.out += out
    total.back += Math.floor(line.back)
    total.to_go += Math.max(0, asked - out)
  }
  return total
}

/** The counts of an order as it is stored: five queries. */
export const loadCounts = (opportunity_id: number, settings: Settings): Effect.Effect<Counts, Failure, Store> =>
  Effect.map(loadLinePieces([opportunity_id], settings), (piecesOf) => sumOf(piecesOf(opportunity_id)))
