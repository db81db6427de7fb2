/** Stores: the locations of stock, each in its own time zone (rules/availability 11). */
import { Effect, Result } from "effect"
import { boolean, choice, createdEvent, crudResource, foldCase, initialRow, json, list } from "../kernel/index.ts"
import { longText, ref, reject, resource, Shown, Store, table, tags, text, updatedEvents } from "../kernel/index.ts"
import { viewManageAccess, visible_to_all, type JsonObject, type RowOf } from "../kernel/index.ts"

const fields = {
  name: text({ required: true, search: true }),
  street: longText({ nullable: true }),
  city: text({ nullable: true }),
  county: text({ nullable: true }),
  postcode: text({ nullable: true, max: 20 }),
  country_code: text({ nullable: true, format: "country", max: 2 }),
  country_id: ref("countries", { nullable: true, on_delete: "keep" }),
  phone: text({ nullable: true }),
  email: text({ nullable: true, format: "email" }),
  timezone: text({ nullable: true, format: "zone", max: 64 }),
  operating_hours: json<JsonObject>({ nullable: true }),
  is_virtual: boolean({ default: false }),
  include_in_default_queries: boolean({ default: true }),
  is_default: boolean({ default: false }),
  shortage_policy: choice({ block: "Block", warn: "Warn", allow: "Allow" }, { default: "warn" }),
  shortage_dispatch_policy: choice(
    { block: "Block", warn_partial: "Warn, partial", allow_partial: "Allow, partial" },
    { default: "warn_partial" }
  ),
  shortage_auto_resolve_enabled: boolean({ default: false }),
  shortage_preferred_resolvers: list(text(), { default: [] }),
  mail_sender_name: text({
    nullable: true,
    on_null: "clear",
    describe: "Sender name of this store's mail; default: as in the mail settings"
  }),
  mail_sender_address: text({ nullable: true, on_null: "clear", format: "email" }),
  mail_reply_to: text({ nullable: true, on_null: "clear", format: "email" }),
  mail_always_bcc: text({
    nullable: true,
    on_null: "clear",
    format: "email",
    describe: "Address for a blind copy of this store's mail"
  }),
  tag_list: tags(),
  custom_fields: json<JsonObject>({ default: {} })
}
export const stores = table("stores", fields, {
  visibility: visible_to_all,
  reference: true,
  indexes: [["name_folded"]]
})
export type StoreRow = RowOf<typeof stores>

export const storeResource = resource({
  singular: "store",
  called: { by: ["name"] },
  table: stores,
  custom_module: "Store",
  filters: ["name", "is_virtual", "is_default", "include_in_default_queries", "created_at", "updated_at"],
  sorts: ["name", "created_at", "updated_at"]
})

export const storesSlice = crudResource({
  resource: storeResource,
  fields,
  path: "/api/v1/stores",
  access: viewManageAccess("stores", null, "settings.manage"),
  rules: {
    facts: () => Effect.map(Store.find(stores, {}, { order: ["id"] }), (all) => ({ all })),
    // The first store becomes the default, a new default replaces the old one, and one is always the default.
    save: ({ next, before, facts }) => {
      const defaults = facts.all.filter((one) => one.is_default)
      const others = defaults.filter((one) => one.id !== next.id)
      if (before?.is_default === true && !next.is_default)
        return reject("is_default", "Make another store the default instead.")
      const is_default = next.is_default || (before === undefined && defaults.length === 0)
      const same = facts.all.find((one) => one.id !== next.id && foldCase(one.name) === foldCase(next.name))
      return Result.succeed({
        set: { is_default },
        also: is_default ? others.flatMap((one) => updatedEvents(stores, one, { is_default: false })) : [],
        warnings:
          same === undefined || next.name === before?.name
            ? []
            : [`Store ${same.id} is called ${same.name}, too; give one of the two another name.`]
      })
    },
    delete: ({ row }) =>
      row.is_default
        ? reject("store", "The default store cannot be deleted; make another store the default first.")
        : Result.succeed([]),
    meta_shows: Shown.optional(Shown.warnings())
  }
})

/** Seed: the first store of a new database. */
export const storeSeed = () => [
  createdEvent(stores, { ...initialRow(stores, fields), id: 1, name: "Main Warehouse", is_default: true })
]
