/** Rendering threads end when they must, do not affect others, and are replaced. */
import { Effect, Exit, Fiber, Scope } from "effect"
import { afterEach, describe, expect, it } from "vitest"
import { openServerApp } from "../../../server/host/app.ts"
import { plain, type PrintDocument } from "../../../core/pricing/print/blocks.ts"
import { makeRenderer, type Renderer } from "../../../server/print/renderer.ts"
import { ServerContext } from "../../../server/ports/server-context.ts"
import { quote } from "./samples.ts"
import { setFlagsFromString } from "node:v8"

const odd = new URL("./odd-worker.ts", import.meta.url)
const scopes: Array<Scope.Closeable> = []
const open = async (options: Parameters<typeof makeRenderer>[0]): Promise<Renderer> => {
  const scope = Scope.makeUnsafe()
  scopes.push(scope)
  return Effect.runPromise(Scope.provide(makeRenderer({ worker: odd, threads: 1, ...options }), scope))
}
afterEach(async () => {
  for (const scope of scopes.splice(0)) await Effect.runPromise(Scope.close(scope, Exit.void))
})
const act = (renderer: Renderer, what: string, limit_millis = 60_000) =>
  renderer.texts({ text: "" }, { act: what }, { limit_millis })
const fine = (renderer: Renderer): Promise<string | undefined> =>
  Effect.runPromise(act(renderer, "answer")).then(({ tasks }) => tasks)

describe("a drawing thread", () => {
  it("starts with the first task and stays for the next", async () => {
    const renderer = await open({})
    expect(renderer.counts()).toEqual({ threads: 0, working: 0, waiting: 0 })
    expect([await fine(renderer), await fine(renderer)]).toEqual(["1", "2"])
    expect(renderer.counts()).toEqual({ threads: 1, working: 0, waiting: 0 })
  })
  it("ends after it was idle", async () => {
    const renderer = await open({ idle_millis: 1 })
    await fine(renderer)
    while (renderer.counts().threads > 0) await new Promise((resolve) => setTimeout(resolve, 5))
    expect(await fine(renderer)).toBe("1")
  })
  it.each([
    ["never ends", "never end", "DrawingTooLong", /took longer than 0.2 s and was stopped; make it shorter/],
    ["ends under its task", "end", "DrawingUnavailable", /ended with 3/],
    ["throws", "throw", "DrawingUnavailable", /thrown/],
    ["fills its memory", "fill memory", "DrawingUnavailable", /memory/]
  ])("fails its task with the reason, and is replaced, if it %s", async (_what, told, tag, message) => {
    const renderer = await open({ memory_mb: 40 })
    await fine(renderer)
    const failure = await Effect.runPromise(Effect.flip(act(renderer, told, told === "never end" ? 200 : 60_000)))
    expect(failure._tag).toBe(tag)
    expect(failure.message).toMatch(message)
    expect(await fine(renderer)).toBe("1")
  })
  it("refuses tasks beyond the queue's limit", async () => {
    const renderer = await open({ waiting_max: 2 })
    const stuck = Effect.runFork(act(renderer, "never end"))
    const waiting = [1, 2].map(() => Effect.runFork(act(renderer, "answer")))
    while (renderer.counts().waiting < 2) await new Promise((resolve) => setTimeout(resolve, 5))
    expect(await Effect.runPromise(Effect.flip(act(renderer, "answer")))).toMatchObject({
      _tag: "DrawingUnavailable",
      message: "Too many documents wait to be drawn; try again in a minute."
    })
    // Interruption frees the thread and its slot.
    await Effect.runPromise(Fiber.interrupt(stuck))
    await Effect.runPromise(Effect.forEach(waiting, Fiber.join))
    expect(renderer.counts()).toEqual({ threads: 1, working: 0, waiting: 0 })
  })
  it("is reserved for short tasks while the others run long ones", async () => {
    const renderer = await open({ threads: 2 })
    const long = { act: "never end", text: "lamp ".repeat(10_000) }
    const stuck = [1, 2, 3].map(() => Effect.runFork(renderer.texts({ text: "" }, long, { limit_millis: 60_000 })))
    expect([await fine(renderer), await fine(renderer)]).toEqual(["1", "2"])
    expect(renderer.counts()).toEqual({ threads: 3, working: 2, waiting: 1 })
    for (const one of stuck) await Effect.runPromise(Fiber.interrupt(one))
  })
  it("fails waiting tasks when it is closed", async () => {
    const renderer = await open({})
    const asked = ["never end", "answer"].map((told) => Effect.runPromiseExit(act(renderer, told)))
    while (renderer.counts().waiting < 1) await new Promise((resolve) => setTimeout(resolve, 5))
    await Effect.runPromise(Scope.close(scopes[0] ?? Scope.makeUnsafe(), Exit.void))
    expect((await Promise.all(asked)).map(Exit.isFailure)).toEqual([true, true])
  })
  it("sees none of the server's environment variables", async () => {
    const renderer = await open({})
    expect(await Effect.runPromise(act(renderer, "answer"))).toMatchObject({ environment: "" })
  })
  it("keeps its own limit of memory when the server's flags set one", async () => {
    setFlagsFromString("--max-semi-space-size=16")
    const renderer = await open({ memory_mb: 40 })
    const { heap_bytes } = await Effect.runPromise(act(renderer, "answer"))
    expect(Number(heap_bytes)).toBeLessThan(64 * 1024 * 1024)
  })
})

describe("a server that draws PDFs", () => {
  it("answers requests during an endless drawing, stops that, and draws the next document", async () => {
    const app = await openServerApp({ database: { kind: "sqlite", path: ":memory:" }, key: "k".repeat(32) })
    try {
      const { renderer } = await app.run(Effect.service(ServerContext))
      const row = { kind: "row" as const, cells: [{ runs: plain("Lamp ".repeat(40)) }] }
      const endless: PrintDocument = {
        ...quote({ lines: 1, currency: "EUR", language: "en" }),
        blocks: [{ kind: "table", columns: [{ title: "", share: 1 }], rows: Array.from({ length: 6_000 }, () => row) }]
      }
      let is_drawing = true
      const drawing = Effect.runPromise(Effect.flip(renderer.pdf(endless, { limit_millis: 300 }))).finally(() => {
        is_drawing = false
      })
      let answers = 0
      do {
        const { status } = await app.ask({
          method: "GET",
          target: "/api/v1/system/health",
          headers: {},
          remote_address: "127.0.0.1",
          body: async () => new Uint8Array()
        })
        expect(status).toBe(200)
        answers++
        // Lets timers and threads run between requests, as in a real server.
        await new Promise((resolve) => setImmediate(resolve))
      } while (is_drawing)
      expect((await drawing)._tag).toBe("DrawingTooLong")
      expect(answers).toBeGreaterThan(3)
      const next = await app.run(
        renderer.pdf(quote({ lines: 1, currency: "EUR", language: "en" }), { limit_millis: 60_000 })
      )
      expect(next.pages).toBe(1)
    } finally {
      await app.close()
    }
  })
})
