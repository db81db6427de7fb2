/**
 * A quotation from start to order: created offline, synced, rendered, mailed, opened by its link in a browser and
 * accepted; its PDF is verified, also offline.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, expect, it } from "vitest"
import { nothing_outside } from "../../../../../server/ports/outside.ts"
import { chromiumPath, openBrowser } from "../../../../browser/browser.ts"
import { mailServer, type TestMailServer } from "../../../../server/delivery/mail/smtp.ts"
import { openPlace, type Place, runHere } from "../../../session.ts"

let place: Place
let smtp: TestMailServer
beforeAll(async () => {
  smtp = await mailServer()
  place = await openPlace({ outside: { ...nothing_outside, smtp_url: smtp.url } })
})
afterAll(async () => {
  await place.close()
  await smtp.close()
})
const poll = { timeout: 60_000, interval: 100 }
const typed = async (line: string, code = 0): Promise<string> => {
  const ran = await runHere(place, line.split(" "))
  expect([line, ran.code, ran.code === code ? "" : ran.err + ran.out]).toEqual([line, code, ""])
  return ran.out
}
const api = async (method: string, path: string, body?: object) => {
  const given = body === undefined ? [] : ["-d", JSON.stringify(body)]
  const ran = await runHere(place, ["api", method, path, ...given, "--json"])
  expect([path, ran.code, ran.code === 0 ? "" : ran.err + ran.out]).toEqual([path, 0, ""])
  return JSON.parse(ran.out)
}

/** Accepts in a browser, or by plain requests if there is none. */
const acceptAt = async (url: string): Promise<string> => {
  const path = chromiumPath()
  if (path === undefined) {
    const form = new URLSearchParams({ name: "Ann Arbor", accept: "1" })
    return (await fetch(url, { method: "POST", body: form })).text()
  }
  const browser = await openBrowser(path)
  try {
    const page = await browser.newPage()
    const complaints: Array<string> = []
    page.on("console", (message) => complaints.push(message.text()))
    await page.goto(url)
    await page.fill("#name", "Ann Arbor")
    await page.check("#accept")
    await page.click("form > button[type=submit]")
    await page.waitForSelector(".done")
    expect(complaints).toEqual([])
    return await page.content()
  } finally {
    await browser.close()
  }
}

it("a quotation made offline is mailed and accepted, becomes an order, and its PDF can be verified", async () => {
  await api("PUT", "/api/v1/settings/documents", { settings: { acceptance: "order" } })
  const { member } = await api("POST", "/api/v1/members", { name: "Ann Ltd", membership_type: "organisation" })
  await api("POST", `/api/v1/members/${member.id}/emails`, { address: "ann@customer.example" })
  await typed(`login ${place.url} --token ${place.env["FLIGHTCASE_TOKEN"]} --name till`)
  await place.stop()
  const { opportunity } = await api("POST", "/api/v1/opportunities", {
    subject: "Gala",
    member_id: member.id,
    starts_at: "2027-07-01T09:00:00Z",
    ends_at: "2027-07-03T18:00:00Z"
  })
  const items = `/api/v1/opportunities/${opportunity.id}/items`
  await api("POST", items, { item_type: "service", name: "Operator", quantity: 2, unit_price: "80.00" })
  await api("POST", `/api/v1/opportunities/${opportunity.id}/convert_to_quotation`, {})
  await place.start()
  await typed("sync")
  const { document } = await api("POST", "/api/v1/documents/generate", {
    document_type: "quotation",
    documentable_type: "Opportunity",
    documentable_id: opportunity.id
  })
  await typed("sync")
  await expect
    .poll(async () => {
      await typed("sync")
      return (await api("GET", `/api/v1/documents/${document.id}`)).document.status
    }, poll)
    .toBe("generated")
  await typed(`documents share ${document.id} --expires-at 2099-01-01`)
  await typed(`documents email ${document.id}`)
  await expect.poll(() => smtp.taken.length, poll).toBe(1)
  const url = /https?:\/\/\S+\/d\/[\w-]{40}/.exec(smtp.taken[0]?.read.text ?? "")?.[0] ?? ""
  expect(await acceptAt(url)).toContain("Ann Arbor accepted this quotation")
  await typed("sync")
  const { opportunity: after } = await api("GET", `/api/v1/opportunities/${opportunity.id}`)
  expect([after.state_name, after.status_name]).toEqual(["Order", "Active"])
  const pdf = Buffer.from(await (await fetch(`${url}?format=pdf`)).arrayBuffer())
  const file = join(place.folder, "offer.pdf")
  writeFileSync(file, pdf)
  await place.stop()
  const proven = await typed("documents verify offer.pdf")
  for (const word of ["unchanged", "Finalised", "Ann Arbor", `${document.document_number ?? ""}`])
    expect(proven).toContain(word)
  writeFileSync(file, Buffer.concat([readFileSync(file), Buffer.from(" ")]))
  expect(await typed("documents verify offer.pdf", 1)).toContain("no document known here, or it was altered")
  await place.start()
}, 180_000)
