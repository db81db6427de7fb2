/**
 * What repeats itself by seed, script or engine takes longest. CI plays a share of it, another one at each commit: with
 * FLIGHTCASE_TEST_SHARE=1/4 the second of four. Without it, as by `npm run test:all`, all of it is played. The share of
 * the short files that is played on Postgres, too, is chosen in vitest.config.ts.
 */
const [part = 0, of = 1] = (process.env["FLIGHTCASE_TEST_SHARE"] ?? "0/1").split("/").map(Number)
export const parts = of

/** Every `parts`th of them, from this run's; of fewer than there are parts, one. */
export const share = <A>(all: ReadonlyArray<A>): ReadonlyArray<A> =>
  all.length < parts ? [all[part % all.length]!] : all.filter((_, at) => at % parts === part)
/** Of so many repetitions this run's part. */
export const shareOf = (times: number): number => Math.ceil(times / parts)
/** The others. */
export const leftOut = (all: ReadonlyArray<string>): Array<string> => {
  const played = share(all)
  return all.filter((one) => !played.includes(one))
}
