/** Events of stock beside the creation, change and deletion of levels. */
import { Schema } from "effect"
import { remove } from "../../kernel/tables/table.ts"
import { type AnyEventType, eventType } from "../../kernel/events/event-type.ts"
import { rowEvents } from "../../kernel/endpoints/crud-resource.ts"
import { stock_levels, stock_transactions } from "./schema.ts"

/** References to the level move to the other one where their columns declare `on_merge`. */
export const stockLevelMerged = eventType("stock_level.merged", {
  meaning: "A stock level was merged into another one of the same product and store.",
  data: () => Schema.Struct({ id: Schema.Int, into_id: Schema.Int }),
  project: ({ id }) => [remove(stock_levels, id)]
})

export const stockEvents: ReadonlyArray<AnyEventType> = [...rowEvents(stock_transactions), stockLevelMerged]
