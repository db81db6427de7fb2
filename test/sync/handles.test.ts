import { expect, it } from "vitest"
import { Effect } from "effect"
import { catalogueOf } from "../../core/kernel/catalogue.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { syncSlice } from "../../sync/ends/api.ts"
import { handleOf } from "../../sync/ends/place.ts"
import { engines, owner } from "../app.ts"
import { openShop, shopSlices } from "../core/kernel/lamp-shop.ts"

it.each(engines)("rights taken away and given again, again and again, never bring a handle back, on %s", async (engine) => {
  const shop = await openShop(engine, catalogueOf([...shopSlices, syncSlice]))
  try {
    const handle = (grants: string) => shop.run(Effect.flatMap(Store, (store) => handleOf(store, owner, 1, grants)))
    const handles: Array<string> = []
    for (const grants of ["costs=true", "costs=false", "costs=true", "costs=false", "costs=true"]) {
      handles.push(await handle(grants))
      expect(await handle(grants)).toBe(handles.at(-1))
    }
    expect(new Set(handles).size).toBe(handles.length)
  } finally { await shop.close() }
})
