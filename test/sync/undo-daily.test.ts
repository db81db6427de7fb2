/** Undo of daily actions: unsent, sent, redone, and after others' changes. */
import { beforeAll, describe, expect, it } from "vitest"
import { serverOfSuite, type TestDevice } from "./opening.ts"

/** A request and its body; `{…}` in either refers to rows of the world or of `made`. */
type Sent = readonly [request: string, body?: object]
/** Goods, an order and a quotation of this row, and what its `before` created. */
type World = Readonly<Record<string, any>>
type Seen = keyof typeof views
interface Daily {
  readonly what: string
  readonly name: string
  /** Earlier requests at the server, whose results are named. */
  readonly before?: (w: World) => Promise<World>
  readonly record: Sent
  /** Values that change visibly. */
  readonly seen: Seen
  /** Others' later changes of the same, each with the words of the undo's refusal. */
  readonly since?: ReadonlyArray<readonly [refused: RegExp, ...changes: ReadonlyArray<Sent>]>
  /** Others' later changes of related rows, which the undo leaves. */
  readonly besides?: readonly [change: Sent, stays: object]
}

const server = serverOfSuite()
const { create } = server
const dates = { starts_at: "2030-12-03T09:00:00Z", ends_at: "2030-12-05T17:00:00Z" }
const valueOf = (w: World, name: string): any =>
  name.split(".").reduce<any>((of, key) => (key === "last" ? of.at(-1) : of[key]), w)
const filledIn = (w: World, text: string): string =>
  text
    .replaceAll(/"\{([\w.]+)\}"/g, (_, name: string) => JSON.stringify(valueOf(w, name)))
    .replaceAll(/\{([\w.]+)\}/g, (_, name: string) => valueOf(w, name))
const requested = (w: World, [request, body]: Sent): [method: string, path: string, body?: object] => {
  const [method = "", path = ""] = filledIn(w, request).split(" ")
  return [method, path, body === undefined ? undefined : JSON.parse(filledIn(w, JSON.stringify(body)))]
}
const must = async (w: World, ...all: ReadonlyArray<Sent>): Promise<World> => {
  for (const one of all) await server.must(...requested(w, one))
  return {}
}

type Show = TestDevice["show"]
type OrderPath = `/opportunities/${number}`
const head = async (show: Show, path: OrderPath) => {
  const { deal_total, ends_at, state, status, subject } = await show(path)
  return { deal_total, ends_at, state, status, subject }
}
const lines = async (show: Show, path: OrderPath) =>
  (await show(`${path}?include=items`))?.items.map(({ ends_at, name, quantity, starts_at }) => [
    name,
    quantity,
    starts_at,
    ends_at
  ])
const unitsOf = async (show: Show, path: OrderPath) =>
  (await show(`${path}/assets`)).map(({ container_stock_level_id, status, stock_level_id }) => [
    stock_level_id,
    status,
    container_stock_level_id
  ])
const views = {
  "new orders": async (show: Show, { tag }: World) => (await show(`/opportunities?q[subject_eq]=New ${tag}`)).length,
  copies: async (show: Show, { quote }: World) =>
    (await show(`/opportunities?q[source_opportunity_id_eq]=${quote.split("/").at(-1)}`)).length,
  quote: async (show: Show, w: World) => head(show, w["quote"]),
  "lines of the quote": async (show: Show, w: World) => lines(show, w["quote"]),
  versions: async (show: Show, w: World) => (await show(`${w["quote"]}/versions`)).map((one: any) => one.is_active),
  order: async (show: Show, w: World) => [await head(show, w["order"]), await lines(show, w["order"])],
  units: async (show: Show, w: World) => [await head(show, w["order"]), await unitsOf(show, w["order"])],
  service: async (show: Show, w: World) => (await show(`/stock_levels/${w["unit"]}`)).service_state,
  case: async (show: Show, w: World) => {
    const { active_items, notes, status } = await show(`${w["case"]}?include=active_items`)
    return [active_items.length, notes, status]
  },
  product: async (show: Show, w: World) => {
    const { custom_fields, name } = await show(w["product"])
    return [custom_fields.a, name]
  }
}

const changed = (what: string) => new RegExp(`${what} was changed since by Owner`)
const scan = (direction: string): Sent => ["POST {order}/scan", { stock_level_id: "{unit}", direction }]
const pack: Sent = ["POST {case}/pack", { serialised_item_id: "{unit}" }]
const substitute = (asset: string): Sent => [`PATCH ${asset}`, { action: "substitute", stock_level_id: "{other_unit}" }]
const allocated = async (w: World) => {
  const { id } = await create(w["assets"], { stock_level_id: w["unit"] })
  return { asset: `${w["assets"]}/${id}` }
}

const daily: ReadonlyArray<Daily> = [
  {
    what: "quote new",
    name: "opportunities.create",
    record: ["POST /opportunities", { subject: "New {tag}", store_id: 1, ...dates }],
    seen: "new orders",
    since: [
      [changed("Draft \\d+"), ["PUT /opportunities/{made.opportunity.id}", { reference: "theirs" }]],
      [changed(""), ["POST /opportunities/{made.opportunity.id}/items", { name: "Crew", item_type: "service" }]]
    ]
  },
  {
    what: "quote add",
    name: "opportunities.add_item",
    record: ["POST {quote}/items", { name: "Arri", item_id: "{product_id}", quantity: 1 }],
    seen: "lines of the quote",
    since: [[changed("Arri.*"), ["PATCH {quote}/items/{made.opportunity.items.last.id}", { quantity: 3 }]]]
  },
  {
    what: "quote update",
    name: "opportunities.update_item",
    record: ["PATCH {quoted}", { quantity: 2 }],
    seen: "lines of the quote",
    since: [[changed("quantity"), ["PATCH {quoted}", { quantity: 3 }]]]
  },
  {
    what: "quote remove",
    name: "opportunities.remove_item",
    record: ["DELETE {quoted}"],
    seen: "lines of the quote",
    since: [[/./, ["DELETE {quote}"]]]
  },
  {
    what: "quote duplicate",
    name: "opportunities.clone",
    record: ["POST {quote}/clone"],
    seen: "copies",
    since: [[changed(""), ["PUT /opportunities/{made.opportunity.id}", { reference: "theirs" }]]]
  },
  {
    what: "quote deal-price",
    name: "opportunities.set_deal_price",
    record: ["POST {quote}/deal_price", { deal_total: "50.00" }],
    seen: "quote",
    since: [[changed("deal total"), ["POST {quote}/deal_price", { deal_total: "70.00" }]]]
  },
  {
    what: "quote status",
    name: "opportunities.change_status",
    record: ["POST {quote}/change_status", { status: 1 }],
    seen: "quote",
    since: [[changed("stat(e|us)"), ["POST {quote}/convert_to_order"], ["POST {quote}/change_status", { status: 1 }]]]
  },
  {
    what: "quote version",
    name: "opportunities.activate_version",
    before: async (w) => {
      const ids: Array<number> = []
      for (const label of ["one", "two", "three"]) ids.push((await create(`${w["quote"]}/versions`, { label })).id)
      await must(w, [`POST {quote}/versions/${ids[1]}/activate`])
      return { versions: ids }
    },
    record: ["POST {quote}/versions/{versions.0}/activate"],
    seen: "versions",
    since: [[changed("is active"), ["POST {quote}/versions/{versions.2}/activate"]]]
  },
  {
    what: "orders confirm",
    name: "opportunities.convert_to_order",
    record: ["POST {quote}/convert_to_order", {}],
    seen: "quote",
    since: [[/status was changed since by Owner|cancelled/, ["POST {quote}/change_status", { status: 6 }]]]
  },
  {
    what: "orders cancel",
    name: "opportunities.change_status",
    record: ["POST {order}/change_status", { status: 6 }],
    seen: "order",
    since: [[changed("status"), ["POST {order}/reinstate", {}]]]
  },
  {
    what: "orders extend",
    name: "opportunities.extend",
    record: ["POST {order}/extend", { ends_at: "2030-12-07T17:00:00.000Z" }],
    seen: "order",
    since: [
      [changed(""), ["POST {order}/extend", { ends_at: "2030-12-09T17:00:00.000Z" }]],
      [changed("Unit: ends at"), ["PATCH {line}", { ends_at: "2030-12-06T17:00:00.000Z" }]]
    ]
  },
  {
    what: "orders return-early",
    name: "opportunities.return_early",
    before: async (w) => must(w, scan("out")),
    record: ["POST {order}/return_early", { items: [{ opportunity_item_id: "{line_id}" }] }],
    seen: "order",
    since: [[changed(""), ["POST {order}/extend", { ends_at: "2030-12-09T17:00:00.000Z", lines: ["{line_id}"] }]]]
  },
  {
    what: "orders update",
    name: "opportunities.update",
    record: ["PUT {order}", { subject: "Other" }],
    seen: "order",
    since: [[changed("subject"), ["PUT {order}", { subject: "Theirs" }]]],
    besides: [["PUT {order}", { reference: "theirs" }], { reference: "theirs" }]
  },
  { what: "pack", name: "containers.pack", record: pack, seen: "case", since: [[/./, ["POST {case}/seal"]]] },
  {
    what: "unpack",
    name: "containers.unpack",
    before: (w) => must(w, pack),
    record: ["POST {case}/unpack", { serialised_item_id: "{unit}" }],
    seen: "case",
    since: [[/./, pack]]
  },
  {
    what: "seal",
    name: "containers.seal",
    before: (w) => must(w, pack),
    record: ["POST {case}/seal", { notes: "mine" }],
    seen: "case",
    since: [[changed("notes"), ["PUT {case}", { notes: "theirs" }]]]
  },
  {
    what: "allocate",
    name: "opportunities.allocate",
    record: ["POST {assets}", { stock_level_id: "{unit}" }],
    seen: "units",
    since: [[changed("stock level id"), substitute("{assets}/{made.asset.id}")]]
  },
  {
    what: "substitute",
    name: "opportunities.update_asset",
    before: allocated,
    record: substitute("{asset}"),
    seen: "units",
    since: [[changed("status"), ["PATCH {asset}", { action: "prepare" }], ["PATCH {asset}", { action: "dispatch" }]]]
  },
  {
    what: "deallocate a unit in a case",
    name: "opportunities.deallocate",
    before: async (w) => {
      const with_asset = { ...w, ...(await allocated(w)) }
      await must(with_asset, ["PATCH {asset}", { action: "set_container", container_stock_level_id: "{other_unit}" }])
      await must(with_asset, ["PATCH {asset}", { action: "prepare" }])
      return with_asset
    },
    record: ["DELETE {asset}"],
    seen: "units"
  },
  {
    what: "scan out",
    name: "opportunities.scan",
    record: scan("out"),
    seen: "units",
    since: [[changed("status"), scan("in")]]
  },
  {
    what: "scan in",
    name: "opportunities.scan",
    before: async (w) => {
      await must(w, scan("out"))
      return { asset: `${w["assets"]}/${(await server.show(`${w["order"]}/assets`))[0].id}` }
    },
    record: scan("in"),
    seen: "units",
    since: [[changed("status"), ["PATCH {asset}", { action: "check", condition: 0 }]]]
  },
  {
    what: "units quarantine",
    name: "stock_levels.quarantine",
    record: ["POST /stock_levels/{unit}/quarantine", { reason: "lens mount loose" }],
    seen: "service",
    since: [[/./, ["POST /stock_levels/{unit}/repair", {}]]]
  },
  { what: "units lost", name: "stock_levels.lost", record: ["POST /stock_levels/{unit}/lost", {}], seen: "service" },
  {
    what: "rename a product",
    name: "products.update",
    record: ["PUT {product}", { name: "Lantern" }],
    seen: "product",
    since: [[changed("name"), ["PUT {product}", { name: "Floodlight" }]]],
    besides: [["PUT {product}", { sku: "{tag}" }], { sku: expect.stringMatching(/^1/) }]
  },
  {
    what: "set a custom field",
    name: "products.update",
    record: ["PUT {product}", { custom_fields: { a: "mine" } }],
    seen: "product",
    since: [[changed("custom fields"), ["PUT {product}", { custom_fields: { a: "theirs" } }]]],
    besides: [["PUT {product}", { custom_fields: { b: "theirs" } }], { custom_fields: { a: null, b: "theirs" } }]
  }
]

describe("undoing a daily command", () => {
  let device: TestDevice
  let worlds = 0
  beforeAll(async () => {
    device = await server.enrol("sams", (await server.person({ name: "Sam", roles: ["Admin"] })).secret)
    for (const name of ["a", "b"]) await create("/custom_fields", { name, module_type: "Product", field_type: 0 })
  })
  const show = async (path: string) => {
    const { body, status } = await device.get(path)
    return status === 404 ? undefined : Object.values(body)[0]
  }
  const world = async (): Promise<World> => {
    const tag = String(100 + ++worlds)
    const { id: product_id, units } = await server.units(1, 2, { name: `Arri ${tag}` })
    const [unit, other_unit] = units
    const { id, line } = await server.order(product_id, 1, { subject: `Fest ${tag}`, ...dates })
    const quoted = await server.withLine({ subject: `Fest ${tag}`, ...dates }, { item_id: product_id, quantity: 1 })
    const [order, quote] = [`/opportunities/${id}`, `/opportunities/${quoted.id}`]
    await server.must("POST", `${quote}/convert_to_quotation`)
    const box = await create("/containers/temporary", { name: `Case ${tag}`, barcode: tag, store_id: 1 })
    return {
      ...{ tag, product_id, product: `/products/${product_id}`, unit, other_unit, case: `/containers/${box.id}` },
      ...{ order, line_id: line.id, line: `${order}/items/${line.id}`, assets: `${order}/items/${line.id}/assets` },
      ...{ quote, quoted: `${quote}/items/${quoted.items[0].id}` }
    }
  }
  /** Records Sam's action offline; returns what was visible before and after, and its number. */
  const recorded = async ({ before, name, record, seen }: Daily) => {
    const made = await world()
    const w = { ...made, ...(await before?.(made)) }
    await device.sync()
    const look = () => views[seen](show, w)
    const was = await look()
    const answer: any = await device.call(...requested(w, record))
    expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(400)
    expect(answer.command?.name ?? name).toBe(name)
    const done = await look()
    expect(done).not.toEqual(was)
    return { w: { ...w, made: answer.body }, look, was, done, n: String(answer.command?.n) }
  }
  const synced = async () => expect(await device.sync()).toMatchObject({ rejected: 0, conflicts: 0, pending: 0 })
  const undone = async (n: string) => {
    const result: any = await device.undo.undo(n, false)
    expect(result, JSON.stringify(result)).toMatchObject({ ok: true })
  }

  it.each(daily)(
    "withdraws it if unsent, compensates it if sent, and can be redone after both ($what)",
    async (row) => {
      const { done, look, n, was } = await recorded(row)
      let last = n
      for (const way of ["withdraw", "compensate"]) {
        const before = device.lastPending()
        const [listed] = await device.undo.list(1)
        expect(listed).toMatchObject({ n: Number(last), way, says: expect.stringMatching(/.+[.]$/) })
        expect(await device.undo.plan(last)).toMatchObject({ ok: true, plan: { steps: [{ way }] } })
        expect([device.lastPending(), await look()]).toEqual([before, done])
        await undone(last)
        if (way === "compensate") await synced()
        expect(await look()).toEqual(was)
        expect(await device.undo.undo(last, false)).toMatchObject({ ok: false, failure: { kind: "undone" } })
        const again: any = await device.undo.redo(last)
        expect(again, JSON.stringify(again)).toMatchObject({ ok: true })
        expect(await look()).toEqual(done)
        await synced()
        expect(await look()).toEqual(done)
        last = String(again.recorded.at(-1))
      }
    }
  )
  it.each(daily.flatMap((row) => (row.since ?? []).map(([refused, ...changes]) => ({ ...row, changes, refused }))))(
    "is refused because of others' later changes, by the server or, once known, by the device ($what)",
    async ({ changes, refused, ...row }) => {
      const { look, n, w } = await recorded(row)
      await synced()
      await must(w, ...changes)
      await undone(n)
      expect(device.lastPending()).toBeGreaterThan(0)
      const report = await device.sync()
      expect(report).toMatchObject({ accepted: 0, pending: 0 })
      expect(report.rejected + (await device.status()).held).toBeGreaterThan(0)
      const theirs = await look()
      for (const { id } of await device.conflicts()) await device.resolve(id, { drop: true, with_dependants: true })
      const result: any = await device.undo.undo(n, false)
      expect(result.ok, JSON.stringify(result)).toBe(false)
      expect(result.failure?.plan?.steps[0].says ?? result.failure?.answer?.body.message).toMatch(refused)
      expect([device.lastPending(), await look()]).toEqual([0, theirs])
    }
  )
  it.each(daily.filter(({ besides }) => besides !== undefined))(
    "keeps other fields that others changed, whether or not the device has pulled them ($what)",
    async (row) => {
      for (const is_known of [true, false]) {
        const { look, n, was, w } = await recorded(row)
        await synced()
        const [change, stays] = row.besides!
        await must(w, change)
        if (is_known) await device.sync()
        await undone(n)
        await synced()
        expect(await look()).toEqual(was)
        expect(await server.show(requested(w, change)[1])).toMatchObject(stays)
      }
    }
  )
})
