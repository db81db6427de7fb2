/** A message that tests the mail settings, sent from the command line. */
import { beforeAll, expect, it } from "vitest"
import { mailServer, replies } from "../server/delivery/mail/smtp.ts"
import { placeOfSuite } from "./place.ts"

const place = placeOfSuite()
const { done, json, type } = place
beforeAll(() => place.login())

it("mail test says that no mail is sent without a mail server", async () => {
  const tried = await type("mail test ann@customer.example")
  expect([tried.code, tried.err]).toEqual([
    0,
    expect.stringContaining(
      "No mail server is set: the message to ann@customer.example is written to the outbox folder and not sent. " +
        "flightcase setup --smtp URL sets one.\n"
    )
  ])
  expect(tried.out).toMatch(/^[0-9a-f-]{36}\n$/)
  const mode = { mode: "outbox", job_id: expect.stringMatching(/^[0-9a-f-]{36}$/) }
  expect(await json("mail test")).toMatchObject(mode)
  // A message uses the settings at the time it is sent, and the next test sets a mail server.
  await expect
    .poll(async () => (await json("jobs list")).jobs.map((job) => job.status), { timeout: 20_000 })
    .toEqual(["done", "done"])
})
it("mail test --wait prints the result of the delivery", async () => {
  const smtp = await mailServer({
    recipient: (address) => (address.startsWith("gone") ? replies(550, "No such mailbox") : undefined)
  })
  try {
    await done(["settings", "update", "mail", "-d", JSON.stringify({ settings: { smtp_url: smtp.url } })])
    expect(await type("mail test ann@customer.example --wait")).toMatchObject({
      code: 0,
      err: expect.stringContaining("A message is on its way to ann@customer.example.\n"),
      out: expect.stringMatching(/^The mail server took it: 250 /)
    })
    expect(smtp.taken.map(({ to }) => to)).toEqual([["ann@customer.example"]])
    expect(await type("mail test gone@customer.example --wait 30")).toMatchObject({
      code: 1,
      err: expect.stringMatching(/Not sent: .*No such mailbox/)
    })
    const id = await place.house.store({ name: "Depot", mail_sender_address: "depot@hire.example" })
    await done(`mail test ann@customer.example --store ${id} --wait`)
    expect(smtp.taken.at(-1)?.from).toBe("depot@hire.example")
    const data = await type("mail test gone@customer.example --wait 30 --json")
    expect([data.code, JSON.parse(data.out).job.status]).toEqual([1, "failed"])
  } finally {
    await smtp.close()
  }
  expect(await type("mail test ann@customer.example --wait 2")).toMatchObject({
    code: 1,
    out: expect.stringMatching(
      /^Not sent yet: The mail server could not be reached.*[^.]\. It is tried again at \d{4}-/
    )
  })
})
it("mail test refuses invalid addresses and waits, and needs the server", async () => {
  expect(await type("mail test ann")).toMatchObject({
    code: 5,
    err: expect.stringContaining("The to field must be a valid e-mail address")
  })
  expect((await type("mail test --offline")).code).toBe(7)
  expect((await type("mail test --wait soon")).code).toBe(2)
})
it("--plan is refused for jobs retry, which only the server decides", async () => {
  const planned = await type("jobs retry mail.send:test.1 --plan")
  expect(planned).toMatchObject({
    code: 2,
    err: expect.stringMatching(/Only the server decides this.*\n.*Leave out --plan/)
  })
})
it("attach refuses an unknown unit code, and names the command that lists units", async () => {
  const attached = await type("attach unit:NOPE package.json")
  expect(attached).toMatchObject({
    code: 3,
    err: expect.stringMatching(/No unit has the code "NOPE"\.\n.*stock-levels list/)
  })
})
