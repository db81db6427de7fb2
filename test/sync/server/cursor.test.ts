import { expect, it } from "vitest"
import { Effect } from "effect"
import { catalogueOf } from "../../../core/kernel/catalogue.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import { syncSlice } from "../../../sync/server/api.ts"
import { handleOf } from "../../../sync/server/cursor.ts"
import { engines, owner } from "../../app.ts"
import { openShop, shopSlices } from "../../core/kernel/lamp-shop.ts"
import { enrolled, openFillTestServer } from "../filling.ts"

it.each([
  ["from rows", 0],
  ["from events", Number.POSITIVE_INFINITY]
] as const)(
  "a person given another role that grants the same has that role's views and no more those of the one before, filled %s",
  async (_, snapshot_beyond) => {
    const business = await openFillTestServer("sqlite")
    const make = async (path: string, body: object): Promise<any> => {
      const answer = await business.ask("POST", path, body)
      expect(answer.status, JSON.stringify(answer.body)).toBe(201)
      return Object.values(answer.body)[0]
    }
    const role = (name: string) => make("roles", { name, permissions: ["products.access", "products.view"] })
    const [day, night] = [await role("Day shift"), await role("Night shift")]
    for (const { id, name } of [day, night]) {
      await make("custom_views", {
        name: `${name}'s view`,
        entity_type: "products",
        visibility: "shared",
        role_ids: [id],
        columns: ["name"]
      })
    }
    const user = await make("users", { name: "Ann", email: "ann@example.com", roles: [day.name], active: true })
    const { secret } = await make("tokens", { name: "Ann", abilities: ["*"], user_id: user.id })
    const device = await enrolled(business, "van", { snapshot_beyond }, secret)
    const views = async () =>
      (await device.tables())["custom_views"]!.filter((row) => row["visibility"] === "shared").map((row) => row["name"])
    const handle = async () =>
      (await business.ask("GET", `sync/snapshot?replica_id=${device.id}`, undefined, secret)).body.snapshot.handle
    try {
      await device.sync()
      expect(await views()).toEqual(["Day shift's view"])
      const before = await handle()
      expect((await business.ask("PUT", `users/${user.id}`, { roles: [night.name] })).status).toBe(200)
      expect(await handle()).not.toBe(before)
      await device.sync()
      expect(await views()).toEqual(["Night shift's view"])
    } finally {
      await device.close()
      await business.close()
    }
  }
)

it.each(engines)(
  "rights taken away and given again, again and again, never bring a handle back, on %s",
  async (engine) => {
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
  }
)
