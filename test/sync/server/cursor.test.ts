import { describe, expect, it } from "vitest"
import { Effect } from "effect"
import { catalogueOf } from "../../../core/kernel/endpoints/endpoint.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import { syncSlice } from "../../../sync/server/api.ts"
import { handleOf } from "../../../sync/server/tables.ts"
import { both_engines, owner } from "../../app.ts"
import { openShop, shopSlices } from "../../core/kernel/lamp-shop.ts"
import { fills } from "../inspected-device.ts"
import { serverOfSuite } from "../opening.ts"

describe("the handle of a reader of the journal", () => {
  const server = serverOfSuite()
  const { create } = server
  it.each(fills)(
    "changes with the user's role, and the device's shared views change with it, filled %s",
    async (fill, snapshot_beyond) => {
      const roles: Array<string> = []
      for (const shift of ["Day", "Night"]) {
        const { id, name } = await create("/roles", { name: `${shift} ${fill}`, permissions: ["products.view"] })
        const view = { entity_type: "products", visibility: "shared", role_ids: [id], columns: ["name"] }
        await create("/custom_views", { name: `${shift}'s view`, ...view })
        roles.push(name)
      }
      const { secret, user_id } = await server.person({ roles: [roles[0]!] })
      const device = await server.filled({ snapshot_beyond }, secret)
      const views = async () =>
        (await device.tables())
          ["custom_views"]!.filter((row) => row["visibility"] === "shared")
          .map((row) => row["name"])
      const handle = async () =>
        (await server.get(`/sync/snapshot?replica_id=${device.id}`, secret)).body.snapshot.handle
      expect(await views()).toEqual(["Day's view"])
      const before = await handle()
      await server.must("PUT", `/users/${user_id}`, { roles: [roles[1]] })
      expect(await handle()).not.toBe(before)
      await device.sync()
      expect(await views()).toEqual(["Night's view"])
    }
  )
  it.each(both_engines)("is never used again when permissions are removed and restored, on %s", async (engine) => {
    const shop = await openShop(engine, catalogueOf([...shopSlices, syncSlice]))
    try {
      const handle = (grants: string) => shop.run(Effect.flatMap(Store, (store) => handleOf(store, owner, 1, grants)))
      const handles: Array<string> = []
      for (const grants of ["costs=true", "costs=false", "costs=true", "costs=false", "costs=true"]) {
        handles.push(await handle(grants))
        expect(await handle(grants)).toBe(handles.at(-1))
      }
      expect(new Set(handles).size).toBe(handles.length)
    } finally {
      await shop.close()
    }
  })
})
