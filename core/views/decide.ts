/** Rules for saved views: who may change which, and what they may contain (rules/conventions 6). */
import { Result } from "effect"
import { type CustomViewRow, valueless } from "../kernel/custom-view.ts"
import type { Input } from "../kernel/endpoint.ts"
import { forbidden, invalid, invalidField, type Rejection } from "../kernel/rejection.ts"
import { hasOnePermission, type Viewer } from "../kernel/viewer.ts"

/** 403 unless the viewer made this personal view, or has `settings.manage` for shared and system views. */
export const mayChange = (view: CustomViewRow | undefined, viewer: Viewer): Result.Result<void, Rejection> =>
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
export const mayDelete = (view: CustomViewRow, viewer: Viewer): Result.Result<void, Rejection> =>
  view.visibility !== "system"
    ? mayChange(view, viewer)
    : Result.fail(
        viewer.is_owner
          ? invalidField("view", "A system view cannot be deleted.")
          : forbidden("A system view cannot be deleted.")
      )

/** `columns`: all there are; undefined when there is no list of that entity type. */
export interface ViewFacts {
  readonly columns: ReadonlySet<string> | undefined
}

/** The stored columns of a valid body; `user_id` follows from `visibility`. */
export const saveView = (
  next: CustomViewRow,
  before: CustomViewRow | undefined,
  { columns }: ViewFacts,
  { values, viewer }: Pick<Input, "values" | "viewer">
): Result.Result<{ readonly set: Partial<CustomViewRow> }, Rejection> => {
  const given = (name: string): boolean => before === undefined || name in values
  if (columns === undefined) return Result.fail(invalidField("entity_type", `There is no list of ${next.entity_type}.`))
  if (before?.visibility === "system" && given("visibility") && next.visibility !== "system") {
    return Result.fail(invalidField("visibility", "A system view stays everybody's; copy it to make it your own."))
  }
  const errors: { [field: string]: ReadonlyArray<string> } = {}
  const unknown = given("columns") ? next.columns.filter((name) => !columns.has(name)) : []
  if (unknown.length > 0) errors["columns"] = unknown.map((name) => `${next.entity_type} have no column ${name}.`)
  if (given("sort_column") && next.sort_column !== null && !columns.has(next.sort_column)) {
    errors["sort_column"] = [`${next.entity_type} have no column ${next.sort_column}.`]
  }
  if (given("filters")) {
    for (const [at, { predicate, value }] of next.filters.entries()) {
      if (!valueless.has(predicate) && (value === null || (Array.isArray(value) && value.length === 0)))
        errors[`filters.${at}.value`] = [`The predicate ${predicate} needs a value.`]
    }
  }
  if (Object.keys(errors).length > 0) return Result.fail(invalid(errors))
  return Result.succeed({
    set: {
      user_id:
        next.visibility !== "personal" ? null : before?.visibility === "personal" ? before.user_id : viewer.user_id
    }
  })
}

/** A personal copy of a view for the caller. */
export const cloneOf = (view: CustomViewRow, viewer: Viewer): Omit<CustomViewRow, "id"> => {
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
