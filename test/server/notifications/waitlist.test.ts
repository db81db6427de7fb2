/** Stock that comes free for a line that waits: from the order that is cancelled to the inbox of who waits. */
import { expect, it } from "vitest"
import { engines } from "../../app.ts"
import { house, poll } from "./house.ts"

const type = "shortage.waitlist.matched"
const june = { starts_at: "2031-06-01T09:00:00Z", ends_at: "2031-06-05T17:00:00Z" }

it.each(engines)("on %s it is told to who waits and to the owner, by name and address, once", async (engine) => {
  const server = await house(engine)
  const { did } = server
  const rights = ["opportunities.view", "shortages.resolve", "shortages.view"]
  const planner = await server.person("Petra Planner", rights)
  const seller = await server.person("Sam Seller", ["opportunities.view"])
  const other = await server.person("Otto Other", ["opportunities.view"])
  const { product } = await did(201, "POST", "/products", { name: "Hazer", stock_method: 1 })
  const { stock_levels } = (await did(200, "GET", `/products/${product.id}?include=stock_levels`)).product
  await did(200, "PUT", `/stock_levels/${stock_levels[0].id}`, { quantity_held: 2 })
  const { member } = await did(201, "POST", "/members", { name: "ACME Events", membership_type: "organisation" })
  const ordered = async (more: object) => {
    const base = { subject: "Gala", store_id: 1, member_id: member.id, ...june, ...more }
    const { opportunity } = await did(201, "POST", "/opportunities", base)
    await did(201, "POST", `/opportunities/${opportunity.id}/items`, {
      name: "Hazer",
      item_id: product.id,
      quantity: 2
    })
    await did(200, "POST", `/opportunities/${opportunity.id}/convert_to_quotation`)
    await did(200, "POST", `/opportunities/${opportunity.id}/convert_to_order`)
    return opportunity
  }
  const first = await ordered({})
  const waiting = await ordered({ owned_by: seller.member_id })
  const resolve = `/opportunities/${waiting.id}/shortages/resolve`
  await did(201, "POST", resolve, { resolution: "waitlist" }, planner.token)
  await did(200, "POST", `/opportunities/${first.id}/change_status`, { status: 6 })
  const rows = (person: typeof planner) => server.inbox(person, `&q[notification_type_eq]=${type}`)
  for (const person of [planner, seller]) {
    await expect.poll(async () => (await rows(person)).length, poll).toBe(1)
    expect((await rows(person))[0]).toMatchObject({
      category: "stock",
      title: `Stock came free for Hazer on Order ${waiting.number} for ACME Events`,
      body: "Gala, 1 June 2031 – 5 June 2031",
      subject_type: "opportunities",
      subject_id: waiting.id,
      actor_name: null,
      is_own: false,
      read_at: null,
      url: expect.stringMatching(`/api/v1/opportunities/${waiting.id}$`)
    })
  }
  await server.told()
  expect(await rows(other)).toEqual([])
  const mailed = await server.sql(`select user_id, mail_state from notifications where notification_type = '${type}'`)
  expect(mailed.map((row) => row.mail_state)).toEqual(["waiting", "waiting"])
  await server.close()
})
