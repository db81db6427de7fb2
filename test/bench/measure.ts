/** Measures several ways of doing the same work in turns, so that other load on the machine affects all of them. */
import { readFileSync } from "node:fs"
import { availableParallelism, cpus } from "node:os"

export interface Sample {
  /** Seconds the round took. */
  readonly seconds: number
  /** Amount of work done: requests, rows, events. */
  readonly count: number
  /** Processor seconds of the side's own process, if the system reports them. */
  readonly cpu_seconds?: number | undefined
}
export interface Side {
  readonly name: string
  readonly round: () => Promise<Sample>
}
/** A side that runs the work `count` times in sequence; `before` and `after` are not timed. */
export const timed = (
  name: string,
  count: number,
  work: () => Promise<unknown>,
  { before, after }: { readonly before?: () => Promise<void>; readonly after?: () => Promise<void> } = {}
): Side => ({
  name,
  round: async () => {
    let seconds = 0
    for (let at = 0; at < count; at++) {
      await before?.()
      const started = performance.now()
      await work()
      seconds += (performance.now() - started) / 1000
      await after?.()
    }
    return { seconds, count }
  }
})
export interface Taken {
  readonly name: string
  readonly samples: ReadonlyArray<Sample>
}

/**
 * Runs `warming` rounds of each that do not count, then `rounds` of each in turns; every other turn in reverse order.
 */
export const inTurns = async (
  sides: ReadonlyArray<Side>,
  rounds: number,
  warming = 1
): Promise<ReadonlyArray<Taken>> => {
  const taken = sides.map(({ name }) => ({ name, samples: [] as Array<Sample> }))
  for (let turn = 0; turn < warming; turn++) for (const side of sides) await side.round()
  for (let turn = 0; turn < rounds; turn++) {
    const order = sides.map((_, at) => (turn % 2 === 0 ? at : sides.length - 1 - at))
    for (const at of order) taken[at]!.samples.push(await sides[at]!.round())
  }
  return taken
}

export const median = (values: ReadonlyArray<number>): number => {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}
const spread = (values: ReadonlyArray<number>, show: (value: number) => string): string =>
  `${show(median(values))} (${show(Math.min(...values))} to ${show(Math.max(...values))})`

const short = (value: number): string => (value >= 100 ? Math.round(value).toLocaleString("en") : value.toPrecision(3))
const ratio = (value: number): string => value.toFixed(2)

export interface Shown {
  /** Unit, such as "requests" or "rows". */
  readonly unit: string
  /** Reported per second, or as milliseconds for each. */
  readonly as: "rate" | "duration"
}

/** One ratio: its peer, and the median, lowest and highest of its rounds. */
export interface Result {
  readonly title: string
  readonly peer: string
  readonly median: number
  readonly least: number
  readonly most: number
}
/** All ratios printed by this process. */
export const results: Array<Result> = []

/** Prints medians with their spread, then the first side's ratio to each other side, round by round. */
export const print = (title: string, taken: ReadonlyArray<Taken>, { unit, as }: Shown): void => {
  const figure = ({ seconds, count }: Sample): number => (as === "rate" ? count / seconds : (seconds * 1000) / count)
  const label = as === "rate" ? `${unit}/s` : "ms each"
  const width = Math.max(...taken.map(({ name }) => name.length)) + 2
  console.log(`\n${title}`)
  for (const { name, samples } of taken) {
    const cpu = samples.flatMap(({ cpu_seconds, count }) =>
      cpu_seconds === undefined ? [] : [(cpu_seconds * 1e6) / count]
    )
    console.log(
      `  ${name.padEnd(width)}${spread(samples.map(figure), short)} ${label}${cpu.length === 0 ? "" : `; CPU ${spread(cpu, short)} µs each`}`
    )
  }
  const [first, ...others] = taken
  for (const other of others) {
    const ratios = first!.samples.map((sample, at) => figure(sample) / figure(other.samples[at]!))
    const [least, most] = [Math.min(...ratios), Math.max(...ratios)]
    results.push({ title, peer: other.name, median: median(ratios), least, most })
    console.log(
      `  ${"ratio".padEnd(width)}${spread(ratios, ratio)} ${as === "rate" ? "of the rate of" : "times as long as"} ${other.name}, ${ratios.length} rounds in turns`
    )
  }
}

/** Prints a figure without a peer; its ratio to the goal is kept. */
export const printFigure = (
  title: string,
  values: ReadonlyArray<number>,
  { goal, unit }: { readonly goal: number; readonly unit: string }
): void => {
  const [least, most] = [Math.min(...values), Math.max(...values)]
  const peer = `a goal of ${goal} ${unit}`
  results.push({ title, peer, median: median(values) / goal, least: least / goal, most: most / goal })
  const figure = values.length === 1 ? short(most) : spread(values, short)
  console.log(`  ${title}: ${figure} ${unit}, ${ratio(median(values) / goal)} of ${peer}`)
}

/** Processor seconds a process has used so far; undefined without /proc. */
export const cpuSecondsOf = (pid: number): number | undefined => {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, "latin1")
      .replace(/^.*\) /, "")
      .split(" ")
    return (Number(fields[11]) + Number(fields[12])) / 100
  } catch {
    return undefined
  }
}

export const machine = (): string =>
  `${availableParallelism()} cores (${cpus()[0]?.model.trim() ?? "unknown"}), Node ${process.versions.node}, SQLite ${process.versions.sqlite}`
