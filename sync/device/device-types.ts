/** What a device can be asked, and what it answers. */
import type { Effect } from "effect"
import type { CommandRuntime } from "../../core/kernel/command-runtime.ts"
import type { Alternative, Failure, Request } from "../../core/kernel/endpoint.ts"
import type { Store } from "../../core/kernel/store/store.ts"
import type { Viewer } from "../../core/kernel/viewer.ts"
import type { WireError } from "../protocol/wire.ts"
import type { ExportedBundle, ImportedBundle } from "./bundle.ts"
import type { SourceFiles } from "./files.ts"
import type { Profile } from "./folder.ts"
import type { Finding } from "./recovery/doctor.ts"
import type { MissingCommands } from "./recovery/missing-commands.ts"
import type { Remote } from "./remote.ts"
import type { QueryResult } from "./replica/replica.ts"
import type {
  CommandReport,
  Conflict,
  NamedReport,
  ResolutionRequest,
  ResolutionResult
} from "./resolutions/conflicts.ts"
import type { AskFacts } from "./resolutions/ways-out.ts"
import type { Progress, SyncReport } from "./sync.ts"
import type { DeviceUndo } from "./undo/undo.ts"

export interface SyncStatus {
  readonly server: string
  readonly replica_id: number
  readonly position: number
  readonly synced_at: string | null
  readonly pending: number
  readonly oldest_pending_at: string | null
  /** Pending commands that the replica's rules refuse by now. */
  readonly stalled: number
  readonly conflicts: number
  /** Commands that wait for a conflict to be resolved. */
  readonly held: number
}
export interface PendingCommand {
  readonly n: number
  readonly id: string
  readonly name: string
  readonly issued_at: string
  readonly stalled: WireError | null
}
export interface SyncOptions {
  /** How long to wait while another process syncs; 30,000 by default. */
  readonly patience_millis?: number
}
/** A request whose files are on this machine. */
export interface DeviceRequest extends Omit<Request, "files"> {
  readonly files?: SourceFiles
}
export interface Device {
  readonly profile: Profile
  readonly remote: Remote
  /** Answers from the replica as the server would. Refusals are answers, too: a status and `{message, errors}`. */
  readonly ask: (request: DeviceRequest, options?: { readonly plan?: boolean }) => Promise<QueryResult>
  /**
   * What these commands would come to one after the other, each on what those before it would have done: answers with
   * the events they would have made. Nothing is recorded.
   */
  readonly plan: (requests: ReadonlyArray<Request>) => Promise<ReadonlyArray<QueryResult>>
  /** Reads the replica as the device's user, who sees no more than is on it. */
  readonly read: <A>(reading: (viewer: Viewer) => Effect.Effect<A, Failure, Store | CommandRuntime>) => Promise<A>
  /** Where the content of a file waits to be sent; undefined where it does not. */
  readonly waitingFile: (sha256: string) => string | undefined
  /** What an attachment's file is; undefined for one that is not here. */
  readonly attachment: (id: number) => Promise<{ readonly sha256: string; readonly original_name: string } | undefined>
  readonly sync: (
    progress?: Progress,
    options?: SyncOptions
  ) => Promise<SyncReport & { readonly warnings: ReadonlyArray<string> }>
  /**
   * Takes in what happened elsewhere and sends nothing, for a decision that is taken here. False where the server did
   * not answer within the patience: what came by then is kept.
   */
  readonly fetch: (patience_millis: number) => Promise<boolean>
  /** Where the replica stands in the server's shape, and when it last was up to date. */
  readonly place: () => Promise<{
    readonly offset: string
    readonly handle: string | undefined
    readonly synced_at: string | null
  }>
  /** The highest number pending; 0 when none is. Cheap. */
  readonly lastPending: () => number
  /** Sync by hand: pending commands as a signed file; the server's answer to it applied. */
  readonly bundleOut: () => Promise<ExportedBundle>
  readonly bundleIn: (text: string) => Promise<ImportedBundle>
  readonly status: () => Promise<SyncStatus>
  /** `facts` answers reads about what is free better than the replica does. */
  readonly conflicts: (facts?: AskFacts) => Promise<ReadonlyArray<Conflict>>
  /** Resolves a conflict, or a held command by itself; the history stays. With `plan` nothing is written. */
  readonly resolve: (
    id: string,
    how: ResolutionRequest,
    options?: { readonly plan?: boolean }
  ) => Promise<ResolutionResult>
  /** Units that could be used instead of the one a command was refused for. */
  readonly alternatives: (id: string) => Promise<ReadonlyArray<Alternative>>
  /**
   * Accepted commands that overwrote somebody's values, or whose outcome is not what was shown here; new ones, or all.
   */
  readonly told: (all: boolean) => ReadonlyArray<CommandReport>
  /** The reports with what their commands were about: person, order, customer, goods. */
  readonly named: (reports: ReadonlyArray<CommandReport>) => Promise<ReadonlyArray<NamedReport>>
  /** Marks the reports up to this command as read. */
  readonly seen: (n: number) => void
  /** Takes back what was recorded here. */
  readonly undo: DeviceUndo
  readonly pending: () => Promise<ReadonlyArray<PendingCommand>>
  readonly doctor: (repair: boolean, options?: { readonly offline?: boolean }) => Promise<ReadonlyArray<Finding>>
  /** Acknowledged commands that the outbox has lost; nothing is recorded or synced while there are any. */
  readonly missing: () => Promise<MissingCommands | undefined>
  /** Goes on without the missing commands; says which they were. */
  readonly acceptLoss: () => Promise<MissingCommands | undefined>
  readonly close: () => Promise<void>
}
