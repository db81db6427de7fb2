/** Requests and responses of labels (rules/availability 8.7). */
import { boolean, choice, integer, list, ref, Shown, text } from "../../kernel/index.ts"

const labels_max = 500
/** Selection of labels: codes, or all units of a product or at a store, page by page. */
export const label_fields = {
  codes: list(text({ max: 500 }), { nullable: true, max_items: 100, describe: "Codes of units, containers, products" }),
  product_id: ref("products", {
    nullable: true,
    describe: "Product whose units to label; a bulk product's own code is printed"
  }),
  store_id: ref("stores", {
    nullable: true,
    describe: "Store whose units to label, and its containers without a unit"
  }),
  page: integer({ min: 1, max: 1_000_000, default: 1, describe: "Page number, from 1" }),
  per_page: integer({ min: 1, max: labels_max, default: labels_max, describe: "Labels per page" })
}
export const label_access = { ability: "stock:read", permission: "stock.view" } as const
export const symbols = { code128: "Code 128", qr: "QR" } as const
export type SymbolKind = keyof typeof symbols

const label_kinds = { unit: "Unit", container: "Container", product: "Counted goods" } as const
export const labels_shown = {
  labels: Shown.objects({
    code: text({ describe: "Content of the barcode: a unique code, else unit:ID or container:ID" }),
    title: text(),
    more: text({ nullable: true, describe: "Second line of the label: serial number and location" }),
    kind: choice(label_kinds),
    id: integer(),
    is_case: boolean({ describe: "True for containers, and units that are a container's case" })
  }),
  meta: Shown.keys({ total: integer(), per_page: integer(), page: integer() })
}
export type LabelShown = Shown.KeysShown<typeof labels_shown>["labels"][number]
