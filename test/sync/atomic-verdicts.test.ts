/** Server data beside the journal commits with its command: a device's verdict, the response under a key. */
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { Effect } from "effect"
import { catalogueOf } from "../../core/kernel/endpoints/endpoint.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { syncSlice } from "../../sync/server/api.ts"
import { engines } from "../app.ts"
import { openShop, type Shop, shopSlices } from "../core/kernel/lamp-shop.ts"
import { serve, type Serving } from "../server/serving.ts"
import { wireCommand } from "./opening.ts"

describe.each(engines)("the server's verdict on a device's command, on %s", (engine) => {
  let shop: Shop
  beforeEach(async () => {
    shop = await openShop(engine, catalogueOf([...shopSlices, syncSlice]))
  })
  afterEach(() => shop.close())
  const statement = (text: string) => shop.run(Effect.flatMap(Store, (store) => store.run(text)))

  it("is stored with the command's effects, or neither is", async () => {
    const { body } = await shop.call("POST", "/api/v1/sync/replicas", { name: "device" })
    const lamp = body.lease.find((range) => range.entity === "lamps")!.from
    const push = () =>
      shop.call("POST", "/api/v1/sync/commands", {
        replica_id: body.replica.id,
        commands: [wireCommand(1, "one", "lamps.create", { name: "Lamp" }, { ids: { lamps: [lamp] } })]
      })
    const before = await shop.dump()
    // The last statement fails, as on a full disk.
    await statement(
      engine === "sqlite"
        ? "create trigger full before insert on replica_verdicts begin select raise(abort, 'the disk is full'); end"
        : "alter table replica_verdicts add constraint disk_full check (false) not valid"
    )
    await expect(push()).rejects.toThrow()
    expect(await shop.dump()).toEqual(before)
    await statement(
      engine === "sqlite" ? "drop trigger full" : "alter table replica_verdicts drop constraint disk_full"
    )
    expect((await push()).body.verdicts).toMatchObject([{ id: "one", status: "accepted" }])
    expect((await shop.dump())["lamps"]).toMatchObject([{ id: lamp, name: "Lamp" }])
  })

  it("rolls back the command's rows if it refuses the command after they were written", async () => {
    const {
      body: { lamp }
    } = await shop.call("POST", "/api/v1/lamps", { name: "Lamp" })
    const { body } = await shop.call("POST", "/api/v1/sync/replicas", { name: "device" })
    const before = (await shop.dump())["lamps"]
    const more = { params: { id: String(lamp.id) } }
    const commands = [wireCommand(1, "one", "lamps.crash", { at: "respond_refusal" }, more)]
    expect(
      (await shop.call("POST", "/api/v1/sync/commands", { replica_id: body.replica.id, commands })).body.verdicts
    ).toMatchObject([{ status: "rejected", error: { status: 422, errors: { at: ["Refused after recording."] } } }])
    expect((await shop.dump())["lamps"]).toEqual(before)
  })
})

describe.each(engines)("a response stored under an Idempotency-Key on %s", (engine) => {
  let server: Serving
  beforeEach(async () => {
    // While one request works, its key goes to another: the first counted as lost.
    server = await serve(engine, {
      slices: [
        {
          name: "retry",
          recorded: (events) =>
            Effect.flatMap(Store, (store) =>
              events.some(({ data }) => data["subject"] === "Overtaken")
                ? Effect.asVoid(store.run("update idempotency_keys set attempt = attempt + 1"))
                : Effect.void
            )
        }
      ]
    })
  })
  afterEach(() => server.close())

  it("is rolled back with its command if a retry took over the key", async () => {
    const path = "/api/v1/opportunities"
    const { status } = await server.ask(path, {
      method: "POST",
      json: { subject: "Overtaken" },
      headers: { "idempotency-key": "one" }
    })
    expect(status).toBe(425)
    expect((await server.ask(path)).body.meta.total).toBe(0)
  })
})
