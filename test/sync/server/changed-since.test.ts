/** What a device says others must not have changed: the refusal tells its person no more than they may see. */
import { describe, expect, it } from "vitest"
import { businessOfEachTest } from "../business.ts"

describe("a command that others' changes forbid", () => {
  const { business, filled, make, person } = businessOfEachTest("sqlite")
  const guarded = async (token: string, unless_changed: object) => {
    const device = await filled({}, token)
    const { body, status } = await business.ask(
      "POST",
      "sync/commands",
      {
        replica_id: device.id,
        commands: [
          {
            n: 1,
            id: "0197a000-0000-7000-8000-000000000001",
            name: "products.update",
            payload: { params: { id: "1" }, body: { name: "Lantern" } },
            ids: {},
            issued_at: "2026-06-18T12:00:00.000Z",
            unless_changed
          }
        ]
      },
      token
    )
    return status === 200 ? body.verdicts[0] : { status, errors: body.errors }
  }

  it("is refused without a word of rows that its person may not see", async () => {
    const { id } = await make("members", { name: "Secret Customer Ltd", membership_type: "organisation" })
    const { token } = await person(["products.view", "products.access"])
    const asked = { since: 0, streams: [`member:${id}`], rows: { [`members/${id}`]: [] } }
    expect(await guarded(token, asked)).toMatchObject({
      status: "rejected",
      error: { status: 409, message: "Not taken back: what it changed was changed since." }
    })
  })
  it("is refused with who changed what, where its person sees that", async () => {
    const { id } = await make("products", { name: "Lamp" })
    const { token } = await person(["products.view", "products.access"])
    const asked = { since: 0, streams: [`product:${id}`], rows: { [`products/${id}`]: ["name"] } }
    expect(await guarded(token, asked)).toMatchObject({
      status: "rejected",
      error: { status: 409, message: expect.stringMatching(/^Not taken back: product Lamp: name was .* by Owner \(/) }
    })
  })
  it("names no more streams and rows than a command changes", async () => {
    const { token } = await person(["products.view", "products.access"])
    const many = Array.from({ length: 10_001 }, (_, at) => `product:${at}`)
    const rows = Object.fromEntries(many.map((one) => [one, []]))
    for (const asked of [
      { since: 0, streams: many, rows: {} },
      { since: 0, streams: [], rows }
    ])
      expect(await guarded(token, asked)).toMatchObject({
        status: 422,
        errors: { "commands.0.unless_changed": [expect.any(String)] }
      })
  })
})
