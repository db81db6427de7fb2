import { describe, expect, it } from "vitest"
import { engines } from "../../app.ts"
import { appHouse } from "../../app-house.ts"

describe.each(engines)("stores on %s", (engine) => {
  const w = appHouse(engine)

  it("warn of a name of another store when it is set, and refuse nothing", async () => {
    const first = await w.post("/stores", { name: "Leeds" })
    expect(first.body).not.toHaveProperty("meta")
    const { id } = first.body.store
    const warnings = [`Store ${id} is called Leeds, too; give one of the two another name.`]
    const second = await w.post("/stores", { name: "LEEDS" })
    expect([second.status, second.body.meta]).toEqual([201, { warnings }])
    const path = `/stores/${second.body.store.id}`
    expect((await w.put(path, { name: "LEEDS", city: "Leeds" })).body).not.toHaveProperty("meta")
    expect((await w.put(path, { name: "York" })).body).not.toHaveProperty("meta")
    expect((await w.put(path, { name: "Leeds" })).body.meta).toEqual({ warnings })
  })
})
