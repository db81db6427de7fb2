import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { get } from "../../core/kernel/endpoints/endpoint.ts"
import { invalidField } from "../../core/kernel/fields/rejection.ts"
import { ok } from "../../core/kernel/endpoints/resource.ts"
import { ServerContext } from "../../server/ports/server-context.ts"
import type { AnsweredServerCall, ServerSlice } from "../../server/ports/server-slice.ts"
import { both_engines } from "../app.ts"
import { serve } from "./serving.ts"
import { text } from "../../core/kernel/fields/field.ts"
import * as Shown from "../../core/kernel/lists/answer-schema.ts"

describe.each(both_engines)("a module of the server on %s", (engine) => {
  const withSlice = async (
    slice: Partial<ServerSlice>,
    use: (server: Awaited<ReturnType<typeof serve>>) => Promise<void>
  ) => {
    // Responses of test slices have no description.
    const server = await serve(engine, { undescribed: () => {}, slices: [{ name: "added", ...slice }] })
    try {
      await use(server)
    } finally {
      await server.close()
    }
  }

  it("may have middleware that sees the caller and answers instead", async () => {
    const seen: Array<string> = []
    await withSlice(
      {
        around: (call, next) => {
          seen.push(`${call.endpoint.name} by ${call.viewer.user_id} ${call.headers["idempotency-key"] ?? ""}`)
          return call.headers["idempotency-key"] === "known"
            ? Effect.succeed({ status: 200, body: { replayed: true } })
            : next
        }
      },
      async (server) => {
        expect(
          (await server.ask("/api/v1/products", { json: { name: "Lamp" }, headers: { "idempotency-key": "new" } }))
            .status
        ).toBe(201)
        expect(
          (await server.ask("/api/v1/products", { json: { name: "Lamp" }, headers: { "idempotency-key": "known" } }))
            .body
        ).toEqual({ replayed: true })
        expect((await server.ask("/api/v1/products", { token: null })).status).toBe(401)
        expect((await server.ask("/api/v1/products")).body.meta.total).toBe(1)
        expect(seen).toEqual(["products.create by 1 new", "products.create by 1 known", "products.list by 1 "])
      }
    )
  })
  it("rolls a command back by a refusal inside the recording transaction", async () => {
    const kinds: Array<string> = []
    await withSlice(
      {
        recorded: (events) =>
          Effect.suspend(() => {
            kinds.push(...events.map((event) => event.type))
            return events.some((event) => event.data["name"] === "Forbidden fruit")
              ? invalidField("name", "Not this one.")
              : Effect.void
          })
      },
      async (server) => {
        expect((await server.ask("/api/v1/products", { json: { name: "Lamp" } })).status).toBe(201)
        const refused = await server.ask("/api/v1/products", { json: { name: "Forbidden fruit" } })
        expect(refused.status).toBe(422)
        expect(refused.body.errors).toEqual({ name: ["Not this one."] })
        expect((await server.ask("/api/v1/products")).body.meta.total).toBe(1)
        expect(kinds.filter((kind) => kind === "product.created")).toHaveLength(2)
      }
    )
  })
  it("has its hook 'answered' run for every API request", async () => {
    const told: Array<AnsweredServerCall> = []
    await withSlice(
      {
        answered: (call) => {
          told.push(call)
        }
      },
      async (server) => {
        await server.ask("/api/v1/products?q[name_cont]=x", {
          headers: { "user-agent": "till/1", "x-request-id": "r-1" },
          from: "192.0.2.7"
        })
        await server.ask("/api/v1/products", { json: { name: "" } })
        await server.ask("/api/v1/products", { token: null })
        await server.ask("/api/v1/nope")
        await server.ask("/docs", { token: null })
        expect(told.map((one) => [one.method, one.endpoint, one.status, one.token_id])).toEqual([
          ["GET", "products.list", 200, 1],
          ["POST", "products.create", 422, 1],
          ["GET", "products.list", 401, null],
          ["GET", null, 404, 1]
        ])
        expect(told[0]).toMatchObject({
          request_id: "r-1",
          target: "/api/v1/products?q[name_cont]=x",
          ability: "products:read",
          metering_weight: 1,
          user_id: 1,
          remote_address: "192.0.2.7",
          user_agent: "till/1",
          request_bytes: 0
        })
        expect(told[1]).toMatchObject({ ability: "products:write", request_bytes: 11 })
        expect(told[0]!.response_bytes).toBeGreaterThan(10)
      }
    )
  })
  it("may have background work that begins and ends with the server", async () => {
    const happened: Array<string> = []
    await withSlice(
      {
        background: Effect.gen(function* () {
          const hosting = yield* ServerContext
          yield* Effect.addFinalizer(() =>
            Effect.sync(() => {
              happened.push("ended")
            })
          )
          hosting.onCommit(() => {
            happened.push("commit")
          })
          happened.push("begun")
          yield* Effect.never
        }),
        endpoints: [
          get("/api/v1/happened", {
            name: "happened",
            summary: "Happened",
            ability: null,
            permission: null,
            answer: Shown.list(text()),
            run: () => Effect.sync(() => ok([...happened]))
          })
        ]
      },
      async (server) => {
        await server.ask("/api/v1/products", { json: { name: "Lamp" } })
        expect((await server.ask("/api/v1/happened")).body.slice(0, 2)).toEqual(["begun", "commit"])
      }
    )
    expect(happened.at(-1)).toBe("ended")
  })
  it("answers 500 without the message if it throws, and the next request is served", async () => {
    await withSlice(
      {
        endpoints: [
          get("/api/v1/breaks", {
            name: "breaks",
            summary: "Breaks",
            ability: null,
            permission: null,
            run: () => {
              throw new Error("the inner secret")
            }
          })
        ]
      },
      async (server) => {
        const got = await server.ask("/api/v1/breaks", { headers: { "x-request-id": "r-9" } })
        expect(got.status).toBe(500)
        expect(Object.keys(got.body)).toEqual(["message"])
        expect(got.text).not.toContain("secret")
        expect(got.text).toContain("r-9")
        expect((await server.ask("/api/v1/products")).status).toBe(200)
      }
    )
  })
})
