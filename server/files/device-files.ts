/** Where files of devices are kept until their commands name them. */
import { Effect, Stream } from "effect"
import { upload_bytes_max } from "../../core/kernel/body-limits.ts"
import { invalidField } from "../../core/kernel/rejection.ts"
import { Store } from "../../core/kernel/store/store.ts"
import type { DeviceFilesShape } from "../../sync/server/device-tokens.ts"
import { filesUnavailable, keepContent } from "./keep.ts"
import { blobs } from "./schema.ts"

export const deviceFiles: DeviceFilesShape = {
  present: (sha256) =>
    Effect.gen(function* () {
      const rows = yield* (yield* Store).getMany(blobs, sha256)
      return new Set(rows.filter(({ state }) => state === "kept").map((row) => row.sha256))
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
