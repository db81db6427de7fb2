/** Endpoints of rate definitions (rules/rates 6.1). */
import { Effect, Result } from "effect"
import { command, type Slice } from "../../kernel/endpoints/endpoint.ts"
import { accessOf, createdEvent, crudResource, initialRow } from "../../kernel/endpoints/crud-resource.ts"
import { invalid } from "../../kernel/fields/rejection.ts"
import { created, renderById, type Resource, resource, viewContext } from "../../kernel/endpoints/resource.ts"
import {
  composeMethod,
  copyName,
  deletionErrors,
  presets,
  type SubmittedMethod,
  updateMethod
} from "../../pricing/pricing/definition.ts"
import { basePeriodLabel, strategyLabel } from "../../pricing/pricing/strategies.ts"
import { productRateWithoutMetadata } from "./product-rates.ts"
import { rate_definitions, rateDefinitionFields } from "./schema.ts"
import { text } from "../../kernel/fields/field.ts"
import * as Shown from "../../kernel/lists/answer-schema.ts"

const access = accessOf("rates")

const rateDefinitionResource: Resource<typeof rate_definitions, "rate_definition"> = resource({
  singular: "rate_definition",
  called: { by: ["preset_slug", "name"] },
  shows: { calculation_strategy_name: text(), base_period_name: text({ nullable: true }) },
  table: rate_definitions,
  filters: ["name", "calculation_strategy", "base_period", "is_preset", "preset_slug", "created_at", "updated_at"],
  sorts: ["name", "calculation_strategy", "base_period", "created_at", "updated_at"],
  aliases: { strategy: "calculation_strategy", preset: "preset_slug" },
  includes: {
    cloned_from: { kind: "brief", via: "cloned_from_id", table: rate_definitions },
    product_rates: { kind: "many", via: "rate_definition_id", resource: () => productRateWithoutMetadata }
  },
  view: ({ calculation_strategy, base_period, id, name, description, ...rest }, row) => ({
    id: id ?? null,
    name: name ?? null,
    description: description ?? null,
    calculation_strategy: calculation_strategy ?? null,
    calculation_strategy_name: strategyLabel(row.calculation_strategy),
    base_period: base_period ?? null,
    base_period_name: basePeriodLabel(row.base_period),
    ...rest
  })
})

const crud = crudResource({
  resource: rateDefinitionResource,
  fields: rateDefinitionFields,
  path: "/api/v1/rate_definitions",
  access,
  rules: {
    save: ({ before, input }) => {
      const sent: SubmittedMethod = input.values
      const method = before === undefined ? composeMethod(sent) : updateMethod(before, sent)
      return Result.mapBoth(method, { onSuccess: (stored) => ({ set: { ...stored } }), onFailure: invalid })
    },
    delete: ({ row }) => {
      const errors = deletionErrors({ is_preset: row.is_preset, in_use: false })
      return errors === undefined ? Result.succeed([]) : Result.fail(invalid(errors))
    }
  }
})

const duplicate = command("POST", "/api/v1/rate_definitions/{id}/duplicate", {
  answer: { rate_definition: Shown.row(() => rateDefinitionResource) },
  success_status: 201,
  name: "rate_definitions.duplicate",
  summary: "Copy a rate definition",
  ability: access.write,
  permission: access.create,
  params: { id: { table: rate_definitions } },
  creates: [rate_definitions],
  facts: () => Effect.void,
  decide: (_facts, { rows }, context) => {
    const id = context.id(rate_definitions)
    const copy = {
      ...rows.id,
      id,
      name: copyName(rows.id.name),
      is_preset: false,
      preset_slug: null,
      cloned_from_id: rows.id.id
    }
    return Result.succeed({ events: [createdEvent(rate_definitions, copy)], result: { id } })
  },
  respond: (result, input) =>
    Effect.map(renderById(rateDefinitionResource, result.id, input.query, viewContext(input)), created)
})

export const rateDefinitionsSlice: Slice = {
  ...crud,
  endpoints: [...(crud.endpoints ?? []), duplicate],
  seed: () =>
    presets.map(({ slug, ...preset }, index) =>
      createdEvent(rate_definitions, {
        ...initialRow(rate_definitions, rateDefinitionFields),
        ...preset,
        id: index + 1,
        is_preset: true,
        preset_slug: slug
      })
    )
}
