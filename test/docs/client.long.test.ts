/** `flightcase/client` as programs use it: its types in other projects, and the guide's recipes against a server. */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { runProgram } from "../installed-tools.ts"
import { type Listening, openListener, owner_token, serve, type Serving } from "../server/serving.ts"

const root = join(import.meta.dirname, "../..")
const folder = mkdtempSync(join(tmpdir(), "flightcase-client-"))
const [head = "", ...recipes] = [
  ...readFileSync(join(root, "docs/CLIENT.md"), "utf8").matchAll(/^```ts\n(.*?)^```$/gms)
].map(([, text = ""]) => text)

/** Type-checks files strictly, with the declarations of libraries and only the named types. */
const check = (
  name: string,
  files: ReadonlyArray<string>,
  more: { readonly lib: ReadonlyArray<string>; readonly types: ReadonlyArray<string> }
) => {
  const options = {
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    skipLibCheck: false,
    noEmit: true,
    target: "es2022",
    module: "nodenext",
    typeRoots: [join(root, "node_modules/@types")],
    ...more
  }
  writeFileSync(join(folder, `${name}.json`), JSON.stringify({ compilerOptions: options, files }))
  return runProgram(join(root, "node_modules/.bin/tsc"), ["-p", `${name}.json`], folder)
}

describe("flightcase/client", () => {
  let server: Serving
  let http: Listening
  beforeAll(async () => {
    const installed = join(folder, "node_modules/flightcase")
    mkdirSync(installed, { recursive: true })
    for (const name of ["package.json", "out/client"])
      cpSync(join(root, name), join(installed, name), { recursive: true })
    writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }))
    for (const [at, text] of recipes.entries()) writeFileSync(join(folder, `recipe-${at + 1}.ts`), `${head}\n${text}`)
    server = await serve("sqlite", { public_url: "https://hire.flightcase.test" })
    http = await openListener(server.app.answer)
  })
  afterAll(async () => {
    await http.stop(1_000)
    await server.close()
    rmSync(folder, { recursive: true, force: true })
  })

  it("has types that compile with and without the DOM's, and reject wrong types, filters and missing arguments", async () => {
    writeFileSync(
      join(folder, "plain.ts"),
      `import { createClient, type Invoice, type Member } from "flightcase/client"
const client = createClient({ url: "https://hire.example.com" })
for await (const member of client.members.list({ per_page: 100, q: { "cf.colour_eq": "red" } })) {
  const one: Member = member
  const name: string = one.name
}
const { invoice } = await client.invoices.show(7)
const total: string = invoice.total
const same: Invoice = invoice
// @ts-expect-error: money is a text
const amount: number = invoice.total
// @ts-expect-error: a product needs a name
client.products.create({})
// @ts-expect-error: no such filter
client.products.list({ q: { nam_eq: "Lamp" } })
// @ts-expect-error: no such include
client.products.show(7, { include: "weather" })
// @ts-expect-error: no such kind of member
client.members.create({ name: "Ann", membership_type: "person" })
// @ts-expect-error: an id is missing
client.products.show()
`
    )
    expect(await check("plain", ["plain.ts"], { lib: ["es2022"], types: [] })).toEqual({ code: 0, out: "" })
    expect(await check("browser", ["plain.ts"], { lib: ["es2022", "dom"], types: [] })).toEqual({ code: 0, out: "" })
  })
  it("has types with which the guide's ten recipes compile in strict mode", async () => {
    expect(recipes.length).toBe(10)
    const files = recipes.map((_, at) => `recipe-${at + 1}.ts`)
    expect(await check("node", files, { lib: ["es2024"], types: ["node"] })).toEqual({ code: 0, out: "" })
  })
  it("gives the documented results when the guide's recipes run in order", async () => {
    const printed: Array<string> = []
    for (const at of recipes.keys()) {
      const environment = { FLIGHTCASE_URL: http.url, FLIGHTCASE_TOKEN: owner_token }
      const program = `Object.assign(process.env, ${JSON.stringify(environment)}); await import("./recipe-${at + 1}.ts")`
      const { code, out } = await runProgram(process.execPath, ["--input-type=module", "--eval", program], folder)
      expect({ recipe: at + 1, code, out }).toEqual({ recipe: at + 1, code: 0, out: expect.any(String) })
      printed.push(out)
    }
    const [, , product, free, order, shop, refused, , attached] = printed
    expect(product).toMatch(/^Fog machine has id \d+\n$/)
    expect(free).toBe("All are free.\n")
    expect(order).toMatch(/100\.00/)
    expect(shop).toMatch(/^(\d+)\n\1\n$/)
    expect(refused).toContain("The name field is required.")
    expect(attached).toBe("manual.txt 20\n")
    expect(readFileSync(join(folder, "invoice.pdf"), "latin1")).toMatch(/^%PDF-/)
    expect(printed.at(-1)).toMatch(/drawn|made|ready/)
  })
})
