/** What can be imported from a file: where it goes, its columns, and an example of such a file. */
import { memberColumns, organisationsIn } from "../../../core/imports/member-columns.ts"
import { textCell } from "../../../core/imports/cells.ts"
import { partsIn } from "../../../core/imports/part-rows.ts"
import { productColumns } from "../../../core/imports/product-columns.ts"
import { rateColumns } from "../../../core/imports/rate-columns.ts"
import { type Columns, readRows } from "../../../core/imports/rows.ts"
import { foldCase } from "../../../core/kernel/table.ts"
import type { JsonObject } from "../../../core/kernel/json.ts"

export const statuses = ["created", "updated", "unchanged", "rejected"] as const
export type Status = (typeof statuses)[number]
export interface RowVerdict {
  readonly row: number
  readonly line?: number
  readonly status: Status
  readonly id: number | null
  readonly key: string | null
  readonly errors?: { readonly [field: string]: ReadonlyArray<string> }
  readonly warnings?: ReadonlyArray<string>
}

/** What rows of a dry run may name because earlier requests would have made it. */
export interface Promised {
  readonly field: string
  /** What a row that would be taken makes known. */
  readonly known: (cells: JsonObject, verdict: RowVerdict) => ReadonlyArray<string>
  /** What a row names. */
  readonly named: (cells: JsonObject) => ReadonlyArray<string>
}
export interface Kind {
  readonly path: string
  readonly columns: Columns
  readonly promised: ReadonlyArray<Promised>
  /** A small file that goes in as it is. */
  readonly example: string
}

const promisedSkus: Promised = {
  field: "promised_skus",
  known: (_cells, { key }) => (key === null ? [] : [key]),
  named: (cells) => partsIn(cells["components"] ?? null).flatMap((part) => textCell(part, "sku") ?? [])
}
const memberCells = (cells: JsonObject): JsonObject => readRows([cells], memberColumns)[0]?.cells ?? {}
const textsIn = (cells: JsonObject, columns: ReadonlyArray<string>): ReadonlyArray<string> =>
  columns.flatMap((column) => textCell(cells, column) ?? [])
const promisedNumbers: Promised = {
  field: "promised_numbers",
  known: (cells, { status }) =>
    status === "created" ? textsIn(memberCells(cells), ["mapping_id", "account_number"]) : [],
  named: (cells) => organisationsIn(memberCells(cells)) ?? []
}
const promisedNames: Promised = {
  field: "promised_names",
  known: (cells, { status }) => (status === "created" ? textsIn(memberCells(cells), ["name"]).map(foldCase) : []),
  named: (cells) => (organisationsIn(memberCells(cells)) ?? []).map(foldCase)
}

export const kinds: { readonly [kind: string]: Kind | undefined } = {
  products: {
    path: "/api/v1/products/import",
    columns: productColumns,
    promised: [promisedSkus],
    example: `sku,name,group,stock_method,weight (kg),replacement_charge,stock,rate.preset,rate.price,components
PAR-64,PAR 64 floodlight,Lighting / Floodlights,bulk,3.1,45.00,24,daily-rate,4.50,
MH-1,Moving head,Lighting / Moving heads,serialised,21.5,1200.00,MH-1-01; MH-1-02,daily-rate,35.00,
PAR-BAR,Bar of four PAR 64,Lighting / Floodlights,bulk,,,,daily-rate,15.00,PAR-64 x 4
`
  },
  rates: {
    path: "/api/v1/rate_definitions/import",
    columns: rateColumns,
    promised: [],
    example: `engine,name,description
Daily Rate,Daily Rate,
Weekly Rate,Weekly Rate,
`
  },
  members: {
    path: "/api/v1/members/import",
    columns: memberColumns,
    promised: [promisedNumbers, promisedNames],
    example: `number,type,name,organisation,credit_limit,on_stop,street,city,country,email,phone,contact.name,tags
C-100,organisation,Acme Events,,5000.00,no,1 High Street,Leeds,GB,info@acme.example,0113 4960000,Ann Lee,"tv, vip"
V-7,venue,Riverside Hall,,,,Quay 3,Leeds,United Kingdom,,,,
P-31,contact,Sam Okafor,C-100,,,,,,sam@acme.example,+44 7700 900123,,
`
  }
}
