/**
 * Types and decoders of data from outside: responses of servers, files of users, and state this program stored.
 *
 * Rows have the types their resources declare, and are not checked: a server of another release may give more keys or
 * a new status, and the command still works. What a command cannot do without is decoded by a Schema of its own.
 */
import { Schema } from "effect"
import { isJsonObject, storedJson, type Table, type ValueShown } from "../../core/kernel/index.ts"
import type { AnswerRow, AsJson, BodyShown, Json, JsonObject, KeysShown, Resource } from "../../core/kernel/index.ts"
import { CliError, exit_codes } from "./exit-codes.ts"
import type { Command } from "commander"
import { counted } from "../../core/values/text.ts"

/** A decoder of values; throws an Error with path and reason, and drops undeclared keys. */
type Decoder<T> = (value: unknown) => T

/** Makes a decoder from a Schema, which is built at the first value, as declaring it must not slow down starts. */
export const decoderOf = <T>(schema: () => Schema.Codec<T, unknown>): Decoder<T> => {
  let decode: Decoder<T> | undefined
  return (value) => (decode ??= Schema.decodeUnknownSync(schema()))(value)
}
/** Schema of an object whose keys are not checked and all kept, such as a row that is printed unchanged. */
export const anyRow: Schema.Codec<JsonObject> = Schema.declare<JsonObject>(isJsonObject, { identifier: "an object" })

const asJson = decoderOf(() => storedJson)
/** A value as JSON, without keys that are undefined. */
export const plainJson = (value: unknown): Json => asJson(JSON.parse(JSON.stringify(value)))

/** Resources with rows that commands read. Only types: their declarations are not loaded. */
type Resources =
  | typeof import("../../core/documents/links/api.ts").acceptanceResource
  | typeof import("../../core/office/activities/api.ts").activityResource
  | typeof import("../../core/office/attachments/api.ts").attachmentResource
  | typeof import("../../core/warehouse/containers/endpoint-parts.ts").containerResource
  | typeof import("../../core/billing/state/resources.ts").creditNoteResource
  | typeof import("../../sync/server/devices.ts").deviceResource
  | typeof import("../../core/documents/lifecycle-api.ts").documentResource
  | typeof import("../../core/warehouse/inspections/api.ts").inspectionResource
  | ReturnType<typeof import("../../server/delivery/jobs/api.ts").jobResource>
  | typeof import("../../core/billing/state/resources.ts").invoiceResource
  | typeof import("../../core/people/members/resource.ts").memberResource
  | typeof import("../../server/delivery/notifications/api.ts").notificationResource
  | typeof import("../../core/orders/opportunities/state/resources.ts").opportunityResource
  | typeof import("../../core/billing/state/resources.ts").paymentResource
  | typeof import("../../core/products/products/api.ts").productResource
  | typeof import("../../core/purchasing/orders/api.ts").purchaseOrderResource
  | typeof import("../../core/people/users/api.ts").roleResource
  | typeof import("../../core/warehouse/workshop/api.ts").serviceRecordResource
  | typeof import("../../core/products/stock/api.ts").stockLevelResource
  | typeof import("../../core/warehouse/stocktakes/api.ts").stocktakeResource
  | typeof import("../../core/setup/stores.ts").storeResource
  | typeof import("../../core/warehouse/transfers/api.ts").transferResource
  | typeof import("../../core/people/users/api.ts").userResource
  | typeof import("../../core/orders/opportunities/waiting/api.ts").waitResource
export type RowsByName = { readonly [R in Resources as R["singular"]]: AnswerRow<R> }
export type Singulars = { readonly [R in Resources as Plural<R["singular"]>]: R["singular"] }
type TableRow<T extends Table> = AnswerRow<Resource<T>>
type Plural<Name extends string> = Name extends `${infer Start}y` ? `${Start}ies` : `${Name}s`
/** Keys that other slices add to rows of a resource. */
interface Included {
  readonly container: {
    readonly items?: ReadonlyArray<
      AnswerRow<typeof import("../../core/warehouse/containers/endpoint-parts.ts").containerItemResource>
    >
  }
  readonly invoice: Partial<KeysShown<typeof import("../../core/billing/state/resources.ts").billed_shown>>
  readonly member: {
    readonly addresses: ReadonlyArray<AnswerRow<typeof import("../../core/people/members/resource.ts").addressResource>>
    readonly emails: ReadonlyArray<AnswerRow<typeof import("../../core/people/members/resource.ts").emailResource>>
    readonly phones: ReadonlyArray<AnswerRow<typeof import("../../core/people/members/resource.ts").phoneResource>>
  }
  readonly opportunity: Partial<KeysShown<typeof import("../../core/billing/state/resources.ts").billed_shown>>
  readonly product: {
    readonly accessories?: ReadonlyArray<AnswerRow<typeof import("../../core/products/kits/api.ts").accessoryResource>>
    readonly free?: ValueShown<typeof import("../../core/orders/availability/api/window.ts").free_shown>
    readonly rates?: ReadonlyArray<
      AnswerRow<typeof import("../../core/products/rates/product-rates.ts").productRateResource>
    >
    readonly stock_levels?: ReadonlyArray<
      AnswerRow<typeof import("../../core/products/stock/api.ts").stockLevelResource>
    >
  }
  readonly stock_level: {
    readonly last_seen?: ValueShown<typeof import("../../core/warehouse/stocktakes/schema.ts").last_seen_shown>
  }
  readonly transfer: Partial<KeysShown<typeof import("../../core/warehouse/transfers/api.ts").items_shown>>
  readonly stocktake: Partial<KeysShown<typeof import("../../core/warehouse/stocktakes/schema.ts").taken_shown>>
}
/** Objects in responses, by keys that are no resource's own. */
interface Objects
  extends
    BodyShown<typeof import("../../core/orders/availability/api/answers.ts").whatIfShown>,
    BodyShown<typeof import("../../core/orders/availability/api/answers.ts").whyShown>,
    Pick<BodyShown<typeof import("../../core/products/rates/engine-api.ts").breakdownShown>, "rate_breakdown">,
    Pick<BodyShown<typeof import("../../core/warehouse/scanning/api.ts").scanShown>, "scan"> {
  readonly country: TableRow<typeof import("../../core/setup/reference-data/currencies.ts").countries>
  readonly refund: AnswerRow<typeof import("../../core/billing/state/resources.ts").paymentResource>
  readonly product_tax_class: TableRow<typeof import("../../core/setup/reference-data/tax.ts").product_tax_classes>
  readonly tax_rate: TableRow<typeof import("../../core/setup/reference-data/tax.ts").tax_rates>
  readonly compliance: ValueShown<typeof import("../../core/warehouse/containers/endpoint-parts.ts").manifestShown>
  readonly extension: import("../../core/orders/opportunities/extension/plan.ts").ExtensionShown
  readonly credit_draft: ValueShown<typeof import("../../core/billing/api.ts").credit_draft>
  readonly returned: ValueShown<
    typeof import("../../core/orders/opportunities/extension/plan.ts").returnedShown
  >[number]
  readonly board: { readonly id: number; readonly url: string }
  readonly public_link: NonNullable<ValueShown<typeof import("../../core/documents/lifecycle-api.ts").publicLinkShown>>
  readonly search: KeysShown<typeof import("../../core/overview/search/api.ts").searchShown>
  readonly today: KeysShown<typeof import("../../core/overview/today/api.ts").todayShown>
}
interface Lists {
  readonly acceptances: AnswerRow<typeof import("../../core/documents/links/api.ts").acceptanceResource>
  readonly conflicts: ValueShown<typeof import("../../core/warehouse/workshop/api.ts").promises>[number]
  readonly currencies: TableRow<typeof import("../../core/setup/reference-data/currencies.ts").currencies>
  readonly organisation_tax_classes: TableRow<
    typeof import("../../core/setup/reference-data/tax.ts").organisation_tax_classes
  >
  readonly product_tax_classes: TableRow<typeof import("../../core/setup/reference-data/tax.ts").product_tax_classes>
  readonly tax_rates: TableRow<typeof import("../../core/setup/reference-data/tax.ts").tax_rates>
  readonly tax_rules: TableRow<typeof import("../../core/setup/reference-data/tax.ts").tax_rules>
  readonly activity: import("../../core/people/activity-log.ts").AuditEntry
  readonly inspection_dues: import("../../core/warehouse/inspections/schema.ts").DueShown
  readonly labels: import("../../core/warehouse/labels/schema.ts").LabelShown
  readonly scans: ValueShown<(typeof import("../../core/warehouse/stocktakes/api.ts").scansShown)["scans"]>[number]
  readonly settings: { readonly group: string; readonly settings: JsonObject }
  readonly shortages: KeysShown<typeof import("../../core/orders/opportunities/shortages/api.ts").shortageShown>
  readonly elsewhere: ValueShown<
    typeof import("../../core/orders/opportunities/shortages/api.ts").elsewhereShown
  >[number]
  readonly waiting: ValueShown<typeof import("../../core/orders/opportunities/waiting/api.ts").waitingShown>[number]
}
export type OrderLine = NonNullable<Row<"opportunity">["items"]>[number]
/** Type of a row or object in a response, by its key. */
export type Row<Name extends string> = Name extends keyof RowsByName
  ? Name extends keyof Included
    ? Omit<RowsByName[Name], keyof Included[Name]> & AsJson<Included[Name]>
    : RowsByName[Name]
  : Name extends keyof Objects
    ? AsJson<Objects[Name]>
    : JsonObject
/** Type of a list's rows, by the list's key. */
export type RowOfList<Name extends string> = Name extends keyof Singulars
  ? Row<Singulars[Name]>
  : Name extends keyof Lists
    ? AsJson<Lists[Name]>
    : JsonObject

const unreadable = (what: string, cause?: unknown): CliError =>
  new CliError(exit_codes.failed, `The answer cannot be read: ${what}.`, {
    way_out: "Update Flightcase here, or on the server, until both are of one release.",
    cause
  })

/** Decodes the part of a response's body that a command needs. Exit 1 if it is missing or has another form. */
export const decodeAnswer = <T>(decode: Decoder<T>, body: Json | undefined): T => {
  try {
    return decode(body)
  } catch (error) {
    throw unreadable(error instanceof Error ? error.message.replaceAll(/\s+/g, " ") : String(error), error)
  }
}
/** A response's body, which must be an object. */
export const objectBody = (body: Json | undefined): JsonObject => {
  if (!isJsonObject(body)) throw unreadable("it holds no object")
  return body
}
/** Note about refused commands, with the command that lists them. */
export const refusedText = (count: number): string =>
  `${counted(count, "command was", "commands were")} refused: flightcase sync conflicts`
/** The row with a key in a response, such as `product`. */
export const rowIn = <const Name extends string>(body: Json | undefined, key: Name): Row<Name> => {
  const row = objectBody(body)[key]
  if (!isJsonObject(row)) throw unreadable(`it has no ${key}`)
  return row as Row<Name>
}
/** The rows with a key in a response, such as `products`. */
export const rowsIn = <const Name extends string>(
  body: Json | undefined,
  key: Name
): ReadonlyArray<RowOfList<Name>> => {
  const rows = objectBody(body)[key]
  if (!isRows(rows)) throw unreadable(`it has no ${key}`)
  return rows as ReadonlyArray<RowOfList<Name>>
}
type MetaKey = "ignored" | "is_mailed" | "resolved" | "total" | "view" | "warnings"
/** The `meta` of a response; its values are unchecked. */
export const metaIn = (body: Json | undefined): { readonly [Key in MetaKey]?: Json } => {
  const { meta }: JsonObject = isJsonObject(body) ? body : {}
  return isJsonObject(meta) ? meta : {}
}
/** Total number of rows of a list; 0 if the response has none. */
export const totalOf = (body: Json | undefined): number => Number(metaIn(body).total ?? 0)
export { objectsIn as rowsOr } from "../../core/kernel/index.ts"
export const isRows = (value: Json | undefined): value is ReadonlyArray<JsonObject> =>
  Array.isArray(value) && value.every(isJsonObject)
/** A text that is not empty; null for any other value. */
export const textOrNull = (value: Json | undefined): string | null =>
  typeof value === "string" && value !== "" ? value : null

// Types of command modules and of global flags.

/** Access to all commands, for completion. */
export interface AllCommands {
  /** Possible first words of a command line: handwritten commands and nouns of the API. */
  readonly firstWords: () => Promise<ReadonlyArray<string>>
  /** Declares the command of a word on the program; returns the words to parse. */
  readonly load: (program: Command, word: string, argv: ReadonlyArray<string>) => Promise<Array<string>>
}

/** Flags that every command takes. */
export interface Globals {
  readonly json?: boolean
  readonly offline?: boolean
  /** False after --no-input. */
  readonly input?: boolean
  readonly plan?: boolean
  readonly profile?: string
  readonly remote?: boolean
  readonly url?: string
  readonly token?: string
}
