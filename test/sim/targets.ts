/** Targets of random commands that need rows in a certain state. */
import { attachables } from "../../core/office/attachments/attachables.ts"
import type { Json } from "../../core/kernel/fields/field.ts"
import type { Target, Look, Row } from "./any-command.ts"
import type { Random } from "./random.ts"

type Maker = (random: Random, look: Look) => Promise<Target | undefined>

const one = async (
  random: Random,
  look: Look,
  sql: string,
  values: ReadonlyArray<string | number> = []
): Promise<Row | undefined> => {
  const rows = await look(`${sql} limit 10`, values)
  return rows.length === 0 ? undefined : random.pick(rows)
}
const number = (row: Row | undefined, column = "id"): number => Number(row?.[column] ?? 1)
/** Ids of rows, newest first. */
const newest = (table: string, where: string): string => `select id from "${table}" where ${where} order by id desc`
/** A target made from a row, if there is one. */
const using =
  (sql: string, target: (found: Row, random: Random, look: Look) => Target | Promise<Target>): Maker =>
  async (random, look) => {
    const found = await one(random, look, sql)
    return found === undefined ? undefined : target(found, random, look)
  }
const row = (param: string, table: string, where: string): Maker =>
  using(newest(table, where), (found) => ({ params: { [param]: number(found) } }))
/** Id of an opportunity that matches the condition. */
const deal = (where: string): Maker => row("id", "opportunities", `deleted_at is null and ${where}`)
/** A stock level with stock present; bulk levels have no asset number. */
const levelHere = (more: string): Maker =>
  row("id", "stock_levels", `is_gone = false and given_back_at is null and deleted_at is null ${more}`)
const withBody =
  (
    maker: Maker,
    body: (random: Random, look: Look, params: { readonly [name: string]: unknown }) => Promise<Target["body"]>
  ): Maker =>
  async (random, look) => {
    const target = await maker(random, look)
    return target === undefined ? undefined : { ...target, body: (await body(random, look, target.params ?? {})) ?? {} }
  }

/** One or two notification types with some of their values; sometimes one that cannot be changed. */
const anyTypes = (random: Random, flag: string): ReadonlyArray<Json> =>
  random
    .pick([
      ...[["invoice.overdue"], ["activity.assigned"], ["payment.recorded"], ["user.invited"], ["password.reset"]],
      ...[
        ["invoice.overdue", "opportunity.created"],
        ["payment.recorded", "invoice.overdue"]
      ]
    ])
    .map((notification_type) => ({
      notification_type,
      channels: random.pick<Json>([null, {}, { email: random.happens(0.5) }, { database: false, broadcast: true }]),
      ...(random.happens(0.5) ? { [flag]: random.happens(0.5) } : {})
    }))

const workableIn = (o: string): string =>
  `((${o}.state = 0) or (${o}.state = 1 and ${o}.status in (0, 1, 4)) or (${o}.state = 2 and ${o}.status < 5))`
const workable = workableIn("opportunities")
/** A line of an open opportunity, and any unit of its product, free or not. */
const lineAndUnit: (random: Random, look: Look) => Promise<Row | undefined> = (random, look) =>
  one(
    random,
    look,
    "select l.opportunity_id as deal, l.id as line, u.id as unit from opportunity_items l join opportunities o on o.id = l.opportunity_id " +
      `join stock_levels u on u.product_id = l.item_id and u.asset_number is not null and u.deleted_at is null where o.deleted_at is null and ${workableIn("o")} and l.is_live ` +
      `order by (l.id * 7 + u.id * 13) % ${3 + random.below(20)}, u.id`
  )
/** Units of one order in some statuses, and their stores. */
const units = async (random: Random, look: Look, where: string): Promise<ReadonlyArray<Row>> => {
  const found = await look(
    "select a.opportunity_id as deal, a.opportunity_item_id as line, a.id as asset, a.status as standing, a.stock_level_id as unit from asset_assignments a join opportunities o on o.id = a.opportunity_id " +
      `where o.deleted_at is null and ${where} order by a.id desc limit 20`
  )
  if (found.length === 0) return []
  const chosen = random.pick(found)
  return found.filter((unit) => unit["deal"] === chosen["deal"]).slice(0, 1 + random.below(3))
}
const bulk =
  (where: string): Maker =>
  async (random, look) => {
    const found = await units(random, look, where)
    return found.length === 0
      ? undefined
      : { params: { id: found[0]!["deal"] }, body: { asset_ids: found.map((unit) => number(unit, "asset")) } }
  }
const version = (where: string): Maker =>
  using(
    "select v.opportunity_id as deal, v.id as version from opportunity_versions v join opportunities o on o.id = v.opportunity_id " +
      `where o.deleted_at is null and o.state = 1 and o.status in (0, 1, 4) and ${where} order by v.id desc`,
    ({ deal, version }) => ({ params: { id: deal, version } })
  )
const line = using(
  `select l.opportunity_id as deal, l.id as line, l.item_id as item from opportunity_items l join opportunities on opportunities.id = l.opportunity_id where opportunities.deleted_at is null and ${workable} and l.is_live order by l.id desc`,
  ({ deal, line }) => ({ params: { id: deal, item: line } })
)
const cost = using(
  `select c.opportunity_id as deal, c.id as cost from opportunity_costs c join opportunities on opportunities.id = c.opportunity_id where opportunities.deleted_at is null and ${workable} and c.surcharge_id is null order by c.id desc`,
  ({ cost, deal }) => ({ params: { id: deal, cost } })
)
/** A unit of any product that is in no container. */
const looseUnit = (random: Random, look: Look): Promise<Row | undefined> =>
  one(
    random,
    look,
    "select u.id, u.product_id from stock_levels u where u.serial_number is not null and u.deleted_at is null and not exists (select 1 from container_items i where i.serialised_item_id = u.id and i.unpacked_at is null) order by u.id desc"
  )
const packedIn = (where: string): string =>
  `select c.id as container, i.serialised_item_id as unit from container_items i join containers c on c.id = i.container_id where i.unpacked_at is null and ${where} order by i.id desc`
const packed = (where: string, target: Parameters<typeof using>[1]): Maker => using(packedIn(where), target)

const steps: { readonly [standing: number]: ReadonlyArray<string> } = {
  0: ["prepare", "dispatch", "substitute"],
  1: ["revert", "dispatch"],
  2: ["on_hire", "return", "revert_status"],
  3: ["return"],
  4: ["check", "revert_status"],
  5: ["revert_status"]
}
const pair =
  (column: string, table: string, where = "1 = 1"): Maker =>
  async (random, look) => ({ body: { [column]: number(await one(random, look, newest(table, where))) } })

const invoice = (where: string): Maker => row("id", "invoices", `deleted_at is null and ${where}`)
const open_invoice = "type <> 'proforma' and status in ('issued', 'partially_paid')"
const rowsOfInvoice = async (random: Random): Promise<Json> =>
  Array.from({ length: 1 + random.below(3) }, (_, at) => ({
    name: `Row ${at + 1}`,
    quantity: random.pick(["1", "2.5", "3"]),
    unit_price: 100 + random.below(9_000)
  }))
/** A little, half, all, and rarely more than there is. */
const someOf = (random: Random, most: number): number =>
  random.pick([1, Math.ceil(most / 2), most, most, most + (random.happens(0.2) ? 1 : 0)])

/** Replicas store decimals of two places as hundredths. */
const hundred = 100
const purchaseOrder = (where: string): Maker => row("id", "purchase_orders", `deleted_at is null and ${where}`)
const is_supplier = "deleted_at is null and membership_type in ('organisation', 'contact')"
const linesOfOrder = async (random: Random, look: Look): Promise<Json> => {
  const product = number(await one(random, look, newest("products", "deleted_at is null")))
  return Array.from({ length: 1 + random.below(3) }, (_, at) => ({
    ...(random.happens(0.6) ? { product_id: product } : { name: `Goods ${at + 1}` }),
    quantity: random.pick(["1", "2", "3"]),
    unit_cost: 100 + random.below(9_000)
  }))
}
const hire_window = { starts_at: "2026-08-01T09:00:00Z", ends_at: "2026-08-20T09:00:00Z" }

export const targets: { readonly [endpoint: string]: Maker } = {
  "invoices.create": async (random, look) => ({
    body: {
      member_id: number(await one(random, look, newest("members", "deleted_at is null and membership_type <> 'user'"))),
      type: random.pick(["standard", "standard", "deposit", "proforma"]),
      currency: "GBP",
      prices_include_tax: random.happens(0.3),
      items: await rowsOfInvoice(random)
    }
  }),
  "invoices.update": withBody(invoice("status = 'draft'"), async (random) => ({
    subject: `Changed ${random.below(30)}`,
    ...(random.happens(0.5) ? { items: await rowsOfInvoice(random) } : {})
  })),
  "invoices.delete": invoice("status = 'draft'"),
  "invoices.issue": withBody(invoice("status = 'draft' and total >= 0"), async () => ({})),
  "invoices.email": withBody(invoice("status <> 'draft'"), async (random) => ({
    to: `bills${random.below(9)}@example.com`
  })),
  "opportunities.invoice": withBody(deal("state = 2 and status < 5 and member_id is not null"), async (random) => ({
    type: random.pick(["standard", "standard", "deposit", "proforma"])
  })),
  "invoices.void": withBody(invoice("status = 'issued'"), async () => ({})),
  "invoices.pay": withBody(invoice(open_invoice), async (random, look, { id }) => {
    const [row] = await look("select amount_outstanding from invoices where id = ?", [Number(id)])
    return { amount: someOf(random, number(row, "amount_outstanding")), method: random.pick(["cash", "card"]) }
  }),
  "invoices.refund": withBody(invoice("amount_paid > 0"), async (random, look, { id }) => {
    const [row] = await look("select amount_paid from invoices where id = ?", [Number(id)])
    return { amount: someOf(random, number(row, "amount_paid")) }
  }),
  "invoices.credit": withBody(
    invoice("type <> 'proforma' and status in ('issued', 'partially_paid', 'paid') and total > 0"),
    async (random, look, { id }) => {
      if (random.happens(0.3)) return {}
      const [row] = await look("select total - amount_credited as rest from invoices where id = ?", [Number(id)])
      if (random.happens(0.5)) return { amount: someOf(random, number(row, "rest")) }
      const item = await one(random, look, "select id from invoice_items where invoice_id = ?", [Number(id)])
      return { items: [{ invoice_item_id: number(item), quantity: random.pick(["1", "0.5", "2"]) }] }
    }
  ),
  "purchase_orders.create": async (random, look) => ({
    body: {
      supplier_id: number(await one(random, look, newest("members", is_supplier))),
      store_id: 1,
      po_type: random.pick(["sub_hire", "sub_hire", "purchase"]),
      currency: "GBP",
      ...(random.happens(0.8) ? hire_window : {}),
      items: await linesOfOrder(random, look)
    }
  }),
  "purchase_orders.update": withBody(purchaseOrder("status = 'draft'"), async (random, look) => ({
    subject: `Supply ${random.below(30)}`,
    ...(random.happens(0.5) ? { items: await linesOfOrder(random, look) } : {}),
    ...(random.happens(0.3) ? hire_window : {})
  })),
  "purchase_orders.delete": purchaseOrder("status = 'draft'"),
  "purchase_orders.send": withBody(purchaseOrder("status = 'draft'"), async (random) =>
    random.happens(0.5) ? { email: `supplier${random.below(9)}@example.com` } : {}
  ),
  "purchase_orders.receive": withBody(
    purchaseOrder("status in ('sent', 'partially_received')"),
    async (random, look, { id }) => {
      // Sometimes also lines already received in full, or more than is still to come.
      const rows = await look(
        "select i.id, i.quantity - i.received_quantity as rest, p.stock_method from purchase_order_items i " +
          "left join products p on p.id = i.product_id where i.purchase_order_id = ? order by i.id",
        [Number(id)]
      )
      const to_come = rows.filter((row) => number(row, "rest") > 0)
      const some = random.happens(0.9) ? to_come : rows
      return {
        lines: some.slice(0, 1 + random.below(3)).map((row) => {
          const rest = Math.max(1, Math.ceil(number(row, "rest") / hundred))
          const quantity = someOf(random, rest)
          const serials = number(row, "stock_method") === 2 && random.happens(0.6)
          return {
            item_id: number(row),
            quantity,
            ...(serials ? { serial_numbers: Array.from({ length: quantity }, () => `SN-${random.below(4_000)}`) } : {})
          }
        })
      }
    }
  ),
  "purchase_orders.return": withBody(
    purchaseOrder("po_type = 'sub_hire' and status in ('partially_received', 'received') and returned_at is null"),
    async (random, look, { id }) => {
      if (random.happens(0.5)) return {}
      const item = await one(
        random,
        look,
        "select id from purchase_order_items where received_quantity > returned_quantity and purchase_order_id = ?",
        [Number(id)]
      )
      return item === undefined ? {} : { lines: [{ item_id: number(item), quantity: "1" }] }
    }
  ),
  "purchase_orders.extend": withBody(
    purchaseOrder("po_type = 'sub_hire' and status not in ('draft', 'cancelled') and returned_at is null"),
    async (random) => ({ ends_at: `2031-01-${String(1 + random.below(28)).padStart(2, "0")}T00:00:00Z` })
  ),
  "opportunities.resolve_shortages": withBody(deal(`has_shortage and ${workable}`), async (random, look) =>
    random.happens(0.4)
      ? { resolution: "waitlist" }
      : {
          resolution: random.pick(["sub_hire", "sub_hire", "purchase"]),
          supplier_id: number(await one(random, look, newest("members", is_supplier)))
        }
  ),
  "opportunities.leave_waiting_list": withBody(
    deal("id in (select opportunity_id from shortage_waits where status = 'waiting')"),
    async () => ({})
  ),
  "purchase_orders.cancel": withBody(purchaseOrder("status in ('draft', 'sent')"), async () => ({})),
  "transfers.create": async (random, look) => {
    const unit = await one(
      random,
      look,
      newest("stock_levels", "is_gone = false and given_back_at is null and store_id = 1 and asset_number is not null")
    )
    const cable = { product_id: 4 + random.below(2), quantity: 1 + random.below(3) }
    const day = (at: number): string => `2026-06-${20 + at}T09:00:00Z`
    return {
      body: {
        ...{ from_store_id: 1, to_store_id: 2, starts_at: day(random.below(3)) },
        ...(random.happens(0.3) ? { ends_at: day(4 + random.below(5)) } : {}),
        items: [unit === undefined || random.happens(0.5) ? cable : { stock_level_id: number(unit) }]
      }
    }
  },
  "transfers.send": withBody(row("id", "transfers", "status = 'draft'"), async () => ({})),
  "transfers.receive": withBody(row("id", "transfers", "status in ('draft', 'sent')"), async () => ({})),
  "transfers.cancel": withBody(row("id", "transfers", "status in ('draft', 'sent')"), async () => ({})),
  // The second store has few goods; closing a stocktake of the first would end all other work.
  "stocktakes.create": async () => ({ body: { store_id: 2 } }),
  "stocktakes.scan": withBody(row("id", "stocktakes", "status = 'open'"), async (random) => ({
    codes: [`MH-${1 + random.below(6)}`, random.pick(["UNKNOWN-1", "unit:3", `MH-${1 + random.below(6)}`])]
  })),
  "stocktakes.close": withBody(row("id", "stocktakes", "status = 'open'"), async () => ({})),
  "stocktakes.cancel": withBody(row("id", "stocktakes", "status = 'open'"), async () => ({})),
  "attachments.create": async (random, look) => {
    const { table, type } = random.pick(attachables)
    const attachable_id = number(await one(random, look, newest(table.name, "deleted_at is null")))
    return { body: { attachable_type: type, attachable_id, category: "photo" } }
  },
  "currencies.update": async (random) =>
    random.pick([
      { params: { id: "EUR" }, body: { is_enabled: true } },
      { params: { id: "JPY" }, body: { is_enabled: random.below(2) === 0 } },
      { params: { id: "chf" }, body: { is_enabled: random.below(2) === 0 } }
    ]),
  "settings.update": async (random) =>
    random.pick<Target>([
      { params: { group: "company" }, body: { settings: { name: `House ${random.below(20)}` } } },
      { params: { group: "opportunities" }, body: { settings: { max_versions: 5 + random.below(20) } } },
      { params: { group: "scheduling" }, body: { settings: { default_hire_days: 1 + random.below(5) } } }
    ]),
  "custom_views.update": row("id", "custom_views", "user_id is not null"),
  "custom_views.delete": row("id", "custom_views", "user_id is not null"),
  "list_names.update": row("id", "list_names", "not is_system"),
  "list_values.create": row("list_name", "list_names", "not is_system"),
  "list_names.delete": row("id", "list_names", "not is_system"),
  "list_values.delete": using(
    "select id, list_name_id from list_values where not is_system order by id desc",
    (found) => ({ params: { id: number(found), list_name: number(found, "list_name_id") } })
  ),
  "members.create": async (random) => ({
    body: { name: `Client ${random.below(60)}`, membership_type: random.pick(["organisation", "contact", "venue"]) }
  }),
  "members.restore": row("id", "members", "deleted_at is not null"),
  "members.merge": async (random, look) => {
    const first = await one(
      random,
      look,
      "select id, membership_type from members where deleted_at is null and membership_type <> 'user' order by id desc"
    )
    const second = "deleted_at is null and id <> ? and membership_type = ?"
    const like_it = [number(first), String(first?.["membership_type"])]
    return {
      params: { id: like_it[0] },
      body: { secondary_id: number(await one(random, look, newest("members", second), like_it)) }
    }
  },
  "members.anonymise": row("id", "members", "membership_type = 'contact'"),
  "members.delete": row("id", "members", "deleted_at is null and membership_type <> 'user'"),
  "members.relationships.create": async (random, look) => ({
    params: {
      member: number(await one(random, look, newest("members", "deleted_at is null and membership_type = 'contact'")))
    },
    body: {
      related_member_id: number(
        await one(random, look, newest("members", "deleted_at is null and membership_type = 'organisation'"))
      )
    }
  }),
  "members.relationships.delete": using("select * from relationships order by id desc", (found) => ({
    params: { id: number(found), member: found["member_id"] }
  })),
  "roles.update": row("id", "roles", "id in (select id from roles order by id desc limit 3)"),
  "roles.delete": row("id", "roles", "id in (select id from roles order by id desc limit 3)"),
  "users.create": async (random) => ({
    body: { name: `Person ${random.below(60)}`, email: `u${random.below(500)}@example.com` }
  }),
  "users.update": row("id", "users", "id > 1"),
  "users.delete": row("id", "users", "id > 1"),
  "users.activate": row("id", "users", "id > 1 and not is_active"),
  "products.create": async (random) => ({
    body: {
      name: random.pick(["Speaker", "Moving head", "Cable 10 m"]),
      stock_method: random.pick([1, 2]),
      post_rent_unavailability: random.pick([0, 240]),
      ...(random.happens(0.4) ? { sku: `SKU-${random.below(12)}` } : {})
    }
  }),
  "products.update": withBody(row("id", "products", "deleted_at is null"), async (random) =>
    random.pick([{ name: `Product ${random.below(90)}` }, { sku: `SKU-${random.below(12)}` }, { weight: "12.5" }])
  ),
  "products.merge": async (random, look) => {
    const first = await one(
      random,
      look,
      "select id, stock_method from products where deleted_at is null order by id desc"
    )
    const second = "deleted_at is null and id <> ? and stock_method = ?"
    const like_it = [number(first), number(first, "stock_method")]
    return {
      params: { id: like_it[0] },
      body: { secondary_id: number(await one(random, look, newest("products", second), like_it)) }
    }
  },
  "exchange_rates.create": async (random) => ({
    body: {
      source_currency_code: random.pick(["GBP", "EUR"]),
      target_currency_code: random.pick(["USD", "SEK"]),
      rate: random.pick(["1.2", "0.8"])
    }
  }),
  "rate_definitions.update": row("id", "rate_definitions", "preset_slug is null"),
  "rate_definitions.delete": row("id", "rate_definitions", "preset_slug is null"),
  "rate_definitions.import": async (random) => ({
    body: { rows: [{ name: `Imported ${random.below(20)}`, preset: "daily-rate", engine: "Daily Rate" }] }
  }),
  "members.import": async (random) => ({
    body: {
      rows: [
        {
          name: `Imported ${random.below(20)}`,
          account_number: `C-${random.below(20)}`,
          email: `c${random.below(5)}@example.com`,
          contact: [{ name: `Person ${random.below(5)}` }]
        }
      ]
    }
  }),
  "rate_definitions.create": async (random) => ({
    body: { name: `Daily ${random.below(40)}`, calculation_strategy: "period", base_period: "daily" }
  }),
  "product_rates.create": async (random, look) => ({
    body: {
      rate_definition_id: number(await one(random, look, "select id from rate_definitions where name like 'Daily%'")),
      price: 500 + random.below(5_000),
      transaction_type: "rental",
      currency: "GBP"
    }
  }),
  "stock_levels.create": async (random, look) => {
    const product = await one(
      random,
      look,
      "select id, stock_method from products where deleted_at is null order by id desc"
    )
    return {
      body:
        number(product, "stock_method") === 2
          ? {
              product_id: number(product),
              store_id: 1,
              asset_number: `A-${random.below(40)}`,
              serial_number: `S-${random.below(400)}`
            }
          : { product_id: number(product), store_id: 1, quantity_held: 1 + random.below(30) }
    }
  },
  "stock_levels.update": withBody(
    row("id", "stock_levels", "asset_number is not null and deleted_at is null"),
    async (random) => ({ location: `Shelf ${random.below(9)}` })
  ),
  "stock_levels.delete": row(
    "id",
    "stock_levels",
    "deleted_at is null and asset_number is not null and not exists (select 1 from container_items i where i.serialised_item_id = stock_levels.id) and not exists (select 1 from containers c where c.serialised_item_id = stock_levels.id) and not exists (select 1 from asset_assignments a where a.stock_level_id = stock_levels.id)"
  ),
  "stock_transactions.create": using(
    "select id, product_id from stock_levels where deleted_at is null and asset_number is null order by id desc",
    (level, random) => ({
      params: { product: level["product_id"], stock_level: level["id"] },
      body: { transaction_type: random.pick([2, 4, 6, 7, 8]), quantity: 1 + random.below(3) }
    })
  ),
  "stock_transactions.delete": using(
    "select t.id, l.id as level, l.product_id from stock_transactions t join stock_levels l on l.id = t.stock_level_id where l.deleted_at is null and t.transaction_type <> 1 order by t.id desc",
    ({ id, level, product_id }) => ({ params: { product: product_id, stock_level: level, id } })
  ),
  "accessories.create": pair("accessory_product_id", "products", "deleted_at is null"),
  "components.create": pair("component_product_id", "products", "deleted_at is null and stock_method = 1"),
  "container_templates.update": withBody(
    row("product", "products", "deleted_at is null and stock_method = 2"),
    async (random) => ({ is_containerable: true, max_items: 5 + random.below(9) })
  ),
  "containers.create": async (random) => ({
    body: { name: `Case ${random.below(40)}`, scan_mode: "free", store_id: 1 }
  }),
  "containers.create_temporary": async (random) => ({
    body: { name: `Tub ${random.below(40)}`, barcode: `TUB-${random.below(60)}`, store_id: 1 }
  }),
  "containers.update": withBody(row("container", "containers", "status = 'open'"), async (random) => ({
    notes: `Note ${random.below(50)}`
  })),
  "containers.pack": withBody(row("container", "containers", "status = 'open'"), async (random, look) => ({
    serialised_item_id: number(await looseUnit(random, look))
  })),
  "containers.unpack": packed("c.status = 'open'", (found) => ({
    params: { container: found["container"] },
    body: { serialised_item_id: number(found, "unit") }
  })),
  "containers.transfer": async (random, look) => {
    const found = await one(random, look, packedIn("c.status = 'open'"))
    const container = number(found, "container")
    const target_container_id = number(
      await one(random, look, newest("containers", "status = 'open' and id <> ?"), [container])
    )
    if (found === undefined) return undefined
    return { params: { container }, body: { serialised_item_ids: [number(found, "unit")], target_container_id } }
  },
  "containers.seal": row(
    "container",
    "containers",
    "status = 'open' and exists (select 1 from container_items i where i.container_id = containers.id and i.unpacked_at is null)"
  ),
  "containers.unseal": row("container", "containers", "status = 'sealed'"),
  "containers.dissolve": row("container", "containers", "status in ('open', 'returned')"),
  "containers.dispatch": withBody(
    row("container", "containers", "status = 'sealed' and serialised_item_id is not null"),
    async (random, look) => ({
      opportunity_id: number(
        await one(random, look, newest("opportunities", "deleted_at is null and state = 2 and status < 5"))
      )
    })
  ),
  "containers.return": row("container", "containers", "status = 'dispatched'"),
  "containers.verify_checkin": packed("c.status = 'returned'", (found) => ({
    params: { container: found["container"] },
    body: { scanned: [number(found, "unit")] }
  })),
  "containers.start_repack": using(
    "select id from containers where status = 'returned' and repack_started_at is null order by id desc",
    (found) => ({ body: { container_id: number(found) } })
  ),
  "containers.repack": packed("c.repack_started_at is not null and i.repacked_at is null", (found) => ({
    params: { container: found["container"] },
    body: { serialised_item_id: number(found, "unit") }
  })),
  "opportunities.create": async (random, look) => {
    const from = random.below(6)
    const day = (at: number): string => new Date(Date.parse("2026-07-01T09:00:00.000Z") + at * 86_400_000).toISOString()
    return {
      body: {
        subject: `Job ${random.below(90)}`,
        starts_at: day(from),
        ends_at: day(from + 1 + random.below(5)),
        store_id: 1,
        ...(random.happens(0.3)
          ? { member_id: number(await one(random, look, "select id from members where deleted_at is null")) }
          : {})
      }
    }
  },
  "opportunities.update": withBody(deal(workable), async (random) =>
    random.pick([
      { subject: `Job ${random.below(90)}` },
      { reference: `R${random.below(9)}` },
      { ends_at: `2026-07-${10 + random.below(9)}T09:00:00.000Z` }
    ])
  ),
  "opportunities.restore": row("id", "opportunities", "deleted_at is not null"),
  "opportunities.convert_to_quotation": deal("state = 0"),
  "opportunities.reinstate": deal("((state = 1 and status in (2, 3, 4)) or (state = 2 and status = 6))"),
  "opportunities.reopen": deal("state = 2 and status = 5"),
  "opportunities.revert_to_quotation": deal("state = 2 and status = 0"),
  "opportunities.revert_to_draft": deal("state = 1 and status = 0"),
  "opportunities.convert_to_order": deal("state = 1 and status in (0, 1, 4)"),
  "opportunities.change_status": withBody(deal("state > 0"), async (random) => ({ status: random.below(7) })),
  "opportunities.add_item": withBody(deal(workable), async (random, look) => ({
    name: "Line",
    item_id: number(await one(random, look, "select id from products where deleted_at is null")),
    quantity: 1 + random.below(3),
    ...(random.happens(0.5) ? { unit_price: 1_000 + random.below(9_000) } : {})
  })),
  "opportunities.restructure_items": withBody(line, async (random, look, { id }) => {
    const sql = "select id from opportunity_items where opportunity_id = ? and is_live order by path"
    const lines = await look(sql, [Number(id)])
    const nodes = (random.happens(0.7) ? lines.toReversed() : lines).map((found) => ({ id: number(found), depth: 1 }))
    return { nodes }
  }),
  "opportunities.update_item": withBody(line, async (random) =>
    random.pick([
      { quantity: 1 + random.below(5) },
      { unit_price: random.below(9_000) },
      { name: `Line ${random.below(20)}` }
    ])
  ),
  "opportunities.remove_item": line,
  "opportunities.update_cost": withBody(cost, async (random) => ({ amount: random.below(5_000) })),
  "opportunities.remove_cost": cost,
  "opportunities.add_cost": withBody(deal(workable), async (random) => ({
    description: `Van ${random.below(9)}`,
    amount: random.below(9_000)
  })),
  "opportunities.set_deal_price": withBody(deal(workable), async (random) => ({
    deal_total: 1_000 + random.below(50_000)
  })),
  "opportunities.clear_deal_price": deal("deal_total is not null"),
  "opportunities.unlock_locks": deal("(exchange_rate_locked or tax_locked)"),
  "opportunities.reprice": deal(`${workable} and not invoiced`),
  "opportunities.lock_locks": deal("not (exchange_rate_locked and tax_locked)"),
  "opportunities.add_participant": withBody(deal("1 = 1"), async (random, look) => ({
    member_id: number(await one(random, look, newest("members", "deleted_at is null")))
  })),
  "opportunities.update_participant": async (random) => ({ body: { role: `Role ${random.below(9)}` } }),
  "opportunities.quick_allocate": async (random, look) => {
    const found = await lineAndUnit(random, look)
    if (found === undefined) return undefined
    const allocation = { opportunity_item_id: number(found, "line"), stock_level_id: number(found, "unit") }
    return { params: { id: found["deal"] }, body: { allocations: [allocation] } }
  },
  "opportunities.allocate_asset": async (random, look) => {
    const found = await lineAndUnit(random, look)
    if (found === undefined) return undefined
    return { params: { id: found["deal"], item: found["line"] }, body: { stock_level_id: number(found, "unit") } }
  },
  "opportunities.quick_prepare": bulk("a.status = 0"),
  "opportunities.quick_book_out": bulk("o.state = 2 and a.status in (0, 1)"),
  "opportunities.quick_check_in": bulk("a.status in (2, 3)"),
  "opportunities.return_early": async (random, look) => {
    const [found] = await units(random, look, "a.status in (2, 3)")
    if (found === undefined) return undefined
    const part = { opportunity_item_id: number(found, "line"), quantity: "1.00", asset_ids: [number(found, "asset")] }
    return { params: { id: found["deal"] }, body: { items: [part] } }
  },
  "opportunities.move_asset": async (random, look) => {
    const [found] = await units(random, look, "1 = 1")
    if (found === undefined) return undefined
    const action = random.pick(steps[number(found, "standing")] ?? ["prepare"])
    const more: { readonly [action: string]: { readonly [name: string]: Json } } = {
      revert_status: { status: random.below(number(found, "standing")) },
      check: { condition: 0 },
      substitute: { stock_level_id: number(await lineAndUnit(random, look), "unit") }
    }
    return {
      params: { id: found["deal"], item: found["line"], asset: found["asset"] },
      body: { action, ...more[action] }
    }
  },
  "opportunities.deallocate_asset": async (random, look) => {
    const [found] = await units(random, look, "a.status in (0, 1)")
    if (found === undefined) return undefined
    return { params: { id: found["deal"], item: found["line"], asset: found["asset"] } }
  },
  "opportunities.fulfil_item": using(
    "select l.id as line, l.opportunity_id as deal, l.dispatched_quantity as out, l.returned_quantity as back from opportunity_items l join opportunities o on o.id = l.opportunity_id join products p on p.id = l.item_id where o.deleted_at is null and o.state = 2 and o.status < 5 and p.stock_method = 1 and l.is_live order by l.id desc",
    (found, random) => {
      const is_back = number(found, "out") > number(found, "back") && random.happens(0.7)
      return {
        params: { id: found["deal"], item: found["line"] },
        body: { action: is_back ? "return" : "dispatch", quantity: 1 }
      }
    }
  ),
  "opportunities.create_version": withBody(deal("state = 1 and status in (0, 1, 4)"), async (random) => ({
    version_type: random.below(2),
    label: `V ${random.below(9)}`
  })),
  "opportunities.activate_version": version("not v.is_active"),
  "opportunities.send_version": version("v.status = 0"),
  "opportunities.accept_version": version("v.status in (0, 1)"),
  "opportunities.decline_version": version("v.status in (0, 1)"),
  "opportunities.relabel_version": withBody(version("1 = 1"), async (random) => ({
    label: `Named ${random.below(30)}`
  })),
  "opportunities.delete_version": version("not v.is_active"),
  "opportunities.acknowledge_shortages": deal("has_shortage"),
  // Awaited, as the events of a background job would come at a random moment.
  "documents.generate": async (random, look) => {
    const documentable_id = number(await one(random, look, newest("opportunities", "deleted_at is null")))
    const document_type = random.pick(["quotation", "order_confirmation", "pick_list"])
    return { body: { document_type, documentable_type: "Opportunity", documentable_id, store_id: null, async: false } }
  },
  "documents.batch": async () => ({
    body: { document_type: "quotation", documentable_type: "Opportunity", documentable_ids: [987_654_321] }
  }),
  "notification_preferences.update": async (random) => ({ body: { preferences: anyTypes(random, "is_muted") } }),
  "members.notification_preferences.update": async (random, look) => ({
    params: { id: number(await one(random, look, newest("members", "deleted_at is null"))) },
    body: { preferences: anyTypes(random, "is_muted") }
  }),
  "notification_settings.update": async (random) => ({ body: { settings: anyTypes(random, "is_enabled") } }),
  "opportunities.extend": withBody(deal(workable), async (random) => ({
    ends_at: `2026-${random.pick(["07", "09"])}-${10 + random.below(18)}T09:00:00.000Z`,
    ...(random.happens(0.3) ? { lines: random.pick(["follow", "keep"]) } : {})
  })),
  "opportunities.scan": async (random, look) => {
    const found = await one(
      random,
      look,
      "select a.opportunity_id as deal, a.stock_level_id as unit, a.status as standing from asset_assignments a " +
        "join opportunities o on o.id = a.opportunity_id where o.state = 2 and o.deleted_at is null and a.status < 4 " +
        "order by a.id desc"
    )
    return {
      params: { id: number(found, "deal") },
      body: {
        direction: number(found, "standing") < 2 ? "out" : "in",
        stock_level_id: number(found, "unit"),
        break_seal: random.happens(0.5)
      }
    }
  },
  "scans.check_in": async (random, look) => ({
    body: {
      stock_level_id: number(
        await one(random, look, "select stock_level_id from asset_assignments where status in (2, 3)"),
        "stock_level_id"
      )
    }
  }),
  "containers.delete": row("container", "containers", "status = 'dissolved' and dispatched_at is null"),
  "stock_levels.quarantine": withBody(levelHere(""), async (random) => ({ reason: random.pick(["Hums", "Cracked"]) })),
  "stock_levels.repair": withBody(levelHere(""), async (random) => ({
    expected_back_at: random.pick([null, "2026-07-20T00:00:00Z", "2027-01-01T00:00:00Z"]),
    cost: random.below(9_000)
  })),
  "stock_levels.release": withBody(
    levelHere(
      "and exists (select 1 from service_records r where r.stock_level_id = stock_levels.id and r.ended_at is null)"
    ),
    async () => ({ note: "Fit again" })
  ),
  "stock_levels.lost": withBody(levelHere(""), async (random) => ({ write_off: random.happens(0.3) })),
  "stock_levels.sold": levelHere("and service_state <> 'lost'"),
  "service_records.charge": withBody(
    row("id", "service_records", "opportunity_cost_id is null"),
    async (random, look) => ({
      amount: 100 + random.below(9_000),
      opportunity_id: number(await one(random, look, newest("opportunities", `deleted_at is null and ${workable}`)))
    })
  )
}
