/**
 * What a quotation offers, as its pages say it: the facts, tables and sums, without the words around them. Two
 * documents of one opportunity offer the same exactly when this text is the same, however logo, terms or a
 * greeting changed.
 */
import type { Block, PrintDocument } from "../../print/blocks.ts"

const offered = (blocks: ReadonlyArray<Block>): ReadonlyArray<unknown> =>
  blocks.flatMap((block): ReadonlyArray<unknown> => {
    switch (block.kind) {
      case "columns":
        return block.columns.flatMap((column) => offered(column.blocks))
      case "together":
        return offered(block.blocks)
      case "table":
        return [block.columns.map(({ title }) => title), block.rows]
      case "totals":
      case "key_values":
        return [block.rows.map(({ label, value }) => [label, value])]
      default:
        return []
    }
  })
export const offerText = ({ blocks }: Pick<PrintDocument, "blocks">): string => JSON.stringify(offered(blocks))
