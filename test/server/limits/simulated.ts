/** Processes of one database without a database: counters that all share, and answers that come in any order. */

/** Numbers from 0 to 1 that a seed makes again. */
export const chanceFrom = (seed: number): (() => number) => {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** Work that takes effect, and then answers, when it is told to: one step at a time. */
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
