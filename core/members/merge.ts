/** Merging two members that are one: what is read before, and who takes part in what (members-activities 2). */
import { Effect } from "effect"
import { activity_participants } from "../activities/schema.ts"
import { Store } from "../kernel/store/store.ts"
import type { Table } from "../kernel/table.ts"
import { opportunity_participants } from "../opportunities/parts.ts"
import type { MergeFacts } from "./decide.ts"
import { type ContactKind, contactTables, members, relationships } from "./schema.ts"

/** Who takes part in what: nobody twice. */
export const participations: ReadonlyArray<{ readonly table: Table; readonly of: string }> = [
  { table: opportunity_participants, of: "opportunity_id" },
  { table: activity_participants, of: "activity_id" }
]

export const mergeFacts = Effect.fnUntraced(function*(primary_id: number, secondary_id: number) {
  const store = yield* Store
  const both = [primary_id, secondary_id]
  const joined = [...yield* store.find(relationships, { member_id: both }), ...yield* store.find(relationships, { related_member_id: both })]
  const primary_kinds: Array<ContactKind> = []
  for (const kind of ["addresses", "emails", "phones"] as const) {
    if (yield* store.exists(contactTables[kind], { member_id: primary_id, is_primary: true })) primary_kinds.push(kind)
  }
  const doubled: { [table: string]: ReadonlyArray<number> } = {}
  for (const { table, of } of participations) {
    const rows = yield* store.find(table, { member_id: both })
    const taken = new Set(rows.filter((row) => row["member_id"] === primary_id).map((row) => row[of]))
    doubled[table.name] = rows.filter((row) => row["member_id"] === secondary_id && taken.has(row[of])).map((row) => row["id"] as number)
  }
  return {
    secondary: yield* store.get(members, secondary_id), primary_kinds, doubled,
    relationships: [...new Map(joined.map((one) => [one.id, one])).values()].sort((one, other) => one.id - other.id)
  } satisfies MergeFacts
})
