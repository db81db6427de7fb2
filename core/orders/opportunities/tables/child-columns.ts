/** Columns that several tables of an opportunity share, and the words of their codes. */
import { ref, text } from "../../../kernel/fields/field.ts"

export const transaction_type_labels = { 0: "Rental", 1: "Sale", 2: "Service", 3: "Sub-rental" }
export const rental_line = 0
export const sale_line = 1
/** Lines of this type are work, not goods: they take nothing from stock. */
export const service_line = 2
/** A line's kind by default: that of its product's type. */
export const kindOfProduct = (product: { readonly product_type: string } | undefined): number =>
  product?.product_type === "sale" ? sale_line : product?.product_type === "service" ? service_line : rental_line

export const line_quantity_max = 1_000_000_000
/** A quantity of a line or a cost: two decimals, not negative. */
export const quantity = { scale: 2, min: "0", max: String(line_quantity_max) } as const

/** Money in the currency of the row's `currency_code`. */
export const inRowCurrency = { currency: "currency_code" } as const
/** The opportunity the row belongs to. */
export const opportunityId = () => ref("opportunities", { computed: true, live: false, on_delete: "keep" })
/** The opportunity's currency, copied to the row so that its amounts can be formatted without the opportunity. */
export const currencyCode = () => text({ max: 3, computed: true, hidden: true })
