/** Command ids are chosen by devices and not secret: another command with the same id costs its owner nothing. */
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { Store } from "../../core/kernel/store/store.ts"
import { both_engines } from "../app.ts"
import { serverOfEachTest, type TestDevice, wireCommand } from "./opening.ts"

describe.each(both_engines)("a command whose id was used before, server on %s,", (engine) => {
  const server = serverOfEachTest(engine)
  const write = (device: TestDevice, name: string) => device.create("/product_groups", { name })
  const names = async () => (await server.show("/product_groups")).map((one) => one.name).toSorted()
  const sentAs = async ({ profile: { replica_id } }: TestDevice, id: string, name: string) => {
    const commands = [wireCommand(1, id, "product_groups.create", { name })]
    const { verdicts } = await server.must("POST", "/sync/commands", { replica_id, commands })
    expect(verdicts).toMatchObject([{ status: "accepted" }])
  }
  const recorded = async () => {
    const [van, other] = [await server.enrol("van"), await server.enrol("other")]
    await write(van, "Lighting")
    return { van, other, id: (await van.pending())[0]!.id }
  }

  it("is decided as usual, pushed or in a bundle, if another device used the id", async () => {
    const { id, other, van } = await recorded()
    const carried = await van.bundleOut()
    await sentAs(other, id, "Squatted")
    expect(await van.sync()).toMatchObject({ sent: 1, accepted: 1, rejected: 0, pending: 0, conflicts: 0 })
    expect(van.told(true)).toEqual([])
    await server.must("POST", "/sync/bundles", { bundle: JSON.parse(carried.text) })
    expect(await names()).toEqual(["Lighting", "Squatted"])
    await server.sameOn(van)
  })
  it.each(["pushed", "in a bundle"])(
    "is a conflict, %s, if its own device used the id, and is accepted under a new id",
    async (way) => {
      const { id, van } = await recorded()
      await sentAs(van, id, "Sent in its name")
      await write(van, "Sound")
      await (way === "pushed" ? van.sync() : server.carry(van))
      expect(await names()).toEqual(["Sent in its name", "Sound"])
      const conflicts = await van.conflicts()
      const error = { status: 409, message: expect.stringContaining("an id of its own") }
      expect(conflicts).toMatchObject([{ id, n: 1, error }])
      expect(conflicts[0]!.ways_out.map(({ way }) => way)).toContain("retry")
      // Its effect here is reverted: the server never applied it.
      await server.sameOn(van)
      expect((await van.resolve(id, { retry: true })).command!.id).not.toBe(id)
      expect(await van.sync()).toMatchObject({ pending: 0, conflicts: 0 })
      expect(await names()).toEqual(["Lighting", "Sent in its name", "Sound"])
      await server.sameOn(van)
    }
  )
  it("keeps its verdict after an upgrade from a release that stored verdicts by id alone", async () => {
    const { id, other, van } = await recorded()
    await van.sync()
    const verdicts = async () =>
      (await server.post(`/sync/replicas/${van.profile.replica_id}/verdicts`, { ids: [id] })).body.verdicts
    const before = await verdicts()
    expect(before).toMatchObject([{ id, status: "accepted" }])
    await server.run(
      Effect.flatMap(Store, (store) =>
        Effect.forEach([...(engine === "pg" ? before_pg : before_sqlite), ...back], (statement) => store.run(statement))
      )
    )
    const restarted = async () => {
      await server.stop()
      await server.start()
      expect(await verdicts()).toEqual(before)
    }
    await restarted()
    await sentAs(other, id, "Squatted")
    expect(await verdicts()).toEqual(before)
    // Commands already copied are not copied again.
    await restarted()
    await write(van, "Sound")
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
const back = [
  `insert into replica_commands select id, replica_id, n, fingerprint, accepted, "position", error, decided_at from replica_verdicts`,
  "drop table replica_verdicts",
  "alter table tokens drop column monthly_units",
  "alter table boards drop column mark",
  "drop table flightcase_migrations"
]
