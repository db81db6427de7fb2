/** Bursts by one user: inboxes stay readable, each event is counted once, and a new row starts after reading. */
import { Effect } from "effect"
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { Store } from "../../../../core/kernel/store/store.ts"
import { told_a_minute_max } from "../../../../server/delivery/notifications/write.ts"
import { tellingJob } from "../../../../server/delivery/notifications/slice.ts"
import { both_engines, plays_everything } from "../../../app.ts"
import { house, type House, type Person } from "./house.ts"
import { ranOnce } from "../jobs/words.ts"

const minute = 60_000
describe.each(both_engines)("notifications of a burst on %s", (engine) => {
  let server: House
  let seller: Person
  let clock = 0
  const goOn = (millis: number): void => server.setClock((clock += millis))
  beforeAll(async () => {
    server = await house(engine)
    clock = Date.now()
  })
  let sellers = 0
  beforeEach(async () => {
    goOn(10 * minute)
    seller = await server.person(`Sam Seller ${++sellers}`, ["opportunities.view"])
  })
  afterAll(() => server.close())
  const made = async (count: number): Promise<void> => {
    for (let at = 0; at < count; at++) await server.did(201, "POST", "/opportunities", { subject: `Job ${at}` })
    await server.told()
  }
  const made_ones = "&q[notification_type_eq]=opportunity.created"
  const titles = async (person?: Person) => (await server.inbox(person, made_ones)).map(({ title }) => title)
  const meta = async () => (await server.did(200, "GET", "/notifications?per_page=1", undefined, seller.token)).meta

  it("are twenty rows and one that counts the remaining ones, for every recipient", async () => {
    const others = await Promise.all(
      Array.from({ length: 3 }, (_, at) => server.person(`Reader ${at}`, ["opportunities.view"]))
    )
    const count = plays_everything ? 200 : 50
    await made(count)
    const many = `${count - told_a_minute_max} opportunities were made`
    for (const person of [seller, ...others, undefined]) {
      const rows = await titles(person)
      expect([rows.length, rows[0]]).toEqual([told_a_minute_max + 1, many])
    }
    expect(await meta()).toMatchObject({ total: told_a_minute_max + 1, unread_count: told_a_minute_max + 1 })
    const [newest] = await server.inbox(seller)
    expect([newest.subject_id, newest.url, newest.is_own]).toEqual([null, null, false])
    const [own] = await server.inbox(undefined, made_ones)
    expect([own.is_own, own.read_at !== null]).toEqual([true, true])
  })
  it("are counted once when the job runs again", async () => {
    const [{ newest }] = await server.sql("select max(position) as newest from journal")
    await made(told_a_minute_max + 3)
    const [before] = await server.inbox(seller)
    expect(before.title).toBe("3 opportunities were made")
    const positions = await server.sql(
      `select position from journal where type = 'opportunity.created' and position > ${newest}`
    )
    for (const { position } of positions) {
      const data = { from: Number(position), to: Number(position) }
      await server.run(
        ranOnce(
          tellingJob(() => undefined),
          data
        )
      )
    }
    expect((await server.inbox(seller))[0]).toEqual(before)
    expect((await server.inbox(seller)).length).toBe(told_a_minute_max + 1)
  })
  it("start a new row once they are read, and single rows after a quiet minute", async () => {
    await made(told_a_minute_max + 2)
    expect((await titles(seller))[0]).toBe("2 opportunities were made")
    await server.did(200, "POST", "/notifications/read_all", undefined, seller.token)
    await made(3)
    expect((await titles(seller))[0]).toBe("3 opportunities were made")
    goOn(2 * minute)
    await made(2)
    expect((await titles(seller)).slice(0, 2)).toEqual([
      expect.stringMatching(/^Opportunity \d+ was made$/),
      expect.stringMatching(/^Opportunity \d+ was made$/)
    ])
    // Other users' events are counted separately.
    const other = await server.person("Otto Other", ["opportunities.view", "opportunities.create"])
    await made(told_a_minute_max + 2)
    await server.did(201, "POST", "/opportunities", { subject: "By another" }, other.token)
    await server.told()
    expect((await server.inbox(seller))[0]).toMatchObject({ body: "By another", actor_name: "Otto Other" })
  })
  it("are not summarised if their events are three seconds apart", async () => {
    for (let at = 0; at < 40; at++) {
      await made(1)
      goOn(3_000)
    }
    expect((await server.inbox(seller)).length).toBe(40)
  })
  it("wait for mail as one row with their count", async () => {
    await server.did(200, "PUT", "/notification_settings", {
      settings: [{ notification_type: "opportunity.created", channels: { database: true, email: true } }]
    })
    await made(told_a_minute_max + 5)
    const rows = await server.run(
      Effect.flatMap(Store, (store) =>
        store.run(
          `select details, mail_state from notifications where burst is not null and user_id = ${seller.user_id}`
        )
      )
    )
    expect(rows.map((row) => row.mail_state)).toEqual(["waiting"])
    expect(JSON.stringify(rows)).toMatch(/count\\?": ?5\b/)
  })
})
