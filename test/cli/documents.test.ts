/** Documents from the command line: by what people call things, at the server and from a replica. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, expect, it } from "vitest"
import { openPlace, owner_token, type Place, runHere as run } from "./session.ts"

let place: Place
const remotely = async (...words: ReadonlyArray<string>): Promise<any> => {
  const ran = await run(place, [...words, "--remote", "--json", "--no-input"])
  expect(ran.code, ran.err).toBe(0)
  return JSON.parse(ran.out)
}
let invoice: { readonly id: number; readonly number: string }
beforeAll(async () => {
  place = await openPlace()
  expect((await run(place, ["login", place.url, "--token", owner_token, "--name", "van"])).code).toBe(0)
  const { member } = await remotely(
    "api",
    "POST",
    "/members",
    "-d",
    '{"name":"Ann Ltd","membership_type":"organisation"}'
  )
  const body = JSON.stringify({ member_id: member.id, items: [{ name: "Lamp", unit_price: "50.00" }] })
  const made = (await remotely("api", "POST", "/invoices", "-d", body)).invoice
  invoice = (await remotely("api", "POST", `/invoices/${made.id}/issue`, "-d", "{}")).invoice
  expect((await run(place, ["sync"])).code).toBe(0)
})
afterAll(() => place.close())
const isPdf = (file: string): boolean => readFileSync(file).subarray(0, 5).toString() === "%PDF-"

it("is generated for an invoice by its number, and fetched at once", async () => {
  const file = join(place.folder, "invoice.pdf")
  const made = await run(place, [
    ...["documents", "generate", "--type", "invoice", "--invoice", invoice.number],
    ...["-o", file, "--remote", "--json"]
  ])
  expect(made.code, made.err).toBe(0)
  expect(isPdf(file)).toBe(true)
  expect(JSON.parse(made.out).document).toMatchObject({ file, bytes: readFileSync(file).length })
})
it("is recorded without a network, and fetched by its number once the server drew it", async () => {
  const made = await run(place, [
    "documents",
    "generate",
    "--type",
    "invoice",
    "--invoice",
    invoice.number,
    "--json",
    "--offline"
  ])
  expect(made.code, made.err).toBe(0)
  const { document } = JSON.parse(made.out)
  expect(document).toMatchObject({ status: "pending", document_number: null })
  expect((await run(place, ["documents", "get", String(document.id), "--offline"])).code).toBe(7)
  expect((await run(place, ["sync"])).code).toBe(0)
  await expect
    .poll(async () => (await remotely("documents", "show", String(document.id))).document.status, { timeout: 20_000 })
    .toBe("generated")
  expect((await run(place, ["sync"])).code).toBe(0)
  const { document: drawn } = await remotely("documents", "show", String(document.id))
  const file = join(place.folder, "fetched.pdf")
  const got = await run(place, ["documents", "get", drawn.document_number, "-o", file])
  expect(got.code, got.err).toBe(0)
  expect(isPdf(file)).toBe(true)
  expect((await run(place, ["documents", "finalise", drawn.document_number])).code).toBe(0)
  const listed = await run(place, ["documents", "list", "--json"])
  expect(JSON.parse(listed.out).documents.map((row: { status: string }) => row.status)).toContain("finalised")
  expect((await run(place, ["documents", "void", drawn.document_number, "--reason", "Twice"])).code).toBe(0)
})
it("is generated in a batch by the server", async () => {
  const { count, job_id } = await remotely("documents", "batch", "--type", "invoice", "--invoice", invoice.number)
  expect(count).toBe(1)
  await expect.poll(async () => (await remotely("jobs", "show", job_id)).job.status, { timeout: 20_000 }).toBe("done")
})
it("is fetched at once on an online device, and not attempted offline", async () => {
  const file = join(place.folder, "at-once.pdf")
  const words = ["documents", "generate", "--type", "invoice", "--invoice", invoice.number, "-o", file]
  const refused = await run(place, [...words, "--offline"])
  expect([refused.code, refused.err]).toEqual([7, expect.stringContaining("Leave out -o")])
  const made = await run(place, words)
  expect(made.code, made.err).toBe(0)
  expect(isPdf(file)).toBe(true)
  const known = await run(place, ["documents", "verify", file])
  expect([known.code, known.out]).toEqual([0, expect.stringContaining("unchanged")])
  const { document } = JSON.parse((await run(place, ["documents", "verify", file, "--json", "--remote"])).out)
  const none = await run(place, ["documents", "get", String(document.id), "--certificate"])
  expect([none.code, none.err]).toEqual([1, expect.stringContaining("Nobody has accepted")])
})
it("shows a batch's progress until it is complete", async () => {
  const words = ["documents", "batch", "--type", "invoice", "--invoice", invoice.number, "--wait"]
  const made = await run(place, words)
  expect([made.code, made.out]).toEqual([0, "done\t1\nfailed\t0\n"])
})
it("reports missing flags", async () => {
  const none = await run(place, ["documents", "generate", "--type", "invoice"])
  expect([none.code, none.err]).toEqual([2, expect.stringContaining("--order, --invoice")])
  const both = await run(place, ["documents", "generate", "--type", "invoice", "--invoice", "1", "--order", "1"])
  expect(both.code).toBe(2)
  const unfit = await run(place, ["documents", "generate", "--type", "quotation", "--invoice", invoice.number])
  expect(unfit.code).toBe(5)
})
