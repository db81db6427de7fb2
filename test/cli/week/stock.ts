/** Initial data of the week: stores, users with the system roles, customers, stock, a case. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { words } from "../../words.ts"
import type { House } from "./house.ts"

export const stores = { Bristol: 1, Berlin: 2 } as const
export type StoreName = keyof typeof stores
const zones = { Bristol: "Europe/London", Berlin: "Europe/Berlin" } as const
export const product_names = {
  HEAD: "Moving head",
  CAM: "Camera",
  LENS: "Lens",
  CABLE: "Cable",
  PAR: "PAR 64",
  CAMKIT: "Camera kit"
}
export type Sku = keyof typeof product_names

/** Serialised units by store; quantity of bulk goods by store. */
export const units: {
  readonly [sku in "HEAD" | "CAM" | "LENS"]: { readonly [store in StoreName]: ReadonlyArray<string> }
} = {
  HEAD: { Bristol: ["H-1", "H-2", "H-3", "H-4", "H-5", "H-6", "H-7", "H-8"], Berlin: ["H-21", "H-22", "H-23", "H-24"] },
  CAM: { Bristol: ["C-1", "C-2", "C-3"], Berlin: ["C-21"] },
  LENS: { Bristol: ["L-1", "L-2", "L-3"], Berlin: ["L-21"] }
}
export const bulk: { readonly [sku in "CABLE" | "PAR"]: { readonly [store in StoreName]: number } } = {
  CABLE: { Bristol: 60, Berlin: 30 },
  PAR: { Bristol: 24, Berlin: 12 }
}
/** Components of the only kit. */
export const kit_parts = { CAM: 1, LENS: 1 } as const
const customers = ["Acme Events", "Zoë's Bühne", "Kino Nord", "Band on Tour"] as const
export const supplier = "Rig Hire"
export const sealed_case = { code: "CASE-7", units: ["H-5", "H-6"] } as const

const house_file = {
  company: {
    name: "Northlight",
    city: "Bristol",
    timezone: "Europe/London",
    base_currency: "EUR",
    email: "hire@northlight.example"
  },
  taxes: [{ name: "VAT", rate: "19", standard: true }],
  stores: [
    { name: "Bristol", city: "Bristol", timezone: zones.Bristol },
    { name: "Berlin", city: "Berlin", timezone: zones.Berlin }
  ],
  people: [
    { name: "Ann Reed", email: "ann@northlight.example", roles: ["Sales"] },
    { name: "Ben Ito", email: "ben@northlight.example", roles: ["Warehouse"] },
    { name: "Cora Lund", email: "cora@northlight.example", roles: ["Operations Manager"] }
  ]
}

export const furnish = async (house: House): Promise<void> => {
  const { owner } = house
  writeFileSync(join(house.folder, "house.json"), JSON.stringify(house_file))
  await owner.types(["setup", "--file", "house.json"])
  await owner.types(["sync"])
  for (const [person, full] of [
    [house.ann, "Ann Reed"],
    [house.ben, "Ben Ito"],
    [house.cora, "Cora Lund"]
  ] as const) {
    const users = (await owner.types(["users", "list", "-q", `name_eq=${full}`, "--json"])).rows("users")
    const user = String(users[0]?.["id"])
    if (users[0]?.["is_active"] !== true) await owner.types(["users", "activate", user], { exits: "any" })
    const secret = (
      await owner.types(["tokens", "create", "--name", full, "--abilities", "*", "--user-id", user, "--json"])
    ).json("token.secret")
    await person.types(["login", house.url, "--token", String(secret), "--name", `${person.name}'s`])
  }
  for (const name of [...customers, supplier])
    await owner.types([...words("members create --membership-type organisation --sale-tax-class-id 1 --name"), name])
  // Berlin refuses shortages.
  await owner.types(["stores", "update", "Berlin", "--shortage-policy", "block"])
  await stock(house)
  await owner.types(["sync"])
  for (const person of house.people) await person.types(["sync"])
}

const stock = async ({ owner }: House): Promise<void> => {
  const price = { HEAD: "40", CAM: "90", LENS: "25", CABLE: "1", PAR: "5", CAMKIT: "100" }
  for (const sku of ["HEAD", "CAM", "LENS", "CABLE", "PAR", "CAMKIT"] as const) {
    const method = sku in units ? "serialised" : "bulk"
    await owner.types([
      ...words(`products create --sku ${sku} --stock-method ${method} --replacement-charge 90000 --name`),
      product_names[sku]
    ])
    const rate = `--rate-definition-id daily-rate --transaction-type rental --price ${price[sku]} --currency EUR`
    await owner.types(words(`products rates create ${sku} ${rate}`))
  }
  for (const [sku, of] of Object.entries(units))
    for (const [store, codes] of Object.entries(of))
      for (const code of codes)
        await owner.types(words(`stock-levels create --product ${sku} --store ${store} --asset-number ${code}`))
  for (const [sku, of] of Object.entries(bulk)) {
    const product = (await owner.types(["products", "show", sku, "--json"])).json("product.id")
    const bulk_levels = ["stock-levels", "list", "-q", `product_id_eq=${String(product)}`, "--json"]
    const levels = (await owner.types(bulk_levels)).rows("stock_levels")
    for (const [store, held] of Object.entries(of)) {
      const level = levels.find((row) => row["store_id"] === stores[store as StoreName])
      const quantity = ["--quantity-held", String(held)]
      await owner.types(
        level === undefined
          ? ["stock-levels", "create", "--product", sku, "--store", store, ...quantity]
          : ["stock-levels", "update", String(level["id"]), ...quantity]
      )
    }
  }
  for (const [part, quantity] of Object.entries(kit_parts))
    await owner.types(words(`products components create CAMKIT --component-product-id ${part} --quantity ${quantity}`))
  const box = words(`containers temporary create --barcode ${sealed_case.code} --store Bristol --name`)
  await owner.types([...box, "Case 7"])
  await owner.types(["pack", sealed_case.code], { codes: sealed_case.units })
  await owner.types(["containers", "seal", sealed_case.code])
}
