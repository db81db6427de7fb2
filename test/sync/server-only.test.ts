/** Commands only the server may decide are never accepted from a device, whatever its token allows. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { Effect } from "effect"
import { journal } from "../../core/kernel/events/journal.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { tokens } from "../../server/access/tokens/issue.ts"
import { commandDecided } from "../../sync/protocol/events.ts"
import { engines } from "../app.ts"
import { serve, type Serving } from "../server/serving.ts"
import { wireCommand } from "./opening.ts"

/** Bodies that are valid for the API. */
const bodies: { readonly [name: string]: object } = { "tokens.create": { name: "Made offline", abilities: ["*"] } }

describe.each(engines)("a device that pushes server-only commands, server on %s", (engine) => {
  let server: Serving
  beforeAll(async () => {
    server = await serve(engine)
  })
  afterAll(() => server.close())

  it("has each of these commands refused by name, without effect", async () => {
    const { replica } = (await server.ask("/api/v1/sync/replicas", { json: { name: "van" } })).body
    const { token } = (await server.ask("/api/v1/tokens", { json: { name: "Till", abilities: ["products:read"] } }))
      .body
    const state = Effect.gen(function* () {
      const store = yield* Store
      return {
        tokens: (yield* store.find(tokens, {})).map(({ id, revoked_at }) => ({ id, revoked_at })),
        events: yield* store.find(journal, {}, { order: ["position"] })
      }
    })
    const before = await server.run(state)
    const closed = server.app.catalogue.endpoints.filter((endpoint) => endpoint.server_only)
    expect(closed.filter(({ kind }) => kind === "command").map(({ name }) => name)).toEqual(
      expect.arrayContaining(["tokens.create", "tokens.update", "tokens.delete"])
    )
    const commands = closed.map(({ name, params }, at) => {
      const of_token = Object.fromEntries(Object.keys(params).map((param) => [param, String(token.id)]))
      return wireCommand(at + 1, `closed-${at + 1}`, name, bodies[name] ?? {}, { params: of_token })
    })
    const pushed = await server.ask("/api/v1/sync/commands", { json: { replica_id: replica.id, commands } })
    expect(pushed.status).toBe(200)
    expect(pushed.body.verdicts.map((one, at) => [closed[at]!.name, one.status, one.error?.errors])).toEqual(
      closed.map(({ name }) => [name, "rejected", { name: [name] }])
    )
    const after = await server.run(state)
    expect(after.tokens).toEqual(before.tokens)
    expect(after.events.slice(before.events.length).map(({ type }) => type)).toEqual(
      closed.map(() => commandDecided.type)
    )
  })
})
