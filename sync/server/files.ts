/**
 * Files that devices send ahead of the commands that name them. A command may only name content that its own person has
 * sent: knowing a SHA-256, from a list or from somebody else's device, opens no file.
 */
import { Effect, Option } from "effect"
import type { UploadedFile } from "../../core/kernel/endpoint.ts"
import { list, text } from "../../core/kernel/field.ts"
import { invalidField, Rejection } from "../../core/kernel/rejection.ts"
import { bindings } from "../../core/kernel/store/statement.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { instantOf } from "../../core/values/time.ts"
import type { WireCommand, WireError } from "../protocol/wire.ts"
import { DeviceFiles, type FileContent } from "./device-tokens.ts"
import { received_files } from "./tables.ts"

const hour_millis = 3_600_000
/**
 * How long what was sent counts as sent. Content that nothing names is removed a day after it came, so that a command
 * decided within this time finds it.
 */
const counts_hours = 20
const forgotten_after_hours = 48
export const files_asked_max = 500

/** Contents that a device has recorded commands for and has itself no more: those commands are refused. */
export const lost_files_field = list(text({ max: 64 }), { default: [], max_items: files_asked_max })

const before = (now: string, hours: number): string => instantOf(Date.parse(now) - hours * hour_millis)
const keyOf = (user_id: number, sha256: string): string => `${user_id}:${sha256}`

/** Those of these contents that this person sent and that are still here. */
export const receivedFrom = Effect.fnUntraced(function* (user_id: number, sha256: ReadonlyArray<string>, now: string) {
  const files = yield* Effect.serviceOption(DeviceFiles)
  if (Option.isNone(files) || sha256.length === 0) return new Map<string, FileContent>()
  const rows = yield* (yield* Store).getMany(
    received_files,
    sha256.map((one) => keyOf(user_id, one))
  )
  const counting = rows.filter(({ received_at }) => received_at > before(now, counts_hours))
  const present = yield* files.value.present(counting.map((row) => row.sha256))
  return new Map<string, FileContent>(counting.filter((row) => present.has(row.sha256)).map((row) => [row.sha256, row]))
})

/** The files of a command as its request carries them: what they are is said by the content that came. */
export const receivedFiles = Effect.fnUntraced(function* (
  user_id: number,
  { files }: WireCommand["payload"],
  now: string
) {
  if (files === undefined) return {}
  const entries = Object.entries(files)
  const here = yield* receivedFrom(
    user_id,
    entries.map(([, { sha256 }]) => sha256),
    now
  )
  const received: { [field: string]: UploadedFile } = {}
  for (const [field, { name, sha256 }] of entries) {
    const content = here.get(sha256)
    if (content === undefined) return yield* missingFile(sha256)
    received[field] = { name, sha256, mime_type: content.mime_type, size_bytes: content.size_bytes }
  }
  return { files: received }
})
/** No verdict: the command waits on its device until the file has arrived. */
const missingFile = (sha256: string): Rejection =>
  new Rejection({
    kind: "conflict",
    message: "The content of a file has not arrived; send it first.",
    errors: { files: [sha256] }
  })
/** The verdict on a command whose file is lost on its device. */
export const lostFile = (field: string, { name }: { readonly name: string }): WireError => {
  const message = `The file ${name} is not on the device any more, or not as it was; attach it again.`
  return { status: 422, message, errors: { [field]: [message] } }
}

/** Notes who sent it. */
export const noteReceived = Effect.fnUntraced(function* (
  user_id: number,
  { mime_type, sha256, size_bytes }: FileContent,
  now: string
) {
  const store = yield* Store
  const old = bindings(store.dialect)
  yield* store.run(
    `delete from received_files where received_at < ${old.bind(before(now, forgotten_after_hours))}`,
    old.values
  )
  const { bind, values } = bindings(store.dialect)
  yield* store.run(
    `insert into received_files (key, user_id, sha256, mime_type, size_bytes, received_at) ` +
      `values (${[keyOf(user_id, sha256), user_id, sha256, mime_type, size_bytes, now].map(bind).join(", ")}) ` +
      `on conflict (key) do update set received_at = excluded.received_at`,
    values
  )
})

/** Keeps a file that came in a bundle. */
export const keepBundledFile = Effect.fnUntraced(function* (
  user_id: number,
  sha256: string,
  content: string,
  now: string
) {
  const files = yield* Effect.serviceOption(DeviceFiles)
  if (Option.isNone(files)) return yield* new Rejection({ kind: "unavailable", message: "This server keeps no files." })
  const kept = yield* files.value.keep(Buffer.from(content, "base64"))
  if (kept.sha256 !== sha256) return yield* otherContent
  yield* noteReceived(user_id, kept, now)
})
export const otherContent = invalidField("file", "The file arrived otherwise than it was sent; send it again.")
