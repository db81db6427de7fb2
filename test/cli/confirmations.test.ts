/** Commands that cannot be undone ask on a terminal, and nowhere else. */
import { afterEach, expect, it, vi } from "vitest"
import { catalogue } from "../../core/catalogue.ts"
import { allEndpoints } from "../../cli/context/routing.ts"
import { verbsOf } from "../../cli/derived/names.ts"
import { placeOfSuite } from "./place.ts"

const confirm = vi.hoisted(() => vi.fn<(question: string) => Promise<boolean>>())
vi.mock(import("../../cli/output/prompt.ts"), async (original) => ({ ...(await original()), confirm }))
const { atTerminal, done, json } = placeOfSuite()

afterEach(() => void confirm.mockReset())
const questions = (): ReadonlyArray<string> => confirm.mock.calls.map(([question]) => question)

it("every DELETE, and every POST that ends something for good, is declared destructive", async () => {
  const all = verbsOf(await allEndpoints())
  expect(all.filter(({ endpoint }) => endpoint.method === "DELETE" && !endpoint.destructive)).toEqual([])
  const marked = all.filter(({ endpoint }) => endpoint.method !== "DELETE" && endpoint.destructive)
  expect(marked.map(({ words }) => words.join(" ")).toSorted()).toEqual([
    "boards rotate",
    "containers dissolve",
    "documents void",
    "invoices void",
    "members anonymise",
    "members merge",
    "products merge",
    "purchase-orders cancel",
    "stocktakes cancel",
    "stocktakes close",
    "transfers cancel",
    "webhooks rotate-secret"
  ])
  expect(catalogue.endpoints.filter(({ destructive, kind }) => destructive && kind !== "command")).toEqual([])
})

it("a destructive command asks on a terminal, changes nothing if declined, and takes --yes and -y", async () => {
  for (const name of ["Acme", "Acme again", "Acme once more"])
    await done(["members", "create", "--name", name, "--membership-type", "organisation"])
  const { invoice } = await json([
    ...["invoices", "create", "-d"],
    JSON.stringify({ member_id: 2, items: [{ name: "Heads", quantity: "1", unit_price: "25.00" }] })
  ])
  await done(`invoices issue ${invoice.id}`)
  confirm.mockResolvedValue(false)
  const declined = await atTerminal(`invoices void ${invoice.id}`)
  expect(declined).toMatchObject({ code: 2, err: expect.stringContaining("Nothing was changed.") })
  expect((await json(`invoices show ${invoice.id}`)).invoice.status).toBe("issued")
  expect((await atTerminal("members merge 2 --secondary-id 3")).code).toBe(2)
  expect((await atTerminal("members merge Acme --secondary-id 99")).code).toBe(2)
  await done("products create --name Lamp")
  await done("products create --name Lampe")
  expect((await atTerminal("products merge Lamp --secondary-id Lampe")).code).toBe(2)
  expect(questions()).toEqual([
    `invoices void ${invoice.id}: sure?`,
    "members merge 2: Acme again (id 3) goes, and is merged into Acme (id 2): sure?",
    "members merge Acme: 99 goes, and is merged into Acme (id 2): sure?",
    "products merge Lamp: Lampe (id 2) goes, and is merged into Lamp (id 1): sure?"
  ])

  confirm.mockReset().mockResolvedValue(true)
  expect((await atTerminal("products merge Lamp --secondary-id Lampe")).code).toBe(0)
  expect((await json("products list")).products).toHaveLength(1)
  const { out } = await atTerminal(`invoices void ${invoice.id} --json`)
  expect(JSON.parse(out).invoice.status).toBe("voided")
  expect(questions()).toHaveLength(2)
  expect((await atTerminal("members merge 2 --secondary-id 3 -y")).code).toBe(0)
  expect((await atTerminal("members merge 2 --secondary-id 4 --yes")).code).toBe(0)
  expect(questions()).toHaveLength(2)
})

it("a deletion says on a terminal that the product is on hire, or the order invoiced", async () => {
  await done(["api", "PUT", "/api/v1/settings/availability", "-d", '{"settings":{"resolution":"hourly"}}'])
  const { product } = await json(["products", "create", "--name", "Winch", "--sku", "WINCH", "--stock-method", "bulk"])
  const { stock_levels } = await json(`stock-levels list -q product_id_eq=${product.id}`)
  await done(`stock-levels update ${stock_levels[0].id} --quantity-held 6`)
  await done([
    "quote",
    "new",
    "--subject",
    "Gala",
    "--from",
    new Date(Date.now() - 3 * 3_600_000).toISOString(),
    "--to",
    "+3d",
    "--member",
    "2",
    "--line",
    "WINCH*4"
  ])
  await done("quote convert 1")
  await done("scan out 1 WINCH*3")
  const issued = async (type: string) => {
    const { invoice } = await json(["api", "POST", "/api/v1/opportunities/1/invoices", "-d", JSON.stringify({ type })])
    await done(`invoices issue ${invoice.id}`)
    return (await json(`invoices show ${invoice.id}`)).invoice.number
  }
  await issued("proforma")
  const number = await issued("standard")
  confirm.mockResolvedValue(false)
  for (const line of ["products delete WINCH", "opportunities delete 1"])
    expect(await atTerminal(line)).toMatchObject({ code: 2, err: expect.stringContaining("Nothing was changed.") })
  expect(questions()).toEqual([
    "products delete WINCH: it is on hire with Gala: sure?",
    `opportunities delete 1: it is invoiced (${number}): sure?`
  ])
})

it("a product tax class is deleted once the products and rules that lose it are confirmed", async () => {
  await done(["setup", "--tax", "VAT=20", "--tax", "Reduced=5", "--no-input"])
  for (const name of ["Lunch", "Tea"]) await done(["products", "create", "--name", name, "--tax-class-id", "Reduced"])
  confirm.mockResolvedValue(false)
  for (const name of ["Reduced", "Exempt"]) await atTerminal(`product-tax-classes delete ${name}`)
  expect(questions()[0]).toBe(
    "product-tax-classes delete Reduced: 2 products and 1 tax rule lose it, so that those products are untaxed: sure?"
  )
})

it("counts and transfers ask before they are cancelled, and a count before it is closed", async () => {
  await done("stores create --name Leeds")
  await done("products create --name Cable --sku CABLE")
  await done("stock-levels update 1 --quantity-held 6")
  await done("count start --store 1")
  await done("transfers create --to Leeds CABLE*2")
  confirm.mockResolvedValue(false)
  for (const line of ["count close --missing written-off", "count close", "count cancel", "transfers cancel 1"])
    expect(await atTerminal(line)).toMatchObject({ code: 2, err: expect.stringContaining("Nothing was changed.") })
  expect(questions()).toEqual([
    "Close stocktake 1, and record what is missing as written off: sure?",
    "Close stocktake 1, and record what is missing as lost: sure?",
    "Cancel stocktake 1 with all its scans: sure?",
    "Cancel transfer 1: sure?"
  ])
  for (const line of ["count cancel --yes", "transfers cancel 1 --yes"]) expect((await atTerminal(line)).code).toBe(0)
  expect(questions()).toHaveLength(4)
})

it("orders cancel and change-status ask before an order is cancelled, and take -y as other verbs do", async () => {
  await done("products create --name Truss --sku TRUSS")
  const { opportunity } = await json("quote new --subject Gala --from 2030-07-01 --to 2030-07-02 --line TRUSS")
  await done(`quote convert ${opportunity.id} -y`)
  confirm.mockResolvedValue(false)
  for (const line of ["orders cancel", "orders change-status --to cancelled", "orders change-status --status 6"])
    expect(await atTerminal(line.replace(/^\S+ \S+/, `$& ${opportunity.id}`))).toMatchObject({
      code: 2,
      err: expect.stringContaining("Nothing was changed.")
    })
  expect(new Set(questions())).toEqual(new Set([expect.stringMatching(/^Cancel \S+ Gala \(active\)\?$/)]))
  expect(questions()).toHaveLength(3)
  for (const named of [opportunity.id, opportunity.number])
    expect((await atTerminal(`opportunities change-status ${named} --status 6`)).code).toBe(2)
  expect(new Set(questions()).size).toBe(1)
  expect(questions()).toHaveLength(5)
  confirm.mockClear()
  expect((await atTerminal(`orders change-status ${opportunity.id} --to complete`)).code).toBe(0)
  expect((await atTerminal(`orders change-status ${opportunity.id} --to order`)).code).toBe(0)
  expect((await atTerminal(`orders change-status ${opportunity.id} --to cancelled -y`)).code).toBe(0)
  expect((await atTerminal(`opportunities reinstate ${opportunity.id}`)).code).toBe(0)
  expect((await atTerminal(`opportunities change-status ${opportunity.id} --status 5`)).code).toBe(0)
  expect((await atTerminal(`opportunities reopen ${opportunity.id}`)).code).toBe(0)
  expect((await atTerminal(`opportunities change-status ${opportunity.id} --status 6 --yes`)).code).toBe(0)
  expect(questions()).toEqual([])
})

it("without a terminal, or with --no-input, no question comes", async () => {
  await done("count start --store 1")
  await done("count cancel")
  await done("boards create --name Wall --store-id 1")
  await done("boards rotate 1")
  expect((await atTerminal("boards rotate 1 --no-input")).code).toBe(0)
  expect(questions()).toEqual([])
})
