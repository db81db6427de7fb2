/** Endpoints and rules of surcharge groups (rules/billing 5). */
import { Effect, Result, Schema } from "effect"
import type { Slice } from "../kernel/catalogue.ts"
import { updateWhere } from "../kernel/row-change.ts"
import type { DecideContext } from "../kernel/endpoint.ts"
import type { NewEvent } from "../kernel/event.ts"
import { follow } from "../kernel/event-type.ts"
import {
  createdEvent,
  deletedEvent,
  viewManageAccess,
  crudResource,
  rowEvents,
  updatedEvent
} from "../kernel/crud-resource.ts"
import { type FieldErrors, invalid } from "../kernel/rejection.ts"
import { baseView, resource } from "../kernel/resource.ts"
import { baseCurrency } from "../kernel/settings.ts"
import { Store } from "../kernel/store/store.ts"
import type { ValuesOf } from "../kernel/field.ts"
import { readSurchargeValue, type SurchargeGroup } from "../pricing/surcharges.ts"
import { stores } from "../stores/stores.ts"
import { surcharge_groups, surchargeGroupFields, type SurchargeRow, surcharges } from "./surcharge-schema.ts"
import * as Shown from "../kernel/answer-schema.ts"

const inOrder = { order: ["sort_order", "id"] }

/** Surcharges by the id of their group, in order. One query. */
const surchargesOf = Effect.fnUntraced(function* (group_ids: ReadonlyArray<number>) {
  const rows = yield* (yield* Store).find(surcharges, { surcharge_group_id: group_ids }, inOrder)
  const byGroup = new Map<number, Array<SurchargeRow>>(group_ids.map((id) => [id, []]))
  for (const row of rows) byGroup.get(row.surcharge_group_id)?.push(row)
  return byGroup
})

/** A surcharge as its group shows it. */
const {
  surcharge_group_id: _group,
  created_at: _created,
  updated_at: _updated,
  deleted_at: _deleted,
  ...surcharge_shows
} = surcharges.columns

const surchargeGroupResource = resource({
  singular: "surcharge_group",
  shows: { surcharges: Shown.objects(surcharge_shows) },
  table: surcharge_groups,
  called: { by: ["name"] },
  filters: ["name", "is_active", "store_id", "created_at"],
  sorts: ["name", "sort_order", "created_at"],
  load: (rows) => surchargesOf(rows.map(({ id }) => id)),
  view: (base, row, _found, context, loaded) => {
    const { created_at, updated_at, ...own } = base
    const shown = (loaded.get(row.id) ?? []).map((one) => {
      const {
        surcharge_group_id: _group,
        created_at: _created,
        updated_at: _updated,
        ...surcharge
      } = baseView(surcharges, one, context)
      return surcharge
    })
    return { ...own, surcharges: shown, created_at: created_at ?? null, updated_at: updated_at ?? null }
  }
})

type SentSurcharge = ValuesOf<typeof surchargeGroupFields>["surcharges"][number]
interface Replaced {
  readonly events: ReadonlyArray<NewEvent>
}

/** Events that replace the surcharges of a group by those sent. Errors are keyed `surcharges.<n>.<field>`. */
const replaceSurcharges = (
  group_id: number,
  sent: ReadonlyArray<SentSurcharge>,
  stored: ReadonlyArray<SurchargeRow>,
  context: DecideContext
): Result.Result<Replaced, FieldErrors> => {
  const errors: { [field: string]: ReadonlyArray<string> } = {}
  const unsent = new Map(stored.map((one) => [one.id, one]))
  const events = sent.flatMap((one, index): ReadonlyArray<NewEvent> => {
    const path = `surcharges.${index}`
    const value = readSurchargeValue(one.calculation_type, one.value, baseCurrency(context.settings))
    if (Result.isFailure(value)) errors[`${path}.value`] = [`The value field ${value.failure}`]
    if (one.min_amount !== null && one.max_amount !== null && one.max_amount < one.min_amount) {
      errors[`${path}.max_amount`] = ["The max amount must not be below the min amount."]
    }
    const before = one.id === null ? undefined : unsent.get(one.id)
    if (one.id !== null && before === undefined)
      errors[`${path}.id`] = ["The group has no such surcharge left; leave the id out to add one."]
    if (Result.isFailure(value)) return []
    if (before !== undefined) unsent.delete(before.id)
    const row = { ...one, value: value.success, sort_order: one.sort_order ?? index }
    if (before === undefined)
      return [createdEvent(surcharges, { ...row, id: context.id(surcharges), surcharge_group_id: group_id })]
    const updated = updatedEvent(surcharges, before, row)
    return updated === undefined ? [] : [updated]
  })
  if (Object.keys(errors).length > 0) return Result.fail(errors)
  return Result.succeed({
    events: [...[...unsent.values()].map((surcharge) => deletedEvent(surcharges, surcharge.id, surcharge)), ...events]
  })
}

const crud = crudResource({
  resource: surchargeGroupResource,
  fields: surchargeGroupFields,
  path: "/api/v1/surcharge_groups",
  access: viewManageAccess("pricing", "pricing.manage", "pricing.manage"),
  rules: {
    facts: (_input, before) =>
      Effect.gen(function* () {
        return {
          stored:
            before === undefined
              ? []
              : yield* (yield* Store).find(surcharges, { surcharge_group_id: before.id }, inOrder)
        }
      }),
    save: ({ next, facts, input, context }) => {
      const sent = input.values["surcharges"] as ReadonlyArray<SentSurcharge> | undefined
      if (sent === undefined) return Result.succeed({})
      return Result.mapBoth(replaceSurcharges(next.id, sent, facts.stored, context), {
        onSuccess: ({ events }) => ({ also: events }),
        onFailure: invalid
      })
    }
  }
})

/** Groups by id with their surcharges, as stage 3 of pricing takes them. Two queries. */
export const surchargeFacts = Effect.fnUntraced(function* (group_ids: ReadonlyArray<number>) {
  const groups = yield* (yield* Store).getMany(surcharge_groups, group_ids)
  const byGroup = yield* surchargesOf(groups.map(({ id }) => id))
  return groups.map((group): SurchargeGroup => ({ ...group, surcharges: byGroup.get(group.id) ?? [] }))
})

/** The ids of the groups a new opportunity of a store starts with. */
export const defaultSurchargeGroupIds = Effect.fnUntraced(function* (store_id: number | null) {
  const groups = yield* (yield* Store).find(surcharge_groups, { is_active: true, default_enabled: true }, inOrder)
  return groups.filter((group) => group.store_id === null || group.store_id === store_id).map(({ id }) => id)
})

export const surchargeGroupsSlice: Slice = {
  ...crud,
  tables: [...(crud.tables ?? []), surcharges],
  events: [...(crud.events ?? []), ...rowEvents(surcharges)],
  follows: [
    // The group of a deleted store becomes inactive; without its store it would be charged at all stores.
    follow(
      `${stores.entity}.deleted`,
      () => Schema.Struct({ id: Schema.Int }),
      ({ id }, { recorded_at }) => [
        updateWhere(surcharge_groups, { store_id: id }, { is_active: false, store_id: null, updated_at: recorded_at })
      ]
    )
  ]
}
