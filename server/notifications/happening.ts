/** What people are told of: found from events of the journal. */
import type { NotificationChannel } from "../../core/notifications/types.ts"
import type { StoredEvent } from "../../core/kernel/event.ts"
import type { StoreRead } from "../../core/kernel/failure.ts"
import type { JsonObject } from "../../core/kernel/json.ts"

/** Where something is about a row: its table and id. */
export interface Subject {
  readonly type: string
  readonly id: number
}
/** These people, where they may see it. */
export interface Addressees {
  readonly user_ids?: ReadonlyArray<number>
  /** Member records; those of nobody's account tell nobody. */
  readonly member_ids?: ReadonlyArray<number | null>
}

export interface Happening {
  readonly notification_type: string
  /** Names it among all that ever happens, so that it is told once. */
  readonly key: string
  readonly subject: Subject | null
  readonly details: JsonObject
  /** Permissions, apart by blanks, that whoever is told needs: now, and again when they read it. */
  readonly seen_with: string
  /** null: everybody who may see it. */
  readonly to: Addressees | null
  /** This user is told otherwise, or not at all. */
  readonly except?: number
  /** At most these channels. */
  readonly only?: ReadonlyArray<NotificationChannel>
  readonly actor_id: number | null
  /** The command that caused it: much of the same kind at once is told in one row. */
  readonly command_id: string
}

/** What tells people of a type. */
export interface Cause {
  readonly notification_type: string
  /** Types of events. */
  readonly on: ReadonlyArray<string>
  /** Whether an event of these types may matter at all, by itself alone: where none does, no job is queued. */
  readonly may: (event: StoredEvent) => boolean
  /** In a few queries, however many events there are; they are in their order, with data in its present form. */
  readonly happenings: (events: ReadonlyArray<StoredEvent>) => StoreRead<ReadonlyArray<Happening>>
}

/** Names an event among all, also once a restored journal gives its position to another one. */
export const keyOf = ({ command_id, position }: StoredEvent): string => `${command_id}:${position}`
