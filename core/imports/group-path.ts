/** The `group` column: product groups by name or path ("Lighting / Moving heads"); missing ones are made. */
import type { DecideContext } from "../kernel/endpoint.ts"
import type { NewEvent } from "../kernel/event.ts"
import { createdEvent, initialRow } from "../kernel/crud-resource.ts"
import { foldCase } from "../kernel/table.ts"
import { product_groups } from "../products/groups.ts"

export interface Group {
  readonly id: number
  readonly name: string
  readonly parent_id: number | null
}

/** The tree as it grows while rows are carried out. */
export interface GroupTree {
  readonly named: (name: string) => ReadonlyArray<Group>
  readonly child: (parent_id: number | null, name: string) => Group | undefined
  readonly add: (group: Group) => void
}
export const groupTree = (groups: ReadonlyArray<Group>): GroupTree => {
  const byName = new Map<string, Array<Group>>()
  const add = (group: Group): void => {
    const same = byName.get(foldCase(group.name))
    if (same === undefined) byName.set(foldCase(group.name), [group])
    else same.push(group)
  }
  groups.forEach(add)
  const named = (name: string): ReadonlyArray<Group> => byName.get(foldCase(name)) ?? []
  return { named, add, child: (parent_id, name) => named(name).find((one) => one.parent_id === parent_id) }
}

export type GroupPlan =
  | { readonly error: string }
  /** The deepest group of the path that exists, and the names to make below it. */
  | { readonly parent_id: number | null; readonly missing: ReadonlyArray<string> }

const name_max = 255

/** A single name may be anywhere in the tree where only one group has it; a path begins at the top. */
export const planGroup = (text: string, tree: GroupTree): GroupPlan => {
  const names = text.split(/\s\/(?=\s)/).map((name) => name.trim())
  if (names.some((name) => name === "")) return { error: "The group path has an empty part." }
  if (names.some((name) => [...name].length > name_max))
    return { error: `A group's name must not be longer than ${name_max} characters.` }
  const single = names.length === 1 ? tree.named(text.trim()) : []
  const top = single.find((group) => group.parent_id === null)
  if (top === undefined && single.length > 1)
    return { error: `Several groups are called ${names[0]}; give the path, such as "Lighting / ${names[0]}".` }
  const found = top ?? single[0]
  if (found !== undefined) return { parent_id: found.id, missing: [] }
  let parent_id: number | null = null
  for (const [depth, name] of names.entries()) {
    const next: Group | undefined = tree.child(parent_id, name)
    if (next === undefined) return { parent_id, missing: names.slice(depth) }
    parent_id = next.id
  }
  return { parent_id, missing: [] }
}

/** Makes the missing groups; `id` is that of the last group of the path. */
export const makeGroups = (
  plan: Exclude<GroupPlan, { readonly error: string }>,
  tree: GroupTree,
  context: DecideContext
): { readonly id: number | null; readonly events: ReadonlyArray<NewEvent> } => {
  const events: Array<NewEvent> = []
  let parent_id = plan.parent_id
  for (const name of plan.missing) {
    const id = context.id(product_groups)
    events.push(
      createdEvent(product_groups, { ...initialRow(product_groups, product_groups.columns), id, name, parent_id })
    )
    tree.add({ id, name, parent_id })
    parent_id = id
  }
  return { id: parent_id, events }
}
