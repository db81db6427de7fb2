/** What people do every day, taken back: unsent, sent, twice, once more, and where somebody else has been at it since. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { Device } from "../../sync/device/device.ts"
import { enrolledDevice, type FillTestServer, openFillTestServer } from "./filling.ts"

type Call = (method: string, path: string, body?: any) => Promise<any>
interface World {
  readonly tag: string
  readonly product: number
  readonly units: ReadonlyArray<number>
  readonly order: number
  readonly line: number
  readonly quotation: number
  readonly quoted: number
  readonly container: number
}
interface Daily {
  readonly what: string
  readonly name: string
  /** What comes before it, at the server. */
  readonly before?: (at: Call, w: World) => Promise<unknown>
  readonly record: (w: World) => readonly [method: string, path: string, body?: object]
  /** What it changes, as people see it. */
  readonly seen: (show: (path: string) => Promise<any>, w: World) => Promise<unknown>
  /** Another's work on the same since, and the words with which an undo is refused then. */
  readonly since?: readonly [change: (at: Call, w: World, made: any) => Promise<unknown>, refused: RegExp]
}

const dates = { starts_at: "2030-12-03T09:00:00Z", ends_at: "2030-12-05T17:00:00Z" }
const lines = async (show: (path: string) => Promise<any>, id: number) =>
  (await show(`/opportunities/${id}?include=items`)).opportunity?.items.map((one: any) => [
    one.name,
    one.quantity,
    one.starts_at,
    one.ends_at
  ])
const head = async (show: (path: string) => Promise<any>, id: number) => {
  const { ends_at, state, status, subject } = (await show(`/opportunities/${id}`)).opportunity
  return { ends_at, state, status, subject }
}
const unitsOf = async (show: (path: string) => Promise<any>, id: number) =>
  (await show(`/opportunities/${id}/assets`)).assets.map((one: any) => [one.stock_level_id, one.status])
const service = async (show: (path: string) => Promise<any>, { units }: World) =>
  (await show(`/stock_levels/${units[0]}`)).stock_level.service_state
const packed = async (show: (path: string) => Promise<any>, { container }: World) =>
  (await show(`/containers/${container}?include=active_items`)).container.active_items.length

const daily: ReadonlyArray<Daily> = [
  {
    what: "quote new",
    name: "opportunities.create",
    record: ({ tag }) => ["POST", "/opportunities", { subject: `New ${tag}`, store_id: 1, ...dates }],
    seen: async (show, { tag }) => (await show(`/opportunities?q[subject_eq]=New ${tag}`)).opportunities.length,
    since: [
      (at, _w, made) => at("PUT", `/opportunities/${made.opportunity.id}`, { reference: "theirs" }),
      /Draft \d+ was changed since by Owner/
    ]
  },
  {
    what: "quote add",
    name: "opportunities.add_item",
    record: (w) => ["POST", `/opportunities/${w.quotation}/items`, { name: "Arri", item_id: w.product, quantity: 1 }],
    seen: (show, w) => lines(show, w.quotation),
    since: [
      (at, w, made) =>
        at("PATCH", `/opportunities/${w.quotation}/items/${made.opportunity.items.at(-1).id}`, { quantity: 3 }),
      /Arri.* was changed since by Owner/
    ]
  },
  {
    what: "quote update",
    name: "opportunities.update_item",
    record: (w) => ["PATCH", `/opportunities/${w.quotation}/items/${w.quoted}`, { quantity: 2 }],
    seen: (show, w) => lines(show, w.quotation),
    since: [
      (at, w) => at("PATCH", `/opportunities/${w.quotation}/items/${w.quoted}`, { quantity: 3 }),
      /quantity was changed since by Owner/
    ]
  },
  {
    what: "quote remove",
    name: "opportunities.remove_item",
    record: (w) => ["DELETE", `/opportunities/${w.quotation}/items/${w.quoted}`],
    seen: (show, w) => lines(show, w.quotation),
    since: [(at, w) => at("DELETE", `/opportunities/${w.quotation}`), /./]
  },
  {
    what: "quote duplicate",
    name: "opportunities.clone",
    record: (w) => ["POST", `/opportunities/${w.quotation}/clone`],
    seen: async (show, w) =>
      (await show(`/opportunities?q[source_opportunity_id_eq]=${w.quotation}`)).opportunities.length,
    since: [
      (at, _w, made) => at("PUT", `/opportunities/${made.opportunity.id}`, { reference: "theirs" }),
      /was changed since by Owner/
    ]
  },
  {
    what: "orders confirm",
    name: "opportunities.convert_to_order",
    record: (w) => ["POST", `/opportunities/${w.quotation}/convert_to_order`, {}],
    seen: (show, w) => head(show, w.quotation),
    since: [
      (at, w) => at("POST", `/opportunities/${w.quotation}/change_status`, { status: 6 }),
      /status was changed since by Owner|cancelled/
    ]
  },
  {
    what: "orders cancel",
    name: "opportunities.change_status",
    record: (w) => ["POST", `/opportunities/${w.order}/change_status`, { status: 6 }],
    seen: (show, w) => head(show, w.order),
    since: [(at, w) => at("POST", `/opportunities/${w.order}/reinstate`, {}), /status was changed since by Owner/]
  },
  {
    what: "orders extend",
    name: "opportunities.extend",
    record: (w) => ["POST", `/opportunities/${w.order}/extend`, { ends_at: "2030-12-07T17:00:00.000Z" }],
    seen: async (show, w) => [await head(show, w.order), await lines(show, w.order)],
    since: [
      (at, w) => at("POST", `/opportunities/${w.order}/extend`, { ends_at: "2030-12-09T17:00:00.000Z" }),
      /was changed since by Owner/
    ]
  },
  {
    what: "pack",
    name: "containers.pack",
    record: (w) => ["POST", `/containers/${w.container}/pack`, { serialised_item_id: w.units[0] }],
    seen: packed,
    since: [(at, w) => at("POST", `/containers/${w.container}/seal`), /./]
  },
  {
    what: "unpack",
    name: "containers.unpack",
    before: (at, w) => at("POST", `/containers/${w.container}/pack`, { serialised_item_id: w.units[0] }),
    record: (w) => ["POST", `/containers/${w.container}/unpack`, { serialised_item_id: w.units[0] }],
    seen: packed,
    since: [(at, w) => at("POST", `/containers/${w.container}/pack`, { serialised_item_id: w.units[0] }), /./]
  },
  {
    what: "scan out",
    name: "opportunities.scan",
    record: (w) => ["POST", `/opportunities/${w.order}/scan`, { stock_level_id: w.units[0], direction: "out" }],
    seen: async (show, w) => [await head(show, w.order), await unitsOf(show, w.order)],
    since: [
      (at, w) => at("POST", `/opportunities/${w.order}/scan`, { stock_level_id: w.units[0], direction: "in" }),
      /status was changed since by Owner/
    ]
  },
  {
    what: "scan in",
    name: "opportunities.scan",
    before: (at, w) => at("POST", `/opportunities/${w.order}/scan`, { stock_level_id: w.units[0], direction: "out" }),
    record: (w) => ["POST", `/opportunities/${w.order}/scan`, { stock_level_id: w.units[0], direction: "in" }],
    seen: async (show, w) => [await head(show, w.order), await unitsOf(show, w.order)],
    since: [
      async (at, w) => {
        const [unit] = (await at("GET", `/opportunities/${w.order}/assets`)).assets
        await at("PATCH", `/opportunities/${w.order}/items/${w.line}/assets/${unit.id}`, {
          action: "check",
          condition: 0
        })
      },
      /status was changed since by Owner/
    ]
  },
  {
    what: "units quarantine",
    name: "stock_levels.quarantine",
    record: (w) => ["POST", `/stock_levels/${w.units[0]}/quarantine`, { reason: "lens mount loose" }],
    seen: service,
    since: [(at, w) => at("POST", `/stock_levels/${w.units[0]}/repair`, {}), /./]
  },
  {
    what: "units lost",
    name: "stock_levels.lost",
    record: (w) => ["POST", `/stock_levels/${w.units[0]}/lost`, {}],
    seen: service
  },
  {
    what: "quote deal-price",
    name: "opportunities.set_deal_price",
    record: (w) => ["POST", `/opportunities/${w.quotation}/deal_price`, { deal_total: "50.00" }],
    seen: async (show, w) => (await show(`/opportunities/${w.quotation}`)).opportunity.deal_total,
    since: [
      (at, w) => at("POST", `/opportunities/${w.quotation}/deal_price`, { deal_total: "70.00" }),
      /deal total was changed since by Owner/
    ]
  },
  {
    what: "orders update",
    name: "opportunities.update",
    record: (w) => ["PUT", `/opportunities/${w.order}`, { subject: "Other" }],
    seen: (show, w) => head(show, w.order),
    since: [
      (at, w) => at("PUT", `/opportunities/${w.order}`, { subject: "Theirs" }),
      /subject was changed since by Owner/
    ]
  }
]

describe("a day's commands", () => {
  let server: FillTestServer, device: Device
  let worlds = 0
  const at: Call = (method, path, body) => server.must(method, path.slice(1), body)
  const show = async (path: string) => {
    const [bare = "", search = ""] = path.split("?")
    const query = search === "" ? [] : [[search.slice(0, search.indexOf("=")), search.slice(search.indexOf("=") + 1)]]
    const answer = await device.ask({ method: "GET", path: `/api/v1${bare}`, query: query as any, body: undefined })
    return answer.status === 404 ? {} : (answer.body as any)
  }
  const world = async (): Promise<World> => {
    const tag = String(100 + ++worlds)
    const product = (await at("POST", "/products", { name: `Arri ${tag}`, stock_method: 2 })).product.id
    const units: Array<number> = []
    for (const name of ["A", "B", "C", "D"])
      units.push(
        (await at("POST", "/stock_levels", { product_id: product, store_id: 1, asset_number: `${name}-${tag}` }))
          .stock_level.id
      )
    const deal = async () => {
      const { opportunity } = await at("POST", "/opportunities", { subject: `Fest ${tag}`, store_id: 1, ...dates })
      const path = `/opportunities/${opportunity.id}`
      const added = await at("POST", `${path}/items`, { name: "Arri", item_id: product, quantity: 1 })
      await at("POST", `${path}/convert_to_quotation`)
      return { id: opportunity.id, line: added.opportunity.items[0].id }
    }
    const [order, quoted] = [await deal(), await deal()]
    await at("POST", `/opportunities/${order.id}/convert_to_order`)
    const { container } = await at("POST", "/containers/temporary", {
      name: `Case ${tag}`,
      barcode: `C-${tag}`,
      store_id: 1
    })
    return {
      tag,
      product,
      units,
      order: order.id,
      line: order.line,
      quotation: quoted.id,
      quoted: quoted.line,
      container: container.id
    }
  }
  beforeAll(async () => {
    server = await openFillTestServer("sqlite")
    const { token } = await server.letIn({ name: "Sam", roles: ["Admin"] })
    device = await enrolledDevice(server, "one", token)
  })
  afterAll(async () => {
    await device?.close()
    await server?.close()
  })
  /** Recorded by Sam without a network: what was seen before and after, and its number. */
  const recorded = async ({ before, name, record, seen }: Daily) => {
    const w = await world()
    await before?.(at, w)
    await device.sync()
    const was = await seen(show, w)
    const [method, path, body] = record(w)
    const answer: any = await device.ask({ method, path: `/api/v1${path}`, query: [], body: body as any })
    expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(400)
    expect(answer.command?.name ?? name).toBe(name)
    const done = await seen(show, w)
    expect(done).not.toEqual(was)
    return { w, was, done, made: answer.body, n: String(answer.command?.n) }
  }

  it.each(daily)("$what: unsent it is withdrawn, and recorded once more", async (row) => {
    const { done, n, was, w } = await recorded(row)
    expect(await device.undo.plan(n)).toMatchObject({ ok: true, plan: { steps: [{ way: "withdraw" }] } })
    expect(await row.seen(show, w)).toEqual(done)
    expect(await device.undo.undo(n, false)).toMatchObject({ ok: true })
    expect(await row.seen(show, w)).toEqual(was)
    expect(await device.undo.undo(n, false)).toMatchObject({ ok: false, failure: { kind: "undone" } })
    expect(await device.undo.redo(n)).toMatchObject({ ok: true })
    expect(await row.seen(show, w)).toEqual(done)
    expect(await device.sync()).toMatchObject({ rejected: 0, pending: 0 })
  })
  it.each(daily)("$what: sent it is taken back by the server's leave, and recorded once more", async (row) => {
    const { done, n, was, w } = await recorded(row)
    await device.sync()
    const last = device.lastPending()
    const [listed] = await device.undo.list(1)
    expect(listed).toMatchObject({ n: Number(n), way: "compensate", says: expect.stringMatching(/.+[.]$/) })
    expect(await device.undo.plan(n)).toMatchObject({ ok: true, plan: { steps: [{ way: "compensate" }] } })
    expect([device.lastPending(), await row.seen(show, w)]).toEqual([last, done])
    expect(await device.undo.undo(n, false)).toMatchObject({ ok: true })
    expect(await device.sync()).toMatchObject({ rejected: 0, conflicts: 0, pending: 0 })
    expect(await row.seen(show, w)).toEqual(was)
    expect(await device.undo.undo(n, false)).toMatchObject({ ok: false, failure: { kind: "undone" } })
    const again = await device.undo.redo(n)
    expect(again, JSON.stringify(again)).toMatchObject({ ok: true })
    expect(await device.sync()).toMatchObject({ rejected: 0, conflicts: 0, pending: 0 })
    expect(await row.seen(show, w)).toEqual(done)
  })
  it.each(daily.filter(({ since }) => since !== undefined))(
    "$what: what somebody has worked on since is left to both of them to settle",
    async (row) => {
      const { made, n, w } = await recorded(row)
      await device.sync()
      await row.since?.[0](at, w, made)
      await device.sync()
      const theirs = await row.seen(show, w)
      const result = await device.undo.undo(n, false)
      const { failure } = result as any
      const said = failure?.plan?.steps[0].says ?? failure?.answer?.body.message
      expect(result.ok, JSON.stringify(result)).toBe(false)
      expect(said).toMatch(row.since?.[1] ?? /./)
      expect(device.lastPending()).toBe(0)
      expect(await row.seen(show, w)).toEqual(theirs)
    }
  )
  it.each(daily.filter(({ since }) => since !== undefined))(
    "$what: what somebody has worked on since is kept by the server where it is not known here yet",
    async (row) => {
      const { made, n, w } = await recorded(row)
      await device.sync()
      await row.since?.[0](at, w, made)
      expect(await device.undo.undo(n, false)).toMatchObject({ ok: true })
      const before = device.lastPending()
      expect(before).toBeGreaterThan(0)
      const report = await device.sync()
      expect(report).toMatchObject({ accepted: 0, pending: 0 })
      expect(report.rejected + (await device.status()).held).toBeGreaterThan(0)
      const theirs = await row.seen(show, w)
      for (const { id } of await device.conflicts()) await device.resolve(id, { drop: true, with_dependants: true })
      expect(await row.seen(show, w)).toEqual(theirs)
    }
  )

  const final: ReadonlyArray<readonly [what: string, name: string, instead: RegExp]> = [
    ["units release", "stock_levels.release", /units quarantine/],
    ["invoices issue", "invoices.issue", /credit note/],
    ["invoices pay", "invoices.pay", /refund/],
    ["receive", "purchase_orders.receive", /purchase-orders return/]
  ]
  it.each(final)("%s is not taken back, and says what to do instead", async (_what, name, instead) => {
    const { catalogue } = await import("../../core/catalogue.ts")
    const { compensationOf } = await import("../../core/undo/compensations.ts")
    const endpoint = catalogue.endpoint(name)
    if (endpoint === undefined) throw new Error(`There is no ${name}.`)
    const done = { endpoint, params: {}, body: {}, rows: [], called: () => "" }
    expect(compensationOf(catalogue, endpoint)?.(done, catalogue)).toMatchObject({
      kind: "cannot",
      because: expect.stringMatching(/./),
      instead: expect.stringMatching(instead)
    })
  })
})
