/** POST /members/import: many members with addresses, e-mails, phones, links and the people of organisations. */
import { baseCurrency, createdEvent, foldCase, hasOnePermission, initialRow, keysOf } from "../kernel/index.ts"
import { readCustomFields, updatedEvents } from "../kernel/index.ts"
import type { AnyRow, DecideContext, FieldErrors, JsonObject, NewEvent, Viewer } from "../kernel/index.ts"
import { memberProblems } from "../people/members/decide.ts"
import type { ContactKind, MemberRow } from "../people/members/schema.ts"
import { contact_kinds, member_tax_columns, memberFields, members } from "../people/members/schema.ts"
import { classesFor } from "../setup/reference-data/tax.ts"
import { decideRows, importContext, type Plan, rejectedPlan, type Row, textCell, type VerdictsDecided } from "./rows.ts"
import { type ContactPlan, type ContactRecord, contactKinds, planContacts } from "./contact-rows.ts"
import { address_columns, named_columns, peopleIn, readMember, typeIn } from "./member-columns.ts"
import type { MemberFacts, MemberInput, Working } from "./member-facts.ts"
import { isPromised, planOrganisations, relate, relationsOf, relationTypeIn, remember } from "./member-facts.ts"

export { memberFacts } from "./member-facts.ts"

export const decideMembers = (facts: MemberFacts, input: MemberInput, given: DecideContext): VerdictsDecided => {
  const recordsOf = (which: ContactKind): Map<number, ReadonlyArray<ContactRecord>> =>
    Map.groupBy(facts.records[which], (one) => Number(one["member_id"]))
  const working: Working = {
    facts,
    context: importContext(given, facts.dry_run),
    base_currency: baseCurrency(input.settings),
    viewer: input.viewer,
    named: new Map(),
    byId: new Map(),
    records: {
      addresses: recordsOf("addresses"),
      emails: recordsOf("emails"),
      phones: recordsOf("phones"),
      links: recordsOf("links")
    },
    relations: relationsOf(facts.relationships)
  }
  for (const one of facts.members) remember(one, undefined, working)
  return decideRows(facts, (row) => planMember(row, working))
}

interface Target {
  readonly before?: MemberRow
  readonly errors?: FieldErrors
  readonly warnings?: ReadonlyArray<string>
}
const isLive = ({ deleted_at }: MemberRow): boolean => deleted_at === null || deleted_at === undefined

const namesIn = (cells: JsonObject) => ["mapping_id", "account_number", "name"].map((column) => textCell(cells, column))

/** The member a row is about: by external id, else by number; by exact name and type only if the row has neither. */
const targetOf = (cells: JsonObject, { named, byId }: Working): Target => {
  const [external, number, name] = namesIn(cells)
  const known = (key: string): ReadonlyArray<MemberRow> => (named.get(key) ?? []).filter((one) => !isPromised(one))
  const only = (column: string, value: string, found: ReadonlyArray<MemberRow>): Target => {
    const live = found.filter(isLive)
    const [archived] = found
    if (live.length > 1)
      return { errors: { [column]: [`${live.length} members have ${value}: give each its own, or merge them.`] } }
    if (live[0] !== undefined || archived === undefined) return live[0] === undefined ? {} : { before: live[0] }
    const into = byId.get(archived.merged_into_id ?? 0)
    const what = into === undefined ? "archived" : `merged into ${into.name}`
    return {
      errors: { [column]: [`${archived.name}, which has ${value}, was ${what}: restore it, or leave the row out.`] }
    }
  }
  if (external !== undefined) {
    const found = only("mapping_id", `the external id ${external}`, known(`external ${external}`))
    if (found.before !== undefined || found.errors !== undefined) return found
  }
  if (number !== undefined) {
    const found = only("account_number", `the number ${number}`, known(`number ${number}`))
    const { before } = found
    return before === undefined || external === undefined || before.mapping_id === null
      ? found
      : {
          errors: {
            account_number: [`${before.name} has the number ${number}, and the external id ${before.mapping_id}.`]
          }
        }
  }
  if (external !== undefined || name === undefined) return {}
  const type = typeIn(cells)
  const namesakes = known(`name ${foldCase(name)}`).filter(
    (one) => isLive(one) && one.name === name && (type === undefined || one.membership_type === type)
  )
  return namesakes.length > 1
    ? { errors: { name: [`${namesakes.length} members are called ${name}; give the number or the external id.`] } }
    : { ...(namesakes[0] === undefined ? {} : { before: namesakes[0] }) }
}

const record_columns = [
  ...contact_kinds.map((which) => contactKinds[which].column),
  ...address_columns,
  "organisation",
  "contact"
]
/** Errors for permissions that a row needs besides the import's own: the same as for single requests. */
const permissionErrors = (cells: JsonObject, before: MemberRow | undefined, viewer: Viewer): FieldErrors => {
  if (hasOnePermission(viewer, "members.edit")) return {}
  const text = ["This needs the permission members.edit."]
  return before !== undefined
    ? { row: text }
    : Object.fromEntries(record_columns.filter((column) => cells[column] !== undefined).map((column) => [column, text]))
}

const planMember = (row: Row, working: Working): Plan => {
  const { cells } = row
  const [external, number, name] = namesIn(cells)
  const key = external ?? number ?? name ?? null
  const target = targetOf(cells, working)
  if (target.errors !== undefined) return rejectedPlan(key, target.errors)
  const { before } = target
  const body = planBody(cells, before, working)
  const type = String(body.values["membership_type"] ?? before?.membership_type)
  const organisations = planOrganisations(cells, { type, id: before?.id }, working)
  const people = planPeople(cells, before, working)
  const namesakes =
    before === undefined && name !== undefined && (external ?? number) !== undefined
      ? (working.named.get(`name ${foldCase(name)}`) ?? []).filter(
          (one) => isLive(one) && !isPromised(one) && one.membership_type === type
        )
      : []
  return {
    key,
    identities: [
      ...(external === undefined ? [] : [`external ${external}`]),
      ...(number === undefined ? [] : [`number ${number}`]),
      ...(external === undefined && number === undefined ? [`name ${type} ${name ?? ""}`] : []),
      ...(before === undefined ? [] : [`id ${before.id}`])
    ],
    id: before?.id ?? null,
    errors: {
      ...body.errors,
      ...organisations.errors,
      ...people.errors,
      ...permissionErrors(cells, before, working.viewer)
    },
    warnings: [
      ...(external === undefined && number === undefined
        ? ["Without a number or an external id the row is recognised by its name."]
        : []),
      ...(namesakes.length === 0 ? [] : [`Another member is called ${name ?? ""} too.`]),
      ...body.warnings,
      ...people.warnings
    ],
    carryOut: () => {
      const { member, events } = body.carryOut()
      const related = organisations.carryOut(member)
      return { id: member.id, events: [...events, ...related, ...people.carryOut(member)] }
    }
  }
}

interface Body {
  readonly values: AnyRow
  readonly errors: FieldErrors
  readonly warnings: ReadonlyArray<string>
  readonly carryOut: () => { readonly member: MemberRow; readonly events: ReadonlyArray<NewEvent> }
}
/** A member's own fields and contact records. */
const planBody = (cells: JsonObject, before: MemberRow | undefined, working: Working): Body => {
  const { context, facts } = working
  const read = readMember(cells, before, working.base_currency)
  const named = namedRows(cells, facts)
  const custom =
    read.custom_fields === undefined && before !== undefined
      ? undefined
      : readCustomFields(facts.custom, read.custom_fields, before?.custom_fields)
  const set = {
    ...(before === undefined ? classesFor(member_tax_columns, {}, facts.default_tax_class_id) : {}),
    ...read.values,
    ...named.set,
    ...(custom === undefined ? {} : { custom_fields: custom.stored })
  }
  const next = { ...(before ?? initialRow(members, memberFields)), ...set } as MemberRow
  const plans = contact_kinds.flatMap((which): ReadonlyArray<readonly [ContactKind, ContactPlan]> => {
    const plan = planContacts(which, cells, working.records[which].get(before?.id ?? 0) ?? [], facts)
    return plan === undefined ? [] : [[which, plan]]
  })
  return {
    values: set,
    errors: {
      ...read.errors,
      ...named.errors,
      ...custom?.errors,
      ...typeProblems(next, before),
      ...Object.assign({}, ...plans.map(([, { errors }]) => errors))
    },
    warnings: plans.flatMap(([, { warnings }]) => warnings),
    carryOut: () => {
      const member = before === undefined ? { ...next, id: context.id(members) } : next
      const events = before === undefined ? [createdEvent(members, member)] : [...updatedEvents(members, before, set)]
      for (const [which, plan] of plans) {
        const made = plan.carryOut(member.id, context)
        working.records[which].set(member.id, made.records)
        events.push(...made.events)
      }
      remember(member, before, working)
      return { member, events }
    }
  }
}
/** Users are not imported. A type is changed by hand, where its consequences are visible. */
const typeProblems = (next: MemberRow, before: MemberRow | undefined): FieldErrors => {
  if (before?.membership_type === "user")
    return { row: [`${before.name} is a user of this system: change the user instead.`] }
  return before !== undefined && next.membership_type !== before.membership_type
    ? { membership_type: [`${before.name} is of the type ${before.membership_type}, which an import does not change.`] }
    : memberProblems(next, before, [])
}

/** Ids of named tax classes and payment terms. */
const namedRows = (
  cells: JsonObject,
  { tax_classes, lists }: MemberFacts
): { readonly set: AnyRow; readonly errors: FieldErrors } => {
  const set: { [field: string]: number } = {}
  const errors: { [field: string]: ReadonlyArray<string> } = {}
  for (const column of keysOf(named_columns)) {
    if (cells[column] === undefined) continue
    const among = column === "invoice_term" ? (lists.get("Invoice Term") ?? []) : tax_classes
    const wanted = textCell(cells, column) ?? ""
    const found = among.find(({ name }) => foldCase(name) === foldCase(wanted))
    if (found !== undefined) set[named_columns[column]] = found.id
    else
      errors[column] = [
        `There is no ${column.replaceAll("_", " ")} ${wanted}: give one of ${among.map(({ name }) => name).join(", ")}.`
      ]
  }
  return { set, errors }
}

const people_max = 50
interface PeoplePlan {
  readonly errors: FieldErrors
  readonly warnings: ReadonlyArray<string>
  readonly carryOut: (organisation: MemberRow) => ReadonlyArray<NewEvent>
}
/**
 * The people in the row of an organisation: each is recognised by its external id, else by its name among the
 * contacts the organisation has.
 */
const planPeople = (cells: JsonObject, organisation: MemberRow | undefined, working: Working): PeoplePlan => {
  const given = peopleIn(cells)
  const refused = (text: string): PeoplePlan => ({ errors: { contact: [text] }, warnings: [], carryOut: () => [] })
  if (given === undefined) return refused("The contact must be a name, an object of columns, or a list of them.")
  if (given.length === 0) return { errors: {}, warnings: [], carryOut: () => [] }
  if (given.length > people_max) return refused(`A row may name at most ${people_max} people.`)
  const present = working.relations.of(organisation?.id ?? 0).flatMap((id) => working.byId.get(id) ?? [])
  const errors: { [path: string]: ReadonlyArray<string> } = {}
  const seen = new Set<number | string>()
  const plans = given.map(({ cells, unknown, unreadable }, at) => {
    const external = textCell(cells, "mapping_id")
    const name = textCell(cells, "name") ?? ""
    const before =
      external === undefined
        ? present.find((one) => isLive(one) && foldCase(one.name) === foldCase(name))
        : (working.named.get(`external ${external}`) ?? []).find(isLive)
    const { name: _name, ...rest } = cells
    // A member recognised by name keeps its spelling.
    const own = before === undefined || external !== undefined ? cells : rest
    const body = planBody({ ...own, membership_type: "contact" }, before, working)
    const path = `contact${at === 0 ? "" : at + 1}`
    const relation = relationTypeIn(cells)
    const beside = ["organisation", "contact"].filter((column) => cells[column] !== undefined)
    for (const [field, texts] of Object.entries({ ...body.errors, ...relation.errors, ...unreadable }))
      errors[`${path}.${field}`] = texts
    for (const column of [...unknown, ...beside])
      errors[`${path}.${column}`] = ["A person in the row of an organisation has no such column."]
    const who = before?.id ?? external ?? foldCase(name)
    if (seen.has(who)) errors[path] = [`The row names ${name} twice.`]
    seen.add(who)
    return { body, type: relation.type }
  })
  return {
    errors,
    warnings: plans.flatMap(({ body }) => body.warnings),
    carryOut: (made) =>
      plans.flatMap(({ body, type }) => {
        const { member, events } = body.carryOut()
        return [...events, ...relate(member, made, type, working)]
      })
  }
}
