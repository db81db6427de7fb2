/** Who is told of what, over the API. */
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { engines } from "../../app.ts"
import { house, type House } from "./house.ts"

describe.each(engines)("on %s", (engine) => {
  let server: House
  beforeEach(async () => {
    server = await house(engine)
  })
  afterEach(() => server.close())

  it("an opportunity that was made is told to those who may see it, once", async () => {
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
})
