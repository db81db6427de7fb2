/**
 * Offline sync on the device: writes pending commands to a signed file, and reads the server's answer from another one.
 */
import type { Effect } from "effect"
import { catalogue } from "../../core/catalogue.ts"
import type { Alternative, CommandRuntime, Failure, Request, Store, StoredEvent } from "../../core/kernel/index.ts"
import type { Viewer } from "../../core/kernel/index.ts"
import { schema_version } from "../../core/kernel/runtime/schema.ts"
import type { CommandsBody, EventsBody, Page } from "../protocol/bundle-format.ts"
import { bundle_bytes_max, bundle_content_bytes_max, BundleError } from "../protocol/bundle-format.ts"
import { commands_per_bundle_max, decodeAddress, decodeEventsBody, isComplete } from "../protocol/bundle-format.ts"
import { isSignedBy, publicKeyOf, readBundle, signBundle, unreadableBundle } from "../protocol/bundle-format.ts"
import type { LeaseRange, WireCommand, WireError } from "../protocol/wire.ts"
import { contentsNamed, DecodeFailure, leasedTables, toWireCommand } from "../protocol/wire.ts"
import type { Profile } from "./outbox/folder.ts"
import { referencesOfBody } from "./outbox/references.ts"
import type { Outbox } from "./outbox/outbox.ts"
import { eventOfShapeRow } from "../protocol/snapshot.ts"
import type { QueryResult, Replica } from "./replica/replica.ts"
import { type Progress, type SyncReport, verdictsOfReusedIds, type takeNews } from "./exchange/sync.ts"
import type { SourceFiles } from "./exchange/files.ts"
import type { Finding } from "./recovery.ts"
import type { MissingCommands } from "./outbox/replica-tables.ts"
import type { Remote } from "./exchange/remote.ts"
import type { CommandReport, Conflict, NamedReport, ResolutionRequest } from "./resolutions/conflicts.ts"
import type { ResolutionResult } from "./resolutions/conflicts.ts"
import type { AskFacts } from "./resolutions/ways-out.ts"
import type { DeviceUndo } from "./undo/undo.ts"

interface BundleParts {
  readonly profile: Profile
  readonly outbox: Outbox
  readonly replica: Replica
  readonly run: <A>(effect: Effect.Effect<A, Failure, Store | CommandRuntime>) => Promise<A>
  /** Content of a file that waits on this device; undefined if it is lost. */
  readonly contentOf: (sha256: string) => Uint8Array | undefined
}
interface ExportedBundle {
  readonly text: string
  readonly commands: number
  readonly files: number
  readonly more: boolean
}
interface ImportedBundle {
  readonly accepted: number
  readonly rejected: number
  readonly applied_events: number
  readonly position: number
  readonly pending: number
  readonly conflicts: number
  /** Whether everything in the bundle had been applied before. */
  readonly known: boolean
  /** False if the server has more events, or needs commands again: another exchange of bundles is needed. */
  readonly complete: boolean
}

/**
 * Exports pending commands as a signed file; safe to repeat, as the server decides each command once.
 * `content_bytes_max`: limit for commands and files together.
 */
export const exportBundle = async (
  { profile, outbox, replica, run, contentOf }: BundleParts,
  made_at: string,
  content_bytes_max = bundle_content_bytes_max
): Promise<ExportedBundle> => {
  if (profile.key === undefined || profile.server_key === undefined) {
    throw new BundleError(
      "This device and its server do not know each other's keys yet.",
      "Run flightcase sync once while there is a network; bundles work from then on."
    )
  }
  const { position, offset, handle } = await run(replica.position)
  outbox.offer(outbox.lastPending())
  const pending = outbox.toSend()
  const { commands, files, lost_files } = contentsOf(pending, contentOf, content_bytes_max)
  const short = leasedTables(catalogue).filter(
    (table) => outbox.idsLeft(table) < catalogue.table(table).lease_block_size / 2
  )
  const { blocks, blocks_asked } = outbox.leases()
  const body: CommandsBody = {
    replica_id: profile.replica_id,
    device: profile.device,
    server: profile.url,
    schema_version,
    position,
    offset,
    handle: handle ?? null,
    commands,
    more: commands.length < pending.length,
    leases: short.map((entity) => ({ entity, request_no: outbox.leaseRequestNo(entity) })),
    blocks,
    blocks_asked,
    ...(files.length === 0 ? {} : { files }),
    ...(lost_files.length === 0 ? {} : { lost_files })
  }
  return {
    text: `${JSON.stringify(signBundle("commands", body, profile.key, made_at))}\n`,
    commands: commands.length,
    files: files.length,
    more: body.more
  }
}

type Contents = Required<Pick<CommandsBody, "commands" | "files" | "lost_files">>
/** The first pending commands that fit into one bundle, at least one, with the files they reference. */
const contentsOf = (
  pending: ReadonlyArray<WireCommand>,
  contentOf: BundleParts["contentOf"],
  content_bytes_max: number
): Contents => {
  const commands: Array<WireCommand> = []
  const files = new Map<string, string>()
  const lost = new Set<string>()
  let command_bytes = 0
  let file_bytes = 0
  for (const command of pending.slice(0, commands_per_bundle_max)) {
    const wire = toWireCommand(command)
    command_bytes += Buffer.byteLength(JSON.stringify(wire))
    const more = new Map<string, string>()
    for (const sha256 of contentsNamed([wire])) {
      if (files.has(sha256) || lost.has(sha256)) continue
      const content = contentOf(sha256)
      if (content === undefined) lost.add(sha256)
      else more.set(sha256, Buffer.from(content).toString("base64"))
      file_bytes += more.get(sha256)?.length ?? 0
    }
    const is_full = command_bytes > bundle_bytes_max / 2 || command_bytes + file_bytes > content_bytes_max
    if (is_full && commands.length > 0) break
    commands.push(wire)
    for (const [sha256, text] of more) files.set(sha256, text)
  }
  return { commands, files: [...files].map(([sha256, content]) => ({ sha256, content })), lost_files: [...lost] }
}

const place = (offset: string): number => Number(offset.split("_")[0])

/**
 * Reopens commands that the server has lost (it was restored from a backup), so that the next bundle contains them;
 * returns whether there were any.
 */
const reopenBy = (outbox: Outbox, { remembered }: EventsBody): boolean =>
  remembered !== undefined &&
  remembered.last_n < outbox.lastSettled() &&
  outbox.reopen(remembered.last_n, remembered.leases, referencesOfBody(catalogue)) > 0
const within = (block: LeaseRange, { entity, from, to }: LeaseRange): ReadonlyArray<LeaseRange> =>
  entity === block.entity && from <= block.to && to >= block.from
    ? [{ entity, from: Math.max(from, block.from), to: Math.min(to, block.to) }]
    : []

/** The events of a page by position. All pages are read before the first is applied: a wrong one changes nothing. */
const eventsOf = ({ rows }: Page): ReadonlyArray<StoredEvent> => {
  try {
    return rows.map(eventOfShapeRow).toSorted((a, b) => a.position - b.position)
  } catch (error) {
    throw error instanceof DecodeFailure ? unreadableBundle(error) : error
  }
}

/** Decodes a server's bundle for this device. Throws a BundleError with advice if it must not be applied. */
const openBundle = (profile: Profile, text: string): EventsBody => {
  const sealed = readBundle(text)
  if (sealed.kind !== "events") {
    const own = profile.key !== undefined && sealed.key === publicKeyOf(profile.key)
    throw own
      ? new BundleError(
          "This bundle was made here: it is for the server.",
          "Carry it to a machine with a network: flightcase sync bundle in FILE --to URL --token T writes the answer to bring back."
        )
      : new BundleError(
          "This bundle comes from another device: it is for the server.",
          "flightcase sync bundle in FILE --to URL --token T delivers it."
        )
  }
  if (!isComplete(sealed))
    throw new BundleError(
      "The bundle was changed after it was made: its signature does not fit. Nothing of it was applied.",
      "Fetch it again from the server."
    )
  const address = decodeAddress(sealed.body)
  if (address.replica_id !== profile.replica_id) {
    throw new BundleError(
      `The bundle is for the replica ${address.replica_id}; this device is replica ${profile.replica_id}.`,
      "Carry it to the device it was made for."
    )
  }
  if (profile.server_key === undefined || !isSignedBy(sealed, profile.server_key)) {
    throw new BundleError(
      `The bundle was not signed by the server this device belongs to (${profile.url}).`,
      "Deliver the device's bundle to its own server; after the server's key was changed, sync once over a network."
    )
  }
  if (address.schema_version > schema_version) {
    throw new BundleError(
      `The bundle comes from a newer release (schema ${address.schema_version}); this one knows ${schema_version}. Nothing of it was applied.`,
      "Update Flightcase here, then take the bundle in again."
    )
  }
  return decodeEventsBody(sealed.body)
}

/** Applies the server's answer to this device's bundle. Repeating it changes nothing. */
export const importBundle = async (
  { profile, outbox, replica, run }: Omit<BundleParts, "contentOf">,
  text: string
): Promise<ImportedBundle> => {
  const body = openBundle(profile, text)
  const pages = body.pages.map((page) => ({ page, events: eventsOf(page) }))
  const before = outbox.counts()
  let applied_events = 0
  let known = true,
    reopened = false
  const { remembered } = body
  // Done first, so that ids the server has leased to others are no longer used.
  if (remembered !== undefined)
    outbox.trimLeases(
      remembered.shown,
      remembered.leases.flatMap((one) => remembered.shown.flatMap((block) => within(block, one)))
    )
  await run(replica.settle(verdictsOfReusedIds(body.verdicts, outbox.pending())))
  for (const { page, events } of pages) {
    const position = await run(replica.position)
    const here = position.handle === page.handle && place(position.offset) >= place(page.offset)
    if (here) continue
    if (page.anew) {
      reopened ||= reopenBy(outbox, body)
      await run(replica.restart)
    } else if (position.handle !== page.handle || place(page.from) > place(position.offset)) {
      throw new BundleError(
        `The bundle begins at ${place(page.from)}, which this replica has not reached or has left behind.`,
        "Make a new one: flightcase sync bundle out FILE."
      )
    }
    known = false
    applied_events += (
      await run(replica.apply({ events, offset: page.offset, handle: page.handle, up_to_date: page.up_to_date }))
    ).applied
  }
  for (const { entity, request_no, ranges } of body.leases) {
    if (request_no === outbox.leaseRequestNo(entity)) outbox.addLease(request_no, ranges)
  }
  const after = outbox.counts()
  const gained = (state: string): number => Math.max(0, (after[state] ?? 0) - (before[state] ?? 0))
  return {
    accepted: gained("accepted"),
    rejected: gained("rejected") + gained("held"),
    applied_events,
    position: (await run(replica.position)).position,
    pending: after["pending"] ?? 0,
    conflicts: after["rejected"] ?? 0,
    known,
    complete: body.complete && !reopened
  }
}

// Operations of a device, and their results.

export interface SyncStatus {
  readonly server: string
  readonly replica_id: number
  readonly position: number
  readonly synced_at: string | null
  readonly pending: number
  readonly oldest_pending_at: string | null
  /** Number of pending commands that the replica's rules now refuse. */
  readonly stalled: number
  readonly conflicts: number
  /** Number of commands that wait for a conflict to be resolved. */
  readonly held: number
}
interface PendingCommand {
  readonly n: number
  readonly id: string
  readonly name: string
  readonly issued_at: string
  readonly stalled: WireError | null
}
interface SyncOptions {
  /** Milliseconds to wait while another process syncs; default: 30,000. */
  readonly patience_millis?: number
}
/** A request with files on this machine. */
interface DeviceRequest extends Omit<Request, "files"> {
  readonly files?: SourceFiles
}
export interface Device {
  readonly profile: Profile
  readonly remote: Remote
  /**
   * Answers a request from the replica as the server would. Refusals are answers with a status and `{message, errors}`.
   */
  readonly ask: (request: DeviceRequest, options?: { readonly plan?: boolean }) => Promise<QueryResult>
  /**
   * Results of these commands in sequence, each decided after the earlier ones, with the events they would produce.
   * Nothing is recorded.
   */
  readonly plan: (requests: ReadonlyArray<Request>) => Promise<ReadonlyArray<QueryResult>>
  /** Reads the replica as the device's user. */
  readonly read: <A>(reading: (viewer: Viewer) => Effect.Effect<A, Failure, Store | CommandRuntime>) => Promise<A>
  /** Path of a file that waits to be sent; undefined if none waits with this hash. */
  readonly waitingFile: (sha256: string) => string | undefined
  /** Hash and name of an attachment's file; undefined if the row is not on this device. */
  readonly attachment: (id: number) => Promise<{ readonly sha256: string; readonly original_name: string } | undefined>
  readonly sync: (
    progress?: Progress,
    options?: SyncOptions
  ) => Promise<SyncReport & { readonly warnings: ReadonlyArray<string> }>
  /**
   * Pulls without sending, before a decision made here. False if the server failed or did not answer in time; data
   * received by then is kept.
   */
  readonly fetch: (patience_millis: number) => Promise<boolean>
  /** Applies events of a live answer (`waitForNews`) instead of a sync; undefined if a sync is needed for them. */
  readonly take: (news: Parameters<typeof takeNews>[1]) => ReturnType<typeof takeNews>
  /** The replica's position in the server's shape, and the time of its last complete pull. */
  readonly place: () => Promise<{
    readonly offset: string
    readonly handle: string | undefined
    readonly synced_at: string | null
  }>
  /** Number of the newest pending command; 0 if none is pending. Cheap. */
  readonly lastPending: () => number
  /** Exports pending commands as a signed file, limited to `content_bytes_max` or a bundle's maximum. */
  readonly bundleOut: (content_bytes_max?: number) => Promise<ExportedBundle>
  /** Applies the server's answer to an exported bundle. */
  readonly bundleIn: (text: string) => Promise<ImportedBundle>
  readonly status: () => Promise<SyncStatus>
  /**
   * Open conflicts with their resolutions. `facts` reads availability from the server if possible, else from the
   * replica.
   */
  readonly conflicts: (facts?: AskFacts) => Promise<ReadonlyArray<Conflict>>
  /** Resolves a conflict or a single held command, which stays in the history. With `plan` nothing is written. */
  readonly resolve: (
    id: string,
    how: ResolutionRequest,
    options?: { readonly plan?: boolean }
  ) => Promise<ResolutionResult>
  /** Units that could replace the one a command was refused for. */
  readonly alternatives: (id: string) => Promise<ReadonlyArray<Alternative>>
  /**
   * Reports of accepted commands that overwrote others' values or had another outcome than shown here: unread ones, or
   * all.
   */
  readonly told: (all: boolean) => ReadonlyArray<CommandReport>
  /** Returns a function that reads the reports which were added since. */
  readonly reportsFromNow: () => () => ReadonlyArray<CommandReport>
  /** Adds the command's subject to each report: person, order, customer, goods. */
  readonly named: (reports: ReadonlyArray<CommandReport>) => Promise<ReadonlyArray<NamedReport>>
  /** Marks reports up to this command number as read. */
  readonly seen: (n: number) => void
  /** Undoes commands recorded here. */
  readonly undo: DeviceUndo
  readonly pending: () => Promise<ReadonlyArray<PendingCommand>>
  readonly doctor: (repair: boolean, options?: { readonly offline?: boolean }) => Promise<ReadonlyArray<Finding>>
  /**
   * Acknowledged commands missing from the outbox; undefined if none. While there are any, nothing is recorded or
   * synced.
   */
  readonly missing: () => Promise<MissingCommands | undefined>
  /** Continues without the missing commands and returns them. */
  readonly acceptLoss: () => Promise<MissingCommands | undefined>
  /** `process_ends`: no other command of this process follows, so that a short log of the replica may stay. */
  readonly close: (process_ends?: boolean) => Promise<void>
}
