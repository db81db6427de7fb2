/** Endpoint that anonymises a member and, of a user, the account (rules/members-activities 2, rules/rulings 22). */
import { Effect } from "effect"
import type { Slice } from "../kernel/catalogue.ts"
import { custom_fields } from "../kernel/custom-field.ts"
import { command } from "../kernel/endpoint.ts"
import { lockStreams } from "../kernel/engine.ts"
import { streamOf } from "../kernel/event.ts"
import { ok, renderById, viewContext } from "../kernel/resource.ts"
import * as Shown from "../kernel/answer-schema.ts"
import { CommandRuntime } from "../kernel/command-runtime.ts"
import { Store, type StoreShape } from "../kernel/store/store.ts"
import { member_module, memberResource } from "../members/resource.ts"
import { type ContactKind, contact_kinds, contactTables, type MemberRow, members } from "../members/schema.ts"
import type { Table } from "../kernel/table.ts"
import { users } from "../users/schema.ts"
import { anonymiseMember } from "./decide.ts"
import { memberAnonymised } from "./events.ts"
import { rowsRecordedOf } from "./recorded.ts"

const anonymise = command("POST", "/api/v1/members/{id}/anonymise", {
  answer: { member: Shown.row(() => memberResource) },
  name: "members.anonymise",
  summary: "Erase a person's data for good, from the journal too",
  ability: "members:write",
  permission: "members.delete",
  params: { id: { table: members } },
  facts: ({ rows: { id: row } }) =>
    Effect.gen(function* () {
      const store = yield* Store
      const { catalogue } = yield* CommandRuntime
      const account = row.membership_type === "user" ? yield* store.first(users, { member_id: row.id }) : undefined
      // Locks the account, so that nobody activates it meanwhile.
      if (account !== undefined) yield* lockStreams([streamOf("user", account.id)])
      const user = account === undefined ? undefined : yield* store.get(users, account.id)
      const user_streams =
        user === undefined
          ? []
          : yield* Effect.forEach(catalogue.slices, (slice) => slice.streams_of_user?.(user.id) ?? Effect.succeed([]))
      const merged = yield* mergedInto(store, row.id)
      return {
        user,
        user_streams: user_streams.flat(),
        merged,
        moved_contacts: yield* movedContacts(
          store,
          [row, ...merged].map(({ id }) => id)
        ),
        custom_fields: yield* store.find(custom_fields, { module_type: member_module })
      }
    }),
  decide: (facts, input) => anonymiseMember(input.rows.id, input.viewer.person_id, facts),
  respond: (_result, input) =>
    Effect.map(renderById(memberResource, input.rows.id.id, input.query, viewContext(input)), ok)
})
/** Members merged into this one, and into those: one query a level, as chains of merges are rare. */
const mergedInto = Effect.fnUntraced(function* (store: StoreShape, id: number) {
  const found = new Map<number, MemberRow>()
  for (let at: ReadonlyArray<number> = [id]; at.length > 0;) {
    const rows = (yield* store.find(members, { merged_into_id: at })).filter(
      (row) => !found.has(row.id) && row.id !== id
    )
    for (const row of rows) found.set(row.id, row)
    at = rows.map((row) => row.id)
  }
  return [...found.values()].sort((one, other) => one.id - other.id)
})

/** A restored member's contact records stay with whom the merge gave them to; they are of the person all the same. */
const movedContacts = Effect.fnUntraced(function* (store: StoreShape, erased_ids: ReadonlyArray<number>) {
  const moved: { [kind in ContactKind]?: ReadonlyArray<number> } = {}
  for (const kind of contact_kinds) {
    const table: Table = contactTables[kind]
    const recorded = yield* rowsRecordedOf(store, table, erased_ids)
    const elsewhere = recorded.filter((row) => !erased_ids.includes(Number(row["member_id"])))
    const ids = elsewhere.map((row) => Number(row["id"]))
    if (ids.length > 0) moved[kind] = ids
  }
  return moved
})

export const personalDataSlice: Slice = { name: "personal_data", endpoints: [anonymise], events: [memberAnonymised] }
