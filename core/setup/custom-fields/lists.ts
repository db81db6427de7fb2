/** Lists of values to choose from, such as address types, and those a business adds (rules/conventions 17). */
import { Effect, Result } from "effect"
import { CommandRuntime, crudResource, custom_fields, deletedEvent, get, list_values, ok } from "../../kernel/index.ts"
import { quote, reject, renderOne, resource, Shown, Store, viewContext, viewManageAccess } from "../../kernel/index.ts"
import type { Resource, RowOf, Slice } from "../../kernel/index.ts"
import { list_names, listNameFields } from "./schema.ts"

const access = viewManageAccess("static-data", "list-values.view", "list-values.manage")

const listValueResource = resource({
  singular: "list_value",
  table: list_values,
  filters: ["name", "parent_id", "is_active", "is_system"],
  sorts: ["name", "sort_order", "created_at", "updated_at"],
  order: ["sort_order", "id"]
})
const listNameResource: Resource<typeof list_names, "list_name"> = resource({
  singular: "list_name",
  table: list_names,
  called: { by: ["name"] },
  filters: ["name", "is_system", "created_at"],
  sorts: ["name", "created_at", "updated_at"],
  includes: { values: { kind: "many", via: "list_name_id", resource: () => listValueResource } }
})

const lists = crudResource({
  resource: listNameResource,
  fields: listNameFields,
  path: "/api/v1/list_names",
  access,
  only: ["list", "create", "update", "delete"],
  rules: {
    facts: (_input, before) =>
      Effect.gen(function* () {
        return { values: before === undefined ? [] : yield* Store.find(list_values, { list_name_id: before.id }) }
      }),
    save: ({ next, before }) =>
      before?.is_system === true && next.name !== before.name
        ? reject("name", "A system list keeps its name.")
        : Result.succeed({}),
    delete: ({ row, facts }) =>
      row.is_system
        ? reject("list_name", "A system list cannot be deleted.")
        : Result.succeed(facts.values.map((value) => deletedEvent(list_values, value.id)))
  }
})
/** Shows one list, always with its values. */
const showList = get("/api/v1/list_names/{id}", {
  answer: { list_name: Shown.row(() => listNameResource) },
  name: "list_names.show",
  summary: "Show one list with its values",
  ability: access.read,
  permission: access.view,
  params: { id: { table: list_names } },
  run: (input) =>
    Effect.map(
      renderOne(listNameResource, input.rows.id, [...input.query, ["include", "values"]], viewContext(input)),
      ok
    )
})
export const listNames: Slice = {
  ...lists,
  endpoints: [...(lists.endpoints ?? []), showList],
  // Path aliases of older clients (rules/conventions 17), for lists and for their values.
  path_aliases: { "/api/v1/list_names": ["/api/v1/list_of_values"] }
}

type ListValueRow = RowOf<typeof list_values>
/** Whether a value would become its own ancestor. */
const circular = (id: number, parent: number | null, values: ReadonlyArray<ListValueRow>): boolean => {
  for (let at = parent, left = values.length; at !== null && left >= 0; left--) {
    if (at === id) return true
    at = values.find((value) => value.id === at)?.parent_id ?? null
  }
  return false
}
/** Names a row whose custom fields contain the value (an id, or a list of ids); undefined if none does. */
const chosenBy = Effect.fnUntraced(function* (value: ListValueRow) {
  const store = yield* Store
  const { resources } = (yield* CommandRuntime).catalogue
  for (const definition of yield* store.find(custom_fields, {
    list_name_id: value.list_name_id,
    field_type: [9, 10]
  })) {
    const tables = new Set(
      resources.filter((one) => one.custom_module === definition.module_type).map((one) => one.table)
    )
    for (const table of tables) {
      const holds =
        store.dialect === "pg"
          ? `custom_fields -> '${definition.id}' @> to_jsonb($1::bigint)`
          : `exists (select 1 from json_each(custom_fields, '$."${definition.id}"') where value = ?)`
      const [found] = yield* store.run<{ id: unknown; name?: unknown }>(
        `select * from ${quote(table.name)} where ${holds} order by id limit 1`,
        [value.id]
      )
      if (found !== undefined)
        return `${definition.name} of ${table.entity.replaceAll("_", " ")} ${String(found.id)}${typeof found.name === "string" ? ` "${found.name}"` : ""}`
    }
  }
  return undefined
})
const {
  id: _id,
  created_at: _c,
  updated_at: _u,
  deleted_at: _d,
  list_name_id: _l,
  ...listValueFields
} = list_values.columns
export const listValues = crudResource({
  resource: listValueResource,
  fields: listValueFields,
  path: "/api/v1/list_names/{list_name}/values",
  access,
  unpaged: true,
  parent: { param: "list_name", table: list_names, column: "list_name_id" },
  rules: {
    facts: (input, before) =>
      Effect.gen(function* () {
        const list_name_id = input.rows.list_name.id
        return {
          values: yield* Store.find(list_values, { list_name_id }),
          chosen_by: before === undefined ? undefined : yield* chosenBy(before)
        }
      }),
    save: ({ next, facts: { values } }) =>
      next.parent_id !== null && !values.some((one) => one.id === next.parent_id)
        ? reject("parent_id", "The parent must be a value of the same list.")
        : circular(next.id, next.parent_id, values)
          ? reject("parent_id", "A value cannot lie below itself.")
          : Result.succeed({}),
    delete: ({ row, facts }) =>
      row.is_system
        ? reject("list_value", "A system value cannot be deleted; make it inactive instead.")
        : facts.chosen_by !== undefined
          ? reject("list_value", `The value is chosen as ${facts.chosen_by}; make it inactive instead.`)
          : Result.succeed([])
  }
})
