/** A rendering thread that misbehaves as told by the text it is sent. */
import { parentPort } from "node:worker_threads"
import { getHeapStatistics } from "node:v8"
import type { Asked, Said } from "../../../server/print/fonts.ts"

const say = (said: Said): void => parentPort?.postMessage(said)
const kept: Array<ReadonlyArray<number>> = []
let tasks = 0
const environment = Object.keys(process.env).join(" ")
const heap_bytes = String(getHeapStatistics().heap_size_limit)

parentPort?.on("message", ({ id, task }: Asked) => {
  say({ kind: "started", id })
  tasks++
  const told = task.kind === "texts" && "act" in task.data ? task.data.act : undefined
  if (told === "never end") for (;;) tasks = 1
  if (told === "end") process.exit(3)
  if (told === "throw") throw new Error("thrown")
  if (told === "fill memory") for (;;) kept.push(Array.from({ length: 100_000 }, (_, at) => at * 1.5))
  say({ kind: "answer", id, answer: { kind: "texts", texts: { tasks: String(tasks), environment, heap_bytes } } })
})
