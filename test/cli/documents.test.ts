/** Documents on the command line, addressed by the names of records, online and from a replica. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { beforeAll, expect, it } from "vitest"
import { placeOfSuite } from "./place.ts"

const place = placeOfSuite()
const { done, json, type } = place
const remotely = (line: string) => json(`${line} --remote --no-input`)
let number: string
beforeAll(async () => {
  await place.login()
  const member_id = await place.house.customer({ name: "Ann Ltd" })
  const { id } = await place.house.create("/invoices", { member_id, items: [{ name: "Lamp", unit_price: "50.00" }] })
  number = (await place.house.create(`/invoices/${id}/issue`)).number
  await done("sync")
})
const isPdf = (file: string): boolean => readFileSync(file).subarray(0, 5).toString() === "%PDF-"

it("a document is generated for an invoice by its number, and downloaded", async () => {
  const file = join(place.folder, "invoice.pdf")
  const { document } = await remotely(`documents generate --type invoice --invoice ${number} -o ${file}`)
  expect(isPdf(file)).toBe(true)
  expect(document).toMatchObject({ file, bytes: readFileSync(file).length })
})
it("a document requested offline is downloaded by its number once the server rendered it", async () => {
  const { document } = await json(`documents generate --type invoice --invoice ${number} --offline`)
  expect(document).toMatchObject({ status: "pending", document_number: null })
  expect((await type(`documents get ${document.id} --offline`)).code).toBe(7)
  const here = async (flag = "") => (await json(`documents show ${document.id} ${flag}`.trim())).document.status
  expect(await here()).toBe("pending")
  await done("sync")
  const there = async () => (await remotely(`documents show ${document.id}`)).document
  await expect.poll(async () => (await there()).status, { timeout: 20_000 }).toBe("generated")
  // How drawing goes is known to the server alone.
  expect([await here("--offline"), await here()]).toEqual(["pending", "generated"])
  await done("sync")
  const { document_number } = await there()
  const file = join(place.folder, "fetched.pdf")
  await done(`documents get ${document_number} -o ${file}`)
  expect(isPdf(file)).toBe(true)
  await done(`documents finalise ${document_number}`)
  const { documents } = await json("documents list")
  expect(documents.map((row) => row.status)).toContain("finalised")
  await done(`documents void ${document_number} --reason Twice`)
})
it("a batch of one document is completed by a job of the server", async () => {
  const { count, job_id } = await remotely(`documents batch --type invoice --invoice ${number}`)
  expect(count).toBe(1)
  await expect.poll(async () => (await remotely(`jobs show ${job_id}`)).job.status, { timeout: 20_000 }).toBe("done")
})
it("documents generate -o downloads the new document at once on a device, and is refused offline", async () => {
  const file = join(place.folder, "at-once.pdf")
  const line = `documents generate --type invoice --invoice ${number} -o ${file}`
  const refused = await type(`${line} --offline`)
  expect([refused.code, refused.err]).toEqual([7, expect.stringContaining("Leave out -o")])
  await done(line)
  expect(isPdf(file)).toBe(true)
  expect((await done(`documents verify ${file}`)).out).toContain("unchanged")
  const { document } = await json(`documents verify ${file} --remote`)
  const none = await type(`documents get ${document.id} --certificate`)
  expect([none.code, none.err]).toEqual([1, expect.stringContaining("Nobody has accepted")])
})
it("--wait waits for a batch and prints its counts", async () => {
  const { out } = await done(`documents batch --type invoice --invoice ${number} --wait`)
  expect(out).toBe("done\t1\nfailed\t0\n")
})
it("documents generate refuses no subject, two subjects, and a type that does not suit the subject", async () => {
  const none = await type("documents generate --type invoice")
  expect([none.code, none.err]).toEqual([2, expect.stringContaining("--order, --invoice")])
  expect((await type("documents generate --type invoice --invoice 1 --order 1")).code).toBe(2)
  expect((await type(`documents generate --type quotation --invoice ${number}`)).code).toBe(5)
})
