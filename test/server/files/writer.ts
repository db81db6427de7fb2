/** A process that stores files in a folder until it is killed, and prints each one once it is stored. */
import { Effect, Stream } from "effect"
import { receiveAll } from "../../../server/ports/blob-store.ts"
import { folderStore } from "../../../server/files/open-store.ts"

const [folder = "", first = "0"] = process.argv.slice(2)
const store = folderStore({ folder, alone: true })
for (let at = Number(first); ; at++) {
  const content = Buffer.alloc(40_000 + (at % 7) * 30_000, `content ${at} `)
  const sha256 = await Effect.runPromise(
    Effect.scoped(
      Effect.gen(function* () {
        const { blob, keep } = yield* receiveAll(
          store,
          Stream.make(content.subarray(0, 10_000), content.subarray(10_000)),
          1e6
        )
        yield* keep
        return blob.sha256
      })
    )
  )
  process.stdout.write(`${sha256}\n`)
}
