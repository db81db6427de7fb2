/** What completion offers as values of a flag, noted where the flag is made: commander checks what it calls choices. */
import type { Option } from "commander"

export interface OptionValues {
  /** The table whose rows it names. */
  readonly table?: string
  /** Words it may be. */
  readonly words?: ReadonlyArray<string>
}
const noted = new WeakMap<Option, OptionValues>()
export const withValues = (option: Option, values: OptionValues): Option => {
  noted.set(option, values)
  return option
}
export const valuesOfOption = (option: Option): OptionValues => noted.get(option) ?? {}
