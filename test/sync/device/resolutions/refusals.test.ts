/**
 * Every kind of refusal of a device's command: the message names order, customer, goods and intent, and each offered
 * resolution does what it says. One device and one server; every row creates its own goods and orders.
 */
import { beforeAll, beforeEach, describe, expect, it } from "vitest"
import type { Conflict, ResolutionRequest } from "../../../../sync/device/device.ts"
import { engines } from "../../../app.ts"
import type { Person } from "../../../rental-house.ts"
import { serverOfSuite, type TestDevice, type TestServer } from "../../opening.ts"

interface Order {
  readonly path: string
  readonly line: string
}
interface Ground {
  readonly server: TestServer
  /** A name that differs in every world. */
  readonly tag: string
  readonly customer_id: number
  readonly bulk: (held: number) => Promise<number>
  readonly serialised: () => Promise<number>
  readonly unit: (product_id: number, name?: string) => Promise<number>
  /** Creates a quotation of a quantity, by this device or at the server. */
  readonly quotation: (whose: "mine" | "theirs", product_id: number, quantity: number, dates?: object) => Promise<Order>
  readonly order: Ground["quotation"]
  /** Creates a case with these packed in it. */
  readonly box: (...packed: ReadonlyArray<number>) => Promise<string>
}
type Sent = readonly [method: string, path: string, body?: object]
interface Row {
  readonly kind: string
  /** Sam's offline command, after an earlier one at the server. */
  readonly world: (ground: Ground) => Promise<readonly [recorded: Sent, meanwhile: Sent, ...more: ReadonlyArray<Sent>]>
  /** A later command that needs the created asset, once the first one is dropped. */
  readonly dependant?: (order: string, asset_id: number) => Sent
  readonly status?: number
  readonly refused: RegExp
  /** `#` stands for the world's tag. */
  readonly intent: RegExp
  readonly ways: ReadonlyArray<string>
  /** Whether the rest of a split is refused, too. */
  readonly is_rest_refused?: boolean
}

const dates = { starts_at: "2030-12-03T09:00:00Z", ends_at: "2030-12-05T17:00:00Z" }
const next_week = { starts_at: "2030-12-07T09:00:00Z", ends_at: "2030-12-09T17:00:00Z" }
const whose = (state = "order") => String.raw`${state} \d+ Fest # for Acme #, 3–5 Dec 2030`
const sentence = (before: string, state?: string, after = ""): RegExp =>
  new RegExp(`^Sam wanted to ${before}${whose(state)}${after}$`)
const confirm = ({ path }: Order): Sent => ["POST", `${path}/convert_to_order`, {}]
const cancel = ({ path }: Order): Sent => ["POST", `${path}/change_status`, { status: 6 }]
const extend = ({ path }: Order): Sent => ["POST", `${path}/extend`, { ends_at: "2030-12-08T17:00:00.000Z" }]
const allocate = ({ line }: Order, stock_level_id: number): Sent => ["POST", `${line}/assets`, { stock_level_id }]
const dispatch = ({ line }: Order, quantity: number): Sent => [
  "PATCH",
  `${line}/fulfilment`,
  { action: "dispatch", quantity }
]
/** A quotation of all available goods conflicts with an order of some. */
const short = (there_are: number) => async (g: Ground) => {
  const product = await g.bulk(there_are)
  return [
    confirm(await g.quotation("mine", product, there_are)),
    confirm(await g.quotation("theirs", product, 2))
  ] as const
}
const ofUnits = async (g: Ground) => {
  const product = await g.serialised()
  return { product, unit: await g.unit(product) }
}

const rows: ReadonlyArray<Row> = [
  {
    kind: "goods are short where the store blocks shortages",
    world: short(6),
    refused: /Robe # is short of 2|2 .*Robe #|Robe #.* 2/,
    intent: sentence("make an order of ", "quotation"),
    ways: ["reduce", "dates", "waitlist", "drop"]
  },
  {
    kind: "none of the goods is free any more",
    world: short(2),
    refused: /Robe #/,
    intent: sentence("make an order of ", "quotation"),
    ways: ["dates", "waitlist", "drop"]
  },
  {
    kind: "an extension meets goods of another order",
    world: async (g) => {
      const product = await g.bulk(6)
      const mine = await g.order("mine", product, 6)
      return [extend(mine), confirm(await g.quotation("theirs", product, 2, next_week))]
    },
    refused: /Robe #.*Ball #/,
    intent: sentence("extend ", "order", " to 3–8 Dec 2030"),
    ways: ["dates", "amend", "drop"]
  },
  {
    kind: "an extension meets another order's unit",
    world: async (g) => {
      const { product, unit } = await ofUnits(g)
      const mine = await g.order("mine", product, 1)
      await g.unit(product, "B")
      const theirs = await g.order("theirs", product, 1, next_week)
      return [extend(mine), allocate(theirs, unit), allocate(mine, unit)]
    },
    refused: /A-# is held by "Ball #"/,
    intent: sentence("extend ", "order", " to 3–8 Dec 2030"),
    ways: ["dates", "amend", "drop"]
  },
  {
    kind: "another order holds the unit",
    world: async (g) => {
      const { product, unit } = await ofUnits(g)
      await g.unit(product, "B")
      return [allocate(await g.order("mine", product, 1), unit), allocate(await g.order("theirs", product, 1), unit)]
    },
    refused: /A-# is held by "Ball #"/,
    intent: sentence("allocate A-# to "),
    ways: ["substitute", "amend", "drop"]
  },
  {
    kind: "another order holds one of several units",
    world: async (g) => {
      const { product, unit } = await ofUnits(g)
      const other = await g.unit(product, "B")
      const { line, path } = await g.order("mine", product, 2)
      const opportunity_item_id = Number(line.split("/").at(-1))
      const allocations = [unit, other].map((stock_level_id) => ({ opportunity_item_id, stock_level_id }))
      const theirs = await g.order("theirs", product, 1)
      return [["POST", `${path}/quick_allocate`, { allocations }], allocate(theirs, other)]
    },
    refused: /B-# is held by "Ball #"/,
    intent: sentence("allocate A-#, B-# to "),
    ways: ["split", "amend", "drop"],
    is_rest_refused: true
  },
  {
    kind: "the unit is in quarantine",
    world: async (g) => {
      const { product, unit } = await ofUnits(g)
      await g.unit(product, "B")
      const mine = await g.order("mine", product, 1)
      return [allocate(mine, unit), ["POST", `/stock_levels/${unit}/quarantine`, { reason: "lens mount loose" }]]
    },
    refused: /A-# is in quarantine/,
    intent: sentence("allocate A-# to "),
    ways: ["substitute", "amend", "drop"]
  },
  {
    kind: "fewer are left to dispatch",
    world: async (g) => {
      const mine = await g.order("mine", await g.bulk(6), 4)
      return [dispatch(mine, 4), dispatch(mine, 1)]
    },
    refused: /: the line asks for 4, and 1 went out already/,
    intent: sentence("dispatch 4 × Robe # of "),
    ways: ["reduce", "split", "amend", "drop"],
    is_rest_refused: true
  },
  {
    kind: "the unit is in a sealed case",
    world: async (g) => {
      const { product, unit } = await ofUnits(g)
      const { path } = await g.order("mine", product, 1)
      const scan: Sent = ["POST", `${path}/scan`, { code: `A-${g.tag}`, direction: "out" }]
      return [scan, ["POST", `${await g.box(unit)}/seal`]]
    },
    status: 409,
    refused: /A-# .*Case #/,
    intent: sentence("book out A-# for "),
    ways: ["amend", "amend", "drop"]
  },
  {
    kind: "the unit was already checked in",
    world: async (g) => {
      const { product, unit } = await ofUnits(g)
      const { line, path } = await g.order("mine", product, 1)
      const { id } = await g.server.create(`${line}/assets`, { stock_level_id: unit })
      const quick = (what: string, more: object = {}): Sent => [
        "POST",
        `${path}/quick_${what}`,
        { asset_ids: [id], ...more }
      ]
      return [quick("check_in"), quick("check_in", { finalise: true }), quick("book_out")]
    },
    refused: /./,
    intent: sentence("check in A-# from "),
    ways: ["amend", "drop"]
  },
  {
    kind: "the order was cancelled",
    world: async (g) => {
      const item_id = await g.bulk(6)
      const mine = await g.order("mine", item_id, 2)
      return [["POST", `${mine.path}/items`, { name: "Robe", item_id, quantity: 1 }], cancel(mine)]
    },
    refused: /cancelled/i,
    intent: sentence("add 1 × Robe # to "),
    ways: ["amend", "drop"]
  },
  {
    kind: "the line was deleted",
    world: async (g) => {
      const { line } = await g.order("mine", await g.bulk(6), 2)
      return [
        ["PATCH", line, { quantity: 3 }],
        ["DELETE", line]
      ]
    },
    status: 404,
    refused: /./,
    intent: sentence("make it 3 × Robe # in "),
    ways: ["amend", "drop"]
  },
  {
    kind: "the order was deleted",
    world: async (g) => {
      const { path } = await g.quotation("mine", await g.bulk(6), 2)
      return [
        ["PUT", path, { reference: "PO-7" }],
        ["DELETE", path]
      ]
    },
    status: 404,
    refused: /./,
    intent: sentence("change ", "quotation", ": reference PO-7"),
    ways: ["amend", "drop"]
  },
  {
    kind: "the asset number is taken",
    world: async (g) => {
      const unit = { product_id: await g.serialised(), store_id: 1, asset_number: `N-${g.tag}` }
      return [
        ["POST", "/stock_levels", unit],
        ["POST", "/stock_levels", unit]
      ]
    },
    refused: /already been taken/,
    intent: /^Sam wanted to add Robe # N-# to the stock$/,
    ways: ["amend", "amend", "drop"]
  },
  {
    kind: "the command it depends on was refused and dropped",
    world: async (g) => {
      const { product, unit } = await ofUnits(g)
      return [allocate(await g.order("mine", product, 1), unit), allocate(await g.order("theirs", product, 1), unit)]
    },
    dependant: (order, asset_id) => ["POST", `${order}/quick_prepare`, { asset_ids: [asset_id] }],
    status: 424,
    refused: /builds on command \d+/,
    intent: sentence("prepare A-# for "),
    ways: ["amend", "drop"]
  },
  {
    kind: "the customer is on stop",
    world: async (g) => {
      const mine = await g.quotation("mine", await g.bulk(6), 2)
      return [confirm(mine), ["PUT", `/members/${g.customer_id}`, { is_on_stop: true }]]
    },
    refused: /Acme #.*on stop/i,
    intent: sentence("make an order of ", "quotation"),
    ways: ["drop"]
  },
  {
    kind: "the customer was deleted",
    world: async (g) => {
      const { path } = await g.quotation("mine", await g.bulk(6), 2)
      const member_id = await g.server.customer({ name: `Zeta ${g.tag}` })
      return [
        ["PUT", path, { member_id }],
        ["DELETE", `/members/${member_id}`]
      ]
    },
    refused: /./,
    intent: sentence("change ", "quotation", ": customer"),
    ways: ["amend", "drop"]
  },
  {
    kind: "the shortage is over",
    world: async (g) => {
      const product = await g.bulk(2)
      const theirs = await g.order("theirs", product, 2)
      const { path } = await g.quotation("mine", product, 2)
      return [["POST", `${path}/shortages/resolve`, { resolution: "waitlist" }], cancel(theirs)]
    },
    refused: /short/,
    intent: sentence("put what is short of ", "quotation", " on the waiting list"),
    ways: ["amend", "drop"]
  },
  {
    kind: "the unit to delete is on an order",
    world: async (g) => {
      const { product, unit } = await ofUnits(g)
      return [["DELETE", `/stock_levels/${unit}`], allocate(await g.order("theirs", product, 1), unit)]
    },
    refused: /./,
    intent: /^Sam wanted to delete .*A-#$/,
    ways: ["drop"]
  },
  {
    kind: "the case was sealed",
    world: async (g) => {
      const { product, unit } = await ofUnits(g)
      const box = await g.box(await g.unit(product, "B"))
      return [
        ["POST", `${box}/pack`, { serialised_item_id: unit }],
        ["POST", `${box}/seal`]
      ]
    },
    refused: /sealed/,
    intent: /^Sam wanted to pack A-# into Case #$/,
    ways: ["amend", "drop"]
  },
  {
    kind: "the invoice was paid",
    world: async (g) => {
      const { path } = await g.order("mine", await g.bulk(6), 2)
      const items = [{ name: "Robe", quantity: 1, unit_price: "10.00" }]
      const bill = { opportunity_id: Number(path.split("/").at(-1)), member_id: g.customer_id, items }
      const { id } = await g.server.create("/invoices", bill)
      const { amount_outstanding: amount } = await g.server.create(`/invoices/${id}/issue`)
      const paid: Sent = [
        "POST",
        `/invoices/${id}/payments`,
        { amount, method: "cash", paid_at: "2026-11-23T09:00:00Z" }
      ]
      return [paid, paid]
    },
    refused: /./,
    intent: sentence(String.raw`record .*: invoice \S+, `),
    ways: ["amend", "drop"]
  }
]

describe.each(engines)("a device's command that the server refuses, server on %s", (engine) => {
  const server = serverOfSuite(engine)
  const { create, must } = server
  let device: TestDevice, sam: Person
  let worlds = 0
  const groundOf = async (): Promise<Ground> => {
    const tag = String(100 + ++worlds)
    const name = `Robe ${tag}`
    const customer_id = await server.customer({ name: `Acme ${tag}` })
    const quotation: Ground["quotation"] = async (whose, item_id, quantity, when = dates) => {
      const more = whose === "mine" ? { subject: `Fest ${tag}`, member_id: customer_id } : { subject: `Ball ${tag}` }
      const { id, items } = await server.withLine(
        { ...when, ...more },
        { name, item_id, quantity, unit_price: "10.00" }
      )
      await must("POST", `/opportunities/${id}/convert_to_quotation`)
      return { path: `/opportunities/${id}`, line: `/opportunities/${id}/items/${items[0].id}` }
    }
    return {
      server,
      tag,
      customer_id,
      quotation,
      order: async (...given) => {
        const made = await quotation(...given)
        await must("POST", `${made.path}/convert_to_order`)
        return made
      },
      serialised: () => server.serialised({ name }),
      bulk: async (held) => {
        const id = await server.product({ name, stock_method: 1 })
        await server.hold(id, held)
        return id
      },
      unit: (product_id, unit = "A") => server.unit(product_id, 1, { asset_number: `${unit}-${tag}` }),
      box: async (...packed) => {
        const { id } = await create("/containers/temporary", { name: `Case ${tag}`, barcode: `C-${tag}`, store_id: 1 })
        for (const serialised_item_id of packed) await create(`/containers/${id}/pack`, { serialised_item_id })
        return `/containers/${id}`
      }
    }
  }
  beforeAll(async () => {
    await must("PUT", "/stores/1", { shortage_policy: "block" })
    await must("PUT", "/settings/opportunities", { settings: { on_stop_policy: "block" } })
    // All permissions of an administrator except for ignoring shortages.
    const all: ReadonlyArray<{ readonly key: string }> = await server.show("/permissions")
    const permissions = all.map(({ key }) => key).filter((key) => key !== "shortages.ignore")
    sam = await server.person({ name: "Sam", permissions })
    device = await server.enrol("sams", sam.secret)
  })

  const of = (pattern: RegExp, tag: string): RegExp => new RegExp(pattern.source.replaceAll("#", tag), pattern.flags)
  /** Creates a world in which Sam's command was refused. */
  const refused = async ({ dependant, world }: Row): Promise<{ readonly conflict: Conflict; readonly tag: string }> => {
    const ground = await groundOf()
    const [recorded, meanwhile, ...before] = await world(ground)
    for (const one of before) await must(...one)
    await device.sync()
    const made = await device.must(...recorded)
    if (dependant !== undefined) await device.must(...dependant(recorded[1].split("/items")[0]!, made.asset.id))
    await must(...meanwhile)
    await device.sync()
    if (dependant !== undefined) await device.resolve((await device.conflicts())[0]!.id, { drop: true })
    const [conflict] = await device.conflicts()
    expect(conflict).toBeDefined()
    return { conflict: conflict!, tag: ground.tag }
  }
  const dropAll = async (): Promise<void> => {
    await device.sync()
    for (const one of await device.conflicts()) await device.resolve(one.id, { drop: true, with_dependants: true })
    await device.sync()
    expect(await device.conflicts()).toEqual([])
  }
  /** Requests of a user who follows the offered resolution; undefined for text only. */
  const followed = ({ payload }: Conflict, offer: Conflict["ways_out"][number]): ResolutionRequest | undefined => {
    if (offer.way === "reduce") return { reduce_to: offer.quantity ?? "free" }
    if (offer.way === "dates") return { dates: { starts_at: offer.starts_at ?? "", ends_at: offer.ends_at ?? "" } }
    if (offer.way === "waitlist") return { waitlist: true }
    if (offer.way === "substitute") return { substitute: offer.units?.[0]?.id ?? true }
    if (offer.way === "split") return { split: true }
    if (offer.way === "retry") return { retry: true }
    const [, field = "", value = ""] = /--set '?([^=]+)=([^']*)'?$/.exec(offer.command) ?? []
    return field === "FIELD" ? undefined : { amend: { ...payload.body, [field]: value === "true" ? true : value } }
  }

  beforeEach(dropAll)
  it.each(rows)(
    "names user, order and reason when refused because $kind, and each resolution offered works",
    async (row) => {
      const { conflict, tag } = await refused(row)
      expect(conflict.error.status, conflict.error.message).toBe(row.status ?? 422)
      expect(conflict.error.message).toMatch(of(row.refused, tag))
      expect(conflict.intent).toMatch(of(row.intent, tag))
      expect(conflict.ways_out.map(({ way }) => way)).toEqual(row.ways)
      for (const { command } of conflict.ways_out)
        expect(command).toMatch(new RegExp(`^flightcase sync resolve ${conflict.n} --`))
      expect(row.ways.at(-1)).toBe("drop")
      await dropAll()
      for (const [at, way] of row.ways.slice(0, -1).entries()) {
        // The second amendment only mentions other values.
        if (row.ways.indexOf(way) !== at || followed(conflict, conflict.ways_out[at]!) === undefined) continue
        const { conflict: again } = await refused(row)
        const answer = await device.resolve(again.id, followed(again, again.ways_out[at]!)!)
        expect(answer.status, `${way}: ${JSON.stringify(answer.body)}`).toBeLessThan(400)
        await device.sync()
        const left = (await device.conflicts()).map(({ error }) => error.status)
        expect([way, left]).toEqual([way, way === "split" && row.is_rest_refused === true ? [422] : []])
        await dropAll()
      }
    }
  )

  it("is accepted on a retry once its user has the lost permission back", async () => {
    const ground = await groundOf()
    const { path } = await ground.quotation("mine", await ground.bulk(6), 2)
    await device.sync()
    await device.must("PUT", path, { subject: "Fest, really" })
    const { permissions } = await server.show(`/roles/${sam.role_id}`)
    await server.grant(
      sam,
      permissions.filter((key: string) => key !== "opportunities.edit")
    )
    await device.sync()
    const [conflict] = await device.conflicts()
    expect(conflict?.error).toMatchObject({ status: 403, message: expect.stringContaining("opportunities.edit") })
    expect(conflict?.intent).toMatch(of(sentence("change ", "quotation", ": subject Fest, really"), ground.tag))
    expect(conflict?.ways_out.map(({ way }) => way)).toEqual(["amend", "drop"])
    expect(await device.resolve(conflict?.id ?? "", { retry: true })).toMatchObject({ status: 403 })
    await server.grant(sam, permissions)
    await device.sync()
    expect((await device.conflicts())[0]?.ways_out.map(({ way }) => way)).toEqual(["retry", "amend", "drop"])
    expect(await device.resolve(conflict?.id ?? "", { retry: true })).toMatchObject({ status: 200 })
    expect(await device.sync()).toMatchObject({ accepted: 1, conflicts: 0 })
  })
})
