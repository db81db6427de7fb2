/** Seeded random numbers: the same seed always gives the same world. */
export interface Random {
  /** 0 ≤ x < 1. */
  readonly next: () => number
  /** An integer from 0 to n − 1. */
  readonly below: (n: number) => number
  readonly pick: <A>(items: ReadonlyArray<A>) => A
  readonly happens: (probability: number) => boolean
}

/** Mulberry32: 32 bits of state, plenty for schedules of a few hundred steps. */
export const randomOf = (seed: number): Random => {
  let state = (seed * 0x9e3779b1) >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
  const below = (n: number): number => Math.floor(next() * n)
  return { next, below, pick: (items) => items[below(items.length)]!, happens: (probability) => next() < probability }
}
