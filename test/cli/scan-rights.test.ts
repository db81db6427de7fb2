import { expect, it } from "vitest"
import { placeOfSuite } from "./place.ts"

const place = placeOfSuite()
const { done, type, json } = place
it("scan in takes a code as its first word from those who may see no orders", async () => {
  await done("products create --name Head --sku HEAD --stock-method serialised")
  await done("stock-levels create --product HEAD --store 1 --asset-number A-1")
  const { opportunity } = await json("quote new --subject Gala --from 2030-07-01 --to 2030-07-02 --line HEAD")
  await done(`quote convert ${opportunity.id} -y`)
  await done(`scan out ${opportunity.id} A-1`)
  const permissions = ["opportunities.fulfil", "stock.view", "products.view", "containers.view"]
  await place.house.post("/roles", { name: "Dock", permissions })
  const { secret } = await place.house.person({ roles: ["Dock"] })
  const env = { FLIGHTCASE_TOKEN: secret }
  expect(await type("scan in A-1", { env })).toMatchObject({ code: 0, out: "A-1\tchecked_in\tA-1\n" })
})
