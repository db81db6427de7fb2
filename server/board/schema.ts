/** Boards: the day of a store on a screen on the wall, at an address that needs no login (rules/today 5). */
import { boolean, integer, ref, text, timestamp } from "../../core/kernel/field.ts"
import { addColumn, type TableMigration } from "../../core/kernel/table-migration.ts"
import { type RowOf, table } from "../../core/kernel/table.ts"

export const board_fields = {
  name: text({ required: true, max: 100, describe: "Where it hangs" }),
  store_id: ref("stores", { nullable: true, on_delete: "keep", describe: "Whose day; of all stores without it" }),
  shows_money: boolean({ default: false, describe: "What is unpaid is counted on it, too" }),
  expires_at: timestamp({ nullable: true, describe: "From then on its address opens nothing; never without it" })
}
export const boards = table(
  "boards",
  {
    ...board_fields,
    /** Who made it: it shows what this person may see, for as long as they may. */
    user_id: integer({ computed: true, min: 1, max: Number.MAX_SAFE_INTEGER }),
    /** Counted up with each new address; only the last one opens it. */
    address_no: integer({ computed: true, min: 1, default: 1 }),
    /**
     * Drawn for each board and signed with its address: a server that was set up anew with the same key counts its
     * boards from 1 again. Null of boards from before, whose addresses stay as they are.
     */
    mark: text({ nullable: true, computed: true, hidden: true })
  },
  { indexes: [["user_id"]] }
)
export const boards_with_marks: TableMigration = {
  id: 3,
  name: "marks_of_boards",
  table: boards,
  up: addColumn("boards", "mark", text({ nullable: true }), "null")
}
export type BoardRow = RowOf<typeof boards>
