/** Endpoints of saved views (rules/conventions 6): an ability is enough; the rules below say who may change which. */
import { Effect, Result } from "effect"
import type { CustomViewRow, ViewFilter } from "../../kernel/lists/custom-view.ts"
import { custom_views, isVisible, valueless, viewFields } from "../../kernel/lists/custom-view.ts"
import { command, CommandRuntime, created, createdEvent, crudResource, customFieldsFor } from "../../kernel/index.ts"
import { decided, forbidden, get, hasOnePermission, initialRow, invalid, invalidField } from "../../kernel/index.ts"
import { listBody, notFound, ok, reject, renderById, renderOne, resource, Shown, Store } from "../../kernel/index.ts"
import { text, viewContext, type SharedDraft, type Slice, type Viewer } from "../../kernel/index.ts"
import type { Catalogue, Endpoint, Input, Json, NewEvent, Rejection, Resource } from "../../kernel/index.ts"

// The columns a saved view may name, by entity type (rules/conventions 6).

/** Columns by entity type; `*` marks those of its system views. */
const declared: { readonly [entity_type: string]: string } = {
  members: `
    name* membership_type* email* phone* is_active* description tags account_number tax_number is_bookable rating
    cost_per_hour cost_per_day cost_per_distance charge_per_hour charge_per_day charge_per_distance city country
    created_at* updated_at`,
  products: `
    name* product_type* product_group_id* sku* barcode is_active* weight replacement_charge stock_method created_at*
    updated_at*`,
  product_groups: "name* description* parent_id* products_count* created_at* updated_at",
  stock_levels: `
    item_name* asset_number* serial_number* barcode store* product stock_type stock_category stock_method*
    quantity_held* quantity_allocated* quantity_unavailable location created_at* updated_at`,
  activities: `
    subject* type_id* status_id* priority regarding* owner* starts_at* ends_at completed created_at* updated_at`,
  rate_definitions: `
    name* description calculation_strategy* base_period* is_preset* preset_slug created_at* updated_at`,
  product_rates: `
    product_id rate_definition_id* store_id transaction_type* price* currency* valid_from valid_to priority*
    created_at* updated_at`,
  opportunities: `
    subject* number reference* state* status* member_id venue_id store_id owned_by starts_at* ends_at*
    charge_starts_at charge_ends_at charge_total* invoiced has_shortage tag_list version_count active_version_id
    created_at* updated_at`,
  opportunity_items: `
    opportunity_id name* item_type quantity* unit_price* charge_period total* transaction_type starts_at* ends_at*
    is_optional sort_order created_at* updated_at`,
  opportunity_costs: `
    opportunity_id description* cost_type* transaction_type amount* quantity* is_optional* sort_order created_at*
    updated_at`,
  opportunity_versions: `
    version_number* label* version_type* status* is_active* opportunity_id charge_total* sent_to sent_via
    accepted_by decline_reason notes sent_at accepted_at declined_at created_at* updated_at`,
  asset_assignments: `
    opportunity_id opportunity_item_id* stock_level_id* stock_level container_stock_level_id status status_label*
    allocated_at prepared_at dispatched_at* on_hire_at returned_at* checked_at condition_on_return
    condition_on_return_label created_at updated_at`,
  containers: `
    name* barcode* status* scan_mode is_temporary* product_id store_id opportunity_id created_at* updated_at`,
  serialised_components: "product_id component_product_id* quantity* binding* sort_order* created_at updated_at",
  shortage_resolutions: `
    resolver_key* resolution_type* status* quantity_resolved* cost* resolved_by confirmed_by confirmed_at*
    fulfilled_at cancelled_at cancellation_reason notes created_at* updated_at`,
  invoices: `
    number* type* status* member_id* store_id opportunity_id currency_code subtotal tax_total total* amount_paid
    amount_outstanding* issued_at* due_at* paid_at created_at* updated_at`,
  credit_notes: `
    number* status* invoice_id* member_id* store_id opportunity_id currency_code subtotal tax_total total* reason
    notes issued_at* created_at* updated_at`,
  purchase_orders: `
    number* subject* reference po_type* status* supplier_id* store_id opportunity_id currency_code subtotal
    tax_total total* expected_at* starts_at ends_at sent_at received_at cancelled_at cancellation_reason
    delivery_instructions notes created_by created_at* updated_at`,
  documents: `
    document_number* document_type* status* documentable_type* documentable_id* store_id download_url created_at*
    updated_at`
}
const named = (text: string): ReadonlyArray<{ readonly name: string; readonly starred: boolean }> =>
  text
    .trim()
    .split(/\s+/)
    .map((one) => ({ name: one.replace("*", ""), starred: one.endsWith("*") }))

/** The columns of a list without an entry above: all of its rows but the id, documents and hidden ones. */
const plainColumns = ({ table }: Resource): ReadonlyArray<string> =>
  Object.entries(table.columns)
    .filter(
      ([name, field]) =>
        !field.hidden &&
        name !== "id" &&
        name !== "deleted_at" &&
        field.type.kind !== "json" &&
        field.type.kind !== "object"
    )
    .map(([name]) => name)

interface Viewable {
  readonly columns: ReadonlySet<string>
  /** The module whose custom fields can be columns as well. */
  readonly custom_module: string | undefined
}
/** Columns and module of an entity type; undefined when there is no such list. */
const viewableAs = (entity_type: string, catalogue: Catalogue): Viewable | undefined => {
  const resource = catalogue.resources.find((one) => one.entity_type === entity_type)
  const written = Object.hasOwn(declared, entity_type) ? declared[entity_type] : undefined
  const columns = written === undefined ? resource && plainColumns(resource) : named(written).map((one) => one.name)
  return columns && { columns: new Set(columns), custom_module: resource?.custom_module }
}

// Rules for saved views: who may change which, and what they may contain (rules/conventions 6).

/** 403 unless the viewer made this personal view, or has `settings.manage` for shared and system views. */
const mayChange = (view: CustomViewRow | undefined, viewer: Viewer): Result.Result<void, Rejection> =>
  view === undefined ||
  (view.visibility === "personal" ? view.user_id === viewer.user_id : hasOnePermission(viewer, "settings.manage"))
    ? Result.void
    : Result.fail(
        forbidden(
          view.visibility === "personal"
            ? "Only whoever made a personal view can change it."
            : "This needs the permission settings.manage."
        )
      )

/** System views cannot be deleted: 422 on `view` for the owner, 403 for anybody else. */
const mayDelete = (view: CustomViewRow, viewer: Viewer): Result.Result<void, Rejection> =>
  view.visibility !== "system"
    ? mayChange(view, viewer)
    : Result.fail(
        viewer.is_owner
          ? invalidField("view", "A system view cannot be deleted.")
          : forbidden("A system view cannot be deleted.")
      )

/** `columns`: all available ones; undefined if no list has that entity type. */
interface ViewFacts {
  readonly columns: ReadonlySet<string> | undefined
}

/** The stored columns of a valid body; `user_id` follows from `visibility`. */
const saveView = (
  next: CustomViewRow,
  before: CustomViewRow | undefined,
  { columns }: ViewFacts,
  { values, viewer }: Pick<Input, "values" | "viewer">
): Result.Result<{ readonly set: Partial<CustomViewRow> }, Rejection> => {
  const given = (name: string): boolean => before === undefined || name in values
  if (columns === undefined) return reject("entity_type", `There is no list of ${next.entity_type}.`)
  if (before?.visibility === "system" && given("visibility") && next.visibility !== "system") {
    return reject("visibility", "A system view stays everybody's; copy it to make it your own.")
  }
  const errors: { [field: string]: ReadonlyArray<string> } = {}
  const unknown = given("columns") ? next.columns.filter((name) => !columns.has(name)) : []
  if (unknown.length > 0) errors["columns"] = unknown.map((name) => `${next.entity_type} have no column ${name}.`)
  if (given("sort_column") && next.sort_column !== null && !columns.has(next.sort_column)) {
    errors["sort_column"] = [`${next.entity_type} have no column ${next.sort_column}.`]
  }
  const isBlank = (value: Json): boolean => value === null || (Array.isArray(value) && value.length === 0)
  for (const [at, { predicate, value }] of given("filters") ? next.filters.entries() : []) {
    if (!valueless.has(predicate) && isBlank(value))
      errors[`filters.${at}.value`] = [`The predicate ${predicate} needs a value.`]
  }
  if (Object.keys(errors).length > 0) return Result.fail(invalid(errors))
  const owner = before?.visibility === "personal" ? before.user_id : viewer.user_id
  return Result.succeed({ set: { user_id: next.visibility === "personal" ? owner : null } })
}

/** A personal copy of a view for the caller. */
const cloneOf = (view: CustomViewRow, viewer: Viewer): Omit<CustomViewRow, "id"> => {
  const room = 255 - [..." (Copy)"].length
  return {
    ...view,
    name: `${[...view.name].slice(0, room).join("")} (Copy)`,
    visibility: "personal",
    user_id: viewer.user_id,
    is_default: false,
    role_ids: []
  }
}

// Seed: the system views of a new database (rules/conventions 6). Ids are fixed: 1 and up, in this order.

interface Seeded {
  readonly entity_type: string
  /** The sort column, after `-` for descending order. */
  readonly sort: string
  readonly views: ReadonlyArray<
    readonly [name: string, ...filters: ReadonlyArray<readonly [field: string, value: Json]>]
  >
}
const seeded: ReadonlyArray<Seeded> = [
  {
    entity_type: "members",
    sort: "name",
    views: [
      ["All"],
      ["Organisations Only", ["membership_type", "organisation"]],
      ["Contacts Only", ["membership_type", "contact"]],
      ["Active Venues", ["membership_type", "venue"], ["is_active", true]],
      ["Inactive Members", ["is_active", false]]
    ]
  },
  {
    entity_type: "products",
    sort: "name",
    views: [
      ["All"],
      ["Rental", ["product_type", "rental"]],
      ["Sale", ["product_type", "sale"]],
      ["Active", ["is_active", true]],
      ["Inactive", ["is_active", false]]
    ]
  },
  {
    entity_type: "stock_levels",
    sort: "item_name",
    views: [["All"], ["Serialised", ["stock_category", 50]], ["Bulk", ["stock_category", 10]]]
  },
  {
    entity_type: "activities",
    sort: "-created_at",
    views: [["All"], ["Scheduled", ["status_id", 2001]], ["Completed", ["status_id", 2002]]]
  },
  { entity_type: "product_groups", sort: "name", views: [["All"]] },
  {
    entity_type: "opportunities",
    sort: "-created_at",
    views: [["All"], ["Drafts", ["state", 0]], ["Quotations", ["state", 1]], ["Orders", ["state", 2]]]
  },
  {
    entity_type: "shortage_resolutions",
    sort: "-created_at",
    views: [["All"], ["Pending", ["status", "pending"]], ["Confirmed", ["status", "confirmed"]]]
  }
]

const filterOf = ([field, value]: readonly [string, Json]): ViewFilter =>
  typeof value === "boolean"
    ? { field, predicate: value ? "true" : "false", value: null, logic: "and" }
    : { field, predicate: "eq", value, logic: "and" }

const viewSeed = (): ReadonlyArray<NewEvent> => {
  let id = 0
  return seeded.flatMap(({ entity_type, sort, views }) =>
    views.map(([name, ...filters]) =>
      createdEvent(custom_views, {
        ...initialRow(custom_views, viewFields),
        id: ++id,
        name,
        entity_type,
        visibility: "system",
        is_default: name === "All",
        columns: named(declared[entity_type] ?? "")
          .filter((one) => one.starred)
          .map((one) => one.name),
        filters: filters.map(filterOf),
        sort_column: sort.replace(/^-/, ""),
        sort_direction: sort.startsWith("-") ? "desc" : "asc"
      })
    )
  )
}

const path = "/api/v1/custom_views"
const customViewResource = resource({
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

const noSuchView = notFound("No such custom view.")
/** `settings.manage` shows views of other users and roles, too; personal ones stay their owner's to change. */
const maySee = (view: CustomViewRow, viewer: Viewer): boolean =>
  isVisible(view, viewer) || hasOnePermission(viewer, "settings.manage")

/** Columns available to views of this entity type: those of its rows and, if it has a module, its custom fields. */
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
    facts: (input, before) => factsFor(before?.entity_type ?? String(input.values.entity_type)),
    save: ({ next, before, facts, input }) =>
      Result.flatMap(mayChange(before, input.viewer), () => saveView(next, before, facts, input)),
    delete: ({ row, input }) => Result.map(mayDelete(row, input.viewer), () => [])
  }
})

const endpoints = [
  get(path, {
    answer: Shown.page(() => customViewResource),
    name: "custom_views.list",
    summary: "List the saved views available to the caller",
    ...reads,
    fields: { entity_type: text({ describe: "Only views of this resource, such as members" }) },
    run: Effect.fnUntraced(function* (input) {
      const { entity_type } = input.values
      const views = yield* Store.find(custom_views, entity_type === undefined ? {} : { entity_type })
      const ids = views.filter((view) => isVisible(view, input.viewer)).map((view) => view.id)
      return ok(
        yield* listBody(customViewResource, input.query, viewContext(input), { unpaged: true, where: { id: ids } })
      )
    })
  }),
  get(`${path}/{id}`, {
    answer: oneView,
    name: "custom_views.show",
    summary: "Show one saved view",
    ...reads,
    params: inPath,
    run: Effect.fnUntraced(function* (input) {
      if (!maySee(input.rows.id, input.viewer)) return yield* noSuchView
      return ok(yield* renderOne(customViewResource, input.rows.id, input.query, viewContext(input)))
    })
  }),
  command("POST", `${path}/{id}/clone`, {
    answer: oneView,
    name: "custom_views.clone",
    summary: "Copy a view to a personal one",
    ...writes,
    params: inPath,
    success_status: 201,
    creates: [custom_views],
    facts: () => Effect.succeed(undefined),
    decide: (_facts, { rows, viewer }, context) => {
      if (!maySee(rows.id, viewer)) return Result.fail(noSuchView)
      const id = context.id(custom_views)
      return decided(id, [createdEvent(custom_views, { ...cloneOf(rows.id, viewer), id })])
    },
    respond: (result, input) =>
      Effect.map(renderById(customViewResource, result.id, input.query, viewContext(input)), created)
  })
]

/** Update and delete answer like read: 404 for views that this user may not see. */
const seenOnly = (endpoint: Endpoint): Endpoint =>
  endpoint.params["id"] === undefined
    ? endpoint
    : {
        ...endpoint,
        authorize: ({ rows, viewer }) =>
          maySee((rows as { readonly id: CustomViewRow }).id, viewer) ? Effect.void : Effect.fail(noSuchView)
      }

export const viewsSlice: Slice = {
  ...crud,
  seed: viewSeed,
  endpoints: [...endpoints, ...(crud.endpoints ?? []).map(seenOnly)]
}
