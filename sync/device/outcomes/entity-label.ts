import type { Table } from "../../../core/kernel/table.ts"

/** What a row of the table is called in sentences: `stock level` in `stock level 7 MH-1`. */
export const entityLabel = ({ entity }: Pick<Table, "entity">): string => entity.replaceAll("_", " ")
