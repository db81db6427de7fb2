/** Actions in a simulated world: mostly a rental company's daily work, some of everything else. */
import type { Request } from "../../core/kernel/endpoints/endpoint.ts"
import { anyCommand, commandKinds, type Look } from "./any-command.ts"
import type { Random } from "./random.ts"

/** Actions likely to conflict, with their frequency. */
const flows: ReadonlyArray<readonly [string, number]> = [
  ["opportunities.quick_allocate", 8],
  ["opportunities.allocate_asset", 3],
  ["opportunities.convert_to_order", 3],
  ["opportunities.convert_to_quotation", 2],
  ["opportunities.add_item", 3],
  ["opportunities.create", 3],
  ["opportunities.update", 2],
  ["opportunities.change_status", 1],
  ["opportunities.quick_prepare", 1],
  ["opportunities.quick_book_out", 2],
  ["opportunities.quick_check_in", 2],
  ["opportunities.move_asset", 2],
  ["opportunities.update_item", 1],
  ["opportunities.deallocate_asset", 1],
  ["products.create", 2],
  ["products.update", 2],
  ["products.delete", 1],
  ["products.merge", 1],
  ["product_groups.create", 1],
  ["product_groups.update", 1],
  ["product_groups.delete", 1],
  ["stock_levels.create", 4],
  ["members.create", 2],
  ["members.update", 1],
  ["members.merge", 1],
  ["containers.pack", 2],
  ["containers.create", 1],
  ["invoices.create", 2],
  ["invoices.issue", 2],
  ["invoices.pay", 3],
  ["invoices.refund", 1],
  ["invoices.credit", 1],
  ["invoices.void", 1],
  ["purchase_orders.create", 2],
  ["purchase_orders.update", 1],
  ["purchase_orders.send", 2],
  ["purchase_orders.receive", 3],
  ["purchase_orders.return", 1],
  ["purchase_orders.extend", 1],
  ["opportunities.resolve_shortages", 1],
  ["purchase_orders.cancel", 1],
  ["transfers.create", 1],
  ["transfers.send", 1],
  ["transfers.receive", 2],
  ["stocktakes.create", 1],
  ["stocktakes.scan", 2]
]
const often = flows.flatMap(([name, times]) => Array<string>(times).fill(name))
const kindNamed = new Map(commandKinds.map((kind) => [kind.name, kind]))

/** Number of parts of the thousand seeds; each checks that all its kinds of commands were recorded. */
export const parts = 4
export const seeds_per_part = 250
export const partOf = (seed: number): number => Math.floor((seed - 1) / seeds_per_part) % parts
export const kindsOf = (part: number): ReadonlyArray<string> =>
  commandKinds.map((kind) => kind.name).filter((_, at) => at % parts === part)
/** Kinds of commands a seed must cover besides the common ones. */
export const dutiesOf = (seed: number): ReadonlyArray<string> => {
  const own = kindsOf(partOf(seed))
  return Array.from({ length: 6 }, (_, at) => own[(seed * 6 + at) % own.length]!)
}

export const nextRequest = (random: Random, look: Look, duties: ReadonlyArray<string> = []): Promise<Request> => {
  const name = random.happens(0.45)
    ? random.pick(often)
    : duties.length > 0 && random.happens(0.8)
      ? random.pick(duties)
      : random.pick(commandKinds).name
  return anyCommand(random, look, kindNamed.get(name)!)
}
