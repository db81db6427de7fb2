/**
 * Threads that draw: few, started when there is something to draw and stopped when there has been nothing for a while.
 * Each does one task at a time; one that takes too long or too much memory is killed, and the next task gets a new one.
 */
import { Worker } from "node:worker_threads"
import type { Answer, Asked, Said, Task } from "./messages.ts"
import { workerAddress } from "./worker-address.ts"

export interface PoolOptions {
  /** Threads at the same time. */
  readonly threads?: number
  /** Tasks that may wait. */
  readonly waiting_max?: number
  /** Of JavaScript objects in one thread; pictures and fonts are beside it. */
  readonly memory_mb?: number
  /** A thread without a task ends after so long. */
  readonly idle_millis?: number
  /** The thread's program. */
  readonly worker?: URL
}
export type Ended =
  | { readonly kind: "answered"; readonly answer: Answer }
  /** Took longer than its limit, and its thread was killed. */
  | { readonly kind: "too_long" }
  /** Its thread ended under it. */
  | { readonly kind: "broken"; readonly message: string }
  /** Too many wait already; nothing was begun. */
  | { readonly kind: "busy" }
  | { readonly kind: "closed" }

export interface Pool {
  /** `ended` is called once, unless the returned function, which gives the task up, is called before. */
  readonly run: (task: Task, limit_millis: number, ended: (how: Ended) => void) => () => void
  readonly counts: () => { readonly threads: number; readonly working: number; readonly waiting: number }
  /** Kills all threads. */
  readonly close: () => Promise<void>
}

/** Loading the library, from a slow disk on a busy machine. */
const start_limit_millis = 60_000

interface Job {
  readonly task: Task
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
    const job: Job = { task, limit_millis, ended }
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
  /** Gives waiting tasks to threads that have none, and to new ones. */
  #next(): void {
    while (!this.#is_closed && this.#waiting.length > 0) {
      const idle = [...this.#threads].find(({ job }) => job === undefined)
      if (idle === undefined && this.#threads.size >= (this.#options.threads ?? 2)) return
      const job = this.#waiting.shift()
      if (job !== undefined) this.#begin(idle ?? this.#startThread(), job)
    }
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
        maxYoungGenerationSizeMb: 48,
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
  /** Without a task a thread keeps nobody waiting: not the process, and after a while not its memory. */
  #rest(thread: Thread): void {
    thread.job = undefined
    clearTimeout(thread.timer)
    thread.worker.unref()
    const end = (): void => void this.#discard(thread, { kind: "closed" })
    thread.timer = setTimeout(end, this.#options.idle_millis ?? 60_000)
    thread.timer.unref()
  }
  #broke(thread: Thread, message: string): void {
    if (this.#threads.has(thread)) void this.#discard(thread, { kind: "broken", message })
  }
  /** Takes the thread out of the pool; what it was doing ends as told. */
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

export const makePool = (options: PoolOptions = {}): Pool => new ThreadPool(options)

const messageOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))
