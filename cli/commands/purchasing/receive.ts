/**
 * `receive`: receives goods from a supplier by scanned codes, each as a command of its own, as in `scan`, so that a
 * power cut loses none.
 */
import type { Command } from "commander"
import type { JsonObject } from "../../../core/kernel/index.ts"
import { type Row, rowIn } from "../../base/answers.ts"
import { countedCode, scanAll, type ScanResult } from "../../context/codes.ts"
import type { CommandContext } from "../../context/context.ts"
import { CliError, exit_codes } from "../../base/exit-codes.ts"
import { type CommandAction, textFlag, verb } from "../../context/program.ts"
import { findIdByName, resolveId } from "../../context/resolve-id.ts"

const serialised = 2
type Item = NonNullable<Row<"purchase_order">["items"]>[number]

/** State of a run: the product whose serial numbers are scanned next, and planned quantities. */
class Dock {
  private named: Item | undefined
  private readonly counted = new Map<unknown, number>()
  private readonly context: CommandContext
  private readonly path: string
  private readonly about: JsonObject

  constructor(context: CommandContext, path: string, about: JsonObject) {
    this.context = context
    this.path = path
    this.about = about
  }

  readonly order = async (): Promise<Row<"purchase_order">> =>
    rowIn(await this.context.read(this.path, [["include", "items"]]), "purchase_order")

  private outstanding(row: Item): number {
    return Number(row.outstanding_quantity) - (this.counted.get(row.id) ?? 0)
  }
  /** The row of a product with an outstanding quantity, else its first row; undefined if the order has none. */
  private rowFor(rows: ReadonlyArray<Item>, product_id: number): Item | undefined {
    const of_product = rows.filter((row) => row.product_id === product_id)
    return of_product.find((row) => this.outstanding(row) > 0) ?? of_product[0]
  }
  private async isSerialised(row: Item): Promise<boolean> {
    if (row.product_id === null) return false
    const product = rowIn(await this.context.read(`/api/v1/products/${row.product_id}`), "product")
    return product.stock_method === serialised
  }

  /** Handles a code: pieces of a product, a product whose serial numbers follow, or a serial number. */
  readonly take = async (scanned: string): Promise<ScanResult> => {
    const { code, quantity } = countedCode(scanned)
    const rows = (await this.order()).items ?? []
    const product_id = await findIdByName(this.context, "products", code)
    const row =
      product_id === undefined
        ? rows.find((one) => one.product_id === null && one.name === code)
        : this.rowFor(rows, product_id)
    if (row !== undefined) {
      if (quantity !== undefined || !(await this.isSerialised(row))) return this.receive(row, quantity ?? 1)
      if (this.outstanding(row) <= 0) throw new CliError(exit_codes.conflict, `of ${row.name} nothing is outstanding`)
      this.named = row
      return { announces: true, done: `${row.name}: its serial numbers follow` }
    }
    if (product_id !== undefined) throw new CliError(exit_codes.conflict, `${code} is not on this order`)
    if (quantity !== undefined) throw new CliError(exit_codes.not_found, "no product on this order has this code")
    return this.receive(await this.rowOfSerials(rows), 1, code)
  }

  /**
   * Row that serial numbers are for: that of the last named product, else the order's only serialised one. Outstanding
   * or not, so that codes keep their meaning during a run.
   */
  private async rowOfSerials(rows: ReadonlyArray<Item>): Promise<Item> {
    const named = this.named?.product_id
    if (typeof named === "number") {
      const row = this.rowFor(rows, named)
      if (row !== undefined) return row
    }
    const single: Array<Item> = []
    for (const row of rows) if (await this.isSerialised(row)) single.push(row)
    const [only, ...others] = single
    if (only === undefined)
      throw new CliError(
        exit_codes.not_found,
        "no product on this order has this code, and none of them has single pieces"
      )
    if (others.some((one) => one.product_id !== only.product_id))
      throw new CliError(exit_codes.usage, "scan the product first, then the serial numbers of its pieces")
    return this.rowFor(rows, Number(only.product_id)) ?? only
  }

  private async receive(row: Item, quantity: number, serial?: string): Promise<ScanResult> {
    if (quantity > this.outstanding(row))
      throw new CliError(
        exit_codes.conflict,
        `of ${row.name} ${this.outstanding(row)} are outstanding; ${quantity} are too many`
      )
    const line = {
      item_id: row.id,
      quantity: String(quantity),
      ...(serial === undefined ? {} : { serial_numbers: [serial] })
    }
    await this.context.post(`${this.path}/receive`, { lines: [line], ...this.about })
    if (this.context.options.plan === true) this.counted.set(row.id, quantity + (this.counted.get(row.id) ?? 0))
    return { done: serial === undefined ? `${quantity} × ${row.name}` : row.name }
  }

  /** Prints outstanding quantities at the end. */
  readonly tell = async (): Promise<void> => {
    const left = ((await this.order()).items ?? []).filter((row) => this.outstanding(row) > 0)
    this.context.note(
      left.length === 0
        ? "Everything of the order has come."
        : `Outstanding: ${left.map((row) => `${this.outstanding(row)} × ${row.name}`).join(", ")}.`
    )
  }
}

const receiveGoods: CommandAction = async (context, [named = "", ...codes], flags) => {
  const path = `/api/v1/purchase_orders/${await resolveId(context, "purchase_orders", named)}`
  const reference = textFlag(flags, "reference")
  const dock = new Dock(context, path, reference === undefined ? {} : { reference })
  const order = await dock.order()
  if (order.status !== "sent" && order.status !== "partially_received")
    throw new CliError(
      exit_codes.conflict,
      `the order is ${order.status_name.toLowerCase()}, so nothing can be received for it`,
      order.status === "draft" ? { way_out: `Send it first: flightcase purchase-orders send ${named}` } : {}
    )
  const code = await scanAll(context, { codes, file: textFlag(flags, "file") }, "received", dock.take)
  await dock.tell()
  return code
}

export const declare = (program: Command): void => {
  verb(program, "receive", {
    about:
      "Receive goods of a purchase order by SKU or barcode, several as CODE*5; serial numbers follow the code of " +
      "their product; offline too",
    "<purchase-order>": "purchase order, by id or number",
    "[code...]": "codes (default: one a line from standard input)",
    "--file <file>": "read codes from this file",
    "--reference <text>": "reference of the supplier's delivery note",
    run: receiveGoods
  })
}
