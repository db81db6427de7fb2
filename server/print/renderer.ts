/**
 * Draws documents as PDF and fills in texts with fields, in separate threads: nothing else waits for them, and endless
 * ones are killed. Used by the server and, without one, by the command line.
 */
import { Worker } from "node:worker_threads"
import type { Answer, Asked, Said, StoreFont, Task, TextFault } from "./fonts.ts"
import { Data, Effect, Result, type Scope } from "effect"
import { type Block, type Picture, picturesOf, type PrintDocument } from "../../core/pricing/print/blocks.ts"
import { type PictureData, type Pictures, readPicture } from "../../core/pricing/print/picture.ts"
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { pathToFileURL } from "node:url"
import { setFlagsFromString } from "node:v8"

/** URL of the drawing thread's program: next to this source file, or in `print/` of the bundled programs. */
const workerAddress = (): URL => {
  const places = ["./worker.ts", "./print/worker.js", "../print/worker.js"].map(
    (place) => new URL(place, import.meta.url)
  )
  const found = places.find((place) => existsSync(place))
  if (found === undefined) throw new Error("the program that draws documents is missing: install Flightcase again")
  return process.getBuiltinModule("node:sea").isSea() ? unpacked(found) : found
}
let copy: URL | undefined
/** Copies the program to a temporary folder, as threads cannot read files inside the single executable. */
const unpacked = (worker: URL): URL => {
  if (copy !== undefined) return copy
  const within = new URL("./", worker)
  const folder = mkdtempSync(`${tmpdir()}/flightcase-print-`)
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }))
  for (const name of readdirSync(within, { recursive: true, encoding: "utf8" })) {
    if (!name.includes(".")) mkdirSync(`${folder}/${name}`)
    else writeFileSync(`${folder}/${name}`, readFileSync(new URL(name, within)))
  }
  copy = pathToFileURL(`${folder}/worker.js`)
  return copy
}

// A pool of few drawing threads, started on demand and stopped when idle. Each runs one task at a time; one over its
// limit of time or memory is killed. One additional thread is reserved for short tasks, so that long ones never block
// them.

interface PoolOptions {
  /** Number of threads, plus one for short tasks while the others run long ones. */
  readonly threads?: number
  /** Maximum number of waiting tasks. */
  readonly waiting_max?: number
  /** Heap limit of a thread in MB, without pictures and fonts. */
  readonly memory_mb?: number
  /** Idle time after which a thread ends. */
  readonly idle_millis?: number
  /** URL of the thread's program. */
  readonly worker?: URL
}
type Ended =
  | { readonly kind: "answered"; readonly answer: Answer }
  /** The task exceeded its time limit; its thread was killed. */
  | { readonly kind: "too_long" }
  /** The thread ended during the task. */
  | { readonly kind: "broken"; readonly message: string }
  /** The task was not started, as too many are waiting. */
  | { readonly kind: "busy" }
  | { readonly kind: "closed" }

interface Pool {
  /** Runs a task and calls `ended` once; the returned function cancels the task, and `ended` is not called. */
  readonly run: (task: Task, limit_millis: number, ended: (how: Ended) => void) => () => void
  readonly counts: () => { readonly threads: number; readonly working: number; readonly waiting: number }
  /** Kills all threads. */
  readonly close: () => Promise<void>
}

/** Time limit for loading libraries, from a slow disk on a busy machine. */
const start_limit_millis = 60_000

/** Maximum size of a short task, in characters of JSON: drawn in about half a second (120 quotation lines). */
const short_size_max = 30_000
/** Whether a task is short. A picture counts as a twentieth of its bytes, as decoding takes about that long. */
const isShort = (task: Task): boolean => {
  const pictures = task.kind === "pdf" ? [...task.pictures.values()] : []
  const text = JSON.stringify(task.kind === "pdf" ? [task.document, task.carried_xml] : task)
  return pictures.reduce((size, { bytes }) => size + bytes.length / 20, text.length) <= short_size_max
}

interface Job {
  readonly task: Task
  readonly is_short: boolean
  readonly limit_millis: number
  readonly ended: (how: Ended) => void
}
interface Thread {
  readonly worker: Worker
  job: (Job & { readonly id: number }) | undefined
  timer: NodeJS.Timeout | undefined
}

class ThreadPool implements Pool {
  readonly #options: PoolOptions
  readonly #threads = new Set<Thread>()
  readonly #waiting: Array<Job> = []
  #last_id = 0
  #is_closed = false

  constructor(options: PoolOptions) {
    this.#options = options
  }

  run(task: Task, limit_millis: number, ended: (how: Ended) => void): () => void {
    const job: Job = { task, is_short: isShort(task), limit_millis, ended }
    if (this.#is_closed) ended({ kind: "closed" })
    else if (this.#waiting.length >= (this.#options.waiting_max ?? 200)) ended({ kind: "busy" })
    else {
      this.#waiting.push(job)
      this.#next()
    }
    return () => this.#giveUp(job)
  }
  counts() {
    return {
      threads: this.#threads.size,
      working: [...this.#threads].filter(({ job }) => job !== undefined).length,
      waiting: this.#waiting.length
    }
  }
  async close(): Promise<void> {
    this.#is_closed = true
    for (const job of this.#waiting.splice(0)) job.ended({ kind: "closed" })
    await Promise.all([...this.#threads].map((thread) => this.#discard(thread, { kind: "closed" })))
  }

  #giveUp(job: Job): void {
    const at = this.#waiting.indexOf(job)
    if (at >= 0) this.#waiting.splice(at, 1)
    const thread = [...this.#threads].find((one) => one.job?.ended === job.ended)
    if (thread === undefined) return
    thread.job = undefined
    void this.#discard(thread, { kind: "closed" })
  }
  /** Assigns waiting tasks to idle threads, and starts new ones. */
  #next(): void {
    while (!this.#is_closed) {
      const at = this.#waiting.findIndex(({ is_short }) => this.#mayBegin(is_short))
      const job = at < 0 ? undefined : this.#waiting.splice(at, 1)[0]
      if (job === undefined) return
      const idle = [...this.#threads].find((thread) => thread.job === undefined)
      this.#begin(idle ?? this.#startThread(), job)
    }
  }
  #mayBegin(is_short: boolean): boolean {
    const threads = this.#options.threads ?? 2
    const working = [...this.#threads].flatMap(({ job }) => job ?? [])
    const all_are_long = working.length === threads && working.every((job) => !job.is_short)
    return working.length < threads || (is_short && all_are_long)
  }
  #startThread(): Thread {
    // The flag that limits the server's young objects would otherwise replace the thread's own limit.
    setFlagsFromString("--max-semi-space-size=0")
    const worker = new Worker(this.#options.worker ?? workerAddress(), {
      name: "flightcase-print",
      // The thread must not see secrets in the server's environment.
      env: {},
      argv: [],
      // Captures warnings of libraries, which do not belong in the server's output.
      stdout: true,
      stderr: true,
      resourceLimits: {
        maxOldGenerationSizeMb: this.#options.memory_mb ?? 384,
        // More memory would not make drawing faster, and the thread would keep it.
        maxYoungGenerationSizeMb: 8,
        stackSizeMb: 8
      }
    })
    const thread: Thread = { worker, job: undefined, timer: undefined }
    this.#threads.add(thread)
    worker.stdout.resume()
    worker.stderr.resume()
    worker.on("message", (said: Said) => this.#heard(thread, said))
    worker.on("error", (cause: unknown) => this.#broke(thread, messageOf(cause)))
    worker.on("exit", (code) => this.#broke(thread, `the drawing thread ended with ${code}`))
    return thread
  }
  #begin(thread: Thread, job: Job): void {
    const id = ++this.#last_id
    clearTimeout(thread.timer)
    thread.worker.ref()
    thread.job = { ...job, id }
    thread.timer = setTimeout(() => this.#broke(thread, "the drawing thread did not start"), start_limit_millis)
    const asked: Asked = { id, task: job.task }
    try {
      thread.worker.postMessage(asked)
    } catch (cause) {
      this.#rest(thread)
      job.ended({ kind: "broken", message: messageOf(cause) })
    }
  }
  #heard(thread: Thread, said: Said): void {
    const { job } = thread
    if (job === undefined || said.id !== job.id) return
    if (said.kind === "started") {
      clearTimeout(thread.timer)
      thread.timer = setTimeout(() => void this.#discard(thread, { kind: "too_long" }), job.limit_millis)
      return
    }
    this.#rest(thread)
    job.ended({ kind: "answered", answer: said.answer })
    this.#next()
  }
  /** Lets the process exit while the thread is idle, and ends the thread after a while. */
  #rest(thread: Thread): void {
    thread.job = undefined
    clearTimeout(thread.timer)
    thread.worker.unref()
    const end = (): void => void this.#discard(thread, { kind: "closed" })
    thread.timer = setTimeout(end, this.#options.idle_millis ?? 15_000)
    thread.timer.unref()
  }
  #broke(thread: Thread, message: string): void {
    if (this.#threads.has(thread)) void this.#discard(thread, { kind: "broken", message })
  }
  /** Removes the thread from the pool; its task ends with `how`. */
  #discard(thread: Thread, how: Ended): Promise<number> {
    clearTimeout(thread.timer)
    this.#threads.delete(thread)
    const { job } = thread
    thread.job = undefined
    const stopped = thread.worker.terminate()
    job?.ended(how)
    this.#next()
    return stopped
  }
}

const makePool = (options: PoolOptions = {}): Pool => new ThreadPool(options)

const messageOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))

export type { StoreFont, TextFault } from "./fonts.ts"

/** The document, or one of its fonts or pictures, cannot be drawn; retrying does not help. */
export class Undrawable extends Data.TaggedError("Undrawable")<{ readonly message: string }> {}
/** A text with fields is invalid; retrying does not help. */
export class TextInvalid extends Data.TaggedError("TextInvalid")<{
  readonly message: string
  readonly faults: ReadonlyArray<TextFault>
}> {}
/** The time limit was exceeded; retrying does not help. */
export class DrawingTooLong extends Data.TaggedError("DrawingTooLong")<{
  readonly message: string
  readonly limit_millis: number
}> {}
/** Temporary failure: too many tasks wait, the server is stopping, or a thread ended. May be retried. */
export class DrawingUnavailable extends Data.TaggedError("DrawingUnavailable")<{ readonly message: string }> {}

/** Default time limit, for waiting requests; 40 lines on 3 pages take a tenth of it. */
export const limit_millis = 5_000
/** Time limit for background work; 1,000 lines take 1 to 5 s, depending on the machine's load. */
export const background_limit_millis = 60_000

export interface DrawOptions {
  readonly fonts?: ReadonlyArray<StoreFont>
  /** Content of pictures that the document references by hash. */
  readonly pictures?: Pictures
  readonly limit_millis?: number
  /** Invoice as CII XML to embed in a PDF/A-3b (Factur-X). The result has not been checked by a PDF/A validator. */
  readonly carried_xml?: string
}
interface Pdf {
  readonly bytes: Uint8Array
  readonly pages: number
}
type DrawingFailure = Undrawable | DrawingTooLong | DrawingUnavailable
type TextFailure = TextInvalid | DrawingTooLong | DrawingUnavailable

export interface Renderer {
  /** Draws a PDF. The same document, fonts and pictures give the same bytes. */
  readonly pdf: (document: PrintDocument, options?: DrawOptions) => Effect.Effect<Pdf, DrawingFailure>
  /** Fills in the fields of texts, by name: all texts or none. */
  readonly texts: (
    fragments: { readonly [name: string]: string },
    data: object,
    options?: { readonly limit_millis?: number }
  ) => Effect.Effect<{ readonly [name: string]: string }, TextFailure>
  /** Fields used by each text, without filling it in; {@link unknownFields} finds unknown ones. */
  readonly fieldsOf: (fragments: {
    readonly [name: string]: string
  }) => Effect.Effect<{ readonly [name: string]: ReadonlyArray<string> }, TextFailure>
  readonly counts: Pool["counts"]
}

/** Creates a renderer. Threads start on first use and end with the scope. */
export const makeRenderer = (options: PoolOptions = {}): Effect.Effect<Renderer, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => makePool(options)),
      (pool) => Effect.promise(() => pool.close())
    ),
    rendererOver
  )

const rendererOver = (pool: Pool): Renderer => ({
  pdf: Effect.fnUntraced(function* (
    document,
    { carried_xml, fonts = [], limit_millis: limit = limit_millis, pictures = new Map() } = {}
  ) {
    const read = yield* Effect.fromResult(readPictures(document, pictures))
    const task = { kind: "pdf", document, fonts, pictures: read } as const
    const answer = yield* run(pool, carried_xml === undefined ? task : { ...task, carried_xml }, limit)
    if (answer.kind === "pdf") return { bytes: answer.bytes, pages: answer.pages }
    return yield* new Undrawable({ message: reasonOf(answer) })
  }),
  texts: (fragments, data, { limit_millis: limit = limit_millis } = {}) =>
    Effect.flatMap(run(pool, { kind: "texts", fragments, data }, limit), (answer) =>
      answer.kind === "texts" ? Effect.succeed(answer.texts) : Effect.fail(invalid(answer))
    ),
  fieldsOf: (fragments) =>
    Effect.flatMap(run(pool, { kind: "fields", fragments }, limit_millis), (answer) =>
      answer.kind === "fields" ? Effect.succeed(answer.fields) : Effect.fail(invalid(answer))
    ),
  counts: () => pool.counts()
})

const reasonOf = (answer: Answer): string =>
  answer.kind === "refused" ? answer.message : "the drawing thread answered something else"
const invalid = (answer: Answer): TextInvalid =>
  new TextInvalid({ message: reasonOf(answer), faults: answer.kind === "refused" ? (answer.faults ?? []) : [] })

const run = (pool: Pool, task: Task, limit: number): Effect.Effect<Answer, DrawingTooLong | DrawingUnavailable> =>
  Effect.callback((resume) => {
    const giveUp = pool.run(task, limit, (how) => resume(outcome(how, limit)))
    return Effect.sync(giveUp)
  })
const outcome = (how: Ended, limit: number): Effect.Effect<Answer, DrawingTooLong | DrawingUnavailable> => {
  switch (how.kind) {
    case "answered":
      return Effect.succeed(how.answer)
    case "too_long":
      return Effect.fail(
        new DrawingTooLong({
          message: `This took longer than ${limit / 1_000} s and was stopped; make it shorter, or of fewer lines.`,
          limit_millis: limit
        })
      )
    case "busy":
      return Effect.fail(
        new DrawingUnavailable({ message: "Too many documents wait to be drawn; try again in a minute." })
      )
    case "closed":
      return Effect.fail(new DrawingUnavailable({ message: "The server stops; try again." }))
    case "broken":
      return Effect.fail(new DrawingUnavailable({ message: `Drawing broke off: ${how.message}.` }))
  }
}

/** Validated pictures of the document: content for those referenced by hash comes from `given`, others are embedded. */
const readPictures = (
  document: PrintDocument,
  given: Pictures
): Result.Result<ReadonlyMap<string, PictureData>, Undrawable> => {
  const read = new Map<string, PictureData>()
  const contents = [
    ...picturesOf(document.blocks).map((sha256) => [sha256, given.get(sha256)] as const),
    ...embedded(document.blocks).map((base64) => [base64, Buffer.from(base64, "base64")] as const)
  ]
  for (const [key, bytes] of contents) {
    if (bytes === undefined) return Result.fail(new Undrawable({ message: `The picture ${key} is not given.` }))
    const picture = Result.mapError(readPicture(bytes), (message) => new Undrawable({ message }))
    if (Result.isFailure(picture)) return Result.fail(picture.failure)
    read.set(key, picture.success)
  }
  return Result.succeed(read)
}
const embedded = (blocks: ReadonlyArray<Block>): ReadonlyArray<string> => {
  const contentOf = (picture: Picture | undefined): ReadonlyArray<string> =>
    picture !== undefined && "base64" in picture ? [picture.base64] : []
  return blocks.flatMap((block) => {
    if (block.kind === "together") return embedded(block.blocks)
    if (block.kind === "columns") return block.columns.flatMap((part) => embedded(part.blocks))
    return contentOf(block.kind === "image" ? block.picture : block.kind === "signature" ? block.drawn : undefined)
  })
}
