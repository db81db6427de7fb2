/** Endpoints of saved views (rules/conventions 6): they need an ability only; `decide.ts` says who may change which. */
import { Effect, Result } from "effect"
import type { Slice } from "../kernel/catalogue.ts"
import { customFieldsFor } from "../kernel/custom-field.ts"
import { custom_views, type CustomViewRow, isVisible, viewFields } from "../kernel/custom-view.ts"
import { command, get, type Input, type SharedDraft } from "../kernel/endpoint.ts"
import { text } from "../kernel/field.ts"
import { createdEvent, crudResource } from "../kernel/crud-resource.ts"
import { notFound } from "../kernel/rejection.ts"
import { created, listOf, ok, resource, renderOne, renderById, viewContext } from "../kernel/resource.ts"
import { CommandRuntime } from "../kernel/command-runtime.ts"
import { Store } from "../kernel/store/store.ts"
import { hasOnePermission } from "../kernel/viewer.ts"
import { viewableAs } from "./columns.ts"
import { cloneOf, mayChange, mayDelete, saveView } from "./decide.ts"
import { viewSeed } from "./seed.ts"
import * as Shown from "../kernel/answer-schema.ts"

const path = "/api/v1/custom_views"
export const customViewResource = resource({
  singular: "custom_view",
  table: custom_views,
  filters: ["name", "entity_type", "visibility", "user_id", "is_default", "created_at", "updated_at"],
  sorts: ["name", "entity_type", "visibility", "created_at", "updated_at"],
  order: ["visibility", "name"]
})
const reads = { ability: "custom-views:read", permission: null } as const satisfies SharedDraft
const writes = { ability: "custom-views:write", permission: null } as const satisfies SharedDraft
const oneView = { custom_view: Shown.row(() => customViewResource) }
const inPath = { id: { table: custom_views } }

/** The columns a view of this entity type may show: those of its rows and, where it has a module, its custom fields. */
const factsFor = Effect.fnUntraced(function* (entity_type: string) {
  const viewable = viewableAs(entity_type, (yield* CommandRuntime).catalogue)
  if (viewable === undefined) return { columns: undefined }
  const custom = viewable.custom_module === undefined ? [] : yield* customFieldsFor(viewable.custom_module)
  return { columns: new Set([...viewable.columns, ...custom.map((one) => `cf.${one.name}`)]) }
})

const crud = crudResource({
  resource: customViewResource,
  fields: viewFields,
  path,
  access: { read: reads.ability, write: writes.ability, view: null, create: null, edit: null, delete: null },
  only: ["create", "update", "delete"],
  rules: {
    facts: (input: Input<any, any>, before: CustomViewRow | undefined) =>
      factsFor(before?.entity_type ?? String((input.values as { entity_type?: string }).entity_type)),
    save: ({ next, before, facts, input }) =>
      Result.flatMap(mayChange(before, input.viewer), () => saveView(next, before, facts, input)),
    delete: ({ row, input }) => Result.map(mayDelete(row, input.viewer), () => [])
  }
})

const endpoints = [
  get(path, {
    answer: Shown.page(() => customViewResource),
    name: "custom_views.list",
    summary: "List the views one may use",
    ...reads,
    fields: { entity_type: text({ describe: "Only views of these, such as members" }) },
    run: (input) =>
      Effect.gen(function* () {
        const { entity_type } = input.values
        const views = yield* (yield* Store).find(custom_views, entity_type === undefined ? {} : { entity_type })
        const ids = views.filter((view) => isVisible(view, input.viewer)).map((view) => view.id)
        return ok(
          yield* listOf(customViewResource, input.query, viewContext(input), { unpaged: true, where: { id: ids } })
        )
      })
  }),
  get(`${path}/{id}`, {
    answer: oneView,
    name: "custom_views.show",
    summary: "Show one view",
    ...reads,
    params: inPath,
    run: (input) =>
      Effect.gen(function* () {
        // With `settings.manage` a caller may manage other users' views.
        if (!isVisible(input.rows.id, input.viewer) && !hasOnePermission(input.viewer, "settings.manage"))
          return yield* notFound("No such custom view.")
        return ok(yield* renderOne(customViewResource, input.rows.id, input.query, viewContext(input)))
      })
  }),
  command("POST", `${path}/{id}/clone`, {
    answer: oneView,
    name: "custom_views.clone",
    summary: "Copy a view for oneself",
    ...writes,
    params: inPath,
    success_status: 201,
    creates: [custom_views],
    facts: () => Effect.succeed(undefined),
    decide: (_facts, { rows, viewer }, context) => {
      if (!isVisible(rows.id, viewer) && !hasOnePermission(viewer, "settings.manage"))
        return Result.fail(notFound("No such custom view."))
      const id = context.id(custom_views)
      return Result.succeed({
        events: [createdEvent(custom_views, { ...cloneOf(rows.id, viewer), id })],
        result: { id }
      })
    },
    respond: (result, input) =>
      Effect.map(renderById(customViewResource, result.id, input.query, viewContext(input)), created)
  })
]

export const viewsSlice: Slice = { ...crud, seed: viewSeed, endpoints: [...endpoints, ...(crud.endpoints ?? [])] }
