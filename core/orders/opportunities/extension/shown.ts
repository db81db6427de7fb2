/** The extension in answers: the hire before and after. Amounts are major units, as text. */
import { boolean, choice, integer, list, text, timestamp } from "../../../kernel/fields/field.ts"
import * as Shown from "../../../kernel/lists/answer-schema.ts"
import { tracking_types } from "../../availability/rules/line.ts"

const moment = () => timestamp({ nullable: true })
const shortageShown = {
  opportunity_item_id: integer(),
  product_id: integer(),
  product_name: text({ nullable: true }),
  store_id: integer(),
  requested_quantity: integer(),
  available_quantity: integer(),
  shortfall: integer(),
  remaining_shortfall: integer(),
  tracking_type: choice(tracking_types),
  promised_to: Shown.objects(
    {
      opportunity_id: integer(),
      number: text({ nullable: true }),
      subject: text(),
      quantity: integer(),
      starts_at: timestamp(),
      ends_at: timestamp()
    },
    { describe: "Other orders that have the product in the added time" }
  )
}
const hire = {
  starts_at: moment(),
  ends_at: moment(),
  charge_starts_at: moment(),
  charge_ends_at: moment(),
  charge_total: text(),
  tax_total: text(),
  charge_including_tax_total: text(),
  has_shortage: boolean(),
  shortages: Shown.objects(shortageShown)
}
const extension = {
  before: Shown.keys(hire),
  after: Shown.keys(hire),
  original_starts_at: moment(),
  original_ends_at: moment(),
  currency_code: text(),
  lines_followed: list(integer()),
  lines_kept: list(integer())
}
export const extensionShown = Shown.keys(extension)
/** Result of the decision, for the answer. */
export const extendedResult = Shown.keys({ id: integer(), extension: extensionShown, warnings: list(text()) })

export type ShownShortage = Shown.KeysShown<typeof shortageShown>
export type HireShown = Shown.KeysShown<typeof hire>
export type ExtensionShown = Shown.KeysShown<typeof extension>
export interface Extended {
  readonly id: number
  readonly extension: ExtensionShown
  readonly warnings: ReadonlyArray<string>
}
