/** What rules are given beside facts and input: rules and reactions are pure functions. */
import type { Settings } from "./settings.ts"
import type { Table } from "./table.ts"
import type { Viewer } from "./viewer.ts"

/** What deciding may use: no clock, no chance, no reads. */
export interface DecideContext {
  readonly now: string
  /**
   * When it happened, where nobody says otherwise: what a device recorded happened then, by its clock, however late the
   * server hears of it; never after `now`, and `now` where it is asked directly.
   */
  readonly happened_at: string
  readonly viewer: Viewer
  readonly settings: Settings
  /** The next id of an entity's table: drawn before deciding, and the same one when a command is decided again. */
  readonly id: (table: Table) => number
  /** The next number of a document sequence; null offline, where only the server numbers. */
  readonly number: (sequence: string) => number | null
}
