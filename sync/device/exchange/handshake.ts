/**
 * The first request of each sync: sends the device's position and pending command numbers; the answer reports obstacles
 * before anything is sent.
 */
import { schema_version } from "../../../core/kernel/runtime/schema.ts"
import type { PublicKey } from "../../protocol/bundle-format.ts"
import { commands_per_push_max } from "../../protocol/wire.ts"
import type { reclaimForgottenLeases } from "./sync.ts"
import { DeviceFailure, type Profile } from "../outbox/folder.ts"
import type { Outbox } from "../outbox/outbox.ts"
import { decodeGreeting } from "../../protocol/answers.ts"
import { readAnswer, type Remote } from "./remote.ts"

/**
 * Clock difference in seconds above which users are warned: the server's order is not affected, but times recorded here
 * will look wrong.
 */
export const skew_warning_seconds = 300

interface HandshakeResult {
  /** Warnings for the user; the sync continues. */
  readonly warnings: ReadonlyArray<string>
  /** Difference of the server's clock to this one in seconds; positive if this one is slow, null if unknown. */
  readonly skew_seconds: number | null
  readonly server_key: PublicKey | undefined
  /** The device's name at the server, which may have been changed there. */
  readonly device: string | undefined
  /** The server's record of the device's id blocks and commands. */
  readonly server_memory: Parameters<typeof reclaimForgottenLeases>[1] | undefined
}
interface HandshakeParts {
  readonly profile: Profile
  readonly outbox: Pick<Outbox, "lastN" | "pending">
  readonly remote: Pick<Remote, "call">
  readonly position: number
  readonly public_key: PublicKey | undefined
  /** Current time in milliseconds since 1970. */
  readonly clock?: () => number
}
/**
 * Performs the handshake. Throws a RemoteError if the server refuses the device, a DeviceFailure if another folder
 * sends as this device.
 */
export const handshake = async ({
  profile,
  outbox,
  remote,
  position,
  public_key,
  clock = Date.now
}: HandshakeParts): Promise<HandshakeResult> => {
  const pending = outbox
    .pending()
    .slice(0, commands_per_push_max)
    .map(({ n, id }) => ({ n, id }))
  const asked_at = clock()
  const answer = await remote.call("POST", `/api/v1/sync/replicas/${profile.replica_id}/hello`, {
    schema_version,
    position,
    last_n: outbox.lastN(),
    pending,
    ...(public_key === undefined ? {} : { public_key })
  })
  const skew_seconds = skewOf(answer.headers.get("date"), asked_at, clock())
  const warnings =
    skew_seconds !== null && Math.abs(skew_seconds) > skew_warning_seconds ? [skewText(skew_seconds)] : []
  // A server without this endpoint is of a release that has no handshake.
  if (answer.status === 404)
    return { warnings, skew_seconds, server_key: undefined, device: undefined, server_memory: undefined }
  const { replica, server, copied, push, leases } = readAnswer(profile.url, answer, decodeGreeting)
  if (copied) throw copiedFailure(profile)
  if (!push)
    warnings.push(
      `This release (schema ${schema_version}) is too old to send what it records: the server takes commands from schema ${server.client_schema_min} on. News still arrives; commands stay here until Flightcase is updated.`
    )
  else if (server.schema_version > schema_version)
    warnings.push(
      `The server runs a newer release (schema ${server.schema_version}, this is ${schema_version}); what only it knows is not shown here until Flightcase is updated.`
    )
  if (server.schema_version < schema_version)
    warnings.push(
      `The server runs an older release (schema ${server.schema_version}, this is ${schema_version}); commands it does not know are refused and can be tried again once it is updated.`
    )
  return {
    warnings,
    skew_seconds,
    server_key: server.public_key ?? undefined,
    device: replica.name,
    server_memory: { blocks: leases, last_n: replica.last_n }
  }
}

export const copiedFailure = (profile: Profile, cause?: unknown): DeviceFailure =>
  new DeviceFailure(
    "copied",
    `This folder is a copy: another one has sent commands as the same device (${profile.device}, replica ${profile.replica_id}). Nothing was sent.`,
    "flightcase login URL --token T makes this machine a device of its own and takes its unsent commands along.",
    cause
  )

/**
 * Seconds by which this machine's clock is slow. The Date header has whole seconds and was written between the request
 * (`asked_at`) and the response (`heard_at`), in milliseconds. Null if the header is missing.
 */
export const skewOf = (date: string | null, asked_at: number, heard_at: number): number | null => {
  const server_time = date === null ? Number.NaN : Date.parse(date)
  if (Number.isNaN(server_time)) return null
  const early = server_time - heard_at,
    late = server_time + 1_000 - asked_at
  return early > 0 ? Math.round(early / 1_000) : late < 0 ? Math.round(late / 1_000) : 0
}
export const skewText = (seconds: number): string =>
  `This machine's clock is ${durationText(Math.abs(seconds))} ${seconds > 0 ? "behind" : "ahead of"} the server's. Times recorded here are kept as they are; set the clock.`
const durationText = (seconds: number): string => {
  const [days, hours, minutes] = [
    Math.floor(seconds / 86_400),
    Math.floor(seconds / 3_600) % 24,
    Math.floor(seconds / 60) % 60
  ]
  const parts = (
    [
      [days, "day"],
      [hours, "hour"],
      [minutes, "minute"]
    ] as const
  )
    .filter(([count]) => count > 0)
    .slice(0, 2)
  return parts.map(([count, word]) => `${count} ${word}${count === 1 ? "" : "s"}`).join(" and ")
}
