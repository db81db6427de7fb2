/**
 * What completion offers as values of a flag or of a word that is no flag, noted where either is made: commander checks
 * what it calls choices, in words of its own.
 */
import type { Argument, Option } from "commander"

export interface OfferedValues {
  /** The table whose rows it names. */
  readonly table?: string
  /** Words it may be. */
  readonly words?: ReadonlyArray<string>
}
const noted = new WeakMap<Option | Argument, OfferedValues>()
export const withValues = <T extends Option | Argument>(made: T, values: OfferedValues): T => {
  noted.set(made, values)
  return made
}
export const valuesOf = (made: Option | Argument): OfferedValues => noted.get(made) ?? {}
