/** What travels between a replica and the server. */
import type { FieldErrors } from "../../core/kernel/rejection.ts"
import type { JsonObject } from "../../core/kernel/json.ts"

/** A command as a replica keeps and sends it: an endpoint's name with what its caller gave. */
export type WireCommand = {
  /** Gap-free number in this replica's sequence: 1, 2, 3 … */
  readonly n: number
  /** UUID v7. */
  readonly id: string
  /** The endpoint's name, e.g. `opportunities.create`. */
  readonly name: string
  readonly payload: { readonly params: { readonly [name: string]: string }; readonly body: JsonObject }
  /** Ids it drew from the replica's leases, by table, in order. */
  readonly ids: { readonly [table: string]: ReadonlyArray<number> }
  /** When it was acknowledged, by the replica's clock: data, never order. */
  readonly issued_at: string
  /** Ids of earlier commands of this replica that made what it names: when one of them is refused, it is not decided. */
  readonly needs?: ReadonlyArray<string>
  /**
   * When others' rows that it names were made and, where known, by which command (`instant command`), by `table/id`: a server
   * put back from a backup may have given their ids to other rows since.
   */
  readonly rows_seen?: { readonly [row: string]: string }
}
/** A command without what is kept beside it. */
export const toWireCommand = ({
  n,
  id,
  name,
  payload,
  ids,
  issued_at,
  needs = [],
  rows_seen = {}
}: WireCommand): WireCommand => ({
  n,
  id,
  name,
  payload,
  ids,
  issued_at,
  ...(needs.length === 0 ? {} : { needs }),
  ...(Object.keys(rows_seen).length === 0 ? {} : { rows_seen })
})
export type WireError = {
  readonly status: number
  readonly message: string
  readonly errors?: FieldErrors
  /** The refused command this one builds on, which is why it was not decided (status 424). */
  readonly cause?: string
}
export type Verdict = {
  readonly id: string
  readonly status: "accepted" | "rejected"
  readonly position?: number
  readonly error?: WireError
}
export type LeaseRange = { readonly entity: string; readonly from: number; readonly to: number }

export const replicaStream = (replica_id: number): string => `replica:${replica_id}`

/**
 * The verdict on a command under whose id this device sent another one before. That one's verdict stands; this one is not
 * decided, and is recorded anew under an id of its own.
 */
export const idReusedError = (before: { readonly n: number; readonly accepted: boolean }): WireError => {
  const message = `Another command was sent before under this one's id (number ${before.n}, ${before.accepted ? "accepted" : "refused"}); this one was not decided. Record it again: it gets an id of its own.`
  return { status: 409, message, errors: { command_id: [message] } }
}
/** Whether a verdict is of that kind: the journal tells the other command's under the id, so the answer is where it is heard of. */
export const isIdReusedError = (error: WireError | undefined): error is WireError =>
  error?.status === 409 && error.errors?.["command_id"] !== undefined

export const commands_per_push_max = 500
export const dependencies_max = 500
/** The status of a command that was not decided because what it builds on was refused (RFC 4918, 11.4). */
export const blocked_status = 424
