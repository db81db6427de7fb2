/** A drawing thread: runs one task at a time, isolated from the server. */
import { parentPort } from "node:worker_threads"
import type { Answer, Asked, Said, Task } from "./fonts.ts"

const port = parentPort
if (port === null) throw new Error("this runs as a thread of the server")
const say = (said: Said, transfer: ReadonlyArray<ArrayBuffer> = []): void => port.postMessage(said, [...transfer])

const workFor = async (task: Task): Promise<() => Answer | Promise<Answer>> => {
  if (task.kind === "pdf") {
    const { draw } = await import("./draw.ts")
    return () => draw(task)
  }
  const { fieldsOfTexts, fillTexts } = await import("./texts.ts")
  return () => (task.kind === "texts" ? fillTexts(task.fragments, task.data) : fieldsOfTexts(task.fragments))
}

port.on("message", async ({ id, task }: Asked) => {
  const work = await workFor(task)
  say({ kind: "started", id })
  const answer = await work()
  if (answer.kind !== "pdf") return say({ kind: "answer", id, answer })
  // Copied once, so that the bytes can be transferred without another copy.
  const bytes = new Uint8Array(answer.bytes)
  say({ kind: "answer", id, answer: { ...answer, bytes } }, [bytes.buffer])
})
