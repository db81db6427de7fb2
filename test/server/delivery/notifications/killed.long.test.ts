/** A server killed while clients listen: after reconnecting they receive everything once and in order. */
import { readdir, readFile } from "node:fs/promises"
import { join } from "node:path"
import PostalMime from "postal-mime"
import { afterEach, expect, it, onTestFinished } from "vitest"
import { type Engine, engines } from "../../../app.ts"
import { freshDatabase } from "../../../postgres.ts"
import { share } from "../../../share.ts"
import { cleanUp, folderOfItsOwn, startServer } from "../../process.ts"
import { listenTo } from "./writing.ts"
import { bodyRead } from "../../../answers.ts"

const token = "owner-token-of-the-tests"
afterEach(cleanUp)

const place = async (engine: Engine) => {
  const database = engine === "pg" ? await freshDatabase() : undefined
  if (database !== undefined) onTestFinished(() => database.drop())
  const env = {
    FLIGHTCASE_DATA: await folderOfItsOwn(),
    FLIGHTCASE_TOKEN: token,
    FLIGHTCASE_KEY: "key-of-the-tests-which-is-long",
    ...(database === undefined ? {} : { DATABASE_URL: database.url })
  }
  return { env }
}
const send = async (url: string, method: string, path: string, json?: object, by = token) => {
  const answer = await fetch(`${url}/api/v1/${path}`, {
    method,
    headers: { authorization: `Bearer ${by}`, "content-type": "application/json" },
    ...(json === undefined ? {} : { body: JSON.stringify(json) })
  })
  const body = bodyRead(await answer.json())
  expect(answer.status, JSON.stringify(body)).toBeLessThan(300)
  return body
}

it.each(share(engines))(
  "the notification stream on %s gives reconnecting clients every notification once and in order after a kill",
  { timeout: 240_000 },
  async (engine: Engine) => {
    const { env } = await place(engine)
    const invite = (url: string, name: string) =>
      send(url, "POST", "users", { name, email: `${name.toLowerCase()}@hire.example`, roles: [], active: true })

    const first = await startServer(env)
    await send(first.url, "PUT", "notification_settings", {
      settings: [{ notification_type: "user.invited", channels: { broadcast: true } }]
    })
    const heard = await listenTo(`${first.url}/api/v1/notifications/stream`, { token })
    await invite(first.url, "Ann")
    await heard.until(1)
    expect(heard.events[0]?.data).toMatchObject({ notification_type: "user.invited", is_own: true })
    await invite(first.url, "Ben")
    await first.kill("SIGKILL")
    await heard.ended
    const known = heard.ids.at(-1) ?? 0
    const second = await startServer(env)
    await invite(second.url, "Cid")
    const again = await listenTo(`${second.url}/api/v1/notifications/stream`, {
      token,
      headers: { "last-event-id": String(known) }
    })
    // Ben's may have been sent before the kill.
    await again.until(3 - heard.ids.length)
    const subjects = [...heard.events, ...again.events].map(({ data }) => data.subject_id)
    expect(new Set(subjects).size).toBe(3)
    expect(subjects).toHaveLength(3)
    const ids = [...heard.ids, ...again.ids]
    expect(ids).toEqual([...ids].sort((a, b) => a - b))
    const stopped = second.kill("SIGTERM")
    await again.ended
    expect(await stopped).toMatchObject({ code: 0 })
  }
)

it.each(share(engines))(
  "notifications on %s reach every recipient once, also by mail, whenever the server is killed",
  { timeout: 400_000 },
  async (engine: Engine) => {
    const { env } = await place(engine)
    let server = await startServer(env)
    const ask = (method: string, path: string, json?: object, by = token) => send(server.url, method, path, json, by)
    await ask("PUT", "settings/notifications", { settings: { gather_minutes: 0 } })
    await ask("PUT", "notification_settings", {
      settings: [{ notification_type: "opportunity.created", channels: { database: true, email: true } }]
    })
    await ask("POST", "roles", { name: "Reader", permissions: ["opportunities.view"] })
    const { user } = await ask("POST", "users", {
      ...{ name: "Ann", email: "ann@hire.example", roles: ["Reader"], active: true }
    })
    const { token: anns } = await ask("POST", "tokens", { name: "a", abilities: ["*"], user_id: user.id })
    const answered: Array<number> = []
    for (const waits_for of [1, 3, 5, 5]) {
      // Killed at the first response, amid others, or right after the last one.
      const asked = [1, 2, 3, 4, 5].map(async () => {
        const { opportunity } = await ask("POST", "opportunities", { subject: "Job" })
        answered.push(opportunity.id)
      })
      const settled = Promise.allSettled(asked)
      await Promise.all(asked.slice(0, waits_for))
      await server.kill("SIGKILL")
      await settled
      server = await startServer(env)
    }
    // Events recorded without a response are notified, too.
    const { opportunities } = await ask("GET", "opportunities?per_page=100")
    const made = opportunities.map(({ id }) => id).sort((a: number, b: number) => a - b)
    expect(made).toEqual(expect.arrayContaining(answered))
    const told = async (): Promise<ReadonlyArray<number>> => {
      const query = "notifications?per_page=100&q[notification_type_eq]=opportunity.created"
      const { notifications } = await ask("GET", query, undefined, anns.secret)
      return notifications.map(({ subject_id }) => Number(subject_id)).sort((a, b) => a - b)
    }
    await expect.poll(told, { timeout: 150_000, interval: 200 }).toEqual(made)
    const numbers = opportunities.map(({ number }) => number).sort()
    /** Numbers of the opportunities in Ann's mails. */
    const mailed = async (): Promise<ReadonlyArray<string>> => {
      const folder = join(env.FLIGHTCASE_DATA, "outbox")
      const files = (await readdir(folder).catch(() => [])).filter((name) => name.endsWith(".eml"))
      const mails = await Promise.all(files.map(async (name) => PostalMime.parse(await readFile(join(folder, name)))))
      const to_ann = mails.filter((mail) => mail.to?.some(({ address }) => address === "ann@hire.example"))
      return to_ann.flatMap(({ text }) =>
        [...(text ?? "").matchAll(/Opportunity (\d+) was made/g)].map(([, no]) => no!)
      )
    }
    await expect.poll(async () => (await mailed()).toSorted(), { timeout: 150_000, interval: 200 }).toEqual(numbers)
    await server.kill("SIGTERM")
    expect((await mailed()).toSorted()).toEqual(numbers)
  }
)
