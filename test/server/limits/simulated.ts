/** Simulated processes with shared counters, without a database, and responses in any order. */

/** Random numbers from 0 to 1 by seed. */
export const chanceFrom = (seed: number): (() => number) => {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** Work that takes effect and then responds, step by step on demand. */
export interface Steps {
  readonly later: <A>(effect: () => A) => Promise<A>
  readonly waiting: () => number
  readonly step: () => Promise<void>
  readonly all: () => Promise<void>
}
export const makeSteps = (chance: () => number): Steps => {
  const waiting: Array<() => void> = []
  const settled = () => new Promise<void>((resolve) => setImmediate(resolve))
  const step = async (): Promise<void> => {
    const [next] = waiting.splice(Math.floor(chance() * waiting.length), 1)
    next?.()
    await settled()
  }
  return {
    later: (effect) =>
      new Promise((resolve, reject) => {
        waiting.push(() => {
          try {
            const value = effect()
            waiting.push(() => resolve(value))
          } catch (error) {
            waiting.push(() => reject(error))
          }
        })
      }),
    waiting: () => waiting.length,
    step,
    all: async () => {
      await settled()
      while (waiting.length > 0) await step()
    }
  }
}

/** Shared counters like a database's, with failures and delays that tests control. */
export const makeCounters = (later: Steps["later"] = async (effect) => effect()) => {
  const counters = new Map<string, number>()
  /** `asked` counts requests, `failures` those reported as failed; `elapsed` is the time on their clocks. */
  const world = { asked: 0, failing: false, failures: 0, elapsed: 0 }
  const ask = <A>(effect: () => A): Promise<A> => {
    world.asked++
    return later(() => {
      if (world.failing) throw new Error("the database does not answer")
      return effect()
    })
  }
  return {
    counters,
    world,
    ask,
    later,
    /** Adds the amount that `grant` returns for the rest of the limit. */
    take: <Granted extends number | undefined>(key: string, limit: number, grant: (remaining: number) => Granted) =>
      ask(() => {
        const before = counters.get(key) ?? 0
        const granted = grant(limit - before)
        const taken = before + (granted ?? 0)
        counters.set(key, taken)
        return { granted, taken }
      }),
    /** Options of a limiter: its report of failures and its clock. */
    told: { failed: () => world.failures++, elapsed: () => world.elapsed }
  }
}
