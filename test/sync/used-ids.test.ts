/** Ids of commands are their devices' own choice and no secret: another command under one of them costs its owner nothing. */
import { Effect } from "effect"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { Store } from "../../core/kernel/store/store.ts"
import type { Device } from "../../sync/device/device.ts"
import { engines } from "../app.ts"
import { type DeviceTestServer, openDeviceTestServer } from "./server.ts"

describe.each(engines)("a command's id that was used by another, on %s,", (engine) => {
  let test_server: DeviceTestServer
  beforeEach(async () => {
    test_server = await openDeviceTestServer(engine)
  })
  afterEach(async () => {
    await test_server.close()
  })
  const write = (device: Device, name: string) =>
    device.ask({ method: "POST", path: "/api/v1/product_groups", query: [], body: { name } })
  const names = async () =>
    (await test_server.ask("GET", "/api/v1/product_groups?sort=id")).body.product_groups.map((one: any) => one.name)
  const sendAs = (device: Device, n: number, id: string, name: string) =>
    test_server.ask("POST", "/api/v1/sync/commands", {
      replica_id: device.profile.replica_id,
      commands: [
        {
          n,
          id,
          name: "product_groups.create",
          payload: { params: {}, body: { name } },
          ids: {},
          issued_at: "2026-06-18T12:00:00.000Z"
        }
      ]
    })

  it("is no hindrance where another device used it: pushed or carried, the command is decided", async () => {
    const van = await test_server.enrol("van"),
      other = await test_server.enrol("other")
    await write(van, "Lighting")
    const carried = await van.bundleOut()
    const { id } = (await van.pending())[0]!
    expect((await sendAs(other, 1, id, "Squatted")).body.verdicts).toMatchObject([{ status: "accepted" }])
    expect(await van.sync()).toMatchObject({ sent: 1, accepted: 1, rejected: 0, pending: 0, conflicts: 0 })
    expect(van.told(true)).toEqual([])
    await test_server.ask("POST", "/api/v1/sync/bundles", { bundle: JSON.parse(carried.text) })
    expect(await names()).toEqual(expect.arrayContaining(["Lighting", "Squatted"]))
    expect(await names()).toHaveLength(2)
    expect(await test_server.replicaTables("van")).toEqual(await test_server.serverTables())
  })

  it.each(["pushed", "carried"])(
    "by its own device is a conflict, %s, and the command recorded again is accepted",
    async (way) => {
      const van = await test_server.enrol("van")
      await write(van, "Lighting")
      const { id } = (await van.pending())[0]!
      expect((await sendAs(van, 1, id, "Sent in its name")).body.verdicts).toMatchObject([{ status: "accepted" }])
      await write(van, "Sound")
      if (way === "pushed") await van.sync()
      else
        await van.bundleIn(
          JSON.stringify(
            (
              await test_server.ask("POST", "/api/v1/sync/bundles", {
                bundle: JSON.parse((await van.bundleOut()).text)
              })
            ).body.bundle
          )
        )
      expect(await names()).toEqual(expect.arrayContaining(["Sent in its name", "Sound"]))
      const conflicts = await van.conflicts()
      expect(conflicts).toMatchObject([
        { id, n: 1, error: { status: 409, message: expect.stringContaining("an id of its own") } }
      ])
      expect(conflicts[0]!.ways_out.map(({ way }) => way)).toContain("retry")
      // What it did here is taken back: the server never did it.
      expect(await test_server.replicaTables("van")).toEqual(await test_server.serverTables())
      const again = await van.resolve(id, { retry: true })
      expect(again.command!.id).not.toBe(id)
      expect(await van.sync()).toMatchObject({ pending: 0, conflicts: 0 })
      expect((await names()).toSorted()).toEqual(["Lighting", "Sent in its name", "Sound"])
      expect(await test_server.replicaTables("van")).toEqual(await test_server.serverTables())
    }
  )

  it("is known after a start of this release over a database of the one before, which kept verdicts by it alone", async () => {
    const van = await test_server.enrol("van"),
      other = await test_server.enrol("other")
    await write(van, "Lighting")
    const { id } = (await van.pending())[0]!
    await van.sync()
    const verdicts = async () =>
      (await test_server.ask("POST", `/api/v1/sync/replicas/${van.profile.replica_id}/verdicts`, { ids: [id] })).body
        .verdicts
    const before = await verdicts()
    expect(before).toMatchObject([{ id, status: "accepted" }])
    await test_server.app().run(
      Effect.flatMap(Store, (store) =>
        Effect.gen(function* () {
          for (const statement of engine === "pg" ? before_pg : before_sqlite) yield* store.run(statement)
          yield* store.run(
            `insert into replica_commands select id, replica_id, n, fingerprint, accepted, "position", error, decided_at from replica_verdicts`
          )
          yield* store.run("drop table replica_verdicts")
          yield* store.run("alter table tokens drop column monthly_units")
          yield* store.run("alter table boards drop column mark")
          yield* store.run("drop table flightcase_migrations")
        })
      )
    )
    await test_server.stop()
    await test_server.start()
    expect(await verdicts()).toEqual(before)
    expect((await sendAs(other, 1, id, "Squatted")).body.verdicts).toMatchObject([{ status: "accepted" }])
    expect(await verdicts()).toEqual(before)
    // Once is enough: what was copied is not copied again.
    await test_server.stop()
    await test_server.start()
    expect(await verdicts()).toEqual(before)
    expect((await write(van, "Sound")).status).toBe(201)
    expect(await van.sync()).toMatchObject({ accepted: 1, pending: 0, conflicts: 0 })
  })
})

const before_sqlite = [
  `create table "replica_commands" ("id" text primary key, "replica_id" integer not null, "n" integer not null, "fingerprint" text not null, ` +
    `"accepted" boolean not null, "position" integer, "error" jsonb, "decided_at" text not null)`,
  `create unique index "replica_commands_replica_id_n_unique" on "replica_commands" ("replica_id", "n")`
]
const before_pg = [
  `create table replica_commands (id text collate "C" primary key, replica_id bigint not null, n bigint not null, fingerprint text collate "C" not null, ` +
    `accepted boolean not null, "position" bigint, error jsonb, decided_at timestamp with time zone not null)`,
  "create unique index replica_commands_replica_id_n_unique on replica_commands (replica_id, n)"
]
