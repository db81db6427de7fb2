/** Uploads over a socket: the longest allowed, longer ones, interrupted ones, and what each leaves behind. */
import { createHash } from "node:crypto"
import { once } from "node:events"
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs"
import { connect } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Stream } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { upload_bytes_max } from "../../../core/kernel/fields/input.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import { ServerContext } from "../../../server/ports/server-context.ts"
import { engines } from "../../app.ts"
import { type Listening, openListener, owner_token, serve, type Serving } from "../serving.ts"
import { formOf } from "./sending.ts"
import { bodyRead } from "../../answers.ts"
import type { Answer } from "../../rental-house.ts"

describe.each(engines)("an upload on %s", (engine) => {
  let folder: string
  let server: Serving
  let http: Listening
  let product_id: number
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "flightcase-upload-"))
    server = await serve(engine, { data_folder: folder })
    http = await openListener(server.app.answer)
    product_id = (await server.ask("/api/v1/products", { json: { name: "Lamp" } })).body.product.id
  })
  afterAll(async () => {
    await http.stop(1_000)
    await server.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const formWith = (content: Uint8Array) =>
    formOf([
      ["attachable_type", "Product"],
      ["attachable_id", String(product_id)],
      ["file", new Blob([content]), "photo.bin"]
    ])
  const send = async (content: Uint8Array): Promise<Answer> => {
    const { bytes, type } = await formWith(content)
    const answer = await fetch(`${http.url}/api/v1/attachments`, {
      method: "POST",
      headers: { authorization: `Bearer ${owner_token}`, "content-type": type },
      body: bytes
    })
    return { status: answer.status, body: bodyRead(await answer.json()) }
  }
  /** Temporary files, stored content, and the rows of both. */
  const left = async () => ({
    temporary: existsSync(join(folder, "blobs", "tmp")) ? readdirSync(join(folder, "blobs", "tmp")) : [],
    content: (
      await server.run(Effect.flatMap(ServerContext, ({ blobs }) => Effect.orDie(Stream.runCollect(blobs.list))))
    ).length,
    rows: await server.run(
      Effect.flatMap(Store, (store) =>
        store.run(
          "select (select count(*) from blobs) + 0 as blobs, (select count(*) from attachments) + 0 as attachments"
        )
      )
    )
  })

  it("is accepted at 20 MB and returned unchanged, and refused with one byte more", async () => {
    const content = Buffer.alloc(upload_bytes_max, "0123456789abcdef")
    const made = await send(content)
    expect(made.status, JSON.stringify(made.body)).toBe(201)
    const { pathname, search } = new URL(made.body.attachment.url!)
    const back = new Uint8Array(await (await fetch(`${http.url}${pathname}${search}`)).arrayBuffer())
    expect(createHash("sha256").update(back).digest("hex")).toBe(createHash("sha256").update(content).digest("hex"))
    const before = await left()
    const more = await send(Buffer.alloc(upload_bytes_max + 1))
    expect([more.status, more.body.errors]).toEqual([
      422,
      { file: ["The file must not be longer than 20480 kilobytes."] }
    ])
    expect(await left()).toEqual(before)
  })
  it("is refused before it ends if it is far too long", async () => {
    const before = await left()
    const { head, tail } = await partsOf(new Uint8Array(0))
    const length = 200 * 1_048_576
    const socket = connect(Number(new URL(http.url).port), "127.0.0.1")
    socket.on("error", () => {})
    await once(socket, "connect")
    let said = ""
    socket.on("data", (part) => (said += String(part)))
    const closed = new Promise((resolve) => socket.on("close", resolve))
    socket.write(head(length))
    const part = Buffer.alloc(1_048_576)
    let sent = 0
    for (; sent < 200 && said === "" && !socket.destroyed; sent++) {
      if (!socket.write(part)) await Promise.race([new Promise((resolve) => socket.once("drain", resolve)), closed])
    }
    socket.end(tail)
    await closed
    expect(said).toMatch(/^HTTP\/1\.1 422 /)
    expect(sent).toBeLessThan(60)
    expect(await left()).toEqual(before)
  })
  it("leaves nothing behind if it is cut off at any of ten points", async () => {
    const before = await left()
    const { head, bytes } = await partsOf(Buffer.alloc(1_000_000, 3))
    for (let tenth = 0; tenth < 10; tenth++) {
      const socket = connect(Number(new URL(http.url).port), "127.0.0.1")
      socket.on("error", () => {})
      await once(socket, "connect")
      socket.write(head(bytes.length))
      const cut = Math.floor((bytes.length * tenth) / 10)
      await new Promise<void>((resolve) => socket.write(bytes.subarray(0, cut), () => resolve()))
      tenth % 2 === 0 ? socket.resetAndDestroy() : socket.destroy()
    }
    await expect.poll(left, { timeout: 10_000 }).toEqual(before)
    expect((await send(Buffer.from("and works on"))).status).toBe(201)
  })
  it("is accepted while 19 others are sent", async () => {
    const made = await Promise.all(
      Array.from({ length: 20 }, (_, at) => send(Buffer.alloc(200_000, at === 0 ? 1 : at % 5)))
    )
    expect(made.map(({ status }) => status)).toEqual(made.map(() => 201))
    expect((await left()).temporary).toEqual([])
  })

  const partsOf = async (content: Uint8Array) => {
    const { bytes, type } = await formWith(content)
    const end = Buffer.from(bytes).lastIndexOf("\r\n--")
    const lines = (length: number): string =>
      `POST /api/v1/attachments HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${owner_token}\r\nContent-Type: ${type}\r\nContent-Length: ${length}\r\n\r\n`
    return {
      bytes,
      tail: Buffer.from(bytes).subarray(end),
      head: (length: number): string =>
        content.length > 0 ? lines(length) : lines(length) + Buffer.from(bytes).subarray(0, end).toString()
    }
  }
})
