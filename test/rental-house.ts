/**
 * Fixture of tests: a rental company created through the API of an app in memory, a server or a device. All names are
 * unique, and values can be overridden. Requests that must succeed throw their response otherwise.
 */

import type { Viewer } from "../core/kernel/fields/rejection.ts"
import type { Body, Listed, MadeAt, ShownAt } from "./answers.ts"

/** Paths are relative to /api/v1: `/stores`. `by` sends the request as another user than the owner, where supported. */
export type Call<A extends Answer = Answer, By = Viewer> = (
  method: string,
  path: string,
  body?: unknown,
  by?: By
) => Promise<A>

export interface Person {
  readonly user_id: number
  readonly member_id: number
  /** Id of their own role, if permissions were given. */
  readonly role_id: number | undefined
  readonly name: string
  readonly email: string
  /** Their token. */
  readonly secret: string
}
export interface NewPerson {
  readonly name?: string
  /** Existing roles, or permissions, for which a role is created. */
  readonly roles?: ReadonlyArray<string>
  readonly permissions?: ReadonlyArray<string>
  /** Abilities of the token; default: all its user may have. */
  readonly abilities?: ReadonlyArray<string>
}

/** Charged as four days. */
export const hire_dates = { starts_at: "2026-09-01T09:00:00Z", ends_at: "2026-09-05T17:00:00Z" }
export const fifty_each = { name: "Line L", quantity: "2", unit_price: "50.00" }

/** An opportunity and the line that a test uses. */
export interface Order {
  readonly id: number
  readonly line: { readonly id: number }
}

type Opportunity = Listed<"opportunities">

export interface Answer {
  readonly status: number
  readonly body: Body
}

let serial = 0
const next = (): number => ++serial

export const rentalHouse = <A extends Answer = Answer, By = Viewer>(call: Call<A, By>) => {
  const must = async (method: string, path: string, body?: unknown, by?: By) => {
    const reply = await call(method, path, body, by)
    if (reply.status >= 300)
      throw new Error(
        `${method} ${path} answered ${reply.status}: ${JSON.stringify(reply.body)} to ${JSON.stringify(body)}`
      )
    return reply.body
  }
  /** The row in the response to a POST: `{ store: {…} }` gives the store. */
  const create = async <const Path extends string>(path: Path, body: object = {}, by?: By): Promise<MadeAt<Path>> =>
    Object.values(await must("POST", path, body, by))[0]
  const show = async <const Path extends string>(path: Path): Promise<ShownAt<Path>> =>
    Object.values(await must("GET", path))[0]
  /** Id of the row with this name in a list. */
  const named = async (list: string, name: string): Promise<number> =>
    (await show(`/${list}?per_page=100`)).find((row: { readonly name: string }) => row.name === name).id
  const member = async (membership_type: string, more: object): Promise<number> =>
    (await create("/members", { name: `Member ${next()}`, membership_type, ...more })).id
  const unit = async (product_id: number, store_id = 1, more: object = {}): Promise<number> =>
    (await create("/stock_levels", { product_id, store_id, serial_number: `SN-${next()}`, ...more })).id
  const opportunity = (more: object = {}) => create("/opportunities", { subject: "A job", store_id: 1, ...more })
  const withLine = async (more: object = {}, line: object = {}): Promise<Opportunity> => {
    const { id } = await opportunity({ ...hire_dates, ...more })
    return create(`/opportunities/${id}/items`, { name: "Line", quantity: "2", unit_price: "50.00", ...line })
  }
  const confirm = async (id: number): Promise<Opportunity> => {
    await must("POST", `/opportunities/${id}/convert_to_quotation`, {})
    return (await must("POST", `/opportunities/${id}/convert_to_order`, {})).opportunity
  }
  const changing =
    (method: string) =>
    async <const Path extends string>(path: Path, body: object): Promise<ShownAt<Path>> =>
      Object.values(await must(method, path, body))[0]
  const asking = (method: string) => (path: string, body?: unknown, by?: By) => call(method, path, body, by)
  const product = async (more: object = {}): Promise<number> =>
    (await create("/products", { name: `Product ${next()}`, ...more })).id
  return {
    call,
    get: (path: string, by?: By) => call("GET", path, undefined, by),
    post: asking("POST"),
    put: asking("PUT"),
    patch: asking("PATCH"),
    remove: (path: string, by?: By) => call("DELETE", path, undefined, by),
    must,
    /** The row in the response to a PUT or PATCH. */
    update: changing("PUT"),
    amend: changing("PATCH"),
    create,
    show,
    named,
    unit,
    opportunity,
    withLine,
    confirm,
    store: async (more: object = {}): Promise<number> =>
      (await create("/stores", { name: `Store ${next()}`, ...more })).id,
    customer: (more: object = {}) => member("organisation", more),
    contact: (more: object = {}) => member("contact", more),
    /** Creates an intact unit at the first store, with a barcode. */
    labelled: (product_id: number, more: object = {}) =>
      create("/stock_levels", { product_id, store_id: 1, asset_number: `A-${next()}`, ...more }),
    product,
    /** Creates a serialised product. */
    serialised: (more: object = {}) => product({ stock_method: 2, ...more }),
    /** Creates an opportunity of one line with only these values; `line` is the line. */
    deal: async (more: object = {}, line: object = fifty_each) => {
      const made: Opportunity = await create(`/opportunities/${(await opportunity(more)).id}/items`, line)
      return { ...made, line: made.items[0]! }
    },
    /** Sets the quantity of a bulk product at the first store, where it has a stock level from the start. */
    hold: async (product_id: number, quantity_held: number): Promise<number> => {
      const [{ id }] = await show(`/stock_levels?q[product_id_eq]=${product_id}&q[store_id_eq]=1`)
      await must("PUT", `/stock_levels/${id}`, { quantity_held })
      return id
    },
    /** Creates a bulk product with a quantity at the store. */
    bulk: async (store_id: number, quantity: number, more: object = {}) => {
      const { id } = await create("/products", { name: `Bulk ${next()}`, ...more })
      const level = await create("/stock_levels", { product_id: id, store_id, quantity_held: quantity })
      return { id: id as number, level: level.id as number }
    },
    /** Creates a serialised product with a number of units at the store. */
    units: async (store_id: number, count: number, more: object = {}) => {
      const { id } = await create("/products", { name: `Units ${next()}`, stock_method: 2, ...more })
      const units: Array<number> = []
      for (let made = 0; made < count; made++) units.push(await unit(id, store_id))
      return { id: id as number, units }
    },
    /** Creates an order "Gig <product>" of a quantity of a product on one line, at 10.00 each. */
    order: async (product_id: number, quantity: number, more: object = {}) => {
      const line = { name: "Unit", item_id: product_id, quantity, unit_price: "10.00" }
      const { id, items } = await withLine({ subject: `Gig ${product_id}`, ...more }, line)
      await confirm(id)
      return { id: id as number, line: items[0] }
    },
    allocate: (order: Order, ...unit_ids: ReadonlyArray<number>) =>
      call("POST", `/opportunities/${order.id}/quick_allocate`, {
        allocations: unit_ids.map((stock_level_id) => ({ opportunity_item_id: order.line.id, stock_level_id }))
      }),
    /** Creates a user with a token. */
    person: async ({
      abilities = ["*"],
      name = `Person ${next()}`,
      permissions,
      roles
    }: NewPerson = {}): Promise<Person> => {
      const own = permissions && (await create("/roles", { name: `Role of ${name}`, permissions }))
      const email = `${name.replaceAll(" ", ".").toLowerCase()}@example.com`
      const user = await create("/users", {
        name,
        email,
        roles: [...(own === undefined ? [] : [own.name]), ...(roles ?? [])],
        active: true
      })
      const { secret } = await create("/tokens", { name: `Token of ${name}`, abilities, user_id: user.id })
      return { user_id: user.id, member_id: user.member_id, role_id: own?.id, name, email, secret }
    }
  }
}
export type RentalHouse<By = Viewer, A extends Answer = Answer> = ReturnType<typeof rentalHouse<A, By>>
