/** Random actions of the evening: both devices and a user at the server compete for the same goods. */
import type { Random } from "../sim/random.ts"
import type { EveningWorld } from "./offline-evening-world.ts"

/** Arguments of a command line, and the lines of its input. */
export interface Deed {
  readonly words: ReadonlyArray<string>
  readonly stdin?: string
}
/** A request the rival makes. */
interface Strike {
  readonly method: string
  readonly path: string
  readonly body?: object
}

const window = ["--from", "2026-12-18T09:00", "--to", "2026-12-22T09:00"]
const shuffled = <A>(chance: Random, items: ReadonlyArray<A>): Array<A> =>
  items
    .map((item) => ({ item, at: chance.next() }))
    .sort((one, other) => one.at - other.at)
    .map(({ item }) => item)
/** Next items in a shuffled order, starting over at its end. */
const round = <A>(chance: Random, items: ReadonlyArray<A>): ((count?: number) => ReadonlyArray<A>) => {
  let left: Array<A> = []
  return (count = 1) => {
    if (left.length < count) left = shuffled(chance, items)
    return left.splice(0, count)
  }
}

interface Worker {
  readonly next: () => Deed
  /** Called with a quotation created here, which later actions use. */
  readonly quoted: (id: number) => void
}
export const worker = (chance: Random, name: string, world: EveningWorld): Worker => {
  const mine: Array<number> = []
  const lamps = round(chance, world.lamps),
    radios = round(chance, world.radios),
    groups = round(chance, world.groups),
    quotes = round(chance, world.quotes)
  let made = 0
  const api = (method: string, path: string, body?: object): Deed => ({
    words: ["api", method, `/api/v1${path}`, ...(body === undefined ? [] : ["-d", JSON.stringify(body)])]
  })
  const someQuote = (): number =>
    mine.length > 0 && chance.happens(0.8) ? chance.pick(mine) : chance.pick(world.quotes)
  const deeds: ReadonlyArray<readonly [weight: number, deed: () => Deed]> = [
    [3, () => ({ words: ["quote", "new", "--subject", `${name} ${++made}`, ...window, "--json"] })],
    [
      7,
      () => ({
        words: [
          "quote",
          "add",
          String(someQuote()),
          String(chance.pick([world.cable, world.lamp])),
          "--quantity",
          String(1 + chance.below(4)),
          "--json"
        ]
      })
    ],
    [
      4,
      () =>
        api(
          "PUT",
          `/opportunities/${chance.pick(world.quotes)}`,
          chance.happens(0.5) ? { subject: `${name}'s ${++made}` } : { reference: `${name}-${++made}` }
        )
    ],
    [2, () => api("PUT", `/members/${chance.pick(world.clients)}`, { name: `Client of ${name} ${++made}` })],
    [
      2,
      () => {
        const order = chance.pick(world.orders),
          [lamp] = lamps()
        return api("POST", `/opportunities/${order.id}/quick_allocate`, {
          allocations: [{ opportunity_item_id: order.line, stock_level_id: lamp!.id }]
        })
      }
    ],
    [
      1,
      () => ({
        words: ["scan", "out", String(chance.pick(world.orders).id), "--json"],
        stdin: lamps(2)
          .map(({ code }) => `${code}\n`)
          .join("")
      })
    ],
    [
      1,
      () => ({
        words: ["pack", String(chance.pick(world.boxes)), "--json"],
        stdin: radios(2)
          .map(({ code }) => `${code}\n`)
          .join("")
      })
    ],
    [1, () => api("DELETE", `/product_groups/${groups()[0]!}`)],
    [2, () => api("PUT", `/product_groups/${chance.pick(world.groups)}`, { name: `Group of ${name} ${++made}` })],
    [1, () => api("DELETE", `/opportunities/${quotes()[0]!}`)],
    [2, () => api("POST", `/opportunities/${someQuote()}/convert_to_quotation`)]
  ]
  const all = deeds.flatMap(([weight, deed]) => Array.from({ length: weight }, () => deed))
  return {
    next: () => chance.pick(all)(),
    quoted: (id) => {
      mine.push(id)
    }
  }
}

/** Requests of a user who is online meanwhile. */
export const rival = (chance: Random, world: EveningWorld): (() => Strike) => {
  const lamps = round(chance, world.lamps),
    radios = round(chance, world.radios),
    groups = round(chance, world.groups)
  let made = 0
  const strikes: ReadonlyArray<() => Strike> = [
    () => {
      const order = chance.pick(world.orders)
      return {
        method: "POST",
        path: `/opportunities/${order.id}/quick_allocate`,
        body: { allocations: [{ opportunity_item_id: order.line, stock_level_id: lamps()[0]!.id }] }
      }
    },
    () => ({
      method: "POST",
      path: `/containers/${chance.pick(world.boxes)}/pack`,
      body: { serialised_item_id: radios()[0]!.id }
    }),
    () => ({
      method: "PUT",
      path: `/opportunities/${chance.pick(world.quotes)}`,
      body: { subject: `Rival's ${++made}` }
    }),
    () => ({
      method: "PUT",
      path: `/members/${chance.pick(world.clients)}`,
      body: { name: `Rival's client ${++made}` }
    }),
    () => ({ method: "DELETE", path: `/product_groups/${groups()[0]!}` }),
    () => ({ method: "POST", path: `/opportunities/${chance.pick(world.quotes)}/convert_to_quotation` })
  ]
  return () => chance.pick(strikes)()
}
