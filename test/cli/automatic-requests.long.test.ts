/** Requests the command line sends to the server in the background. */
import { DatabaseSync } from "node:sqlite"
import { join } from "node:path"
import { beforeEach, describe, expect, it } from "vitest"
import { background_lock } from "../../cli/context/background.ts"
import { takeLock } from "../../sync/sqlite/file-lock.ts"
import { placeOfEachTest } from "./place.ts"
import { run } from "./session.ts"
import { bodyRead } from "../answers.ts"

const place = placeOfEachTest()

describe("history from before a replica was filled", () => {
  beforeEach(async () => {
    await place.house.create("/product_groups", { name: "Made long ago" })
    await place.login()
    // Like a replica of a longer journal, which is filled from rows.
    const replica = new DatabaseSync(join(place.home, "profiles", "default", "replica.sqlite"))
    const { head } = replica.prepare("select max(position) as head from journal").get() as { head: number }
    replica
      .prepare(
        "insert into replica_meta (key, value) values ('journal_from', ?) on conflict (key) do update set value = excluded.value"
      )
      .run(String(head))
    replica.exec("delete from journal")
    replica.close()
  })
  it("is fetched from the server if the server is reachable", async () => {
    const { code, out, err } = await run(place, ["actions", "list", "--json"])
    expect([code, err]).toEqual([0, ""])
    expect(bodyRead(JSON.parse(out)).actions.some((one) => one.action === "product_group.created")).toBe(true)
    expect((await run(place, ["product-groups", "create", "--name", "Unsent"])).code).toBe(0)
    const unsent = await run(place, ["actions", "list", "--json"])
    expect([unsent.code, unsent.err]).toEqual([
      0,
      "The server's answer: what was recorded here and not sent yet is not in it.\n"
    ])
  })
  it("is reported to be on the server if the server is unreachable or --offline is given", async () => {
    const offline = await run(place, ["actions", "list", "--offline"])
    expect([offline.code, offline.out]).toEqual([7, ""])
    expect(offline.err).toContain("is on the server")
    await place.stop()
    const away = await run(place, ["actions", "list"])
    expect([away.code, away.out]).toEqual([7, ""])
    expect(away.err).toContain("is on the server")
  })
})

describe("a resolved conflict", () => {
  it("is synced in the background", async () => {
    const unit = { product_id: await place.house.serialised(), store_id: 1, asset_number: "MH-1" }
    await place.login()
    await place.house.create("/stock_levels", unit)
    expect((await run(place, ["api", "POST", "/stock_levels", "-d", JSON.stringify(unit)])).code).toBe(0)
    await run(place, ["sync"])
    const conflicts = async () => JSON.parse((await run(place, ["sync", "status", "--json"])).out).sync_status
    expect(await conflicts()).toMatchObject({ conflicts: 1, pending: 0 })
    const resolved = await run(place, ["sync", "resolve", "1", "--set", "asset_number=MH-2"], {
      env: { FLIGHTCASE_NO_BACKGROUND: "" }
    })
    expect(resolved.code, resolved.err).toBe(0)
    let status: any
    for (let tries = 0; tries < 600; tries++) {
      status = await conflicts()
      const done = takeLock(join(place.home, "profiles", "default"), background_lock)
      done?.release()
      if (status.pending === 0 && done !== undefined) break
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
    expect(status).toMatchObject({ conflicts: 0, pending: 0 })
  })
})
