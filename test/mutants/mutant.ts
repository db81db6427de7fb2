/** A deliberate fault, and the tests that must fail with it. */
import type { Place } from "../source/place.ts"

/** One test, by its file and words of its title; `engine` for tests of both where one suffices. */
export interface TestKiller {
  readonly file: string
  readonly test: string
  readonly engine?: "sqlite" | "pg"
}
/** Seeds of the simulation, first to last. */
interface SeedKiller {
  readonly seeds: readonly [first: number, last: number]
}
export type Killer = TestKiller | SeedKiller
export const isSeeds = (killer: Killer): killer is SeedKiller => "seeds" in killer

export interface Mutant extends Place {
  /** The fault in words. */
  readonly name: string
  readonly replace: string
  /** Each of them must fail on its own. */
  readonly killed_by: ReadonlyArray<Killer>
}

export const words = (killer: Killer): string =>
  isSeeds(killer)
    ? `simulation, seeds ${killer.seeds[0]} to ${killer.seeds[1]}`
    : `${killer.file.replace(/^test\//, "").replace(/\.test\.ts$/, "")}${killer.engine === undefined ? "" : ` on ${killer.engine}`}: ${killer.test}`

type Change = Pick<Mutant, "find" | "replace" | "in_text">
/** Faults in one file that are all noticed by tests in one other file. */
export const faultsIn =
  (file: string, test_file: string, engine?: TestKiller["engine"]) =>
  (name: string, within: string, change: Change, ...tests: ReadonlyArray<string>): Mutant => ({
    name,
    file,
    within,
    ...change,
    killed_by: tests.map((test) => ({ file: test_file, test, ...(engine === undefined ? {} : { engine }) }))
  })
