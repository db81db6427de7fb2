/**
 * Checks golden e-invoices as receivers do: CII by its schema, both forms by the official Schematron of EN 16931. The
 * tools come from the package registry; the Schematron, compiled to XSLT, from its publisher or the folder that
 * FLIGHTCASE_EN16931_XSLT names. Checks are skipped if either is unavailable.
 */
import { createHash } from "node:crypto"
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync
} from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { installedTools, runProgram } from "../../../installed-tools.ts"

const here = fileURLToPath(new URL("./einvoice-tools/", import.meta.url))
const golden = fileURLToPath(new URL("../../../fixtures/golden/einvoice/", import.meta.url))
const forms = ["ubl", "cii"] as const
type Form = (typeof forms)[number]
const filesOf = (form: Form): ReadonlyArray<string> =>
  readdirSync(golden)
    .filter((name) => name.endsWith(`.${form}.xml`))
    .map((name) => join(golden, name))
const slow_millis = 600_000
const release = "validation-1.3.16"
const stylesheet = (form: Form): string => `EN16931-${form.toUpperCase()}-validation.xslt`

const tools = await installedTools(here)

/** The stylesheet of a form, fetched once; undefined if it is unavailable. */
const fetchedStylesheet = async (form: Form, folder: string): Promise<string | undefined> => {
  const given = process.env["FLIGHTCASE_EN16931_XSLT"]
  if (given !== undefined) return join(given, stylesheet(form))
  const path = join(folder, stylesheet(form))
  if (existsSync(path)) return path
  const address = `https://raw.githubusercontent.com/ConnectingEurope/eInvoicing-EN16931/${release}/${form}/xslt/${stylesheet(form)}`
  const text = await fetch(address, { signal: AbortSignal.timeout(30_000) })
    .then((answer) => (answer.ok ? answer.text() : undefined))
    .catch(() => undefined)
  if (text === undefined) return undefined
  writeFileSync(`${path}.${process.pid}`, text)
  renameSync(`${path}.${process.pid}`, path)
  return path
}

describe.skipIf(tools === undefined)("golden e-invoices", () => {
  const folder = tools ?? ""
  const work = join(folder, `run-${process.pid}`)
  const schema = join(folder, "node_modules/@stackforge-eu/factur-x/schema/en16931/FACTUR-X_EN16931.xsd")
  const judged = (...files: ReadonlyArray<string>) =>
    runProgram(process.execPath, [join(folder, "validate.mjs"), schema, ...files], folder)
  beforeAll(() => {
    mkdirSync(work, { recursive: true })
    copyFileSync(join(here, "validate.mjs"), join(folder, "validate.mjs"))
  })
  afterAll(() => rmSync(work, { recursive: true, force: true }))

  it("are valid by the CII schema, which rejects an invalid file", async () => {
    const [first = ""] = filesOf("cii")
    expect(await judged(...filesOf("cii"))).toEqual({ code: 0, out: "" })
    const wrong = join(work, "wrong.xml")
    writeFileSync(wrong, readFileSync(first, "utf8").replaceAll("ram:TypeCode>", "ram:Type>"))
    expect((await judged(wrong)).out).toContain("This element is not expected")
  })

  it.for(forms)(
    "break no rule of the official Schematron as %s, while a wrong total breaks two",
    { timeout: slow_millis },
    async (form, { skip }) => {
      const found = await fetchedStylesheet(form, folder)
      if (found === undefined) return skip(`the official Schematron of EN 16931 (${release}) cannot be fetched here`)
      const hash = createHash("sha256").update(readFileSync(found)).digest("hex")
      const compiled = join(folder, `${hash.slice(0, 12)}.sef.json`)
      const xslt3 = (...args: ReadonlyArray<string>) =>
        runProgram(join(folder, "node_modules/.bin/xslt3"), args, folder)
      if (!existsSync(compiled))
        expect(await xslt3(`-xsl:${found}`, `-export:${compiled}`, "-nogo")).toMatchObject({ code: 0 })
      const failed = async (file: string): Promise<ReadonlyArray<string>> => {
        const report = join(work, "report.xml")
        expect(await xslt3(`-s:${file}`, `-xsl:${compiled}`, `-o:${report}`)).toMatchObject({ code: 0 })
        return [...readFileSync(report, "utf8").matchAll(/<svrl:failed-assert[^>]*\bid="([^"]+)"/g)].map(
          ([, id]) => id ?? ""
        )
      }
      for (const file of filesOf(form)) expect([file, await failed(file)]).toEqual([file, []])
      const wrong = join(work, `wrong.${form}.xml`)
      const text = readFileSync(join(golden, `final.${form}.xml`), "utf8")
      writeFileSync(wrong, text.replace(/(TaxInclusiveAmount[^>]*|GrandTotalAmount)>840\.00</, "$1>840.01<"))
      expect(await failed(wrong)).toEqual(expect.arrayContaining(["BR-CO-15", "BR-CO-16"]))
    }
  )
})
