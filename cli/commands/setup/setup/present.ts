/** Reads the current configuration of a server, for `setup` to compare with. */
import type { Json, JsonObject, Query } from "../../../../core/kernel/index.ts"
import { objectBody, type Row, rowIn, type RowOfList, rowsIn, totalOf } from "../../../base/answers.ts"
import type { ApiRequest, CommandContext } from "../../../context/context.ts"
import { countries } from "../../../../core/values/country.ts"
import type { Company } from "./house.ts"

export interface Present {
  readonly settings: { readonly [group: string]: JsonObject }
  readonly currencies: ReadonlyArray<RowOfList<"currencies">>
  readonly tax_rates: ReadonlyArray<RowOfList<"tax_rates">>
  readonly tax_rules: ReadonlyArray<RowOfList<"tax_rules">>
  readonly tax_classes: { readonly [kind in ClassedKind]: ReadonlyArray<TaxClass> }
  /** Number of rows without a tax class, which are untaxed, by kind. */
  readonly without_class: { readonly [kind in ClassedKind]: number }
  readonly stores: ReadonlyArray<RowOfList<"stores">>
  readonly users: ReadonlyArray<RowOfList<"users">>
  readonly roles: ReadonlyArray<RowOfList<"roles">>
  /** Whether there are opportunities, invoices or purchase orders, drafts included. */
  readonly has_numbers: boolean
  /** Attachment of the logo; undefined without one. */
  readonly logo: Row<"attachment"> | undefined
}
type TaxClass = RowOfList<"product_tax_classes">

/** Tables with tax classes: their column, and words for their rows. */
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
/** Up to 100 rows of a kind without a tax class, and the number of all. */
export const withoutClass = async (context: CommandContext, kind: ClassedKind) => {
  const { column, only } = classed_kinds[kind]
  const query: Query = [["per_page", "100"], [`q[${column}_null]`, "1"], ...only]
  const answer = await atServer(context, "GET", kind, undefined, { query })
  return { rows: rowsIn(answer, kind), total: totalOf(answer) }
}
/** Text such as "Untaxed, because they have no tax class: 3 customers and 12 products"; undefined if none lack one. */
export const withoutClassText = ({ without_class }: Present): string | undefined => {
  const found = (Object.keys(classed_kinds) as ReadonlyArray<ClassedKind>).filter((kind) => without_class[kind] > 0)
  const text = found.map((kind) => {
    const count = without_class[kind]
    return `${count} ${classed_kinds[kind].words[count === 1 ? 0 : 1]}`
  })
  return text.length === 0 ? undefined : `Untaxed, because they have no tax class: ${text.join(" and ")}`
}

const machineZone = (): string => new Intl.DateTimeFormat().resolvedOptions().timeZone

export const atServer = async (
  context: CommandContext,
  method: string,
  path: string,
  body?: Json,
  more: Pick<ApiRequest, "query" | "files"> = {}
): Promise<JsonObject> => objectBody((await context.askServer({ ...more, method, path: `/api/v1/${path}`, body })).body)

const anyOf = async (context: CommandContext, name: string): Promise<boolean> =>
  rowsIn(await atServer(context, "GET", name, undefined, { query: [["per_page", "1"]] }), name).length > 0

/** Whether the company is new, without a name and documents. */
export const isNew = ({ has_numbers, settings }: Present): boolean =>
  !has_numbers && (settings.company?.name ?? "") === ""

export const presentAt = async (context: CommandContext): Promise<Present> => {
  const pages = async <const Name extends string>(name: Name): Promise<ReadonlyArray<RowOfList<Name>>> => {
    const all: Array<RowOfList<Name>> = []
    for (let page = 1; ; page++) {
      const query = [
        ["per_page", "100"],
        ["page", String(page)]
      ] as const
      const found = rowsIn(await atServer(context, "GET", name, undefined, { query }), name)
      all.push(...found)
      if (found.length < 100) return all
    }
  }
  const settings = Object.fromEntries(
    rowsIn(await atServer(context, "GET", "settings"), "settings").map((one) => [one.group, one.settings])
  )
  const logo = settings.invoicing?.logo_attachment_id
  const attachment =
    typeof logo === "number" && logo > 0
      ? await context.requestAtServer({ method: "GET", path: `/api/v1/attachments/${logo}` })
      : undefined
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
    logo: attachment?.status === 200 ? rowIn(attachment.body, "attachment") : undefined
  }
}

// Time zone, currency and locale proposed for a country in the first setup.

/** Time zones where most people live, for countries with several. */
const main_zones: { readonly [country: string]: string } = {
  AR: "America/Argentina/Buenos_Aires",
  AU: "Australia/Sydney",
  BR: "America/Sao_Paulo",
  CA: "America/Toronto",
  CL: "America/Santiago",
  CN: "Asia/Shanghai",
  CY: "Asia/Nicosia",
  DE: "Europe/Berlin",
  EC: "America/Guayaquil",
  ES: "Europe/Madrid",
  ID: "Asia/Jakarta",
  KZ: "Asia/Almaty",
  MX: "America/Mexico_City",
  MY: "Asia/Kuala_Lumpur",
  NZ: "Pacific/Auckland",
  PT: "Europe/Lisbon",
  RU: "Europe/Moscow",
  UA: "Europe/Kyiv",
  US: "America/New_York"
}
/** Time zone in a country: the machine's if it is one there, else the main or only one; undefined otherwise. */
const zoneIn = (country: string, machine: string): string | undefined => {
  // Not yet in the types of this language version.
  const locale = new Intl.Locale("und", { region: country }) as { readonly getTimeZones?: () => ReadonlyArray<string> }
  const zones = locale.getTimeZones?.() ?? []
  return zones.includes(machine) ? machine : (main_zones[country] ?? (zones.length === 1 ? zones[0] : undefined))
}

/** Language of most people in a country, where a new server has another; undefined once a locale was chosen. */
const localeIn = (country: string, { settings }: Pick<Present, "settings">): string | undefined => {
  const now = settings.company?.locale
  const { language } = new Intl.Locale("und", { region: country }).maximize()
  return now !== "en-GB" || now === `${language}-${country}` ? undefined : `${language}-${country}`
}

/** Defaults of the first setup; if the country gives no zone, the machine's. */
export const proposedBy = (
  country_code: string | undefined,
  present: Pick<Present, "currencies" | "settings">,
  machine = machineZone()
): Required<Pick<Company, "timezone">> & Pick<Company, "base_currency" | "locale"> => {
  const country = countries.find(({ code }) => code === country_code?.toUpperCase())
  const currency = country?.currency_code
  const locale = country === undefined ? undefined : localeIn(country.code, present)
  return {
    timezone: (country === undefined ? undefined : zoneIn(country.code, machine)) ?? machine,
    ...(typeof currency === "string" && present.currencies.some((one) => one.code === currency)
      ? { base_currency: currency }
      : {}),
    ...(locale === undefined ? {} : { locale })
  }
}

export const usualClass = (kind: ClassedKind, { tax_classes }: Present): TaxClass | undefined =>
  tax_classes[kind].find((one) => one.is_default)
/** Tax rule of default customers and a product class. */
export const ruleFor = (product_class: TaxClass | undefined, present: Present): RowOfList<"tax_rules"> | undefined =>
  present.tax_rules.find(
    (one) =>
      one.is_active &&
      one.organisation_tax_class_id === usualClass("members", present)?.id &&
      one.product_tax_class_id === product_class?.id
  )
/** Rate of a new server, which the first given tax replaces. */
export const seededRate = ({ tax_rates }: Present): RowOfList<"tax_rates"> | undefined =>
  tax_rates.find((one) => one.name === "Standard" && Number(one.rate) === 20)
/** The default tax, once one was chosen; undefined on a new server. */
export const usualTax = (present: Present): RowOfList<"tax_rates"> | undefined => {
  const rule = ruleFor(usualClass("products", present), present)
  const rate = present.tax_rates.find((one) => one.id === rule?.tax_rate_id)
  return rate?.id === seededRate(present)?.id ? undefined : rate
}
