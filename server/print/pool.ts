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

export const makePool = (options: PoolOptions = {}): Pool => {
  const threads_max = options.threads ?? 2
  const waiting_max = options.waiting_max ?? 200
  const idle_millis = options.idle_millis ?? 60_000
  const threads = new Set<Thread>()
  const waiting: Array<Job> = []
  let last_id = 0
  let is_closed = false

  /** Takes the thread out of the pool; what it was doing ends as told. */
  const discard = (thread: Thread, how: Ended): Promise<number> => {
    clearTimeout(thread.timer)
    threads.delete(thread)
    const { job } = thread
    thread.job = undefined
    const stopped = thread.worker.terminate()
    job?.ended(how)
    next()
    return stopped
  }
  const startThread = (): Thread => {
    const worker = new Worker(options.worker ?? workerAddress(), {
      name: "flightcase-print",
      // It needs no secrets of the server's environment, and may not end the process.
      env: {},
      argv: [],
      // Libraries' warnings are not the server's words.
      stdout: true,
      stderr: true,
      resourceLimits: { maxOldGenerationSizeMb: options.memory_mb ?? 384, maxYoungGenerationSizeMb: 48, stackSizeMb: 8 }
    })
    const thread: Thread = { worker, job: undefined, timer: undefined }
    threads.add(thread)
    worker.stdout.resume()
    worker.stderr.resume()
    worker.on("message", (said: Said) => heard(thread, said))
    worker.on("error", (cause: unknown) => {
      if (threads.has(thread)) void discard(thread, { kind: "broken", message: messageOf(cause) })
    })
    worker.on("exit", (code) => {
      if (threads.has(thread))
        void discard(thread, { kind: "broken", message: `the drawing thread ended with ${code}` })
    })
    return thread
  }
  const heard = (thread: Thread, said: Said): void => {
    const { job } = thread
    if (job === undefined || said.id !== job.id) return
    clearTimeout(thread.timer)
    if (said.kind === "started") {
      thread.timer = setTimeout(() => void discard(thread, { kind: "too_long" }), job.limit_millis)
      return
    }
    thread.job = undefined
    rest(thread)
    job.ended({ kind: "answered", answer: said.answer })
    next()
  }
  /** Without a task a thread keeps nobody waiting: not the process, and after a while not its memory. */
  const rest = (thread: Thread): void => {
    thread.worker.unref()
    thread.timer = setTimeout(() => void discard(thread, { kind: "closed" }), idle_millis)
    thread.timer.unref()
  }
  const begin = (thread: Thread, job: Job): void => {
    const id = ++last_id
    clearTimeout(thread.timer)
    thread.worker.ref()
    thread.job = { ...job, id }
    thread.timer = setTimeout(
      () => void discard(thread, { kind: "broken", message: "the drawing thread did not start" }),
      start_limit_millis
    )
    const asked: Asked = { id, task: job.task }
    try {
      thread.worker.postMessage(asked)
    } catch (cause) {
      thread.job = undefined
      clearTimeout(thread.timer)
      rest(thread)
      job.ended({ kind: "broken", message: messageOf(cause) })
    }
  }
  const next = (): void => {
    while (!is_closed && waiting.length > 0) {
      const idle = [...threads].find(({ job }) => job === undefined)
      if (idle === undefined && threads.size >= threads_max) return
      const job = waiting.shift()
      if (job !== undefined) begin(idle ?? startThread(), job)
    }
  }

  return {
    run: (task, limit_millis, ended) => {
      const job: Job = { task, limit_millis, ended }
      if (is_closed) ended({ kind: "closed" })
      else if (waiting.length >= waiting_max) ended({ kind: "busy" })
      else {
        waiting.push(job)
        next()
      }
      return () => {
        const at = waiting.indexOf(job)
        if (at >= 0) waiting.splice(at, 1)
        for (const thread of threads)
          if (thread.job?.ended === ended) {
            thread.job = undefined
            void discard(thread, { kind: "closed" })
          }
      }
    },
    counts: () => ({
      threads: threads.size,
      working: [...threads].filter(({ job }) => job !== undefined).length,
      waiting: waiting.length
    }),
    close: async () => {
      is_closed = true
      for (const job of waiting.splice(0)) job.ended({ kind: "closed" })
      await Promise.all([...threads].map((thread) => discard(thread, { kind: "closed" })))
    }
  }
}

const messageOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))
