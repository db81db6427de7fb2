/** What was metered and is not written yet, in the order it came: so many rows at most. */
import type { Metered } from "./metered.ts"
import type { Batch } from "./write.ts"

export interface Buffer {
  /** False where there was no room. */
  readonly add: (metered: Metered) => boolean
  /** The batch to be written next, the same one until it is `done`. */
  readonly next: () => Batch | undefined
  /** The batch that is next is written. */
  readonly done: () => void
  /** It was refused for what is in it: the row to blame is found by halves, so that it does not hold up all others. */
  readonly refused: () => void
  readonly change: (to: (metered: Metered) => Metered) => void
  readonly waiting: () => number
  readonly dropped: () => number
}

export const makeBuffer = (batch_rows: number, rows_max: number): Buffer => {
  let added: Array<Metered> = []
  let batches: ReadonlyArray<Batch> = []
  let in_batches = 0
  let dropped = 0
  const setBatches = (all: ReadonlyArray<Batch>): void => {
    batches = all
    in_batches = all.reduce((sum, { metered }) => sum + metered.length, 0)
  }
  return {
    add: (metered) => {
      const has_room = added.length + in_batches < rows_max
      if (has_room) added.push(metered)
      else dropped++
      return has_room
    },
    next: () => {
      if (batches.length === 0 && added.length > 0) {
        setBatches([{ metered: added.slice(0, batch_rows), first_id: undefined }])
        added = added.slice(batch_rows)
      }
      return batches[0]
    },
    done: () => setBatches(batches.slice(1)),
    refused: () => {
      const [first, ...others] = batches
      if (first === undefined) return
      const { metered } = first
      const middle = Math.ceil(metered.length / 2)
      const halves = metered.length === 1 ? [] : [metered.slice(0, middle), metered.slice(middle)]
      if (metered.length === 1) dropped++
      setBatches([...halves.map((half) => ({ metered: half, first_id: undefined })), ...others])
    },
    change: (to) => {
      added = added.map(to)
      batches = batches.map((batch) => ({ ...batch, metered: batch.metered.map(to) }))
    },
    waiting: () => added.length + in_batches,
    dropped: () => dropped
  }
}
