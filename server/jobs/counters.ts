/** How many attempts at jobs this process began and how they failed, since it started. */
export interface KindCount {
  readonly kind: string
  readonly attempts: number
  readonly failures: number
  /** Failures after which no further attempt follows. */
  readonly dead: number
}
export interface JobCounters {
  readonly begun: (kind: string) => void
  readonly failed: (kind: string, for_good: boolean) => void
  readonly all: () => ReadonlyArray<KindCount>
}

export const makeJobCounters = (kinds: Iterable<string>): JobCounters => {
  const counts = new Map<string, { -readonly [K in keyof KindCount]: KindCount[K] }>()
  for (const kind of kinds) counts.set(kind, { kind, attempts: 0, failures: 0, dead: 0 })
  return {
    begun: (kind) => {
      const count = counts.get(kind)
      if (count !== undefined) count.attempts++
    },
    failed: (kind, for_good) => {
      const count = counts.get(kind)
      if (count === undefined) return
      count.failures++
      if (for_good) count.dead++
    },
    all: () => [...counts.values()]
  }
}
