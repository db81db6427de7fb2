/**
 * Counts of a table's live rows by a few columns, kept by triggers in the transaction that writes the rows, so that a
 * list's total needs no scan. SQLite updates the count of a group; Postgres adds a row per change, as writers of one
 * group would otherwise wait for each other, and merges such rows now and then. The sum is the count on both.
 */
import type { Table } from "../tables/table.ts"
import { columnType, countsTable, type Dialect, quote } from "./statement.ts"

/** The statements that create a table's counts and fill them from its rows; none if it keeps no counts. */
export const countStatements = (table: Table, dialect: Dialect): ReadonlyArray<string> => {
  if (table.counted_by.length === 0) return []
  const columns = Object.entries(table.columns).flatMap(([name, field]) =>
    table.counted_by.includes(name) ? [`${quote(name)} ${columnType(field, dialect)}`] : []
  )
  return [
    `create table ${quote(countsTable(table))} (${columns.join(", ")}, "rows" bigint not null)`,
    ...(dialect === "pg" ? addedUp(table) : updatedInPlace(table)),
    `insert into ${target(table)} ${grouped(table, table.name)}`
  ]
}

const columnsOf = (table: Table, prefix = ""): string =>
  table.counted_by.map((name) => `${prefix}${quote(name)}`).join(", ")
const target = (table: Table): string => `${quote(countsTable(table))} (${columnsOf(table)}, "rows")`
/** Condition of a row that lists show. */
const live = ({ soft_delete }: Table, prefix = ""): string => (soft_delete ? `${prefix}"deleted_at" is null` : "true")
/** Columns whose change moves a row to another group. */
const moving = (table: Table): ReadonlyArray<string> =>
  [...table.counted_by, ...(table.soft_delete ? ["deleted_at"] : [])].map(quote)
const grouped = (table: Table, from: string, count = "count(*)"): string =>
  `select ${columnsOf(table)}, ${count} from ${quote(from)} where ${live(table)} group by ${columnsOf(table)}`

const updatedInPlace = (table: Table): ReadonlyArray<string> => {
  const counts = quote(countsTable(table))
  const change = (by: string, row: string): string =>
    `update ${counts} set "rows" = "rows" ${by} where ${live(table, row)} and ` +
    table.counted_by.map((name) => `${quote(name)} is ${row}${quote(name)}`).join(" and ")
  const remove = change("- 1", "old.")
  const add =
    `${change("+ 1", "new.")}; ` +
    `insert into ${target(table)} select ${columnsOf(table, "new.")}, 1 where ${live(table, "new.")} and changes() = 0`
  const trigger = (verb: string, of: string, statements: string): string =>
    `create trigger ${quote(`${countsTable(table)}_${verb}`)} after ${verb}${of} on ${quote(table.name)} ` +
    `begin ${statements}; end`
  return [
    // There may be hundreds of groups, and each row that is written finds its own.
    `create index ${quote(`${countsTable(table)}_index`)} on ${counts} (${columnsOf(table)})`,
    trigger("insert", "", add),
    trigger("delete", "", remove),
    trigger("update", ` of ${moving(table).join(", ")}`, `${remove}; ${add}`)
  ]
}

/** A read adds up some fifty rows that are not merged yet. */
const merged_share = 0.02

const addedUp = (table: Table): ReadonlyArray<string> => {
  const counts = quote(countsTable(table))
  const columns = columnsOf(table)
  const run = quote(`${countsTable(table)}_change`)
  const changed = moving(table).map((name) => `old.${name} is distinct from new.${name}`)
  const trigger = (verb: string, of: string, how: string): string =>
    `create trigger ${quote(`${countsTable(table)}_${verb}`)} after ${verb}${of} on ${quote(table.name)} ${how} ` +
    `execute function ${run}()`
  return [
    `create or replace function ${run}() returns trigger language plpgsql as $$ begin
  if TG_OP = 'INSERT' then insert into ${target(table)} ${grouped(table, "changed")};
  elsif TG_OP = 'DELETE' then insert into ${target(table)} ${grouped(table, "changed", "-count(*)")};
  else
    insert into ${target(table)} select ${columnsOf(table, "old.")}, -1 where ${live(table, "old.")};
    insert into ${target(table)} select ${columnsOf(table, "new.")}, 1 where ${live(table, "new.")};
  end if;
  if random() < ${merged_share} then
    -- Rows that another transaction is merging are left to it, so that no writer waits.
    with merged as (
      delete from ${counts} where ctid = any (array(select ctid from ${counts} for update skip locked)) returning *
    ) insert into ${target(table)}
      select ${columns}, sum("rows") from merged group by ${columns} having sum("rows") <> 0;
  end if;
  return null;
end $$`,
    trigger("insert", "", "referencing new table as changed for each statement"),
    trigger("delete", "", "referencing old table as changed for each statement"),
    trigger("update", ` of ${moving(table).join(", ")}`, `for each row when (${changed.join(" or ")})`)
  ]
}
