/**
 * Tables of custom field groups and of lists of values, and the modules with custom fields (rules/conventions 17).
 */
import { boolean, createdEvent, initialRow, integer, list_values, longText, table, text } from "../../kernel/index.ts"
import { visible_to_all, type Catalogue, type JsonObject, type NewEvent } from "../../kernel/index.ts"

/** Modules with custom fields in the API, in the order of messages (rules/members-activities 5). */
const interface_modules =
  "Member Product ProductGroup StockLevel Activity Store Opportunity Invoice PurchaseOrder".split(" ")
/** All modules that can have custom fields: the API's, and those that resources of the catalogue declare. */
export const modulesOf = ({ resources }: Catalogue): ReadonlyArray<string> => [
  ...new Set([...interface_modules, ...resources.flatMap(({ custom_module }) => custom_module ?? [])])
]

export const customFieldGroupFields = {
  name: text({ required: true, search: true }),
  description: longText({ nullable: true }),
  sort_order: integer({ default: 0, min: 0 }),
  plugin_name: text({ nullable: true })
}
export const custom_field_groups = table("custom_field_groups", customFieldGroupFields, { visibility: visible_to_all })

export const listNameFields = {
  name: text({ required: true, search: true }),
  description: longText({ nullable: true }),
  is_system: boolean({ computed: true, default: false }),
  is_hierarchical: boolean({ default: false })
}
export const list_names = table("list_names", listNameFields, {
  visibility: visible_to_all,
  uniques: [{ columns: ["name"], field: "name", message: "The name has already been taken." }]
})

// Seed: the lists of a new database (rules/conventions 17). Ids are fixed: 1 and up, in the order written here.

type SeedValue = string | { readonly name: string; readonly metadata: JsonObject }
const lists: ReadonlyArray<readonly [name: string, values: ReadonlyArray<SeedValue>]> = [
  ["Address Type", ["Billing", "Delivery", "Office", "Home", "Warehouse", "Other"]],
  ["Email Type", ["Work", "Billing", "Personal", "Other"]],
  ["Phone Type", ["Work", "Mobile", "Home", "Fax", "Other"]],
  ["Link Type", ["Website", "Facebook", "Instagram", "LinkedIn", "YouTube", "Other"]],
  ["Relationship Type", ["Employee", "Contractor", "Freelancer", "Owner", "Site Contact", "Other"]],
  [
    "Lawful Basis Type",
    ["Consent", "Contract", "Legal Obligation", "Vital Interests", "Public Task", "Legitimate Interests"]
  ],
  ["Location Type", ["Internal", "External"]],
  [
    "Rating",
    ["1", "2", "3", "4", "5"].map((stars) => ({
      name: stars === "1" ? "1 Star" : `${stars} Stars`,
      metadata: { rating: Number(stars) }
    }))
  ],
  [
    "Invoice Term",
    [
      { name: "Due on Receipt", metadata: { days: 0 } },
      ...[7, 14, 30, 45, 60, 90].map((days) => ({ name: `Net ${days}`, metadata: { days } })),
      { name: "End of Month", metadata: { days: 0, end_of_month: true } }
    ]
  ],
  [
    "Locale",
    [
      ["English (United Kingdom)", "en-GB"],
      ["English (United States)", "en-US"],
      ["English (Australia)", "en-AU"],
      ["German", "de-DE"],
      ["French", "fr-FR"],
      ["Spanish", "es-ES"],
      ["Italian", "it-IT"],
      ["Dutch", "nl-NL"],
      ["Portuguese", "pt-PT"],
      ["Swedish", "sv-SE"],
      ["Danish", "da-DK"],
      ["Norwegian", "nb-NO"],
      ["Polish", "pl-PL"],
      ["Japanese", "ja-JP"]
    ].map(([name = "", code = ""]) => ({ name, metadata: { code } }))
  ],
  ["File Category", ["Contract", "Drawing", "Insurance", "Invoice", "Manual", "Photo", "Risk Assessment", "Other"]],
  // The API's codes of activity types (rules/members-activities 6).
  [
    "Activity Type",
    ["Task", "Call", "Fax", "Email", "Meeting", "Note", "Letter"].map((name, at) => ({
      name,
      metadata: { code: 1001 + at }
    }))
  ]
]

export const activity_type_list = lists.findIndex(([name]) => name === "Activity Type") + 1

export const listSeed = (): ReadonlyArray<NewEvent> => {
  let value_id = 0
  return lists.flatMap(([name, values], at) => [
    createdEvent(list_names, { ...initialRow(list_names, listNameFields), id: at + 1, name, is_system: true }),
    ...values.map((value, order) =>
      createdEvent(list_values, {
        ...initialRow(list_values),
        id: ++value_id,
        list_name_id: at + 1,
        sort_order: order + 1,
        is_system: true,
        ...(typeof value === "string" ? { name: value } : value)
      })
    )
  ])
}
