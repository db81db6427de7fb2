/**
 * Ids and document numbers of one command: as many are drawn as its rule asks for, and the same ones again each time it
 * is run.
 */
import { Effect } from "effect"
import { CommandRuntime } from "../endpoints/command-runtime.ts"
import type { DecideContext } from "../events/settings.ts"
import type { Table } from "../tables/table.ts"

export interface IdAllocator {
  readonly context: Pick<DecideContext, "id" | "number">
  /** Before the rule is run again: it is given the same ids and numbers from the first on. */
  readonly reset: () => void
  /** How many more of each were requested than are available, since the last reset. */
  readonly shortfall: () => { readonly ids: ReadonlyMap<string, number>; readonly numbers: ReadonlyMap<string, number> }
  readonly add: (table: string, ids: ReadonlyArray<number>) => void
  /** Null where numbers are not given (replicas). */
  readonly addNumber: (sequence: string, number: number | null) => void
  readonly used: () => { readonly [table: string]: ReadonlyArray<number> }
  /** Drawn for this command and not used; ids it was recorded with are never among them. */
  readonly unused: () => ReadonlyArray<readonly [table: string, ids: ReadonlyArray<number>]>
}

/** Values by name, handed out in order; counts requests beyond those available. */
const makeSupply = <V>(recorded: Iterable<readonly [name: string, values: ReadonlyArray<V>]> = []) => {
  const values = new Map<string, ReadonlyArray<V>>(recorded)
  const requested = new Map<string, number>()
  const valuesOf = (name: string): ReadonlyArray<V> => values.get(name) ?? []
  return {
    /** Undefined where the next one is not drawn yet. */
    next: (name: string): V | undefined => {
      const index = requested.get(name) ?? 0
      requested.set(name, index + 1)
      return valuesOf(name)[index]
    },
    add: (name: string, more: ReadonlyArray<V>): void => void values.set(name, [...valuesOf(name), ...more]),
    has: (name: string): boolean => values.has(name),
    reset: (): void => requested.clear(),
    shortfall: (): ReadonlyMap<string, number> =>
      new Map(
        [...requested]
          .map(([name, count]) => [name, count - valuesOf(name).length] as const)
          .filter(([, count]) => count > 0)
      ),
    /** Name, values and how many of them were handed out. */
    entries: (): ReadonlyArray<readonly [name: string, values: ReadonlyArray<V>, used: number]> =>
      [...values].map(([name, drawn]) => [name, drawn, requested.get(name) ?? 0])
  }
}

/** Placeholder ids and numbers are counted from here: the rule is run again with real ones before any is recorded. */
const first_placeholder = 2 ** 52

/**
 * `recorded`: ids by table that the command drew when it was first decided. `creates`: tables in which it always makes
 * a row; an
 * id of each is drawn at once.
 */
export const makeIdAllocator = Effect.fnUntraced(function* (
  recorded: { readonly [table: string]: ReadonlyArray<number> },
  creates: ReadonlyArray<Table>
) {
  const runtime = yield* CommandRuntime
  const ids = makeSupply<number>(Object.entries(recorded))
  const numbers = makeSupply<number | null>()
  let placeholder = first_placeholder
  const allocator: IdAllocator = {
    context: {
      id: ({ name }) => ids.next(name) ?? placeholder++,
      number: (sequence) => {
        const drawn = numbers.next(sequence)
        return drawn === undefined ? placeholder++ : drawn
      }
    },
    reset: () => {
      ids.reset()
      numbers.reset()
    },
    shortfall: () => ({ ids: ids.shortfall(), numbers: numbers.shortfall() }),
    add: ids.add,
    addNumber: (sequence, number) => numbers.add(sequence, [number]),
    used: () => Object.fromEntries(ids.entries().map(([table, drawn, used]) => [table, drawn.slice(0, used)])),
    unused: () =>
      ids
        .entries()
        .map(([table, drawn, used]) => [table, drawn.slice(Math.max(used, recorded[table]?.length ?? 0))] as const)
        .filter(([, unused]) => unused.length > 0)
  }
  for (const table of creates)
    if (!ids.has(table.name)) allocator.add(table.name, yield* runtime.allocateIds(table.name, 1))
  return allocator
})
