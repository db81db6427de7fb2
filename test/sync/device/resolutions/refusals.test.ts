/**
 * Every kind of refusal a server gives a device's command: the sentence names order, customer, goods and intent, and
 * each way out that is offered does what it says. One device and one server; every row makes goods and orders of its own.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest"
import type { Conflict, Device, ResolutionRequest } from "../../../../sync/device/device.ts"
import { engines } from "../../../app.ts"
import { enrolledDevice, type FillTestServer, openFillTestServer } from "../../filling.ts"

type Call = (method: string, path: string, body?: any) => Promise<any>
interface Order {
  readonly id: number
  readonly line: number
}
interface Ground {
  /** At the server, by somebody else. */
  readonly at: Call
  /** Another name in every world. */
  readonly tag: string
  readonly customer: { readonly id: number; readonly name: string }
  readonly bulk: (held: number) => Promise<number>
  readonly unit: (product_id: number, name: string) => Promise<number>
  readonly serialised: () => Promise<number>
  /** A quotation of so many, or an order. */
  readonly quotation: (subject: string, product_id: number, quantity: number, dates?: object) => Promise<Order>
  readonly order: (subject: string, product_id: number, quantity: number, dates?: object) => Promise<Order>
}
type Recorded = readonly [method: string, path: string, body?: object]
interface World {
  /** What Sam records without a network. */
  readonly recorded: ReadonlyArray<Recorded>
  /** What comes first at the server. */
  readonly meanwhile: () => Promise<unknown>
}
interface Row {
  readonly kind: string
  readonly world: (ground: Ground) => Promise<World>
  readonly status: number
  readonly refused: RegExp
  /** `#`: the tag of the world. */
  readonly intent: RegExp
  readonly ways: ReadonlyArray<string>
  /** Ways that only say clearly why not, once the world is as it is. */
  readonly refuses?: ReadonlyArray<string>
}

const deal = ({ id }: Order): string => `/opportunities/${id}`
const dates = { starts_at: "2030-12-03T09:00:00Z", ends_at: "2030-12-05T17:00:00Z" }
const next_week = { starts_at: "2030-12-07T09:00:00Z", ends_at: "2030-12-09T17:00:00Z" }
const whose = (state: string) => String.raw`${state} \d+ Fest # for Acme #, 3–5 Dec 2030`
const sentence = (before: string, state = "order"): RegExp => new RegExp(`^Sam wanted to ${before}${whose(state)}$`)

const rows: ReadonlyArray<Row> = [
  {
    kind: "goods are short where the store blocks shortages",
    world: async (g) => {
      const product = await g.bulk(6)
      const mine = await g.quotation("Fest", product, 6)
      const theirs = await g.quotation("Ball", product, 2)
      return {
        recorded: [["POST", `${deal(mine)}/convert_to_order`, {}]],
        meanwhile: () => g.at("POST", `${deal(theirs)}/convert_to_order`)
      }
    },
    status: 422,
    refused: /Robe # is short of 2|2 .*Robe #|Robe #.* 2/,
    intent: sentence("make an order of ", "quotation"),
    ways: ["reduce", "dates", "waitlist", "drop"]
  },
  {
    kind: "none of the goods is free any more",
    world: async (g) => {
      const product = await g.bulk(2)
      const mine = await g.quotation("Fest", product, 2)
      const theirs = await g.quotation("Ball", product, 2)
      return {
        recorded: [["POST", `${deal(mine)}/convert_to_order`, {}]],
        meanwhile: () => g.at("POST", `${deal(theirs)}/convert_to_order`)
      }
    },
    status: 422,
    refused: /Robe #/,
    intent: sentence("make an order of ", "quotation"),
    ways: ["dates", "waitlist", "drop"]
  },
  {
    kind: "an extension meets goods that are promised",
    world: async (g) => {
      const product = await g.bulk(6)
      const mine = await g.order("Fest", product, 6)
      const theirs = await g.quotation("Ball", product, 2, next_week)
      return {
        recorded: [["POST", `${deal(mine)}/extend`, { ends_at: "2030-12-08T17:00:00.000Z" }]],
        meanwhile: () => g.at("POST", `${deal(theirs)}/convert_to_order`)
      }
    },
    status: 422,
    refused: /Robe #.*Ball #/,
    intent: new RegExp(`^Sam wanted to extend ${whose("order")} to 3–8 Dec 2030$`),
    ways: ["dates", "amend", "drop"]
  },
  {
    kind: "an extension meets a unit that is promised",
    world: async (g) => {
      const product = await g.serialised()
      const unit = await g.unit(product, "A")
      const mine = await g.order("Fest", product, 1)
      await g.at("POST", `${deal(mine)}/items/${mine.line}/assets`, { stock_level_id: unit })
      await g.unit(product, "B")
      const theirs = await g.order("Ball", product, 1, next_week)
      return {
        recorded: [["POST", `${deal(mine)}/extend`, { ends_at: "2030-12-08T17:00:00.000Z" }]],
        meanwhile: () => g.at("POST", `${deal(theirs)}/items/${theirs.line}/assets`, { stock_level_id: unit })
      }
    },
    status: 422,
    refused: /A-# is held by "Ball #"/,
    intent: new RegExp(`^Sam wanted to extend ${whose("order")} to 3–8 Dec 2030$`),
    ways: ["dates", "amend", "drop"]
  },
  {
    kind: "a unit is somebody else's",
    world: async (g) => {
      const product = await g.serialised()
      const unit = await g.unit(product, "A")
      await g.unit(product, "B")
      const mine = await g.order("Fest", product, 1)
      const theirs = await g.order("Ball", product, 1)
      return {
        recorded: [["POST", `${deal(mine)}/items/${mine.line}/assets`, { stock_level_id: unit }]],
        meanwhile: () => g.at("POST", `${deal(theirs)}/items/${theirs.line}/assets`, { stock_level_id: unit })
      }
    },
    status: 422,
    refused: /A-# is held by "Ball #"/,
    intent: sentence("allocate A-# to "),
    ways: ["substitute", "amend", "drop"]
  },
  {
    kind: "one unit of several is somebody else's",
    world: async (g) => {
      const product = await g.serialised()
      const units = [await g.unit(product, "A"), await g.unit(product, "B")]
      const mine = await g.order("Fest", product, 2)
      const theirs = await g.order("Ball", product, 1)
      return {
        recorded: [
          [
            "POST",
            `${deal(mine)}/quick_allocate`,
            { allocations: units.map((stock_level_id) => ({ opportunity_item_id: mine.line, stock_level_id })) }
          ]
        ],
        meanwhile: () => g.at("POST", `${deal(theirs)}/items/${theirs.line}/assets`, { stock_level_id: units[1] })
      }
    },
    status: 422,
    refused: /B-# is held by "Ball #"/,
    intent: sentence("allocate A-#, B-# to "),
    ways: ["split", "amend", "drop"],
    refuses: ["split"]
  },
  {
    kind: "a unit is out of service",
    world: async (g) => {
      const product = await g.serialised()
      const unit = await g.unit(product, "A")
      await g.unit(product, "B")
      const mine = await g.order("Fest", product, 1)
      return {
        recorded: [["POST", `${deal(mine)}/items/${mine.line}/assets`, { stock_level_id: unit }]],
        meanwhile: () => g.at("POST", `/stock_levels/${unit}/quarantine`, { reason: "lens mount loose" })
      }
    },
    status: 422,
    refused: /A-# is in quarantine/,
    intent: sentence("allocate A-# to "),
    ways: ["substitute", "amend", "drop"]
  },
  {
    kind: "fewer are there than were booked out",
    world: async (g) => {
      const product = await g.bulk(6)
      const mine = await g.order("Fest", product, 4)
      return {
        recorded: [["PATCH", `${deal(mine)}/items/${mine.line}/fulfilment`, { action: "dispatch", quantity: 4 }]],
        meanwhile: () =>
          g.at("PATCH", `${deal(mine)}/items/${mine.line}/fulfilment`, { action: "dispatch", quantity: 1 })
      }
    },
    status: 422,
    refused: /: the line asks for 4, and 1 went out already/,
    intent: sentence("dispatch 4 × Robe # of "),
    ways: ["reduce", "split", "amend", "drop"],
    refuses: ["split"]
  },
  {
    kind: "a unit sits in a case that was sealed",
    world: async (g) => {
      const product = await g.serialised()
      const unit = await g.unit(product, "A")
      const mine = await g.order("Fest", product, 1)
      const { container } = await g.at("POST", "/containers/temporary", {
        name: `Case ${g.tag}`,
        barcode: `C-${g.tag}`,
        store_id: 1
      })
      return {
        recorded: [["POST", `${deal(mine)}/scan`, { code: `A-${g.tag}`, direction: "out" }]],
        meanwhile: async () => {
          await g.at("POST", `/containers/${container.id}/pack`, { serialised_item_id: unit })
          await g.at("POST", `/containers/${container.id}/seal`)
        }
      }
    },
    status: 409,
    refused: /A-# .*Case #/,
    intent: sentence("book out A-# for "),
    ways: ["amend", "amend", "drop"]
  },
  {
    kind: "a unit came back already",
    world: async (g) => {
      const product = await g.serialised()
      const unit = await g.unit(product, "A")
      const mine = await g.order("Fest", product, 1)
      const { asset } = await g.at("POST", `${deal(mine)}/items/${mine.line}/assets`, { stock_level_id: unit })
      await g.at("POST", `${deal(mine)}/quick_book_out`, { asset_ids: [asset.id] })
      return {
        recorded: [["POST", `${deal(mine)}/quick_check_in`, { asset_ids: [asset.id] }]],
        meanwhile: () => g.at("POST", `${deal(mine)}/quick_check_in`, { asset_ids: [asset.id], finalise: true })
      }
    },
    status: 422,
    refused: /./,
    intent: sentence("check in A-# from "),
    ways: ["amend", "drop"]
  },
  {
    kind: "the order was cancelled",
    world: async (g) => {
      const product = await g.bulk(6)
      const mine = await g.order("Fest", product, 2)
      return {
        recorded: [["POST", `${deal(mine)}/items`, { name: "Robe", item_id: product, quantity: 1 }]],
        meanwhile: () => g.at("POST", `${deal(mine)}/change_status`, { status: 6 })
      }
    },
    status: 422,
    refused: /cancelled/i,
    intent: sentence("add 1 × Robe # to "),
    ways: ["amend", "drop"]
  },
  {
    kind: "the line was taken out",
    world: async (g) => {
      const product = await g.bulk(6)
      const mine = await g.order("Fest", product, 2)
      return {
        recorded: [["PATCH", `${deal(mine)}/items/${mine.line}`, { quantity: 3 }]],
        meanwhile: () => g.at("DELETE", `${deal(mine)}/items/${mine.line}`)
      }
    },
    status: 404,
    refused: /./,
    intent: sentence("make it 3 × Robe # in "),
    ways: ["amend", "drop"]
  },
  {
    kind: "the order was deleted",
    world: async (g) => {
      const mine = await g.quotation("Fest", await g.bulk(6), 2)
      return { recorded: [["PUT", deal(mine), { reference: "PO-7" }]], meanwhile: () => g.at("DELETE", deal(mine)) }
    },
    status: 404,
    refused: /./,
    intent: new RegExp(`^Sam wanted to change ${whose("quotation")}: reference PO-7$`),
    ways: ["amend", "drop"]
  },
  {
    kind: "a number was taken",
    world: async (g) => {
      const product = await g.serialised()
      const body = { product_id: product, store_id: 1, asset_number: `N-${g.tag}` }
      return { recorded: [["POST", "/stock_levels", body]], meanwhile: () => g.at("POST", "/stock_levels", body) }
    },
    status: 422,
    refused: /already been taken/,
    intent: /^Sam wanted to add Robe # N-# to the stock$/,
    ways: ["amend", "amend", "drop"]
  },
  {
    kind: "what it builds on was refused, and dropped",
    world: async (g) => {
      const product = await g.serialised()
      const unit = await g.unit(product, "A")
      const mine = await g.order("Fest", product, 1)
      const theirs = await g.order("Ball", product, 1)
      return {
        recorded: [
          ["POST", `${deal(mine)}/items/${mine.line}/assets`, { stock_level_id: unit }],
          ["POST", `${deal(mine)}/quick_prepare`, { asset_ids: ["made"] }]
        ],
        meanwhile: () => g.at("POST", `${deal(theirs)}/items/${theirs.line}/assets`, { stock_level_id: unit })
      }
    },
    status: 424,
    refused: /builds on command \d+/,
    intent: sentence("prepare A-# for "),
    ways: ["amend", "drop"]
  },
  {
    kind: "the customer is on stop",
    world: async (g) => {
      const mine = await g.quotation("Fest", await g.bulk(6), 2)
      return {
        recorded: [["POST", `${deal(mine)}/convert_to_order`, {}]],
        meanwhile: () => g.at("PUT", `/members/${g.customer.id}`, { is_on_stop: true })
      }
    },
    status: 422,
    refused: /Acme #.*on stop/i,
    intent: sentence("make an order of ", "quotation"),
    ways: ["drop"]
  },
  {
    kind: "the customer was deleted",
    world: async (g) => {
      const mine = await g.quotation("Fest", await g.bulk(6), 2)
      const { member } = await g.at("POST", "/members", { name: `Zeta ${g.tag}`, membership_type: "organisation" })
      return {
        recorded: [["PUT", deal(mine), { member_id: member.id }]],
        meanwhile: () => g.at("DELETE", `/members/${member.id}`)
      }
    },
    status: 422,
    refused: /./,
    intent: new RegExp(`^Sam wanted to change ${whose("quotation")}: customer$`),
    ways: ["amend", "drop"]
  },
  {
    kind: "goods are not short any more",
    world: async (g) => {
      const product = await g.bulk(2)
      const theirs = await g.order("Ball", product, 2)
      const mine = await g.quotation("Fest", product, 2)
      return {
        recorded: [["POST", `${deal(mine)}/shortages/resolve`, { resolution: "waitlist" }]],
        meanwhile: () => g.at("POST", `${deal(theirs)}/change_status`, { status: 6 })
      }
    },
    status: 422,
    refused: /short/,
    intent: new RegExp(`^Sam wanted to put what is short of ${whose("quotation")} on the waiting list$`),
    ways: ["amend", "drop"]
  },
  {
    kind: "the unit is on an order",
    world: async (g) => {
      const product = await g.serialised()
      const unit = await g.unit(product, "A")
      const theirs = await g.order("Ball", product, 1)
      return {
        recorded: [["DELETE", `/stock_levels/${unit}`]],
        meanwhile: () => g.at("POST", `${deal(theirs)}/items/${theirs.line}/assets`, { stock_level_id: unit })
      }
    },
    status: 422,
    refused: /./,
    intent: /^Sam wanted to delete .*A-#$/,
    ways: ["drop"]
  },
  {
    kind: "the case was sealed",
    world: async (g) => {
      const product = await g.serialised()
      const unit = await g.unit(product, "A")
      const { container } = await g.at("POST", "/containers/temporary", {
        name: `Case ${g.tag}`,
        barcode: `C-${g.tag}`,
        store_id: 1
      })
      await g.at("POST", `/containers/${container.id}/pack`, { serialised_item_id: await g.unit(product, "B") })
      return {
        recorded: [["POST", `/containers/${container.id}/pack`, { serialised_item_id: unit }]],
        meanwhile: () => g.at("POST", `/containers/${container.id}/seal`)
      }
    },
    status: 422,
    refused: /sealed/,
    intent: /^Sam wanted to pack A-# into Case #$/,
    ways: ["amend", "drop"]
  },
  {
    kind: "the invoice was paid",
    world: async (g) => {
      const mine = await g.order("Fest", await g.bulk(6), 2)
      await g.at("PATCH", `${deal(mine)}/items/${mine.line}`, { unit_price: "10.00" })
      const { invoice } = await g.at("POST", "/invoices", {
        opportunity_id: mine.id,
        member_id: g.customer.id,
        items: [{ name: "Robe", quantity: 1, unit_price: "10.00" }]
      })
      const { invoice: issued } = await g.at("POST", `/invoices/${invoice.id}/issue`)
      const paid = { amount: issued.amount_outstanding, method: "cash", paid_at: "2026-11-23T09:00:00Z" }
      return {
        recorded: [["POST", `/invoices/${invoice.id}/payments`, paid]],
        meanwhile: () => g.at("POST", `/invoices/${invoice.id}/payments`, paid)
      }
    },
    status: 422,
    refused: /./,
    intent: new RegExp(`^Sam wanted to record .*: invoice \\S+, ${whose("order")}$`),
    ways: ["amend", "drop"]
  }
]

describe.each(engines)("what a server refuses a device on %s", (engine) => {
  let server: FillTestServer, device: Device
  let worlds = 0
  const at: Call = (method, path, body) => server.must(method, path.slice(1), body)
  const groundOf = async (): Promise<Ground> => {
    const tag = String(100 + ++worlds)
    const { member } = await at("POST", "/members", { name: `Acme ${tag}`, membership_type: "organisation" })
    const product = async (stock_method: number): Promise<number> =>
      (await at("POST", "/products", { name: `Robe ${tag}`, sku: `R-${tag}`, stock_method })).product.id
    const quotation: Ground["quotation"] = async (subject, product_id, quantity, when = dates) => {
      const of = subject === "Fest" ? { member_id: member.id } : {}
      const { opportunity } = await at("POST", "/opportunities", {
        subject: `${subject} ${tag}`,
        store_id: 1,
        ...when,
        ...of
      })
      const path = `/opportunities/${opportunity.id}`
      const added = await at("POST", `${path}/items`, { name: `Robe ${tag}`, item_id: product_id, quantity })
      await at("POST", `${path}/convert_to_quotation`)
      return { id: opportunity.id, line: added.opportunity.items[0].id }
    }
    return {
      at,
      tag,
      customer: { id: member.id, name: member.name },
      serialised: () => product(2),
      bulk: async (quantity_held) => {
        const id = await product(1)
        const [level] = (await at("GET", `/products/${id}?include=stock_levels`)).product.stock_levels
        await at("PUT", `/stock_levels/${level.id}`, { quantity_held })
        return id
      },
      unit: async (product_id, name) =>
        (await at("POST", "/stock_levels", { product_id, store_id: 1, asset_number: `${name}-${tag}` })).stock_level.id,
      quotation,
      order: async (...given) => {
        const made = await quotation(...given)
        await at("POST", `${deal(made)}/convert_to_order`)
        return made
      }
    }
  }
  beforeAll(async () => {
    server = await openFillTestServer(engine)
    await at("PUT", "/stores/1", { shortage_policy: "block" })
    await at("PUT", "/settings/opportunities", { settings: { on_stop_policy: "block" } })
    // All that an administrator may, but for going ahead where goods are short.
    const all: ReadonlyArray<{ readonly key: string }> = (await at("GET", "/permissions")).permissions
    const permissions = all.map(({ key }) => key).filter((key) => key !== "shortages.ignore")
    const { token } = await server.letInWith({ name: "Sam", permissions })
    device = await enrolledDevice(server, "one", token)
  })
  afterAll(async () => {
    await device?.close()
    await server?.close()
  })

  /** A world in which Sam's command was refused. */
  const refused = async (row: Row): Promise<{ readonly conflict: Conflict; readonly tag: string }> => {
    const ground = await groundOf()
    const { meanwhile, recorded } = await row.world(ground)
    await device.sync()
    let made: number | undefined
    for (const [method, path, body] of recorded) {
      const sent = JSON.parse(JSON.stringify(body ?? null).replace('"made"', String(made)))
      const answer: any = await device.ask({ method, path: `/api/v1${path}`, query: [], body: sent ?? undefined })
      expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(400)
      made = answer.body?.asset?.id
    }
    await meanwhile()
    await device.sync()
    const [first] = await device.conflicts()
    if (recorded.length > 1) await device.resolve(first?.id ?? "", { drop: true })
    const [conflict] = await device.conflicts()
    expect(conflict, row.kind).toBeDefined()
    return { conflict: conflict as Conflict, tag: ground.tag }
  }
  const of = (pattern: RegExp, tag: string): RegExp => new RegExp(pattern.source.replaceAll("#", tag), pattern.flags)
  const dropAll = async (): Promise<void> => {
    await device.sync()
    for (const one of await device.conflicts()) await device.resolve(one.id, { drop: true, with_dependants: true })
    await device.sync()
    expect(await device.conflicts()).toEqual([])
  }
  /** What a person does who follows the way out as it is offered; undefined: no more than words. */
  const followed = ({ payload }: Conflict, offer: Conflict["ways_out"][number]): ResolutionRequest | undefined => {
    if (offer.way === "reduce") return { reduce_to: offer.quantity ?? "free" }
    if (offer.way === "dates") return { dates: { starts_at: offer.starts_at ?? "", ends_at: offer.ends_at ?? "" } }
    if (offer.way === "waitlist") return { waitlist: true }
    if (offer.way === "substitute") return { substitute: offer.units?.[0]?.id ?? true }
    if (offer.way === "split") return { split: true }
    if (offer.way === "retry") return { retry: true }
    if (offer.way === "drop") return { drop: true }
    const [, field = "", value = ""] = /--set '?([^=]+)=([^']*)'?$/.exec(offer.command) ?? []
    return field === "FIELD" ? undefined : { amend: { ...payload.body, [field]: value === "true" ? true : value } }
  }

  beforeEach(dropAll)
  describe.each(rows)("where $kind", (row) => {
    it("says who wanted what of whose order, why not, and what would do", async () => {
      const { conflict, tag } = await refused(row)
      expect(conflict.error.status, conflict.error.message).toBe(row.status)
      expect(conflict.error.message).toMatch(of(row.refused, tag))
      expect(conflict.intent).toMatch(of(row.intent, tag))
      expect(conflict.ways_out.map(({ way }) => way)).toEqual(row.ways)
      for (const { command } of conflict.ways_out)
        expect(command).toMatch(new RegExp(`^flightcase sync resolve ${conflict.n} --`))
      await dropAll()
    })
    it.each([...row.ways.entries()].filter(([at, way]) => row.ways.indexOf(way) === at))(
      "way out %i, %s, ends applied or says why not",
      async (place, way) => {
        const { conflict } = await refused(row)
        const offer = conflict.ways_out[place]
        const how = offer === undefined ? undefined : followed(conflict, offer)
        if (how !== undefined) {
          const answer = await device.resolve(conflict.id, how)
          expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(400)
          await device.sync()
          const left = await device.conflicts()
          // The rest of a split command is asked for again, and refused for what it is.
          expect(left.map(({ error }) => error.status)).toEqual((row.refuses ?? []).includes(way) ? [422] : [])
        }
        await dropAll()
      }
    )
  })

  it("says of a permission that was withdrawn what it stopped, and takes the command again once it is back", async () => {
    const ground = await groundOf()
    const mine = await ground.quotation("Fest", await ground.bulk(6), 2)
    await device.sync()
    const body = { subject: "Fest, really" }
    expect((await device.ask({ method: "PUT", path: `/api/v1${deal(mine)}`, query: [], body })).status).toBe(200)
    const role = (await at("GET", "/roles?q[name_eq]=Sam")).roles[0]
    const without = role.permissions.filter((key: string) => key !== "opportunities.edit")
    await at("PUT", `/roles/${role.id}`, { permissions: without })
    await device.sync()
    const [conflict] = await device.conflicts()
    expect(conflict?.error).toMatchObject({ status: 403, message: expect.stringContaining("opportunities.edit") })
    expect(conflict?.intent).toMatch(of(new RegExp(`${whose("quotation")}: subject Fest, really$`), ground.tag))
    expect(conflict?.ways_out.map(({ way }) => way)).toEqual(["amend", "drop"])
    expect(await device.resolve(conflict?.id ?? "", { retry: true })).toMatchObject({ status: 403 })
    await at("PUT", `/roles/${role.id}`, { permissions: role.permissions })
    await device.sync()
    expect((await device.conflicts())[0]?.ways_out.map(({ way }) => way)).toEqual(["retry", "amend", "drop"])
    expect(await device.resolve(conflict?.id ?? "", { retry: true })).toMatchObject({ status: 200 })
    expect(await device.sync()).toMatchObject({ accepted: 1, conflicts: 0 })
  })
})
