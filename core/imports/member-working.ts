/** What a member import knows while it goes through its rows: the facts, and what earlier rows have made. */
import type { DecideContext } from "../kernel/endpoint.ts"
import { foldCase } from "../kernel/table.ts"
import type { Viewer } from "../kernel/viewer.ts"
import type { ContactKind, MemberRow, RelationshipRow } from "../members/schema.ts"
import type { ContactRecord } from "./contact-rows.ts"
import type { MemberFacts } from "./member-facts.ts"

/** Who is related to whom, as it grows while rows are carried out. */
export interface Relations {
  readonly between: (one: number, other: number) => RelationshipRow | undefined
  readonly of: (id: number) => ReadonlyArray<number>
  readonly add: (row: RelationshipRow) => void
}
export const relationsOf = (present: ReadonlyArray<RelationshipRow>): Relations => {
  const sides = new Map<number, Map<number, RelationshipRow>>()
  const put = (one: number, other: number, row: RelationshipRow): void => {
    const known = sides.get(one)
    if (known === undefined) sides.set(one, new Map([[other, row]]))
    else known.set(other, row)
  }
  const add = (row: RelationshipRow): void => {
    put(row.member_id, row.related_member_id, row)
    put(row.related_member_id, row.member_id, row)
  }
  present.forEach(add)
  return { add, between: (one, other) => sides.get(one)?.get(other), of: (id) => [...(sides.get(id)?.keys() ?? [])] }
}

export interface Working {
  readonly facts: MemberFacts
  readonly context: DecideContext
  readonly base_currency: string
  readonly viewer: Viewer
  /** Members by `external …`, `number …` and `name …`, archived ones included. */
  readonly named: Map<string, ReadonlyArray<MemberRow>>
  readonly byId: Map<number, MemberRow>
  readonly records: { readonly [K in ContactKind]: Map<number, ReadonlyArray<ContactRecord>> }
  readonly relations: Relations
}

const namesOf = ({ mapping_id, account_number, name }: MemberRow): ReadonlyArray<string> => [
  ...(mapping_id === null ? [] : [`external ${mapping_id}`]),
  ...(account_number === null ? [] : [`number ${account_number}`]),
  `name ${foldCase(name)}`
]
/** Makes a member as it is now known to later rows. */
export const remember = (member: MemberRow, before: MemberRow | undefined, { named, byId }: Working): void => {
  for (const name of before === undefined ? [] : namesOf(before))
    named.set(
      name,
      (named.get(name) ?? []).filter(({ id }) => id !== member.id)
    )
  for (const name of namesOf(member)) named.set(name, [...(named.get(name) ?? []), member])
  byId.set(member.id, member)
}
export const isLive = ({ deleted_at }: MemberRow): boolean => deleted_at === null || deleted_at === undefined
