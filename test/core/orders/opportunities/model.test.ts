/**
 * Compares status moves and the tree of lines with a small model over random steps: HTTP status, opportunity status and
 * line paths always match (rules/opportunities 1.1, 6, 7).
 */
import * as fc from "fast-check"
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import { type App, openApp, plays_everything } from "../../../app.ts"
import type { Body } from "../../../answers.ts"

const opportunity_path = "/api/v1/opportunities"

vi.setConfig({ testTimeout: 300_000 })

type Kind = "group" | "product" | "accessory" | "service" | "text"
interface Node {
  readonly id: number
  readonly kind: Kind
  path: string
}
interface Model {
  id: number
  deleted: boolean
  at: string
  locked: boolean
  deal: number | undefined
  lines: Array<Node>
}
interface Real {
  readonly app: App
  steps: number
}

/** Numbers of state and status by name; from the table in docs/rules, not from the code. */
const numbers: { readonly [name: string]: readonly [number, number] } = {
  open: [0, 0],
  provisional: [1, 0],
  reserved: [1, 1],
  lost: [1, 2],
  dead: [1, 3],
  postponed: [1, 4],
  active: [2, 0],
  dispatched: [2, 1],
  on_hire: [2, 2],
  returned: [2, 3],
  checked: [2, 4],
  complete: [2, 5],
  cancelled: [2, 6]
}
const closed = ["lost", "dead", "complete", "cancelled"]
const isClosed = (m: Model): boolean => closed.includes(m.at)
const inState = (m: Model, state: number): boolean => numbers[m.at]![0] === state
const named = (state: number, status: number) =>
  Object.entries(numbers).find(([, [a, b]]) => a === state && b === status)?.[0]

const depth = (path: string) => path.length / 4
const parentOf = (path: string) => path.slice(0, -4)
const fits = (kind: Kind, above: Node | undefined) =>
  kind === "accessory" ? above?.kind === "product" : above === undefined || above.kind === "group"
const at = (parent: string, place: number) => parent + String(place).padStart(4, "0")

/** One request, the HTTP status the model expects, and its effect on the model. */
class Step implements fc.AsyncCommand<Model, Real> {
  readonly text: string
  readonly ask: (m: Model) => readonly [method: string, path: string, body?: object]
  readonly expects: (m: Model) => number
  readonly does: (m: Model, answer: Body) => void
  constructor(text: string, ask: Step["ask"], expects: Step["expects"], does: Step["does"]) {
    this.text = text
    this.ask = ask
    this.expects = expects
    this.does = does
  }
  check(): boolean {
    return true
  }
  async run(m: Model, r: Real): Promise<void> {
    r.steps++
    const [method, path, body] = this.ask(m)
    const expected = m.deleted && !path.startsWith("/restore") ? 404 : this.expects(m)
    const reply = await r.app.call(method, `${opportunity_path}/${m.id}${path}`, body ?? {})
    expect(reply.status, `${this.text} when ${m.at}: ${JSON.stringify(reply.body)}`).toBe(expected)
    if (expected < 300) this.does(m, reply.body)
    const shown = await r.app.call("GET", `${opportunity_path}/${m.id}?include=items`)
    if (m.deleted) return expect(shown.status).toBe(404)
    const { charge_total, deal_total, items, pricing_locked, state, status } = shown.body.opportunity
    const sum = m.lines.filter(({ kind }) => kind !== "group" && kind !== "accessory").length * 10
    expect({
      at: named(state, status),
      locked: pricing_locked,
      deal: deal_total,
      total: charge_total,
      lines: items.map((one) => [one.id, one.item_type, one.path])
    }).toEqual({
      at: m.at,
      locked: m.locked,
      deal: m.deal === undefined ? null : `${m.deal}.00`,
      total: `${m.deal ?? sum}.00`,
      lines: m.lines.toSorted((a, b) => (a.path < b.path ? -1 : 1)).map((one) => [one.id, one.kind, one.path])
    })
  }
  toString(): string {
    return this.text
  }
}

/** A status move without a body: allowed if `from` is true, with the effect `does`. */
const move = (name: string, from: (m: Model) => boolean, does: (m: Model) => void) =>
  fc.constant(
    new Step(
      name,
      () => ["POST", `/${name}`],
      (m) => (from(m) ? 200 : 422),
      does
    )
  )
const to =
  (status: string, locked?: boolean) =>
  (m: Model): void => {
    m.at = status
    if (locked !== undefined) m.locked = locked
  }
const reinstate = move(
  "reinstate",
  (m) => ["lost", "dead", "postponed", "cancelled"].includes(m.at),
  (m) => {
    m.at = inState(m, 1) ? "provisional" : "active"
  }
)
const reopen = move("reopen", (m) => m.at === "complete", to("active"))
const restore = move(
  "restore",
  () => true,
  (m) => {
    m.deleted = false
  }
)
const moves = [
  reinstate,
  reopen,
  restore,
  move("convert_to_quotation", (m) => m.at === "open", to("provisional")),
  move("convert_to_order", (m) => inState(m, 1) && !isClosed(m) && m.lines.length > 0, to("active", true)),
  move("revert_to_quotation", (m) => inState(m, 2) && !isClosed(m), to("provisional", false)),
  move("revert_to_draft", (m) => m.at === "provisional", to("open")),
  move(
    "lock_locks",
    (m) => m.deal === undefined && !m.locked,
    (m) => {
      m.locked = true
    }
  ),
  move(
    "unlock_locks",
    (m) => m.locked,
    (m) => {
      m.locked = false
    }
  )
]
const changeStatus = fc.integer({ min: 0, max: 7 }).map(
  (status) =>
    new Step(
      `change_status ${status}`,
      () => ["POST", "/change_status", { status }],
      (m) => (!isClosed(m) && named(numbers[m.at]![0], status) !== undefined ? 200 : 422),
      (m) => {
        m.at = named(numbers[m.at]![0], status)!
      }
    )
)
const dealPrice = fc.integer({ min: 0, max: 50 }).map(
  (price) =>
    new Step(
      `deal_price ${price}`,
      () => ["POST", "/deal_price", { deal_total: `${price}.00` }],
      (m) => (!isClosed(m) && !m.locked ? 200 : 422),
      (m) => {
        m.deal = price
      }
    )
)
const clearPrice = fc.constant(
  new Step(
    "clear deal price",
    () => ["DELETE", "/deal_price"],
    (m) => (isClosed(m) ? 422 : 200),
    (m) => {
      m.deal = undefined
    }
  )
)
const deleting = fc.constant(
  new Step(
    "delete",
    () => ["DELETE", ""],
    () => 204,
    (m) => {
      m.deleted = true
    }
  )
)

/** Line at an index, which wraps around; undefined is the root. */
const lineAt = (m: Model, index: number): Node | undefined =>
  m.lines.length === 0 ? undefined : [undefined, ...m.lines][index % (m.lines.length + 1)]
const adding = fc
  .record({ kind: fc.constantFrom<Kind>("group", "product", "accessory", "service", "text"), below: fc.nat(60) })
  .map(({ below, kind }) => {
    const place = (m: Model) => {
      const above = lineAt(m, below)
      const parent = above?.path ?? ""
      const last = m.lines
        .filter(({ path }) => path !== "" && parentOf(path) === parent)
        .reduce((top, { path }) => Math.max(top, Number(path.slice(-4))), 0)
      return { above, path: at(parent, last + 1) }
    }
    return new Step(
      `add ${kind} below ${below}`,
      (m) => {
        const { above } = place(m)
        const where =
          above === undefined
            ? {}
            : kind === "accessory"
              ? { principal_item_id: above.id }
              : { parent_path: above.path }
        return [
          "POST",
          "/items",
          {
            item_type: kind,
            name: "Line",
            ...(kind === "group" || kind === "accessory" ? {} : { unit_price: "10.00" }),
            ...where
          }
        ]
      },
      (m) => {
        const { above, path } = place(m)
        return !isClosed(m) && fits(kind, above) && !(kind === "group" && depth(path) > 5) ? 201 : 422
      },
      (m, { opportunity: { items } }) => {
        const { path } = place(m)
        m.lines.push({ id: items.find((one) => !m.lines.some(({ id }) => id === one.id))!.id, kind, path })
      }
    )
  })
const removing = fc.nat(60).map(
  (index) =>
    new Step(
      `remove ${index}`,
      (m) => ["DELETE", `/items/${lineAt(m, index)?.id ?? 0}`],
      (m) => (lineAt(m, index) === undefined ? 404 : isClosed(m) ? 422 : 200),
      (m) => {
        const gone = lineAt(m, index)!
        m.lines = m.lines.filter(({ path }) => !path.startsWith(gone.path))
      }
    )
)
/** Rotates the lines and changes their depths: the nodes to send, and their paths unless a line does not fit. */
const replaced = (m: Model, shift: number, depths: ReadonlyArray<number>) => {
  const sorted = m.lines.toSorted((a, b) => (a.path < b.path ? -1 : 1))
  const order = sorted.map((_, index) => sorted[(index + shift) % sorted.length]!)
  const nodes = order.map((node, index) => ({ node, depth: depths[index % depths.length]! }))
  const places: Array<readonly [Node, string]> = []
  for (const { depth: wanted, node } of nodes) {
    const before = places.at(-1)
    const level = Math.min(wanted, before === undefined ? 1 : depth(before[1]) + 1)
    const above = places.findLast(([, path]) => depth(path) === level - 1)
    const parent = level === 1 ? "" : above![1]
    if (!fits(node.kind, level === 1 ? undefined : above![0]) || (node.kind === "group" && level > 5))
      return { nodes, places: undefined }
    places.push([node, at(parent, places.filter(([, path]) => parentOf(path) === parent).length + 1)])
  }
  return { nodes, places }
}
const restructuring = fc
  .record({ shift: fc.nat(20), depths: fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 12 }) })
  .map(
    ({ depths, shift }) =>
      new Step(
        `tree shifted ${shift} at ${depths.join()}`,
        (m) => [
          "PATCH",
          "/items/tree",
          { nodes: replaced(m, shift, depths).nodes.map(({ depth: level, node }) => ({ id: node.id, depth: level })) }
        ],
        (m) => (m.lines.length > 0 && !isClosed(m) && replaced(m, shift, depths).places !== undefined ? 200 : 422),
        (m) => {
          for (const [node, path] of replaced(m, shift, depths).places!) node.path = path
        }
      )
  )

describe("an opportunity and its model", () => {
  let app: App
  beforeAll(async () => {
    app = await openApp()
  })
  afterAll(() => app.close())

  it("agree after every random step, and the journal projects to the same tables", async () => {
    const real: Real = { app, steps: 0 }
    const commands = fc.commands(
      [
        ...Array.from({ length: 8 }, () => adding),
        removing,
        restructuring,
        restructuring,
        restructuring,
        changeStatus,
        dealPrice,
        clearPrice,
        deleting,
        ...moves,
        // Deleted and closed opportunities refuse almost everything, so moves that open them again are tried more often.
        ...Array.from({ length: 4 }, () => restore),
        ...Array.from({ length: 2 }, () => [reinstate, reopen]).flat()
      ],
      { maxCommands: 120, size: "max" }
    )
    await fc.assert(
      fc.asyncProperty(commands, async (some) => {
        const { body } = await app.call("POST", opportunity_path, { subject: "Model" })
        await fc.asyncModelRun(
          () => ({
            model: { id: body.opportunity.id, deleted: false, at: "open", locked: false, deal: undefined, lines: [] },
            real
          }),
          some
        )
        const before = await app.dump()
        await app.rebuild()
        expect(await app.dump()).toEqual(before)
      }),
      { numRuns: plays_everything ? 40 : 12, endOnFailure: true }
    )
    expect(real.steps).toBeGreaterThan(plays_everything ? 1_000 : 300)
  })
})
