/** What is known of a refused command: what it was sent, and the rows it is about. */
import type { Request } from "../kernel/endpoint.ts"
import type { Json, JsonObject } from "../kernel/json.ts"

/** A refused command: what its endpoint is called and says of itself, what it was sent, and the rows it names. */
export interface Refused {
  readonly name: string
  readonly summary: string
  readonly params: { readonly [name: string]: string }
  readonly body: JsonObject
  readonly errors: { readonly [field: string]: ReadonlyArray<string> }
  readonly named: ReadonlyArray<{
    readonly table: string
    readonly id: number
    /** In the body; undefined for one of the path. */
    readonly field?: string
  }>
  /** Rows as they were when it was recorded, by `table/id`: they tell of what is gone since. */
  readonly remembered: { readonly [row: string]: JsonObject }
}
export interface Named {
  readonly id: number
  readonly name: string
}
/** Each is null where the command is about none, or about one that is not here. */
export interface About {
  readonly person: string | null
  readonly order:
    | (Named & {
        readonly number: string | null
        /** Whose clock its times are read by. */
        readonly store_id: number | null
        readonly state_name: string
        readonly starts_at: string | null
        readonly ends_at: string | null
      })
    | null
  readonly customer: Named | null
  readonly product: Named | null
  readonly units: ReadonlyArray<Named>
  readonly container: Named | null
  readonly quantity: number | null
}

export interface Facts extends About {
  /** The line that its path names. */
  readonly line: string | null
  /** An invoice or another paper that its path names: `invoice 12`. */
  readonly paper: string | null
  /** What the rows are called that fields of its body name: `customer`. */
  readonly referring: ReadonlyMap<string, string>
  readonly zone: string
}

/** Answers reads: the replica, or the server where it knows better. */
export type AskFacts = (request: Request) => Promise<Given>
export interface Given {
  readonly status: number
  readonly body?: Json
}
