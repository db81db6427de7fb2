/** Contract of every file store, folder or bucket. */
import { createHash } from "node:crypto"
import { Effect, Exit, Stream } from "effect"
import { expect, it } from "vitest"
import { type BlobStore, receiveAll, type StoredBlob } from "../../../server/ports/blob-store.ts"

export const hashOf = (content: Uint8Array): string => createHash("sha256").update(content).digest("hex")
const run = <A, E>(effect: Effect.Effect<A, E>): Promise<A> => Effect.runPromise(effect)

export const put = (store: BlobStore, ...parts: ReadonlyArray<Uint8Array>): Promise<StoredBlob> =>
  run(
    Effect.scoped(
      Effect.gen(function* () {
        const { blob, keep } = yield* receiveAll(store, Stream.fromIterable(parts), 30_000_000)
        yield* keep
        return blob
      })
    )
  )
export const contentOf = async (
  store: BlobStore,
  sha256: string,
  range?: { readonly first: number; readonly last: number }
): Promise<Buffer> =>
  Buffer.concat(await run(Effect.flatMap(store.read(sha256, range), ({ content }) => Stream.runCollect(content))))
const listed = async (store: BlobStore): Promise<ReadonlyArray<string>> =>
  (await run(Stream.runCollect(store.list))).map(({ sha256 }) => sha256).sort()

/** `temporary`: names of existing temporary files. */
export const storeContract = (opened: () => BlobStore, temporary: () => ReadonlyArray<string>): void => {
  it("returns content byte for byte, with its type, in full or in part", async () => {
    const store = opened()
    const content = Buffer.concat([Buffer.from("%PDF-1.7\n"), Buffer.alloc(700_000, 7)])
    const stored = await put(store, content.subarray(0, 3), content.subarray(3, 300_000), content.subarray(300_000))
    expect(stored).toEqual({ sha256: hashOf(content), size_bytes: content.length, mime_type: "application/pdf" })
    expect(content.equals(await contentOf(store, stored.sha256))).toBe(true)
    expect((await run(store.read(stored.sha256, { first: 1, last: 3 }))).size_bytes).toBe(content.length)
    expect((await contentOf(store, stored.sha256, { first: 1, last: 3 })).toString()).toBe("PDF")
    expect(temporary()).toEqual([])
  })
  it("stores equal content once, and empty content as well", async () => {
    const store = opened()
    const before = await listed(store)
    const twice = await Promise.all([
      put(store, Buffer.from("twice")),
      put(store, Buffer.from("twi"), Buffer.from("ce"))
    ])
    expect(twice[0]).toEqual(twice[1])
    const empty = await put(store)
    expect(empty.size_bytes).toBe(0)
    expect((await contentOf(store, empty.sha256)).length).toBe(0)
    expect(await listed(store)).toEqual([...before, twice[0].sha256, empty.sha256].sort())
  })
  it("does not store content that is too long, fails or is abandoned", async () => {
    const store = opened()
    const before = await listed(store)
    const tooLong = await Effect.runPromiseExit(
      Effect.scoped(receiveAll(store, Stream.make(new Uint8Array(10), new Uint8Array(1)), 10))
    )
    expect(Exit.isFailure(tooLong) && String(tooLong.cause)).toContain("BlobTooLarge")
    await Effect.runPromiseExit(
      Effect.scoped(receiveAll(store, Stream.concat(Stream.make(new Uint8Array(10)), Stream.fail("cut")), 100))
    )
    await Effect.runPromiseExit(
      Effect.timeout(
        Effect.scoped(receiveAll(store, Stream.concat(Stream.make(new Uint8Array(10)), Stream.never), 100)),
        50
      )
    )
    await run(Effect.scoped(receiveAll(store, Stream.make(Buffer.from("ended, not kept")), 100)))
    expect(temporary()).toEqual([])
    expect(await listed(store)).toEqual(before)
  })
  it("no longer has deleted content, which can be deleted again", async () => {
    const store = opened()
    const { sha256 } = await put(store, Buffer.from("soon gone"))
    expect(await run(store.has(sha256))).toBe(true)
    await run(store.remove(sha256))
    await run(store.remove(sha256))
    expect(await run(store.has(sha256))).toBe(false)
    const read = await Effect.runPromiseExit(store.read(sha256))
    expect(Exit.isFailure(read) && String(read.cause)).toContain("BlobMissing")
    expect(await listed(store)).not.toContain(sha256)
  })
  it("stores its mark with its value, and does not list it as a file", async () => {
    const store = opened()
    expect(await run(store.mark)).toBeUndefined()
    await run(store.setMark("0193-mark"))
    expect(await run(store.mark)).toBe("0193-mark")
    expect((await listed(store)).every((name) => /^[0-9a-f]{64}$/.test(name))).toBe(true)
  })
  it("refuses content under a name that is not a hash", async () => {
    const exit = await Effect.runPromiseExit(Effect.suspend(() => opened().has("../../etc/passwd")))
    expect(Exit.isFailure(exit)).toBe(true)
  })
}
