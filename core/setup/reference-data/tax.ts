/** Tax: classes of products and of customers, percentages, and the rules that join them (rules/rates 8). */
import { Effect, Result } from "effect"
import { boolean, choice, createdEvent, crudResource, decimal, initialRow, integer } from "../../kernel/index.ts"
import { longText, ref, reject, resource, Shown, Store, table, text, updatedEvents } from "../../kernel/index.ts"
import { viewManageAccess, visible_to_all } from "../../kernel/index.ts"
import type { JsonObject, RowOf, Settings, Slice, Stamped, Table } from "../../kernel/index.ts"
import type { TaxTable } from "../../pricing/pricing/line.ts"
import { compareDecimals } from "../../values/decimal.ts"

const access = viewManageAccess("tax-classes", "tax-classes.view", "tax-classes.manage")

const classFields = {
  name: text({ required: true, search: true }),
  description: longText({ nullable: true }),
  is_default: boolean({ default: false })
}
export const product_tax_classes = table("product_tax_classes", classFields, {
  entity: "product_tax_class",
  visibility: visible_to_all,
  reference: true
})
export const organisation_tax_classes = table("organisation_tax_classes", classFields, {
  entity: "organisation_tax_class",
  visibility: visible_to_all,
  reference: true
})
type ClassTable = Table<typeof classFields & Stamped>
type ClassRow = RowOf<ClassTable>

/** Warning about a class that no rule names: pairs without a rule use the default pair's. */
const withoutRule = (table: ClassTable) =>
  Effect.fnUntraced(function* (row: ClassRow): Store.Reads<JsonObject | undefined> {
    const is_of_products = table.name === product_tax_classes.name
    const column = is_of_products ? "product_tax_class_id" : "organisation_tax_class_id"
    const [rule] = yield* Store.find(tax_rules, { [column]: row.id, is_active: true }, { limit: 1 })
    if (rule !== undefined) return undefined
    const other: ClassTable = is_of_products ? organisation_tax_classes : product_tax_classes
    const [usual] = yield* Store.find(other, { is_default: true }, { limit: 1 })
    const [products, customers] = is_of_products ? [row.id, usual?.id ?? "ID"] : [usual?.id ?? "ID", row.id]
    return {
      warnings: [
        `No tax rule joins ${row.name} with a tax class of ${is_of_products ? "customers" : "products"}, so it is ` +
          `${row.is_default ? "untaxed" : "taxed as the default classes are"}; POST /api/v1/tax_rules ` +
          `{"organisation_tax_class_id": ${customers}, "product_tax_class_id": ${products}, "tax_rate_id": RATE} ` +
          `(flightcase tax-rules create --organisation-tax-class-id ${customers} --product-tax-class-id ${products} ` +
          "--tax-rate-id RATE)."
      ]
    }
  })

/** Endpoints of the tax classes of products or organisations. One is the default; a new default replaces it. */
const taxClasses = (table: ClassTable): Slice =>
  crudResource({
    resource: resource({
      singular: table.entity,
      table,
      called: { by: ["name"] },
      filters: ["name", "is_default", "created_at", "updated_at"],
      sorts: ["name", "created_at", "updated_at"]
    }),
    fields: classFields,
    path: `/api/v1/${table.name}`,
    access,
    // Locks the default: two classes made the default at once must not both keep it.
    streams: ({ id }) => [`${table.entity}:default`, ...(id === undefined ? [] : [`${table.entity}:${id}`])],
    rules: {
      facts: () => Store.find(table, { is_default: true }),
      save: ({ next, before, facts }) => {
        if (before?.is_default === true && !next.is_default) {
          return reject("is_default", "Make another tax class the default instead.")
        }
        const others: ReadonlyArray<ClassRow> = next.is_default ? facts.filter(({ id }) => id !== next.id) : []
        return Result.succeed({ also: others.flatMap((one) => updatedEvents(table, one, { is_default: false })) })
      },
      delete: ({ row }) =>
        row.is_default
          ? reject(table.entity, "The default tax class cannot be deleted; make another one the default first.")
          : Result.succeed([]),
      meta: withoutRule(table),
      meta_shows: Shown.optional(Shown.warnings())
    }
  })

/** EN 16931: S, Z, E, AE, O. */
const vat_categories = {
  standard: "Standard",
  zero: "Zero rate",
  exempt: "Exempt",
  reverse_charge: "Reverse charge",
  outside: "Not subject to VAT"
} as const
export type VatCategoryWord = keyof typeof vat_categories
const rateFields = {
  name: text({ required: true, search: true }),
  description: longText({ nullable: true }),
  /** A percentage: "20.0000". */
  rate: decimal({ scale: 4, min: "0", max: "100", required: true }),
  is_active: boolean({ default: true }),
  vat_category: choice(vat_categories, {
    nullable: true,
    on_null: "clear",
    describe: "VAT category on e-invoices; default for a rate of 0: zero-rated"
  }),
  exemption_reason: longText({
    nullable: true,
    on_null: "clear",
    max: 500,
    describe: "Reason for charging no VAT, for the buyer; required on e-invoices for exempt rates"
  })
}
export const tax_rates = table("tax_rates", rateFields, { visibility: visible_to_all, reference: true })

const ruleFields = {
  organisation_tax_class_id: ref("organisation_tax_classes", { required: true, on_delete: "delete" }),
  product_tax_class_id: ref("product_tax_classes", { required: true, on_delete: "delete" }),
  // A rate in use cannot be deleted: that would silently change the tax of everything its rules apply to.
  tax_rate_id: ref("tax_rates", {
    required: true,
    on_delete: "refuse",
    way_out: "delete its rules first, or make the rate inactive"
  }),
  priority: integer({ min: 0, default: 0 }),
  is_active: boolean({ default: true })
}
export const tax_rules = table("tax_rules", ruleFields, {
  visibility: visible_to_all,
  indexes: [["product_tax_class_id"], ["tax_rate_id"]],
  uniques: [
    {
      columns: ["organisation_tax_class_id", "product_tax_class_id", "tax_rate_id"],
      field: "tax_rate_id",
      message: "There is already a rule for these two classes with this rate."
    }
  ]
})

const productClasses = taxClasses(product_tax_classes)
const organisationClasses = taxClasses(organisation_tax_classes)

const rates = crudResource({
  resource: resource({
    singular: "tax_rate",
    table: tax_rates,
    called: { by: ["name"] },
    filters: ["name", "rate", "is_active", "created_at", "updated_at"],
    sorts: ["name", "rate", "created_at", "updated_at"]
  }),
  fields: rateFields,
  path: "/api/v1/tax_rates",
  access,
  rules: {
    // Standard rates are above zero, all others are zero.
    save: ({ next: { rate, vat_category } }) => {
      const is_taxed = compareDecimals(rate, "0") > 0
      if (vat_category === null || (vat_category === "standard") === is_taxed) return Result.succeed({})
      return reject(
        "vat_category",
        is_taxed
          ? `A rate of ${rate} % is standard: make the rate 0, or leave out the category.`
          : "A rate of 0 is zero, exempt, reverse_charge or outside."
      )
    }
  }
})
const rules = crudResource({
  resource: resource({
    singular: "tax_rule",
    table: tax_rules,
    filters: [
      "organisation_tax_class_id",
      "product_tax_class_id",
      "tax_rate_id",
      "priority",
      "is_active",
      "created_at",
      "updated_at"
    ],
    sorts: ["priority", "created_at", "updated_at"],
    includes: {
      organisation_tax_class: { kind: "brief", via: "organisation_tax_class_id", table: organisation_tax_classes },
      product_tax_class: { kind: "brief", via: "product_tax_class_id", table: product_tax_classes },
      tax_rate: { kind: "brief", via: "tax_rate_id", table: tax_rates }
    }
  }),
  fields: ruleFields,
  path: "/api/v1/tax_rules",
  access,
  streams: (params, body) => [
    ...(params["id"] === undefined ? [] : [`tax_rule:${params["id"]}`]),
    ...(body["tax_rate_id"] === undefined ? [] : [`tax_rate:${String(body["tax_rate_id"])}`])
  ]
})

/** Whether rows created without a tax class get the default one. */
const taxSettings = {
  assign_default_classes: boolean({
    default: false,
    describe: "Give new members and products the default tax class, unless null is sent"
  })
}
/** The class for rows created without one; undefined while the setting is off. */
export const assignedClass = Effect.fnUntraced(function* (
  table: ClassTable,
  settings: Settings
): Store.Reads<number | undefined> {
  if (settings["tax"]?.["assign_default_classes"] !== true) return undefined
  return (yield* Store.find(table, { is_default: true }, { limit: 1 }))[0]?.id
})
/** These columns set to the class, except those in the request. */
export const classesFor = <const Column extends string>(
  columns: ReadonlyArray<Column>,
  sent: object,
  class_id: number | undefined
): { readonly [C in Column]?: number } =>
  Object.fromEntries(
    class_id === undefined ? [] : columns.filter((one) => !(one in sent)).map((one) => [one, class_id])
  ) as { readonly [C in Column]?: number }

const seeded = <T extends Table>(
  table: T,
  fields: T["columns"] | typeof classFields,
  id: number,
  values: Partial<RowOf<T>>
) => createdEvent(table, { ...initialRow(table, fields), id, ...values })

/** Active rules, their rates and the default classes for `resolveTax`, in four queries. */
export const taxFacts = Effect.gen(function* () {
  const rules = yield* Store.find(tax_rules, { is_active: true })
  const rates = yield* Store.getMany(
    tax_rates,
    rules.map(({ tax_rate_id }) => tax_rate_id)
  )
  const [product] = yield* Store.find(product_tax_classes, { is_default: true }, { limit: 1 })
  const [organisation] = yield* Store.find(organisation_tax_classes, { is_default: true }, { limit: 1 })
  return {
    rules,
    rates,
    default_product_tax_class_id: product?.id ?? null,
    default_organisation_tax_class_id: organisation?.id ?? null
  } satisfies TaxTable
})

export const taxSlices: ReadonlyArray<Slice> = [
  {
    ...productClasses,
    settings: { tax: taxSettings },
    seed: () => [
      seeded(product_tax_classes, classFields, 1, { name: "Standard", is_default: true }),
      seeded(product_tax_classes, classFields, 2, { name: "Exempt" })
    ]
  },
  {
    ...organisationClasses,
    seed: () => [seeded(organisation_tax_classes, classFields, 1, { name: "Standard", is_default: true })]
  },
  {
    ...rates,
    seed: () => [
      seeded(tax_rates, tax_rates.columns, 1, { name: "Standard", rate: "20.0000" }),
      seeded(tax_rates, tax_rates.columns, 2, { name: "Reduced", rate: "5.0000" }),
      seeded(tax_rates, tax_rates.columns, 3, { name: "Zero", rate: "0.0000" })
    ]
  },
  {
    ...rules,
    seed: () => [
      seeded(tax_rules, tax_rules.columns, 1, { organisation_tax_class_id: 1, product_tax_class_id: 1, tax_rate_id: 1 })
    ]
  }
]

// Revenue and cost groups: accounts that income and expenses are booked under (rules/conventions 17).

const group_fields = { name: text({ required: true, search: true }), description: longText({ nullable: true }) }
export const revenue_groups = table("revenue_groups", group_fields, { visibility: visible_to_all })
export const cost_groups = table("cost_groups", group_fields, { visibility: visible_to_all })

const groups = (
  singular: "revenue_group" | "cost_group",
  groups_table: typeof revenue_groups,
  seeded: ReadonlyArray<string>
): Slice => ({
  ...crudResource({
    resource: resource({
      singular,
      table: groups_table,
      called: { by: ["name"] },
      filters: ["name", "created_at", "updated_at"],
      sorts: ["name", "created_at", "updated_at"]
    }),
    fields: group_fields,
    path: `/api/v1/${singular}s`,
    access: viewManageAccess("static-data", "static-data.view", "static-data.manage")
  }),
  seed: () =>
    seeded.map((name, index) =>
      createdEvent(groups_table, { ...initialRow(groups_table, group_fields), id: index + 1, name })
    )
})
export const revenueGroups = groups("revenue_group", revenue_groups, ["Dry Hire", "Wet Hire", "Sales", "Services"])
export const costGroups = groups("cost_group", cost_groups, [
  "Equipment Sub-Hire",
  "Crew Sub-Hire",
  "Transport",
  "Consumables",
  "Equipment Purchase"
])
