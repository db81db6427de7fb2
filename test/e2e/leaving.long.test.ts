/**
 * Outgoing mail and webhooks under failure: a thousand commands (fewer with a share), failing receivers and mail
 * server, servers killed every few seconds. Afterwards each accepted event is delivered, each message has arrived,
 * nothing refused was sent, and nothing is stuck.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { afterEach, expect, it, vi } from "vitest"
import { freePort } from "../free-port.ts"
import { freshDatabase } from "../postgres.ts"
import { share, shareOf } from "../share.ts"
import { type Random, randomOf } from "../sim/random.ts"
import { type Receivers, receivers } from "./leaving-hooks.ts"
import { addressees, type MailHouse, mailHouse, refusedForGood } from "./leaving-mail.ts"
import { type Books, booksAt, type Kept, owed, reckon } from "./leaving-reckoning.ts"
import {
  type Answers,
  type Ask,
  askOf,
  deedsOn,
  doDeeds,
  type Ground,
  groundFor,
  noAnswers,
  queueMail,
  surely,
  workOffline
} from "./leaving-work.ts"
import { commandLine, type RunningServer, startServer, token } from "./processes.ts"

vi.setConfig({ testTimeout: 1_500_000 })

const opened: Array<() => Promise<unknown> | void> = []
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close()
})

const rounds = shareOf(10)
const deeds_per_round = 96
const offline_per_round = 4
/** In the first rounds, so that the waits between attempts end with the rest. */
const mail_rounds = shareOf(5)
const mails_per_round = 12
/** Event subscriptions by receiver. */
const subscriptions: { readonly [receiver: string]: ReadonlyArray<string> } = {
  healthy: ["*"],
  gone: ["*"],
  turns: ["member.created", "member.updated", "product.created", "product_group.deleted", "stock_level.created"],
  stalls: ["member.created", "product.updated", "product_group.created", "container.created"],
  down: ["product_group.updated", "product_group.deleted", "container.created"]
}
/** The last waits outlast every failure. */
const waits = [1, 1, 2, 3, 5, 10, 10, ...Array.from({ length: 13 }, () => 15)].join(",")

/** Servers on one database, killed and started again on their ports. */
interface House {
  readonly servers: Array<RunningServer>
  /** Kills one of the servers and starts it again. */
  readonly kill: () => Promise<void>
  readonly kills: () => number
  readonly stop: () => Promise<void>
}
const houseOf = async (places: ReadonlyArray<Parameters<typeof startServer>[0]>): Promise<House> => {
  const servers: Array<RunningServer> = []
  for (const place of places) servers.push(await startServer(place))
  let kills = 0
  return {
    servers,
    kills: () => kills,
    kill: async () => {
      const at = kills++ % places.length
      const [victim, place] = [servers[at], places[at]]
      if (victim === undefined || place === undefined) return
      await victim.kill()
      servers[at] = await startServer(place)
    },
    stop: async () => {
      for (const server of servers) await server.kill()
    }
  }
}

/** Kills a server every few seconds until the work is done, at least once. */
const killMeanwhile = async (house: House, chance: Random, work: Promise<unknown>): Promise<void> => {
  const state = { is_done: false }
  const noted = work.finally(() => {
    state.is_done = true
  })
  noted.catch(() => {})
  do {
    await pause(1_500 + chance.next() * 2_500)
    await house.kill()
  } while (!state.is_done)
  await noted
}

const subscribed = async (ask: Ask, hooks: Receivers): Promise<ReadonlyMap<string, number>> => {
  const ids = new Map<string, number>()
  for (const [receiver, events] of Object.entries(subscriptions)) {
    const { webhook } = await surely(ask, "POST", "/webhooks", { url: hooks.urlOf(receiver), events })
    hooks.trust(receiver, webhook.secret)
    ids.set(receiver, webhook.id)
  }
  return ids
}

const unfinished = async (ask: Ask): Promise<number> => {
  let count = 0
  for (const status of ["queued", "running"])
    count += (await surely(ask, "GET", `/system/jobs?per_page=1&q[status_eq]=${status}`)).meta.total
  return count
}
/** Unfinished jobs and deliveries; the end of a delivery may queue a job. */
const left = async (ask: Ask, books: Books): Promise<{ readonly jobs: number; readonly deliveries: number }> => {
  const [before, deliveries] = [await unfinished(ask), await books.waiting()]
  return { jobs: before + (await unfinished(ask)), deliveries }
}

interface Outcome {
  readonly answers: Answers
  readonly kept: Kept
  readonly hooks: Receivers
  readonly mail: MailHouse
  readonly ids: ReadonlyMap<string, number>
  readonly kinds: ReadonlySet<string>
  readonly kills: number
  readonly servers: number
  readonly seconds: { readonly working: number; readonly draining: number }
}

const worked = async (house: House, ask: Ask, ground: Ground, folder: string, seed: number): Promise<Answers> => {
  const answers = noAnswers()
  const chance = randomOf(seed)
  const deeds = deedsOn(ground, seed)
  const cli = commandLine(join(folder, "home"))
  const login = await cli("login", house.servers[0]?.url ?? "", "--token", token, "--name", "van")
  expect(login.code, login.err).toBe(0)
  for (let round = 0; round < rounds; round++) {
    const addresses = Array.from({ length: round < mail_rounds ? mails_per_round : 0 }, (_, at) => {
      const number = round * mails_per_round + at
      return `${addressees[number % addressees.length]}-${number}@customer.example`
    })
    const work = Promise.all([
      doDeeds(ask, deeds, deeds_per_round, answers),
      queueMail(ask, addresses, answers),
      workOffline(cli, ask, ground, String(round), answers)
    ])
    await killMeanwhile(house, chance, work)
  }
  return answers
}

/** The whole run, from an empty database to the last delivery. */
const run = async (engine: "sqlite" | "pg", servers: number, seed: number): Promise<Outcome> => {
  const folder = mkdtempSync(join(tmpdir(), "flightcase-leaving-"))
  opened.push(() => rmSync(folder, { recursive: true, force: true }))
  const database = engine === "pg" ? await freshDatabase() : undefined
  if (database !== undefined) opened.push(() => database.drop())
  const [hooks, mail] = [await receivers(), await mailHouse()]
  opened.push(hooks.close, mail.close)
  const environment = {
    FLIGHTCASE_URL: "https://hire.example",
    FLIGHTCASE_SMTP_URL: mail.url,
    FLIGHTCASE_WEBHOOKS_PRIVATE: "1",
    FLIGHTCASE_WEBHOOKS_WAITS: waits
  }
  const data = join(folder, "server")
  const ports = await Promise.all(Array.from({ length: servers }, freePort))
  const house = await houseOf(ports.map((port) => ({ port, data, database: database?.url, environment })))
  opened.push(house.stop)
  const ask = askOf(() => house.servers.map(({ url }) => url))
  await surely(ask, "PUT", "/users/1", { email: "owner@hire.example" })
  const ground = await groundFor(ask)
  const ids = await subscribed(ask, hooks)
  const { webhook_events } = await surely(ask, "GET", "/webhook_events?per_page=100")
  const books = booksAt(
    database === undefined
      ? { engine: "sqlite", path: join(data, "flightcase.sqlite") }
      : { engine: "pg", url: database.url }
  )
  opened.push(books.close)
  const begun = performance.now()
  const answers = await worked(house, ask, ground, folder, seed)
  await hooks.heal()
  mail.heal()
  const healed = performance.now()
  await expect.poll(() => left(ask, books), { timeout: 600_000, interval: 500 }).toEqual({ jobs: 0, deliveries: 0 })
  const seconds = { working: (healed - begun) / 1_000, draining: (performance.now() - healed) / 1_000 }
  const names: ReadonlyArray<string> = webhook_events.map((kind: { readonly name: string }) => kind.name)
  return {
    ...{ answers, hooks, ids, mail, seconds, servers },
    kept: await books.read(),
    kinds: new Set(names),
    kills: house.kills()
  }
}

/** Checks each webhook; returns successes beyond the first per id. */
const expectDelivered = ({ hooks, ids, kept, kills, kinds }: Outcome): number => {
  expect(hooks.followed()).toBe(0)
  expect(hooks.posted.filter(({ fault }) => fault !== null)).toEqual([])
  let doubled = 0
  for (const [receiver, id] of ids) {
    const came = hooks.posted.filter((one) => one.receiver === receiver)
    const names = subscriptions[receiver]?.includes("*") === true ? kinds : new Set(subscriptions[receiver])
    const reckoned = reckon(came, owed(kept, id, names))
    const states = new Set(kept.deliveries.filter((one) => one.webhook_id === id).map(({ state }) => state))
    expect(reckoned, receiver).toMatchObject({ unfounded: [], unequal: [], mistaken: [] })
    if (receiver === "gone") {
      expect(came.length).toBeGreaterThan(0)
      expect([...states].sort(), receiver).toEqual(["dropped", "failed"])
      expect(kept.webhooks.find((one) => one.id === id)?.is_active).toBe(false)
    } else {
      expect(reckoned.missing, receiver).toEqual([])
      expect([...states], receiver).toEqual(["delivered"])
    }
    doubled += reckoned.doubled
  }
  // A killed server leaves at most two responses of each webhook unread.
  expect(doubled).toBeLessThanOrEqual(kills * 2 * ids.size)
  return doubled
}

/** Compares each mail job with what arrived; returns messages beyond the first of each. */
const expectMailed = ({ answers, kept, mail }: Outcome): number => {
  const jobs = kept.jobs.filter(({ kind }) => kind === "mail.send")
  const letters = Map.groupBy(mail.letters, ({ message_id }) => message_id)
  for (const id of answers.mailed) expect(jobs.map((job) => job.id)).toContain(id)
  const wrong = jobs.filter(({ error, id, status }) => {
    const came = letters.get(messageIdOf(id)) ?? []
    const is_alike = new Set(came.map(({ text }) => text)).size === 1
    return status === "failed" ? came.length > 0 || !/: 55[04] /.test(error ?? "") : status !== "done" || !is_alike
  })
  expect(wrong).toEqual([])
  expect([...letters.keys()].sort()).toEqual(
    jobs
      .filter(({ status }) => status === "done")
      .map(({ id }) => messageIdOf(id))
      .sort()
  )
  expect(mail.letters.filter(({ to }) => refusedForGood(to))).toEqual([])
  const per_address = Map.groupBy(
    mail.letters.filter(({ to }) => !to.startsWith("owner@")),
    ({ to }) => to
  )
  for (const [to, all] of per_address) expect(new Set(all.map(({ message_id }) => message_id)).size, to).toBe(1)
  // The sender was notified of each refusal, and the webhook's owner of its deactivation.
  const failed = jobs.filter(({ status }) => status === "failed")
  const told = new Set(mail.letters.filter(({ to }) => to === "owner@hire.example").map((one) => one.message_id))
  expect(told.size).toBe(failed.length + 1)
  return mail.letters.length - letters.size
}
const messageIdOf = (job_id: string): string => `<${job_id.replace("mail.send:", "")}@hire.example>`

const expectRecorded = ({ answers, hooks, kept }: Outcome): void => {
  const recorded = JSON.stringify(kept.events.map(({ data }) => data))
  const deleted = new Set(
    kept.events.filter(({ type }) => type === "product_group.deleted").map(({ data }) => `product_groups/${data["id"]}`)
  )
  expect([...answers.accepted].filter((name) => !deleted.has(name) && !recorded.includes(`"${name}"`))).toEqual([])
  expect(recorded).not.toContain("NO-")
  expect(hooks.posted.filter(({ body }) => body.includes("NO-"))).toEqual([])
  expect(answers.accepted.size + answers.refused.size).toBe(rounds * (deeds_per_round + offline_per_round))
  for (const why of ["body", "rule", "constraint"]) expect(answers.refusals[why], why).toBeGreaterThan(2 * rounds)
  expect(kept.jobs.filter(({ kind, status }) => status !== "done" && kind !== "mail.send")).toEqual([])
}

const figures = (outcome: Outcome, doubled: number, letters_doubled: number): string => {
  const { answers, hooks, kept, kills, mail, seconds, servers } = outcome
  return [
    `${servers} server(s), ${kills} kills, ${answers.accepted.size} accepted, ${answers.refused.size} refused, `,
    `${answers.unknown.size} without an answer; ${kept.deliveries.length} deliveries, ${hooks.posted.length} posts, `,
    `${doubled} doubled; ${answers.mailed.size} messages, ${mail.letters.length} letters, ${letters_doubled} doubled; `,
    `${kept.jobs.length} jobs, ${kept.jobs.filter(({ status }) => status === "failed").length} failed, `,
    `${Math.max(...kept.jobs.map(({ attempts }) => attempts))} attempts at most; `,
    `${seconds.working.toFixed(0)} s of work, ${seconds.draining.toFixed(0)} s to drain`
  ].join("")
}

const worlds = [
  ["sqlite", 1],
  ["pg", 1],
  ["pg", 2]
] as const
it.each(share(worlds))(
  "webhooks, mail and jobs are neither lost nor stuck on %s with %i server(s) that are killed",
  async (engine, servers) => {
    const outcome = await run(engine, servers, 13)
    expectRecorded(outcome)
    const doubled = expectDelivered(outcome)
    const letters_doubled = expectMailed(outcome)
    console.log(`leaving, ${engine}: ${figures(outcome, doubled, letters_doubled)}`)
  }
)
