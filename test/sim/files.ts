/** Files of the simulated world: a few contents that all devices attach, which are not stored. */
import { createHash } from "node:crypto"
import { Effect } from "effect"
import type { UploadedFile } from "../../core/kernel/endpoints/endpoint.ts"
import type { DeviceFilesShape } from "../../sync/server/tables.ts"
import type { Random } from "./random.ts"

const contents = 6
const sha256Of = (text: string): string => createHash("sha256").update(text).digest("hex")
export const fileOf = (sha256: string, name = "photo.jpg"): UploadedFile => ({
  name,
  mime_type: "image/jpeg",
  size_bytes: 1_000,
  sha256
})
export const anyFile = (random: Random): UploadedFile =>
  fileOf(sha256Of(`content ${random.below(contents)}`), `photo ${random.below(40)}.jpg`)

/** Every sent file counts as stored. */
export const files_of_simulation: DeviceFilesShape = {
  present: (sha256) => Effect.succeed(new Set(sha256)),
  keep: () => Effect.die(new Error("no bundles here"))
}
