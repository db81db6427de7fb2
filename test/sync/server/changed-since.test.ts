/** Commands that require unchanged rows: refusals tell users no more than they may see. */
import { describe, expect, it } from "vitest"
import type { WireCommand } from "../../../sync/protocol/wire.ts"
import { serverOfSuite, wireCommand } from "../opening.ts"

describe("a command with unless_changed whose rows others changed", () => {
  const server = serverOfSuite()
  const guarded = async (unless_changed: NonNullable<WireCommand["unless_changed"]>) => {
    const { secret } = await server.person({ permissions: ["products.view", "products.access"] })
    const { id: replica_id } = await server.inspected({}, secret)
    const more = { unless_changed, params: { id: "1" } }
    const commands = [wireCommand(1, `guarded-${replica_id}`, "products.update", { name: "Lantern" }, more)]
    const { body, status } = await server.post("/sync/commands", { replica_id, commands }, secret)
    return status === 200 ? body.verdicts[0] : { status, errors: body.errors }
  }
  const refused = (message: unknown) => ({ status: "rejected", error: { status: 409, message } })

  it("is refused without naming rows its user may not see", async () => {
    const id = await server.customer({ name: "Secret Customer Ltd" })
    const asked = { since: 0, streams: [`member:${id}`], rows: { [`members/${id}`]: [] } }
    expect(await guarded(asked)).toMatchObject(refused("Not taken back: what it changed was changed since."))
  })
  it("is refused with author and change if its user may see them", async () => {
    const id = await server.product({ name: "Lamp" })
    const asked = { since: 0, streams: [`product:${id}`], rows: { [`products/${id}`]: ["name"] } }
    const says = /^Not taken back: product Lamp: name was .* by Owner \(/
    expect(await guarded(asked)).toMatchObject(refused(expect.stringMatching(says)))
  })
  it("is refused if it names 10,001 streams or rows", async () => {
    const streams = Array.from({ length: 10_001 }, (_, at) => `product:${at}`)
    const rows = Object.fromEntries(streams.map((one) => [one, []]))
    const errors = { "commands.0.unless_changed": [expect.any(String)] }
    for (const more of [{ streams }, { rows }])
      expect(await guarded({ since: 0, streams: [], rows: {}, ...more })).toMatchObject({ status: 422, errors })
  })
})
