/** What the rule for merging two members must know (rules/members-activities 2). */
import { Effect } from "effect"
import { doublesOf } from "../kernel/reference-checks.ts"
import { CommandRuntime } from "../kernel/command-runtime.ts"
import { Store } from "../kernel/store/store.ts"
import type { MergeFacts } from "./decide.ts"
import { type ContactKind, contactTables, members, relationships } from "./schema.ts"

/** Of both members: relationships, types with a primary contact record, and participations the two share. */
export const mergeFacts = Effect.fnUntraced(function* (primary_id: number, secondary_id: number) {
  const store = yield* Store
  const both = [primary_id, secondary_id]
  const joined = [
    ...(yield* store.find(relationships, { member_id: both })),
    ...(yield* store.find(relationships, { related_member_id: both }))
  ]
  const primary_kinds: Array<ContactKind> = []
  for (const kind of ["addresses", "emails", "phones"] as const) {
    if (yield* store.exists(contactTables[kind], { member_id: primary_id, is_primary: true })) primary_kinds.push(kind)
  }
  const { references } = (yield* CommandRuntime).catalogue
  return {
    secondary: yield* store.get(members, secondary_id),
    primary_kinds,
    doubled: yield* doublesOf(references, members, { from: secondary_id, into: primary_id }),
    relationships: [...new Map(joined.map((one) => [one.id, one])).values()].sort((one, other) => one.id - other.id)
  } satisfies MergeFacts
})
