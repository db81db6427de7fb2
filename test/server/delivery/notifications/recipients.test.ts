/** Recipients and texts of notifications, over the API. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { both_engines } from "../../../app.ts"
import { house, type House, poll } from "./house.ts"

const type = "shortage.waitlist.matched"
const june = { starts_at: "2031-06-01T09:00:00Z", ends_at: "2031-06-05T17:00:00Z" }

const hostile =
  "Show\r\nBcc: a@b.example\n\n-- \nYour account is closed: https://evil.example \u001b[2J\u202e<script>alert(1)</script>"

describe.each(both_engines)("notifications on %s", (engine) => {
  let server: House
  beforeAll(async () => {
    server = await house(engine, { public_url: "https://hire.example" })
  })
  afterAll(() => server.close())

  it("go once to each user who may see a new opportunity", async () => {
    const seller = await server.person("Sam Seller", "Sales")
    const packer = await server.person("Pat Packer", ["stock.view"])
    const { member } = await server.did(201, "POST", "/members", {
      name: "ACME Events",
      membership_type: "organisation"
    })
    const { opportunity } = await server.did(201, "POST", "/opportunities", {
      subject: "Summer party",
      member_id: member.id,
      starts_at: "2026-12-12T09:00:00Z",
      ends_at: "2026-12-14T17:00:00Z"
    })
    await server.told()
    const [made] = await server.inbox(seller, "&q[notification_type_eq]=opportunity.created")
    expect(made).toMatchObject({
      notification_type: "opportunity.created",
      category: "opportunity",
      title: `Opportunity ${opportunity.number} for ACME Events was made`,
      body: "Summer party, 12 December 2026 – 14 December 2026",
      subject_type: "opportunities",
      subject_id: opportunity.id,
      actor_name: "Owner",
      is_own: false,
      read_at: null,
      url: expect.stringMatching(`/api/v1/opportunities/${opportunity.id}$`)
    })
    expect(await server.inbox(packer)).toEqual([])
    const [own] = await server.inbox(undefined, "&q[notification_type_eq]=opportunity.created")
    expect(own).toMatchObject({ is_own: true, read_at: expect.any(String) })
  })
  it("that stock is free go once to the user who waits for it and to the opportunity's owner", async () => {
    const { did } = server
    const rights = ["opportunities.view", "shortages.resolve", "shortages.view"]
    const planner = await server.person("Petra Planner", rights)
    const seller = await server.person("Sid Seller", ["opportunities.view"])
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
  })
  it("show malicious names in one line without control characters or markup", async () => {
    const past = engine === "pg" ? "now() - interval '1 hour'" : "datetime('now', '-1 hour')"
    const ann = await server.person("Ann", ["opportunities.view", "members.view"])
    const { member } = await server.did(201, "POST", "/members", { name: hostile, membership_type: "organisation" })
    const channels = { database: true, email: true }
    await server.did(200, "PUT", "/notification_settings", {
      settings: [{ notification_type: "opportunity.created", is_enabled: true, channels }]
    })
    await server.did(201, "POST", "/opportunities", { subject: hostile, member_id: member.id })
    await server.told()
    const [told] = (await server.inbox(ann)).filter(
      ({ notification_type }) => notification_type === "opportunity.created"
    )
    expect(told?.title).toContain("evil.example")
    for (const text of [told?.title, told?.body]) expect(text).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e]/)
    await server.sql(
      `update effect_queue set visible_at = ${past} where queue_name = 'notifications.mail' and state = 'pending'`
    )
    const mails = () =>
      server.sql(
        `select element from effect_queue where queue_name = 'mail.send' and id like 'mail.send:notifications.${ann.user_id}.%'`
      )
    await expect.poll(async () => (await mails()).length, { timeout: 20_000 }).toBe(1)
    const { data } = JSON.parse((await mails())[0].element)
    expect(data.subject).not.toMatch(/[\r\n\u001b\u202e]/)
    expect(data.text).not.toMatch(/[\r\u001b\u202e]/)
    expect(data.text).not.toMatch(/^\s*Your account is closed/m)
    expect(data.text).not.toMatch(/^Bcc:/m)
    expect(data.html).not.toContain("<script>")
  })
})
