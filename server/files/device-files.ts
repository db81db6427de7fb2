/** Where files of devices are kept until their commands name them. */
import { Clock, Effect, Stream } from "effect"
import { upload_bytes_max } from "../../core/kernel/body-limits.ts"
import { invalidField } from "../../core/kernel/rejection.ts"
import { Store } from "../../core/kernel/store/store.ts"
import type { DeviceFilesShape } from "../../sync/server/device-tokens.ts"
import { instantOf } from "../../core/values/time.ts"
import { kept_unreferenced_millis } from "./collect.ts"
import { filesUnavailable, keepContent } from "./keep.ts"
import { blobs } from "./schema.ts"

export const deviceFiles: DeviceFilesShape = {
  present: (sha256) =>
    Effect.gen(function* () {
      const rows = yield* (yield* Store).getMany(blobs, sha256)
      // What is removed soon is wanted again, so that the command that names it finds it.
      const fresh = instantOf((yield* Clock.currentTimeMillis) - kept_unreferenced_millis / 2)
      const stays = rows.filter(
        ({ state, unreferenced_since }) =>
          state === "kept" && (unreferenced_since === null || unreferenced_since > fresh)
      )
      return new Set(stays.map((row) => row.sha256))
    }),
  keep: (content) =>
    keepContent(Stream.succeed(content), upload_bytes_max).pipe(
      Effect.catchTags({
        BlobTooLarge: ({ bytes_max }) =>
          Effect.fail(invalidField("file", `The file must not be larger than ${bytes_max} bytes.`)),
        BlobStoreFailure: filesUnavailable
      })
    )
}
