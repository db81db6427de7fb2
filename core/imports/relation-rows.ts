/** The column `organisation` of a member import: what a person belongs to. */
import type { NewEvent } from "../kernel/event.ts"
import { readFields } from "../kernel/input.ts"
import type { JsonObject } from "../kernel/json.ts"
import { createdEvent, initialRow, updatedEvent } from "../kernel/crud-resource.ts"
import type { FieldErrors } from "../kernel/rejection.ts"
import { foldCase } from "../kernel/table.ts"
import { relationshipProblem } from "../members/decide.ts"
import { type MemberRow, type RelationshipRow, relationshipFields, relationships } from "../members/schema.ts"
import { organisationsIn } from "./member-columns.ts"
import type { Working } from "./member-working.ts"

const organisations_max = 20

/** Relates two members, or changes the type of the relationship they have; nothing where it is so already. */
export const relate = (
  member: MemberRow,
  to: MemberRow,
  type: string | undefined,
  { context, relations }: Working
): ReadonlyArray<NewEvent> => {
  const before = relations.between(member.id, to.id)
  if (before !== undefined) {
    const updated = type === undefined ? undefined : updatedEvent(relationships, before, { relationship_type: type })
    if (updated === undefined) return []
    relations.add({ ...before, relationship_type: type ?? null })
    return [updated]
  }
  const row = {
    ...initialRow(relationships, relationshipFields),
    relationship_type: type ?? null,
    id: context.id(relationships),
    member_id: member.id,
    related_member_id: to.id
  } as RelationshipRow
  relations.add(row)
  return [createdEvent(relationships, row)]
}

/** What somebody is to their organisation: `Employee`. */
export const relationTypeIn = (
  cells: JsonObject
): { readonly type: string | undefined; readonly errors: FieldErrors } => {
  const fields = { relationship_type: relationshipFields.relationship_type }
  const { values, errors } = readFields(fields, cells, { mode: "update", base_currency: "" })
  const type = values["relationship_type"]
  return { type: typeof type === "string" ? type : undefined, errors }
}

interface OrganisationsPlan {
  readonly errors: FieldErrors
  readonly carryOut: (member: MemberRow) => ReadonlyArray<NewEvent>
}
/** Finds what a row says its member belongs to: by number, external id or name; a user is nothing to belong to. */
export const planOrganisations = (
  cells: JsonObject,
  { type, id }: { readonly type: string; readonly id: number | undefined },
  working: Working
): OrganisationsPlan => {
  const given = organisationsIn(cells)
  const refused = (text: string): OrganisationsPlan => ({ errors: { organisation: [text] }, carryOut: () => [] })
  if (given === undefined) return refused("The organisation must be a number, an external id or a name.")
  if (given.length === 0) return { errors: {}, carryOut: () => [] }
  if (given.length > organisations_max) return refused(`A member may be given at most ${organisations_max} at once.`)
  const found: Array<MemberRow> = []
  const problems: Array<string> = []
  for (const name of given) {
    const target = organisationNamed(name, working)
    const problem =
      typeof target === "string"
        ? target
        : relationshipProblem({ id: id ?? 0, membership_type: type } as MemberRow, target, [])
    if (problem !== undefined) problems.push(problem)
    else if (typeof target !== "string") found.push(target)
  }
  if (problems.length > 0) return { errors: { organisation: problems }, carryOut: () => [] }
  const relation = relationTypeIn(cells)
  return {
    errors: relation.errors,
    carryOut: (member) => found.flatMap((one) => relate(member, one, relation.type, working))
  }
}

const organisationNamed = (name: string, { named }: Working): MemberRow | string => {
  const live = (key: string): ReadonlyArray<MemberRow> =>
    (named.get(key) ?? []).filter((one) => one.deleted_at == null && one.membership_type !== "user")
  const [unique, called] = [
    [...live(`number ${name}`), ...live(`external ${name}`)],
    live(`name ${foldCase(name)}`).filter((one) => one.membership_type !== "contact")
  ]
  const found = [...new Map([...(unique.length > 0 ? unique : called)].map((one) => [one.id, one])).values()]
  return found.length > 1
    ? `${found.length} members are called ${name}; give the number or the external id.`
    : (found[0] ?? `There is no organisation ${name}: put its row before this one.`)
}
