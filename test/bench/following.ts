/**
 * Events sent to 50 devices that follow a server like `sync --watch`: the time from a commit until all have it, and the
 * server's processor time per device, in turns with a server without followers. The devices are the owner's and share
 * this process, whose time does not count.
 */
import { setTimeout as pause } from "node:timers/promises"
import { join } from "node:path"
import { type Device, enrolDevice } from "../../sync/device/device.ts"
import { newsReader } from "../../sync/device/exchange/news.ts"
import { watch } from "../../sync/device/exchange/watch.ts"
import { cpuSecondsOf, inTurns, print, printFigure, type Side } from "./measure.ts"
import { owner_token, type Running, temporaryFolder } from "./processes.ts"
import { type Engine, furnish, onPostgres, onSqlite, served } from "./stage.ts"

const devices = 50
// As many as make the system's hundredths of a second one part in twenty of a round.
const events = 40
const rounds = 4
// 6,000 requests: only then is the server's code compiled, as that of a server is that devices follow.
const warming = 3
const patience_millis = 30_000
const goal_micros = 100

interface Followers {
  /** Resolves when all have synced further than all had at the last call. */
  readonly further: () => Promise<void>
  readonly stop: () => Promise<void>
}
const followers = async (server: Running): Promise<Followers> => {
  const end = new AbortController()
  const positions = Array.from({ length: devices }, () => 0)
  let reached = 0
  let look = (): void => {}
  const follow = async (device: Device, at: number): Promise<void> => {
    const news = newsReader(async () => ({ ...device.profile, ...(await device.place()) }))
    await watch({
      sync: () => device.sync(undefined, { patience_millis: 50 }),
      news: news.next,
      take: device.take,
      lastPending: device.lastPending,
      conflicts: device.conflicts,
      reports: () => device.told(false),
      tell: (event) => {
        if (event.event === "synced") positions[at] = event.position
        look()
      },
      stop: end.signal,
      upgraded: () => false
    })
    news.close()
    await device.close()
  }
  const folder = temporaryFolder()
  const enrolled: Array<Device> = []
  for (let at = 0; at < devices; at++) {
    const device = `Device ${at}`
    enrolled.push(
      await enrolDevice(join(folder, String(at)), { name: "default", url: server.url, token: owner_token, device })
    )
  }
  const following = enrolled.map(follow)
  return {
    further: () =>
      new Promise((resolve, reject) => {
        const given_up = setTimeout(() => reject(new Error("a device did not get an event")), patience_millis)
        look = () => {
          if (!positions.every((position) => position > reached)) return
          reached = Math.max(...positions)
          look = () => {}
          clearTimeout(given_up)
          resolve()
        }
        look()
      }),
    stop: async () => {
      end.abort()
      await Promise.all(following)
    }
  }
}

let named = 0
const side = (name: string, server: Running, one: (name: string) => Promise<void>): Side => ({
  name,
  round: async () => {
    const before = cpuSecondsOf(server.pid)
    let seconds = 0
    for (let at = 0; at < events; at++) {
      const started = performance.now()
      await one(`Named ${++named}`)
      seconds += (performance.now() - started) / 1000
      // Long enough for all devices to wait again.
      await pause(100)
    }
    const after = cpuSecondsOf(server.pid)
    if (before === undefined || after === undefined) throw new Error("this system does not tell processor times")
    return { seconds, count: events, cpu_seconds: after - before }
  }
})

const over = <E extends Engine>(open: () => Promise<E>): Promise<void> =>
  served(open, async (engine, server, ask) => {
    const id = (await furnish(ask, 50))[0]!
    await served(open, async (_, quiet, askQuiet) => {
      const quiet_id = (await furnish(askQuiet, 50))[0]!
      const { further, stop } = await followers(server)
      try {
        const taken = await inTurns(
          [
            side(`${devices} devices, until all have it`, server, async (name) => {
              const all = further()
              await ask("PUT", `/api/v1/products/${id}`, { name })
              await all
            }),
            side("nobody, until committed", quiet, async (name) => {
              await askQuiet("PUT", `/api/v1/products/${quiet_id}`, { name })
            })
          ],
          rounds,
          warming
        )
        const title = `following, ${engine.name}: an event`
        print(title, taken.slice(0, 1), { unit: "events", as: "duration" })
        const [followed, alone] = taken.map(({ samples }) => samples.map(({ cpu_seconds = 0 }) => cpu_seconds))
        printFigure(
          `${title} to one of ${devices} devices, CPU of the server`,
          followed!.map((seconds, at) => ((seconds - alone![at]!) * 1e6) / (devices * events)),
          { unit: "µs", goal: goal_micros }
        )
      } finally {
        await stop()
      }
    })
  })

export const following = async (): Promise<void> => {
  await over(onSqlite)
  await over(onPostgres)
}
