/** Notifications of a busy hour go out as one mail: what it contains, and when it is sent or not. */
import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { Store } from "../../../../core/kernel/store/store.ts"
import { composeNotice, lines_max, type Told } from "../../../../server/delivery/notifications/mail/compose.ts"
import type { NotificationRow } from "../../../../server/delivery/notifications/schema.ts"
import { engines } from "../../../app.ts"
import { serve, type Serving } from "../../serving.ts"
import { tell } from "./writing.ts"

const noon = Date.parse("2026-06-18T12:00:00.000Z")
const minute = 60_000

describe.each(engines)("mailed notifications on %s", (engine) => {
  let server: Serving
  beforeAll(async () => {
    server = await serve(engine, { public_url: "https://hire.example" })
  })
  afterAll(() => server.close())

  const query = <Row extends object>(text: string): Promise<ReadonlyArray<Row>> =>
    server.run(Effect.flatMap(Store, (store) => store.run<Row>(text)))
  let people = 0
  const somebody = async (): Promise<number> => {
    const { body, status } = await server.ask("/api/v1/users", {
      json: { name: `Ann ${++people}`, email: `ann${people}@hire.example`, roles: [], active: true }
    })
    expect(status, JSON.stringify(body)).toBe(201)
    return body.user.id
  }
  const waits = (user_id: number, more: Partial<NotificationRow> = {}): Partial<NotificationRow> => ({
    user_id,
    notification_type: "invoice.overdue",
    subject_type: "invoices",
    subject_id: 4_711,
    mail_state: "waiting",
    ...more
  })
  /** Makes the mail jobs due by the database's clock, and waits until they are done. */
  const mailsDone = async (): Promise<void> => {
    const due = `queue_name = 'notifications.mail' and state = 'pending'`
    const jobs = await query<{ id: string }>(`select id from effect_queue where ${due}`)
    const named = jobs.map(({ id }) => `'${id}'`).join(", ")
    if (named === "") return
    const past = engine === "pg" ? "now() - interval '1 hour'" : "datetime('now', '-1 hour')"
    await query(`update effect_queue set visible_at = ${past} where id in (${named})`)
    for (let tries = 0; ; tries++) {
      const left = await query(`select id from effect_queue where id in (${named}) and state = 'pending'`)
      if (left.length === 0) return
      if (tries > 1_000) throw new Error("the jobs are not done")
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
  const mailsTo = async (user_id: number): Promise<ReadonlyArray<{ subject: string; text: string; html: string }>> =>
    (
      await query<{ element: string }>(
        `select element from effect_queue where queue_name = 'mail.send' and id like 'mail.send:notifications.${user_id}.%' order by sequence`
      )
    ).map(({ element }) => JSON.parse(element).data)
  const statesOf = async (user_id: number): Promise<ReadonlyArray<string>> =>
    (
      await query<{ mail_state: string }>(`select mail_state from notifications where user_id = ${user_id} order by id`)
    ).map(({ mail_state }) => mail_state)

  it("are sent as one mail at first, and after an hour as one more with all later notifications", async () => {
    server.setClock(noon)
    const ann = await somebody()
    await tell(server.app, waits(ann), waits(ann))
    await tell(server.app, waits(ann))
    expect(
      await query(`select id from effect_queue where queue_name = 'notifications.mail' and id like '%:${ann}.%'`)
    ).toHaveLength(1)
    await mailsDone()
    expect(await mailsTo(ann)).toHaveLength(1)
    for (let at = 1; at <= 40; at++) {
      server.setClock(noon + at * minute)
      await tell(server.app, waits(ann), waits(ann))
    }
    await mailsDone()
    expect(await mailsTo(ann)).toHaveLength(1)
    server.setClock(noon + 61 * minute)
    await mailsDone()
    const [, second, ...others] = await mailsTo(ann)
    expect(others).toEqual([])
    expect(second?.subject).toMatch(/ is overdue, and 79 more$/)
    expect(second?.text.match(/^- /gm)).toHaveLength(lines_max)
    expect(second?.text).toContain("And 30 more: flightcase inbox")
    expect(second?.text).toContain("flightcase notifications set invoice.overdue --no-email")
    expect(new Set(await statesOf(ann))).toEqual(new Set(["sent"]))
    await mailsDone()
    expect(await mailsTo(ann)).toHaveLength(2)
  })
  it("leave out notifications that were read or turned off, or are no longer visible", async () => {
    server.setClock(noon + 200 * minute)
    const ann = await somebody()
    await tell(
      server.app,
      waits(ann, { read_at: "2026-06-18T15:20:00.000Z" }),
      waits(ann, { seen_with: "invoices.view" }),
      waits(ann, { notification_type: "payment.recorded" })
    )
    await mailsDone()
    expect(await mailsTo(ann)).toEqual([])
    expect(await statesOf(ann)).toEqual(["none", "none", "none"])
    await tell(server.app, waits(ann))
    await mailsDone()
    expect(await mailsTo(ann)).toHaveLength(1)
  })
  it("to a deactivated account are only about its deactivation", async () => {
    server.setClock(noon + 300 * minute)
    const ann = await somebody()
    expect((await server.ask(`/api/v1/users/${ann}`, { method: "DELETE" })).status).toBe(204)
    await mailsDone()
    const before = (await mailsTo(ann)).length
    await tell(
      server.app,
      waits(ann),
      waits(ann, { notification_type: "user.deactivated", subject_type: "users", subject_id: ann })
    )
    await mailsDone()
    const mails = await mailsTo(ann)
    expect(mails).toHaveLength(before + 1)
    expect(mails.at(-1)?.subject).toBe("Your account was closed")
  })
  it("are sent at once if they are about the account, or if gathering is 0 minutes", async () => {
    server.setClock(noon + 400 * minute)
    const ann = await somebody()
    const opened = waits(ann, { notification_type: "user.reactivated", subject_type: "users", subject_id: ann })
    await tell(server.app, waits(ann))
    await mailsDone()
    await tell(server.app, opened, waits(ann))
    await mailsDone()
    expect((await mailsTo(ann)).map(({ subject }) => subject).at(-1)).toBe("Your account was opened again")
    expect(await statesOf(ann)).toEqual(["sent", "sent", "waiting"])
    const set = (gather_minutes: number) =>
      server.ask("/api/v1/settings/notifications", { method: "PUT", json: { settings: { gather_minutes } } })
    expect((await set(0)).status).toBe(200)
    await tell(server.app, waits(ann))
    // Without advancing the clocks: notifications waiting for the hour go out as well.
    await expect.poll(() => statesOf(ann), { timeout: 20_000 }).toEqual(["sent", "sent", "sent", "sent"])
    expect((await set(60)).status).toBe(200)
    expect((await set(1_441)).status).toBe(422)
  })
})

describe("a mailed notification", () => {
  const about = { public_url: "https://hire.example", zone: "Europe/London", now_millis: noon, is_gathered: true }
  const told = (title: string, more: Partial<Told> = {}): Told => ({
    title,
    body: null,
    notification_type: "invoice.overdue",
    created_at: "2026-06-18T11:30:00.000Z",
    ...more
  })

  it("groups its lines by category, with times in the company's zone, and escapes HTML", () => {
    const { html, subject, text } = composeNotice(
      [
        told("Invoice 7 is overdue", { body: "<b>Ann & Co</b>" }),
        told("Order 3 was cancelled", {
          notification_type: "opportunity.cancelled",
          created_at: "2026-06-17T08:00:00.000Z"
        })
      ],
      about
    )
    expect(subject).toBe("Invoice 7 is overdue, and 1 more")
    expect(text).toBe(
      [
        "Opportunities",
        "- 2026-06-17 09:00  Order 3 was cancelled",
        "",
        "Invoicing",
        "- 12:30  Invoice 7 is overdue",
        "  <b>Ann & Co</b>",
        "",
        "-- ",
        "You were told of this at https://hire.example.",
        "To get no such e-mail any more, of one kind or all of these:",
        "flightcase notifications set invoice.overdue opportunity.cancelled --no-email",
        ""
      ].join("\n")
    )
    expect(html).toContain("&lt;b&gt;Ann &amp; Co&lt;/b&gt;")
    expect(html).not.toContain("<b>")
  })
  it("explains how to turn off its type", () => {
    expect(composeNotice([told("Invoice 7 is overdue"), told("Invoice 8 is overdue")], about).text).toContain(
      "To get no such e-mail any more:\nflightcase notifications set invoice.overdue --no-email\n"
    )
  })
  it("names the sending server, and no command to turn it off, if its type cannot be turned off", () => {
    const { text } = composeNotice([told("Test message", { notification_type: "system.test_email" })], {
      ...about,
      is_gathered: false
    })
    expect(text).toContain("This was sent by https://hire.example.")
    expect(text).not.toContain("--no-email")
  })
})
