import { it } from "vitest"
import { openApp } from "../../../app.ts"
import { openHouse, paperOf, sketch } from "./house.ts"
it("x", async () => {
  const app = await openApp()
  const { order } = await openHouse(app)
  for (const kind of ["pick_list", "delivery_note", "return_note"] as const)
    console.log(kind + "\n" + sketch(await paperOf(app, order, kind)))
  await app.close()
})
