/** When a watcher syncs, waits and ends; on a fake clock, so that the machine's speed does not matter. */
import { describe, expect, it, onTestFinished, vi } from "vitest"
import { RemoteError, Unreachable } from "../../../sync/device/exchange/remote.ts"
import { backoffMillis, watch, type WatchEvent } from "../../../sync/device/exchange/watch.ts"

type WatchParts = Parameters<typeof watch>[0]
type WatchOutcome = Awaited<ReturnType<WatchParts["sync"]>>
type WatchRefusals = Awaited<ReturnType<WatchParts["conflicts"]>>

const nothing: WatchOutcome = {
  sent: 0,
  accepted: 0,
  rejected: 0,
  pending: 0,
  pulled_events: 0,
  position: 7,
  conflicts: 0,
  warnings: []
}

/** Runs a watcher whose world changes between syncs; each sync takes the next result, the last one stops it. */
const watched = async (
  syncs: ReadonlyArray<(world: WatchFixture) => WatchOutcome | Error>,
  chance = 0,
  reports: ReturnType<WatchParts["reports"]> = []
): Promise<{ readonly told: ReadonlyArray<WatchEvent>; readonly ended: string; readonly failed?: unknown }> => {
  const told: Array<WatchEvent> = []
  const stop = new AbortController()
  const world: WatchFixture = {
    now: 1_000_000,
    pending: 0,
    conflicts: [],
    reports,
    upgraded: false,
    onNews: undefined,
    news: "quiet",
    arrives: undefined,
    take: () => undefined,
    stop: () => stop.abort()
  }
  let at = 0
  try {
    const ended = await watch({
      tick_millis: 2,
      chance: () => chance,
      clock: () => world.now,
      stop: stop.signal,
      tell: (event) => told.push(event),
      upgraded: () => world.upgraded,
      lastPending: () => world.pending,
      conflicts: async () => world.conflicts,
      reports: () => world.reports,
      sync: async () => {
        const step = syncs[at++]
        if (step === undefined) {
          stop.abort()
          return nothing
        }
        const answer = step(world)
        if (answer instanceof Error) throw answer
        return answer
      },
      take: async (taken) => world.take(taken),
      news: (signal) =>
        new Promise((resolve, reject) => {
          signal.addEventListener("abort", () => reject(new Error("aborted")))
          // Once all results are used, the first wait ends it.
          if (world.onNews !== undefined) world.onNews()
          else if (at >= syncs.length) stop.abort()
          if (world.news === "some") resolve(world.arrives)
          if (world.news === "gone") reject(new Unreachable("http://server", undefined))
        })
    })
    return { told, ended }
  } catch (failed) {
    return { told, ended: "failed", failed }
  }
}
interface WatchFixture {
  now: number
  pending: number
  conflicts: WatchRefusals
  reports: ReturnType<WatchParts["reports"]>
  upgraded: boolean
  news: "some" | "gone" | "quiet"
  /** What comes with news; nothing if the next sync has to fetch it. */
  arrives: Parameters<WatchParts["take"]>[0] | undefined
  onNews: (() => void) | undefined
  take: (taken: Parameters<WatchParts["take"]>[0]) => Awaited<ReturnType<WatchParts["take"]>>
  readonly stop: () => void
}
const names = (told: ReadonlyArray<WatchEvent>): ReadonlyArray<string> => told.map(({ event }) => event)

describe("sync --watch", () => {
  it("syncs at once, then when the server has news", async () => {
    const { told, ended } = await watched([
      (world) => {
        world.news = "some"
        return { ...nothing, pulled_events: 3, position: 10 }
      },
      () => ({ ...nothing, pulled_events: 1, position: 11 })
    ])
    expect(ended).toBe("stopped")
    expect(told).toEqual([
      { event: "started", conflicts: 0 },
      { event: "synced", sent: 0, accepted: 0, rejected: 0, pulled_events: 3, pending: 0, position: 10 },
      { event: "synced", sent: 0, accepted: 0, rejected: 0, pulled_events: 1, pending: 0, position: 11 },
      { event: "stopped" }
    ])
  })

  it("applies news that came with its answer, and syncs only if more is left to do or it cannot apply them", async () => {
    const arrived = { after: "7_1", handle: "h", offset: "8_1", up_to_date: true, events: [] }
    const report = { ...nothing, pulled_events: 1, position: 8 }
    const taken = async (answers: ReadonlyArray<Awaited<ReturnType<WatchParts["take"]>>>) => {
      let takes = 0
      let syncs = 0
      const synced = (world: WatchFixture): WatchOutcome => {
        syncs++
        world.news = "some"
        world.arrives = arrived
        world.take = (taken) => {
          expect(taken).toBe(arrived)
          const answer = answers[takes++]
          if (takes >= answers.length) world.news = "quiet"
          if (takes >= answers.length) world.onNews = () => world.stop()
          return answer
        }
        return { ...nothing, pulled_events: 2 }
      }
      const again = () => {
        syncs++
        return nothing
      }
      const { told } = await watched([synced, again, () => nothing])
      return { syncs, told: names(told) }
    }
    const quiet = { ...report, quiet: true }
    expect(await taken([quiet, quiet])).toEqual({
      syncs: 1,
      told: ["started", "synced", "synced", "synced", "stopped"]
    })
    expect(await taken([{ ...report, quiet: false }])).toEqual({
      syncs: 2,
      told: ["started", "synced", "synced", "stopped"]
    })
    expect(await taken([undefined])).toEqual({ syncs: 2, told: ["started", "synced", "stopped"] })
  })

  it("applies news after an empty sync at once, and aborts only requests that are not answered", async () => {
    const stop = new AbortController()
    const done: Array<string> = []
    const event = { position: 8, stream: "product:1", version: 1, type: "product.deleted", data: {}, command_id: "c" }
    const events = [{ ...event, actor_id: 1, replica_id: null, recorded_at: "2030-11-03T09:00:00.000Z" }]
    const arrived = { after: "7_1", handle: "h", offset: "8_1", up_to_date: true, events }
    let waits = 0
    await watch({
      tick_millis: 60_000,
      sync: async () => nothing,
      news: (signal) =>
        new Promise((resolve) => {
          signal.addEventListener("abort", () => done.push("aborted"))
          done.push("waits")
          if (++waits === 1) setTimeout(() => resolve(arrived), 5)
          else setTimeout(() => stop.abort(), 5)
        }),
      take: async () => {
        done.push("applied")
        return { ...nothing, pulled_events: 1, quiet: true }
      },
      lastPending: () => 0,
      recorded: () => () => done.push("unwatched"),
      conflicts: async () => [],
      reports: () => [],
      tell: () => {},
      stop: stop.signal,
      upgraded: () => {
        done.push("looked")
        return false
      }
    })
    await new Promise((resolve) => setTimeout(resolve, 5))
    const begun = done.indexOf("waits")
    expect(done.slice(begun)).toEqual(["waits", "applied", "looked", "waits", "unwatched", "unwatched", "aborted"])
  })

  it("pauses between syncs while a command is held, however many events of others arrive", async () => {
    const stop = new AbortController()
    const event = { position: 8, stream: "product:1", version: 1, type: "product.deleted", data: {}, command_id: "c" }
    const events = [{ ...event, actor_id: 1, replica_id: null, recorded_at: "2030-11-03T09:00:00.000Z" }]
    let syncs = 0
    setTimeout(() => stop.abort(), 100)
    await watch({
      tick_millis: 2,
      // The clock stands still, so a pause lasts until the end.
      clock: () => 0,
      sync: async () => {
        syncs++
        return nothing
      },
      news: () =>
        new Promise((resolve) => {
          setImmediate(() => resolve({ after: "7_1", handle: "h", offset: "8_1", up_to_date: true, events }))
        }),
      take: async () => ({ ...nothing, pulled_events: 1, quiet: false }),
      lastPending: () => 0,
      recorded: () => () => {},
      conflicts: async () => [],
      reports: () => [],
      tell: () => {},
      stop: stop.signal,
      upgraded: () => false
    })
    expect(syncs).toBeLessThan(5)
  })

  it("looks at the outbox no more once it has ended", async () => {
    const stop = new AbortController()
    let change = (): void => {}
    let looks = 0
    await watch({
      tick_millis: 60_000,
      sync: async () => nothing,
      news: () =>
        new Promise(() => {
          setTimeout(() => stop.abort(), 5)
        }),
      take: async () => undefined,
      lastPending: () => ++looks,
      recorded: (look) => {
        change = look
        return () => {}
      },
      conflicts: async () => [],
      reports: () => [],
      tell: () => {},
      stop: stop.signal,
      upgraded: () => false
    })
    const before = looks
    change()
    expect(looks).toBe(before)
  })

  it("syncs once a minute even if news never ceases", async () => {
    let [now, syncs, takes] = [performance.now(), 0, 0]
    const clock = vi.spyOn(performance, "now").mockImplementation(() => now)
    onTestFinished(() => clock.mockRestore())
    const arrived = { after: "7_1", handle: "h", offset: "8_1", up_to_date: true, events: [] }
    const begun = (world: WatchFixture): WatchOutcome => {
      syncs++
      world.news = "some"
      world.arrives = arrived
      world.take = () => {
        now += 1_000
        if (++takes === 130) world.stop()
        return { ...nothing, pulled_events: 1, quiet: true }
      }
      return { ...nothing, pulled_events: 1 }
    }
    await watched([begun, begun, begun, begun])
    expect([takes, syncs]).toEqual([130, 3])
  })

  it("syncs when a command is recorded, and not again while that is pending", async () => {
    let syncs = 0
    const { told } = await watched([
      (world) => {
        syncs++
        world.onNews = () => {
          world.pending = 4
          world.onNews = undefined
        }
        return nothing
      },
      // Still pending afterwards, without a verdict: another event is awaited.
      (world) => {
        syncs++
        world.onNews = () => {
          world.stop()
        }
        return { ...nothing, sent: 1, pending: 1 }
      }
    ])
    expect(syncs).toBe(2)
    expect(names(told)).toEqual(["started", "stopped"])
  })

  it("reports once that the server is unreachable, retries, and reports when it is back", async () => {
    const gone = () => new Unreachable("http://server", undefined)
    const { told, ended } = await watched([gone, gone, gone, () => ({ ...nothing, accepted: 2, sent: 2 })])
    expect(ended).toBe("stopped")
    expect(names(told)).toEqual(["started", "offline", "online", "synced", "stopped"])
    expect(told[1]).toMatchObject({ message: "The server at http://server cannot be reached." })
  })

  it("tries within a second of a recorded command while the server is unreachable, but not while it is busy", async () => {
    const failing = async (error: Error, quiet_millis: number) => {
      const stop = new AbortController()
      let tries = 0
      let pending = 0
      await watch({
        tick_millis: 2,
        chance: () => 1_000,
        stop: stop.signal,
        tell: () => undefined,
        upgraded: () => false,
        lastPending: () => pending,
        recorded: (look) => {
          setTimeout(() => {
            pending = 2
            look()
          }, 20)
          return () => undefined
        },
        conflicts: async () => [],
        reports: () => [],
        take: async () => undefined,
        news: async () => undefined,
        sync: async () => {
          tries++
          // A second try ends the test at once; where none may come, two seconds are waited for it.
          setTimeout(() => stop.abort(), tries === 2 ? 0 : quiet_millis).unref()
          throw error
        }
      })
      return tries
    }
    const gone = new Unreachable("http://server", undefined)
    const busy = new RemoteError(503, { message: "The server is stopping; try again." })
    expect(await Promise.all([failing(gone, 30_000), failing(busy, 2_000)])).toEqual([2, 1])
  })

  it("treats a busy or restarting server as unreachable", async () => {
    const { told } = await watched([
      () => new RemoteError(503, { message: "The server is stopping; try again." }),
      () => new RemoteError(429, { message: "Too many." }),
      () => nothing
    ])
    expect(names(told)).toEqual(["started", "offline", "online", "stopped"])
  })

  it("reports each conflict once", async () => {
    const conflict = (n: number): WatchRefusals[number] => ({
      id: `c${n}`,
      n,
      name: "products.create",
      error: { message: `No ${n}.` }
    })
    const { told } = await watched([
      (world) => {
        world.conflicts = [conflict(1)]
        world.news = "some"
        return { ...nothing, rejected: 1, sent: 1, conflicts: 1 }
      },
      (world) => {
        world.conflicts = [conflict(1), conflict(2)]
        return { ...nothing, rejected: 1, sent: 1, conflicts: 2 }
      }
    ])
    expect(told.filter(({ event }) => event === "conflict")).toEqual([
      { event: "conflict", id: "c1", n: 1, name: "products.create", message: "No 1." },
      { event: "conflict", id: "c2", n: 2, name: "products.create", message: "No 2." }
    ])
  })

  it("syncs at once after the machine slept, even during a long wait", async () => {
    const { told } = await watched(
      [
        (world) => {
          world.onNews = () => {
            world.now += 3_600_000
            world.onNews = undefined
          }
          return nothing
        },
        (world) => {
          // The next wait would last up to a minute; the machine sleeps for two hours meanwhile.
          setTimeout(() => {
            world.now += 7_200_000
          }, 10)
          return new Unreachable("http://server", undefined)
        },
        () => nothing
      ],
      60
    )
    expect(told).toEqual([
      { event: "started", conflicts: 0 },
      { event: "woke", slept_seconds: 3_600 },
      { event: "offline", message: expect.any(String), retry_seconds: 60 },
      { event: "woke", slept_seconds: 7_200 },
      { event: "online" },
      { event: "stopped" }
    ])
  })

  it("ends when another release replaced the program, while it waits for news or to retry", async () => {
    expect(
      await watched([
        (world) => {
          world.onNews = () => {
            world.upgraded = true
          }
          return nothing
        }
      ])
    ).toMatchObject({ ended: "upgraded", told: [{}, { event: "upgraded" }] })
    expect(
      await watched(
        [
          (world) => {
            world.upgraded = true
            return new Unreachable("http://server", undefined)
          }
        ],
        60
      )
    ).toMatchObject({ ended: "upgraded" })
  })

  it("reports each command once whose outcome differs from what was shown here", async () => {
    const [before, one, other] = [3, 7, 9].map((n) => ({ n, name: "opportunities.update" }))
    const { told } = await watched(
      [
        (world) => {
          world.reports = [before!, one!]
          world.news = "some"
          return { ...nothing, accepted: 1, pulled_events: 2 }
        },
        (world) => {
          world.reports = [before!, one!, other!]
          return { ...nothing, pulled_events: 1 }
        }
      ],
      0,
      [before!]
    )
    expect(told.filter(({ event }) => event === "different")).toEqual([
      { event: "different", ...one },
      { event: "different", ...other }
    ])
  })

  it("ends if the server answers 401, 403 or 404", async () => {
    for (const status of [401, 403, 404]) {
      const { ended, failed } = await watched([() => new RemoteError(status, { message: "No." })])
      expect({ ended, failed }).toMatchObject({ ended: "failed", failed: { status } })
    }
  })

  it("keeps pulling when its release is too old to send, and warns once", async () => {
    const old = new RemoteError(426, { message: "Too old." })
    const { told, ended } = await watched([
      (world) => {
        world.news = "some"
        return old
      },
      () => old
    ])
    expect(ended).toBe("stopped")
    expect(names(told)).toEqual(["started", "warning", "stopped"])
  })

  it("waits while another process syncs", async () => {
    const busy = Object.assign(new Error("Another sync of this profile is running."), { name: "SyncBusy" })
    expect(names((await watched([() => busy, () => nothing])).told)).toEqual(["started", "stopped"])
  })
})

describe("the wait between retries", () => {
  it("is random, below a limit that doubles up to a minute", () => {
    expect([0, 1, 2, 3, 5, 6, 40].map((tries) => backoffMillis(tries, () => 1))).toEqual([
      1_000, 2_000, 4_000, 8_000, 32_000, 60_000, 60_000
    ])
    expect(backoffMillis(3, () => 0)).toBe(0)
    expect(backoffMillis(3, () => 0.25)).toBe(2_000)
  })
})
