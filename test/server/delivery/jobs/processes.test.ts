/** Jobs caused by events: one per accepted event, and none by replays, restores and rebuilds. */
import { Effect } from "effect"
import { describe, expect, it, onTestFinished } from "vitest"
import { rebuild } from "../../../../core/kernel/runtime/schema.ts"
import { jobOffer } from "../../../../server/ports/server-context.ts"
import { whatFollows } from "../../../../server/delivery/jobs/timed.ts"
import type { ServerSlice } from "../../../../server/ports/server-slice.ts"
import { both_engines } from "../../../app.ts"
import { serve, type Serving } from "../../serving.ts"
import { rowsOf, wordKind } from "./words.ts"

const kind = wordKind(() => Effect.void)
const slice: ServerSlice = {
  name: "words",
  jobs: [kind],
  processes: [
    {
      on: ["product.created", "opportunity.created"],
      jobs: ({ data, position }) => {
        const word = String(data["name"] ?? data["subject"])
        return word.includes("quiet") ? [] : [jobOffer(kind, { word }, { subject: String(position) })]
      }
    }
  ],
  // Runs after the command has queued its jobs, and rolls everything back.
  recorded: (events) =>
    events.some(({ data }) => data["name"] === "Forbidden fruit") ? Effect.die(new Error("not this one")) : Effect.void
}

it("an event without a process for its type queues no job", () => {
  const event = {
    ...{ stream: "store:1", type: "store.created", data: { name: "North" }, position: 1, version: 1 },
    ...{ command_id: "test", actor_id: null, replica_id: null, recorded_at: "2026-07-01T09:00:00.000Z" }
  }
  for (const processes of [[], slice.processes ?? []])
    expect(whatFollows(processes, { offer: () => Effect.die("a job is queued") })([event])).toBe(Effect.void)
})

describe.each(both_engines)("jobs that follow from events on %s", (engine) => {
  const serving = async (): Promise<Serving> => {
    const server = await serve(engine, { slices: [slice] })
    onTestFinished(() => server.close())
    return server
  }
  const words = async (server: Serving): Promise<ReadonlyArray<unknown>> =>
    (
      await rowsOf(
        server,
        "select element from effect_queue where queue_name = 'test.word' and state <> 'bell' order by sequence"
      )
    ).map(({ element }) => JSON.parse(String(element)).data.word)
  const create = (server: Serving, name: string) => server.ask("/api/v1/products", { json: { name } })

  it("are queued for accepted commands only", async () => {
    const server = await serving()
    expect((await create(server, "Lamp")).status).toBe(201)
    expect((await create(server, "")).status).toBe(422)
    expect((await create(server, "Forbidden fruit")).status).toBe(500)
    expect((await create(server, "quiet amplifier")).status).toBe(201)
    expect((await create(server, "Truss")).status).toBe(201)
    expect(await words(server)).toEqual(["Lamp", "Truss"])
  })

  it("are queued once when a response is replayed", async () => {
    const server = await serving()
    const order = { subject: "Lamp", starts_at: "2026-08-01T09:00:00Z", ends_at: "2026-08-02T09:00:00Z", store_id: 1 }
    const send = () => server.ask("/api/v1/opportunities", { json: order, headers: { "idempotency-key": "one" } })
    const [first, again] = [await send(), await send()]
    expect([first.status, again.status, again.headers["idempotent-replayed"]]).toEqual([201, 201, "true"])
    expect(await words(server)).toEqual(["Lamp"])
  })

  it("are queued once for each accepted command of a device", async () => {
    const server = await serving()
    const { replica, lease } = (await server.ask("/api/v1/sync/replicas", { json: { name: "Laptop" } })).body
    const block = lease.find(({ entity }) => entity === "products")!
    const push = {
      replica_id: replica.id,
      commands: [command(1, "Lamp", block.from), command(2, "", block.from + 1), command(3, "Truss", block.from + 2)]
    }
    const verdicts = (await server.ask("/api/v1/sync/commands", { json: push })).body.verdicts
    expect(verdicts.map(({ status }) => status)).toEqual(["accepted", "rejected", "accepted"])
    await server.ask("/api/v1/sync/commands", { json: push })
    expect(await words(server)).toEqual(["Lamp", "Truss"])
  })

  it("are not queued by a restore", async () => {
    const [here, there] = [await serving(), await serving()]
    await create(here, "Lamp")
    const { manifest } = (await here.ask("/api/v1/system/manifest")).body
    const { events } = (await here.ask("/api/v1/system/journal?after=0&limit=2000")).body
    expect(events).toHaveLength(manifest.events)
    const { id } = (await there.ask("/api/v1/system/restores", { json: manifest })).body.restore
    await there.ask(`/api/v1/system/restores/${id}/events`, { json: { events } })
    expect((await there.ask(`/api/v1/system/restores/${id}/finish`, { method: "POST" })).status).toBe(200)
    expect((await there.ask("/api/v1/products")).body.meta.total).toBe(1)
    expect(await words(there)).toEqual([])
    await create(there, "Truss")
    expect(await words(there)).toEqual(["Truss"])
  })

  it("are not queued again when tables are rebuilt", async () => {
    const server = await serving()
    await create(server, "Lamp")
    await server.run(rebuild(server.app.catalogue))
    expect(await words(server)).toEqual(["Lamp"])
  })
})

const command = (n: number, name: string, id: number) => ({
  n,
  id: `0197f2a0-0000-7000-8000-00000000000${n}`,
  name: "products.create",
  payload: { params: {}, body: { name } },
  ids: { products: [id] },
  issued_at: "2026-07-01T09:00:00.000Z"
})
