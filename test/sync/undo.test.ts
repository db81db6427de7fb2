/** Undoing a device's commands restores the rows, sent or not. */
import { Effect } from "effect"
import { beforeAll, describe, expect, it } from "vitest"
import { catalogue } from "../../core/catalogue.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { compensationOf } from "../../core/offline/undo/compensations.ts"
import { anyCommand, commandKinds, type Look } from "../sim/any-command.ts"
import { randomOf } from "../sim/random.ts"
import { seed_data } from "../sim/seed-data.ts"
import type { Dump, InspectedDevice } from "./inspected-device.ts"
import { serverOfSuite } from "./opening.ts"

/** Commands without plain undo, and the alternative. */
const final: ReadonlyArray<readonly [what: string, name: string, instead: RegExp]> = [
  ["units release", "stock_levels.release", /units quarantine/],
  ["invoices issue", "invoices.issue", /credit note/],
  ["invoices pay", "invoices.pay", /refund/],
  ["receive", "purchase_orders.receive", /purchase-orders return/]
]

/** Columns of times, users, ids and numbers, which are assigned only once. */
const volatile = new Set(["id", "path", "origin_item_id", "has_shortage"])
/** Recalculated from current rates, products and stock; their sources are compared instead. */
const derived = /_total$|^(total|unit_price|subtotal|amount_outstanding)$/
const stamps =
  /^(created|updated|packed|sealed|unsealed|allocated|prepared|first_made|ordered|deactivated|repack_started)_(at|by_user_id)$/
/** Derived from other rows; may name more than exists. */
const indexes = new Set(["product_streams", "stock_places", "claims"])
const parents = { product_id: "products", opportunity_id: "opportunities", invoice_id: "invoices", user_id: "users" }
type Row = Dump[string][number]
/** Rows as users see them: without those created and deleted since. */
const known = (dump: Dump, before: Dump): { readonly [table: string]: ReadonlyArray<string> } => {
  const there = new Map(Object.entries(before).map(([table, rows]) => [table, new Set(rows.map(({ id }) => id))]))
  const isOfNothing = (row: Row): boolean =>
    Object.entries({ ...parents, purchase_order_id: "purchase_orders", transfer_id: "transfers" }).some(
      ([column, table]) => typeof row[column] === "number" && there.get(table)?.has(row[column]) === false
    )
  const isGone = (table: string, row: Row): boolean =>
    (row["deleted_at"] ?? null) !== null ||
    isOfNothing(row) ||
    (table === "containers" && row["status"] === "dissolved") ||
    (["stocktakes", "transfers"].includes(table) && row["status"] === "cancelled") ||
    // The workshop's history keeps ended records.
    (table === "service_records" && row["ended_at"] !== null) ||
    (table === "container_items" && row["unpacked_at"] !== null) ||
    // Closed accounts remain, with the record of their closing.
    (["users", "members"].includes(table) && there.get(table)?.has(row["id"]) === false && row["is_active"] === false)
  return Object.fromEntries(
    Object.entries(dump)
      .filter(([table]) => !indexes.has(table))
      .map(([table, rows]) => [
        table,
        rows
          .filter((row) => !isGone(table, row))
          .map((row) =>
            JSON.stringify(
              Object.fromEntries(
                Object.entries(row).filter(
                  ([name]) =>
                    !volatile.has(name) &&
                    !stamps.test(name) &&
                    !derived.test(name) &&
                    // Released taxes: the next calculation uses current ones, whether these are stored or not.
                    !(name === "locked_taxes" && row["tax_locked"] === false)
                )
              )
            )
          )
          .sort()
      ])
  )
}
/** Settings stored with their default equal those not stored. */
const isDefault = (row: string): boolean => {
  const { group, key, value } = JSON.parse(row)
  return (
    JSON.stringify(catalogue.settings[group]?.[String(key).slice(group.length + 1)]?.default ?? null) ===
    JSON.stringify(value)
  )
}
const differing = (one: Dump, other: Dump): ReadonlyArray<string> => {
  const [before, after] = [known(one, one), known(other, one)]
  return Object.keys(before).flatMap((table) => {
    const [there, here] = [before[table] ?? [], after[table] ?? []]
    return [
      ...there.filter((row) => !here.includes(row)).map((row) => `- ${table} ${row}`),
      ...here
        .filter((row) => !there.includes(row) && !(table === "settings" && isDefault(row)))
        .map((row) => `+ ${table} ${row}`)
    ]
  })
}

describe("every kind of command that devices record", () => {
  it("declares how it is undone", () => {
    const unsaid = catalogue.endpoints
      .filter((one) => one.kind === "command" && !one.server_only)
      .filter((one) => compensationOf(catalogue, one) === undefined)
      .map(({ name }) => name)
    expect(unsaid).toEqual([])
  })
  it.each(final)("includes %s, which cannot be undone and names an alternative", (_what, name, instead) => {
    const endpoint = catalogue.endpoint(name)!
    const done = { endpoint, params: {}, body: {}, rows: [], called: () => "" }
    expect(compensationOf(catalogue, endpoint)?.(done, catalogue)).toMatchObject({
      kind: "cannot",
      because: expect.stringMatching(/./),
      instead: expect.stringMatching(instead)
    })
  })
})

describe("a device's own commands", () => {
  const server = serverOfSuite()
  let device: InspectedDevice
  beforeAll(async () => {
    for (const { method, path, body } of seed_data) await server.call(method, path.slice("/api/v1".length), body)
    device = await server.filled()
  })
  const look: Look = (sql, values = []) => device.run(Effect.flatMap(Store, (store) => store.run(sql, values)))
  /** Records each kind once, in random order. */
  const recordEach = async (
    seed: number,
    /** Returns the rows afterwards, if it reads them. */
    work: (n: number, before: Dump, name: string) => Promise<Dump | undefined>
  ) => {
    const random = randomOf(seed)
    let before = await device.tables()
    for (const endpoint of commandKinds) {
      for (let tried = 0; tried < 4; tried++) {
        const request = await anyCommand(random, look, endpoint)
        if (request.files !== undefined) continue
        const last = device.outbox.lastN()
        await device.call(request.method, request.path.slice("/api/v1".length), request.body)
        if (device.outbox.lastN() === last) continue
        before = (await work(device.outbox.lastN(), before, endpoint.name)) ?? (await device.tables())
        break
      }
    }
  }

  it("are withdrawn if unsent, which restores every row", async () => {
    let withdrawn = 0
    await recordEach(1, async (n, before, name) => {
      const result = await device.undo().undo(String(n), false)
      expect(result, name).toMatchObject({ ok: true, plan: { steps: [{ way: "withdraw" }] } })
      expect(await device.tables(), name).toEqual(before)
      withdrawn++
      return before
    })
    expect(withdrawn).toBeGreaterThan(60)
    expect((await device.undo().list(10)).length).toBe(0)
    // The server learns which numbers were abandoned and continues after them.
    await device.post("/products", { name: "After all that" })
    expect(await device.sync()).toMatchObject({ accepted: 1, pending: 0, conflicts: 0 })
    await device.post("/products", { name: "And that" })
    expect(device.outbox.toSend().length).toBe(1)
    expect(await device.sync()).toMatchObject({ accepted: 1, pending: 0, conflicts: 0 })
  }, 120_000)

  it("are compensated if sent, which restores rows except for times, ids and numbers", async () => {
    const counted: { [way: string]: number } = {}
    const wrong: Array<string> = []
    await recordEach(Number(process.env["UNDO_SEED"] ?? 2), async (n, before, name) => {
      device.outbox.offer(n)
      const undo = device.undo()
      const planned = await undo.plan(String(n))
      const way = planned.ok ? (planned.plan.steps[0]?.way ?? "") : "unplanned"
      const result = await undo.undo(String(n), false)
      counted[result.ok ? way : `not: ${way}`] = (counted[result.ok ? way : `not: ${way}`] ?? 0) + 1
      if (!result.ok && way === "cannot") return undefined
      // Rules may refuse the undo: the plan predicted it, and nothing was recorded.
      if (!result.ok) {
        if (way !== "refused" || result.failure.kind !== "refused" || device.outbox.pending().some((one) => one.n > n))
          wrong.push(`${name}: ${JSON.stringify(result.failure).slice(0, 400)}`)
      } else {
        const after = await device.tables()
        const differences = differing(before, after)
        if (differences.length > 0) wrong.push(`${name}:\n  ${differences.join("\n  ").slice(0, 6000)}`)
        return after
      }
      return undefined
    })
    expect(wrong, JSON.stringify(counted)).toEqual([])
    expect(counted["compensate"]).toBeGreaterThan(40)
    expect(await device.sync()).toMatchObject({ pending: 0 })
  }, 120_000)
})
