/**
 * Content is kept until a day after its last reference, and cannot be referenced while it is removed.
 */
import { Effect, Stream } from "effect"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { insert, remove, type RowOf } from "../../../core/kernel/tables/table.ts"
import { Rejection } from "../../../core/kernel/fields/rejection.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import { downloads, filesNamed, keepContent, keepDownload } from "../../../server/files/downloads.ts"
import { collectFiles, deviceFiles, findUnknown } from "../../../server/files/serve.ts"
import { ServerContext } from "../../../server/ports/server-context.ts"
import { both_engines } from "../../app.ts"
import { serve, type Serving } from "../serving.ts"

const hour = 3_600_000
/** Far in the future: the server's own scheduled work uses the real clock and removes nothing of that time. */
const start = Date.parse("2066-11-22T12:00:00.000Z")

describe.each(both_engines)("the collection of unused files on %s", (engine) => {
  let server: Serving
  let now: number
  beforeEach(async () => {
    server = await serve(engine)
    now = start
    server.setClock(now)
  })
  afterEach(() => server.close())

  const pass = (hours: number): void => {
    now += hours * hour
    server.setClock(now)
  }
  const collect = (): Promise<number> => server.run(Effect.suspend(() => collectFiles(now)))
  const keep = async (text: string): Promise<string> =>
    (await server.run(keepContent(Stream.make(Buffer.from(text)), 1_000))).sha256
  const blobs = () => server.run(Effect.map(ServerContext, (context) => context.blobs))
  const isThere = async (sha256: string): Promise<boolean> => Effect.runPromise((await blobs()).has(sha256))
  const rowOf = (sha256: string, uuid: string): RowOf<typeof downloads> => ({
    uuid,
    sha256,
    name: "a.txt",
    mime_type: "text/plain",
    size_bytes: 1,
    owner_id: null,
    made_at: new Date(now).toISOString(),
    expires_at: new Date(now + 9_000 * hour).toISOString()
  })
  /** Checks and references content in one transaction, as commands do. */
  const name = (sha256: string, uuid: string): Promise<"named" | Rejection> =>
    server.run(
      Effect.flatMap(Store, (store) => {
        const change = insert(downloads, rowOf(sha256, uuid))
        return store.transaction(Effect.andThen(filesNamed([change]), store.apply([change]))).pipe(
          Effect.as("named" as const),
          Effect.catch((failure) => (failure instanceof Rejection ? Effect.succeed(failure) : Effect.fail(failure)))
        )
      })
    )
  const unname = (uuid: string): Promise<void> =>
    server.run(Effect.flatMap(Store, (store) => store.apply([remove(downloads, uuid)])))

  it("deletes content a day after its upload if it was never referenced", async () => {
    const sha256 = await keep("never named")
    pass(23.9)
    expect([await collect(), await isThere(sha256)]).toEqual([0, true])
    pass(0.2)
    expect([await collect(), await isThere(sha256)]).toEqual([1, false])
  })
  it("keeps content for another day when it is uploaded again", async () => {
    const sha256 = await keep("comes again")
    pass(23)
    await keep("comes again")
    pass(23)
    expect([await collect(), await isThere(sha256)]).toEqual([0, true])
  })
  it("asks devices to upload content again if it is about to be deleted", async () => {
    const sha256 = await keep("sent long ago")
    const isPresent = async () => (await server.run(Effect.suspend(() => deviceFiles.present([sha256])))).has(sha256)
    pass(11)
    expect(await isPresent()).toBe(true)
    pass(8)
    expect(await isPresent()).toBe(false)
    await keep("sent long ago")
    expect(await isPresent()).toBe(true)
    expect(await name(sha256, "one")).toBe("named")
    pass(1_000)
    expect(await isPresent()).toBe(true)
  })
  it("keeps referenced content, and deletes it a day after the last reference", async () => {
    const sha256 = await keep("named twice")
    expect(await name(sha256, "one")).toBe("named")
    expect(await name(sha256, "two")).toBe("named")
    pass(1_000)
    expect([await collect(), await isThere(sha256)]).toEqual([0, true])
    await unname("one")
    pass(30)
    expect([await collect(), await isThere(sha256)]).toEqual([0, true])
    await unname("two")
    expect(await collect()).toBe(0)
    pass(23)
    expect([await collect(), await isThere(sha256)]).toEqual([0, true])
    pass(2)
    expect([await collect(), await isThere(sha256)]).toEqual([1, false])
  })
  it("deletes a user's exported file a day after its expiry", async () => {
    const { sha256, expires_at } = await server.run(
      keepDownload({ name: "out.csv", content: Stream.make(Buffer.from("a,b")), owner_id: 1, mime_type: "text/csv" })
    )
    pass((Date.parse(expires_at) - now) / hour - 1)
    expect([await collect(), await isThere(sha256)]).toEqual([0, true])
    pass(2)
    expect([await collect(), await isThere(sha256)]).toEqual([0, true])
    pass(25)
    expect([await collect(), await isThere(sha256)]).toEqual([1, false])
  })
  it("lets no row reference missing content, or content it is deleting", async () => {
    expect(await name("0".repeat(64), "nothing")).toMatchObject({
      kind: "invalid",
      errors: { file: [expect.any(String)] }
    })
    const sha256 = await keep("on its way out")
    pass(25)
    const store = await blobs()
    const meanwhile: Array<unknown> = []
    // References the content between its mark and its removal.
    const removing = {
      ...store,
      remove: (one: string) =>
        Effect.promise(async () => {
          meanwhile.push(await name(one, "late"))
          await Effect.runPromise(store.remove(one))
        })
    }
    await collectIn(removing)
    expect(meanwhile).toEqual([expect.objectContaining({ kind: "invalid" })])
    expect(await isThere(sha256)).toBe(false)
  })
  it("makes an upload wait for the deletion of the same content, and stores it again", async () => {
    const sha256 = await keep("comes meanwhile")
    pass(25)
    const store = await blobs()
    let again: Promise<string> | undefined
    const removing = {
      ...store,
      remove: (one: string) =>
        Effect.promise(async () => {
          again = keep("comes meanwhile")
          // Long enough for the upload to be stored if it did not wait.
          await new Promise((resolve) => setTimeout(resolve, 300))
          await Effect.runPromise(store.remove(one))
        })
    }
    await collectIn(removing)
    expect(await again).toBe(sha256)
    expect(await isThere(sha256)).toBe(true)
    expect(await name(sha256, "again")).toBe("named")
    pass(100)
    expect([await collect(), await isThere(sha256)]).toEqual([0, true])
  })
  it("repeats a deletion after an hour if a crash interrupted it", async () => {
    const sha256 = await keep("cut off")
    pass(25)
    const store = await blobs()
    await collectIn({ ...store, remove: () => Effect.die(new Error("killed")) }).catch(() => {})
    expect([await collect(), await isThere(sha256)]).toEqual([0, true])
    pass(1.1)
    expect([await collect(), await isThere(sha256)]).toEqual([1, false])
  })
  it("registers content unknown to the database after a day, and deletes it a day later", async () => {
    const sha256 = await keep("of a later time")
    await server.run(Effect.flatMap(Store, (store) => store.run("delete from blobs")))
    const store = await blobs()
    const find = () => server.run(findUnknown(store, Date.now() + (now - start)))
    await find()
    expect(await server.run(Effect.flatMap(Store, (s) => s.run("select sha256 from blobs")))).toEqual([])
    now = Date.now() + 25 * hour
    await server.run(findUnknown(store, now))
    expect([await collect(), await isThere(sha256)]).toEqual([0, true])
    pass(25)
    expect([await collect(), await isThere(sha256)]).toEqual([1, false])
  })

  /** One pass with removals controlled by the test. */
  const collectIn = (store: ServerContext["Service"]["blobs"]): Promise<number> =>
    server.run(
      Effect.flatMap(ServerContext, (context) =>
        Effect.provideService(collectFiles(now), ServerContext, { ...context, blobs: store })
      )
    )

  it("keeps rows and content consistent in 60 random pairs of uploads, references and deletions", async () => {
    let seed = engine === "pg" ? 71 : 17
    const chance = (below: number): number => {
      seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0
      return seed % below
    }
    const named = new Map<string, string>()
    let named_count = 0
    for (let step = 0; step < 60; step++) {
      const text = `content ${chance(4)}`
      const act = [
        () => keep(text),
        async () => {
          const sha256 = await keep(text)
          const uuid = `row ${step} ${named_count++}`
          if ((await name(sha256, uuid)) === "named") named.set(uuid, sha256)
        },
        async () => {
          const [uuid] = [...named.keys()]
          if (uuid === undefined) return
          named.delete(uuid)
          await unname(uuid)
        },
        () => collect(),
        async () => pass(chance(30))
      ]
      // Two actions at once.
      await Promise.all([act[chance(5)]?.(), act[chance(4)]?.()])
      for (const sha256 of named.values()) expect(await isThere(sha256), `step ${step}`).toBe(true)
    }
    for (const uuid of named.keys()) await unname(uuid)
    await collect()
    pass(26)
    await collect()
    const left = await server.run(Effect.flatMap(Store, (store) => store.run("select sha256 from blobs")))
    expect(left).toEqual([])
    expect(await Effect.runPromise(Stream.runCollect((await blobs()).list))).toEqual([])
  })
})
