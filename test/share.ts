/**
 * Tests repeated by seed, script or engine take longest. CI runs a share of them, another one at each commit:
 * FLIGHTCASE_TEST_SHARE=1/4 is the second of four. Without it, as in `npm run test:all`, all are run. vitest.config.ts
 * also chooses the share of short files that run on Postgres.
 */
const [part = 0, of = 1] = (process.env["FLIGHTCASE_TEST_SHARE"] ?? "0/1").split("/").map(Number)
export const parts = of

/** This run's share of a list: every nth item; at least one. */
export const share = <A>(all: ReadonlyArray<A>): ReadonlyArray<A> =>
  all.length < parts ? [all[part % all.length]!] : all.filter((_, at) => at % parts === part)
/** This run's share of a number of repetitions. */
export const shareOf = (times: number): number => Math.ceil(times / parts)
/** Items that are not in this run's share. */
export const leftOut = (all: ReadonlyArray<string>): Array<string> => {
  const played = share(all)
  return all.filter((one) => !played.includes(one))
}
