/** Fixture of notification cases: events of a company, and users who may or may not see them. */
import { expect } from "vitest"
import { type Books, ended, everything, hire, minute, patiently, type Person } from "./billing-black-box.ts"

export type Words = ReadonlyArray<string>
/** Something real that causes a notification of a type. */
export interface Cause {
  readonly type: string
  /** Permission required to see it. */
  readonly permissions: ReadonlyArray<string>
  /** Addressed to one user: the assignee or the requester. */
  readonly is_personal?: true
  /** Triggers it, as the owner or the requester; returns words of which at least one identifies it. */
  readonly happens: (house: Books, to: Person) => Promise<Words>
}
let count = 0
/** Triggered by hand, so never gathered as a burst. */
const byHand = (house: Books): void => void house.later(2 * minute)
const word = (): string => `Gala${++count}x`
const moved = async (house: Books, id: number, action: string, json: object = {}): Promise<void> => {
  const got = await house.post(`/opportunities/${id}/${action}`, json)
  expect(got.status, got.text).toBe(200)
}
const supplierOf = async (house: Books): Promise<number> =>
  (await house.made("/members", { name: `Supplier ${++count}`, membership_type: "organisation" })).id
const accountOf = async (house: Books, name: string): Promise<any> => {
  byHand(house)
  return house.made("/users", { name, email: `${name}@house.example`.toLowerCase(), roles: [], active: true })
}

export const causes: ReadonlyArray<Cause> = [
  {
    type: "opportunity.created",
    permissions: ["opportunities.view"],
    happens: async (house) => {
      byHand(house)
      const subject = word()
      await house.job([], { subject })
      return [subject]
    }
  },
  {
    type: "opportunity.cancelled",
    permissions: ["opportunities.view"],
    happens: async (house) => {
      const subject = word()
      const { id } = await house.job(undefined, { subject })
      await moved(house, id, "convert_to_quotation")
      await moved(house, id, "convert_to_order")
      await moved(house, id, "change_status", { status: 6 })
      return [subject]
    }
  },
  {
    type: "invoice.issued",
    permissions: ["invoices.view"],
    happens: async (house) => [String((await house.issued()).number)]
  },
  {
    type: "payment.recorded",
    permissions: ["invoices.view"],
    happens: async (house) => {
      const { id, number } = await house.issued()
      const got = await house.post(`/invoices/${id}/payments`, { amount: "10.00", method: "cash" })
      expect(got.status, got.text).toBe(201)
      return [String(number)]
    }
  },
  {
    type: "purchase_order.received",
    permissions: ["purchase_orders.view"],
    happens: async (house) => {
      const { id, number } = await house.made("/purchase_orders", {
        ...{ supplier_id: await supplierOf(house), ...hire },
        items: [{ name: "Crane", unit_cost: "100.00" }]
      })
      await house.made(`/purchase_orders/${id}/send`)
      const { items } = (await house.get(`/purchase_orders/${id}?include=items`)).purchase_order
      const got = await house.post(`/purchase_orders/${id}/receive`, { lines: items.map(everything) })
      expect(got.status, got.text).toBe(200)
      return [String(number)]
    }
  },
  {
    type: "document.generated",
    permissions: ["documents.view", "documents.create", "opportunities.view"],
    is_personal: true,
    happens: async (house, to) => {
      const subject = word()
      const { id, number } = await house.job(undefined, { subject })
      const asked = await house.by(to.token, "POST", "/documents/generate", {
        ...{ documentable_type: "Opportunity", documentable_id: id, document_type: "quotation", async: true }
      })
      expect(asked.status, asked.text).toBe(202)
      // It happens when it is drawn.
      await ended(house, asked.body.job_id)
      return [subject, String(number)]
    }
  },
  {
    type: "activity.assigned",
    permissions: ["activities.view"],
    is_personal: true,
    happens: async (house, to) => {
      const subject = word()
      await house.made("/activities", { subject, owned_by: to.user_id })
      return [subject]
    }
  },
  {
    type: "user.invited",
    permissions: ["users.view"],
    happens: async (house) => [(await accountOf(house, word())).name]
  },
  {
    type: "user.deactivated",
    permissions: ["users.view"],
    happens: async (house) => {
      const { id, name } = await accountOf(house, word())
      expect((await house.remove(`/users/${id}`)).status).toBeLessThan(300)
      return [name]
    }
  },
  {
    type: "user.reactivated",
    permissions: ["users.view"],
    happens: async (house) => {
      const { id, name } = await accountOf(house, word())
      expect((await house.remove(`/users/${id}`)).status).toBeLessThan(300)
      expect((await house.post(`/users/${id}/activate`)).status).toBeLessThan(300)
      return [name]
    }
  }
]
export const names = (text: string | undefined, words: Words): boolean =>
  words.some((word) => (text ?? "").toLowerCase().includes(word.toLowerCase()))
export const causeOf = (type: string): Cause => causes.find((one) => one.type === type)!

/** Waits until all events are notified, as later settings and preferences would apply. */
export const settled = async (house: Books): Promise<void> => {
  const left = "/system/jobs?q[kind_eq]=notifications.tell&q[status_not_eq]=done"
  await expect.poll(async () => (await house.get(left)).jobs.length, patiently).toBe(0)
}

/** Rows of somebody's inbox, newest first. */
export const inbox = async (house: Books, who: Person): Promise<ReadonlyArray<any>> => {
  const got = await house.by(who.token, "GET", "/notifications?per_page=100")
  expect(got.status, got.text).toBe(200)
  return got.body.notifications
}
export const prefers = async (house: Books, who: Person, notification_type: string, more: object): Promise<void> => {
  const json = { preferences: [{ notification_type, ...more }] }
  const got = await house.by(who.token, "PUT", "/notification_preferences", json)
  expect(got.status, got.text).toBe(200)
}
export const enabled = async (house: Books, notification_type: string, is_enabled: boolean): Promise<void> => {
  const got = await house.put("/notification_settings", { settings: [{ notification_type, is_enabled }] })
  expect(got.status, got.text).toBe(200)
}
