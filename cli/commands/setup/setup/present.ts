/** What a server has set up already, as `setup` compares it. */
import { isJsonObject, type Json, type JsonObject } from "../../../../core/kernel/fields/json.ts"
import { objectBody, rowsIn } from "../../../base/answers.ts"
import type { Query } from "../../../../core/kernel/lists/query.ts"
import type { CommandContext } from "../../../context/context.ts"
import { responseError } from "../../../base/response-errors.ts"

export interface Present {
  readonly settings: { readonly [group: string]: JsonObject }
  readonly currencies: ReadonlyArray<JsonObject>
  readonly tax_rates: ReadonlyArray<JsonObject>
  readonly tax_rules: ReadonlyArray<JsonObject>
  readonly tax_classes: { readonly [kind in ClassedKind]: ReadonlyArray<JsonObject> }
  /** How many have no tax class of their own, so that nothing of theirs is taxed. */
  readonly without_class: { readonly [kind in ClassedKind]: number }
  readonly stores: ReadonlyArray<JsonObject>
  readonly users: ReadonlyArray<JsonObject>
  readonly roles: ReadonlyArray<JsonObject>
  /** Whether orders, invoices or orders to suppliers have numbers already. */
  readonly has_numbers: boolean
  /** The logo's file: name and SHA-256; undefined where none is set. */
  readonly logo: JsonObject | undefined
}

/** What may be without a tax class, where it keeps the class, and which of it are customers or goods. */
export const classed_kinds = {
  members: {
    column: "sale_tax_class_id",
    classes: "organisation_tax_classes",
    only: [["q[membership_type_in]", "organisation,contact"]],
    words: ["customer", "customers"]
  },
  products: { column: "tax_class_id", classes: "product_tax_classes", only: [], words: ["product", "products"] }
} as const
export type ClassedKind = keyof typeof classed_kinds
/** The first of a kind without a tax class, and how many there are. */
export const withoutClass = async (context: CommandContext, kind: ClassedKind) => {
  const { column, only } = classed_kinds[kind]
  const query: Query = [["per_page", "100"], [`q[${column}_null]`, "1"], ...only]
  const answer = await atServer(context, "GET", kind, undefined, query)
  const { meta } = answer
  return { rows: rowsIn(answer, kind), total: isJsonObject(meta) ? Number(meta["total"]) : 0 }
}
/** "3 customers and 12 products have no tax class"; undefined where all have one. */
export const withoutClassText = ({ without_class }: Present): string | undefined => {
  const found = (Object.keys(classed_kinds) as ReadonlyArray<ClassedKind>).filter((kind) => without_class[kind] > 0)
  const text = found.map((kind) => {
    const count = without_class[kind]
    return `${count} ${classed_kinds[kind].words[count === 1 ? 0 : 1]}`
  })
  return text.length === 0 ? undefined : `Untaxed, because they have no tax class: ${text.join(" and ")}`
}

export const machineZone = (): string => new Intl.DateTimeFormat().resolvedOptions().timeZone

export const atServer = async (
  context: CommandContext,
  method: string,
  path: string,
  body?: Json,
  query: Query = [],
  files?: Parameters<CommandContext["request"]>[0]["files"]
): Promise<JsonObject> => {
  const answer = await context.requestAtServer({
    method,
    path: `/api/v1/${path}`,
    query,
    ...(body === undefined ? {} : { body }),
    ...(files === undefined ? {} : { files })
  })
  if (answer.status >= 400) throw responseError(answer)
  return objectBody(answer.body)
}

const anyOf = async (context: CommandContext, name: string): Promise<boolean> =>
  rowsIn(await atServer(context, "GET", name, undefined, [["per_page", "1"]]), name).length > 0

/** A house that has no name and no documents yet. */
export const isNew = ({ has_numbers, settings }: Present): boolean =>
  !has_numbers && (settings["company"]?.["name"] ?? "") === ""

export const presentAt = async (context: CommandContext): Promise<Present> => {
  const unpaged = async (name: string): Promise<ReadonlyArray<JsonObject>> =>
    rowsIn(await atServer(context, "GET", name), name)
  const pages = async (name: string): Promise<ReadonlyArray<JsonObject>> => {
    const all: Array<JsonObject> = []
    for (let page = 1; ; page++) {
      const query = [
        ["per_page", "100"],
        ["page", String(page)]
      ] as const
      const found = rowsIn(await atServer(context, "GET", name, undefined, query), name)
      all.push(...found)
      if (found.length < 100) return all
    }
  }
  const settings = Object.fromEntries(
    (await unpaged("settings")).map((one) => [
      String(one["group"]),
      isJsonObject(one["settings"]) ? one["settings"] : {}
    ])
  )
  const logo = settings["invoicing"]?.["logo_attachment_id"]
  const attachment =
    typeof logo === "number" && logo > 0
      ? await context.requestAtServer({ method: "GET", path: `/api/v1/attachments/${logo}` })
      : undefined
  const shown = attachment?.status === 200 ? objectBody(attachment.body)["attachment"] : undefined
  return {
    settings,
    currencies: await pages("currencies"),
    tax_rates: await pages("tax_rates"),
    tax_rules: await pages("tax_rules"),
    tax_classes: {
      members: await pages(classed_kinds.members.classes),
      products: await pages(classed_kinds.products.classes)
    },
    without_class: {
      members: (await withoutClass(context, "members")).total,
      products: (await withoutClass(context, "products")).total
    },
    stores: await pages("stores"),
    users: await pages("users"),
    roles: await pages("roles"),
    has_numbers: (
      await Promise.all(["opportunities", "invoices", "purchase_orders"].map((one) => anyOf(context, one)))
    ).includes(true),
    logo: isJsonObject(shown) ? shown : undefined
  }
}
