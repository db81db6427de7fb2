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

/** Where the drawing thread's program is: beside this file as source, else in `print/` of the bundled programs. */
const workerAddress = (): URL => {
  const places = ["./worker.ts", "./print/worker.js", "../print/worker.js"].map(
    (place) => new URL(place, import.meta.url)
  )
  const found = places.find((place) => existsSync(place))
  if (found === undefined) throw new Error("the program that draws documents is missing: install Flightcase again")
  return process.getBuiltinModule("node:sea").isSea() ? unpacked(found) : found
}
let copy: URL | undefined
/** Threads cannot read files within the single executable: a copy in a temporary folder, until the process ends. */
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

// Threads that draw: few, started when there is something to draw and stopped when there has been nothing for a while.
// Each does one task at a time; one that takes too long or too much memory is killed, and the next task gets a new one.
// Long tasks never take all threads: one more is kept for short ones, which wait for other short ones alone.

export interface PoolOptions {
  /** Threads at the same time, beside one more for short tasks while the others have long ones. */
  readonly threads?: number
  /** Tasks that may wait. */
  readonly waiting_max?: number
  /** For JavaScript objects in one thread; pictures and fonts come in addition. */
  readonly memory_mb?: number
  /** A thread without a task ends after so long. */
  readonly idle_millis?: number
  /** The thread's program. */
  readonly worker?: URL
}
type Ended =
  | { readonly kind: "answered"; readonly answer: Answer }
  /** Took longer than its limit, and its thread was killed. */
  | { readonly kind: "too_long" }
  /** Its thread ended under it. */
  | { readonly kind: "broken"; readonly message: string }
  /** Too many wait already; nothing was begun. */
  | { readonly kind: "busy" }
  | { readonly kind: "closed" }

interface Pool {
  /** `ended` is called once, unless the returned function, which gives the task up, is called before. */
  readonly run: (task: Task, limit_millis: number, ended: (how: Ended) => void) => () => void
  readonly counts: () => { readonly threads: number; readonly working: number; readonly waiting: number }
  /** Kills all threads. */
  readonly close: () => Promise<void>
}

/** Loading the library, from a slow disk on a busy machine. */
const start_limit_millis = 60_000

/** Characters of JSON that are drawn within about half a second: 120 lines of a quotation. */
const short_size_max = 30_000
/** Decoding a picture takes about as long as drawing a twentieth of its bytes as text. */
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
  /** Gives waiting tasks to idle threads, and to new ones. */
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
    const worker = new Worker(this.#options.worker ?? workerAddress(), {
      name: "flightcase-print",
      // It needs no secrets of the server's environment.
      env: {},
      argv: [],
      // Libraries' warnings are not the server's words.
      stdout: true,
      stderr: true,
      resourceLimits: {
        maxOldGenerationSizeMb: this.#options.memory_mb ?? 384,
        // Drawing takes as long with more, which the thread would keep.
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
  /** An idle thread does not keep the process running, and after a while ends to free its memory. */
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
  /** Removes the thread from the pool; its task ends as given. */
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

/** The document or a font or picture of it cannot be drawn; trying again does not help. */
export class Undrawable extends Data.TaggedError("Undrawable")<{ readonly message: string }> {}
/** A text with fields is wrong; trying again does not help. */
export class TextInvalid extends Data.TaggedError("TextInvalid")<{
  readonly message: string
  readonly faults: ReadonlyArray<TextFault>
}> {}
/** Took longer than its limit and was stopped; trying again takes as long. */
export class DrawingTooLong extends Data.TaggedError("DrawingTooLong")<{
  readonly message: string
  readonly limit_millis: number
}> {}
/** Not now: too much waits, the server stops, or a thread broke. May be tried again. */
export class DrawingUnavailable extends Data.TaggedError("DrawingUnavailable")<{ readonly message: string }> {}

/** For waiting requests: 40 lines on 3 pages take a tenth of it. */
export const limit_millis = 5_000
/** For work in the background: 1,000 lines took 1.1 to 5.2 s, by how busy the machine was. */
export const background_limit_millis = 60_000

export interface DrawOptions {
  readonly fonts?: ReadonlyArray<StoreFont>
  /** The content of the pictures that the document names by hash. */
  readonly pictures?: Pictures
  readonly limit_millis?: number
  /** The invoice as CII, to be carried in a PDF/A-3b (Factur-X). No validator of PDF/A has judged it. */
  readonly carried_xml?: string
}
interface Pdf {
  readonly bytes: Uint8Array
  readonly pages: number
}
type DrawingFailure = Undrawable | DrawingTooLong | DrawingUnavailable
type TextFailure = TextInvalid | DrawingTooLong | DrawingUnavailable

export interface Renderer {
  /** The same document, fonts and pictures give the same bytes. */
  readonly pdf: (document: PrintDocument, options?: DrawOptions) => Effect.Effect<Pdf, DrawingFailure>
  /** Fills the fields of texts, by name. All of them or none. */
  readonly texts: (
    fragments: { readonly [name: string]: string },
    data: object,
    options?: { readonly limit_millis?: number }
  ) => Effect.Effect<{ readonly [name: string]: string }, TextFailure>
  /** Fields each text uses, without filling it in: {@link unknownFields} finds those that do not exist. */
  readonly fieldsOf: (fragments: {
    readonly [name: string]: string
  }) => Effect.Effect<{ readonly [name: string]: ReadonlyArray<string> }, TextFailure>
  readonly counts: Pool["counts"]
}

/** Starts threads on first use; they end with the scope. */
export const makeRenderer = (options: PoolOptions = {}): Effect.Effect<Renderer, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => makePool(options)),
      (pool) => Effect.promise(() => pool.close())
    ),
    rendererOver
  )

const rendererOver = (pool: Pool): Renderer => ({
  pdf: (document, { carried_xml, fonts = [], limit_millis: limit = limit_millis, pictures = new Map() } = {}) =>
    Effect.gen(function* () {
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

/** Every picture of the document, checked: those named by hash from the supplied ones, the others as they are. */
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
