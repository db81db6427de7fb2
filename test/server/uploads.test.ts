/** Files in forms: from the request into the file store and out again. */
import { createHash } from "node:crypto"
import { readdirSync, rmSync } from "node:fs"
import { mkdtemp } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { json_body_bytes_max } from "../../core/kernel/fields/input.ts"
import { postQuery } from "../../core/kernel/endpoints/endpoint.ts"
import * as Shown from "../../core/kernel/lists/answer-schema.ts"
import { json, type JsonObject, text } from "../../core/kernel/fields/field.ts"
import type { ServerSlice } from "../../server/ports/server-slice.ts"
import { type Field, formOf } from "./files/sending.ts"
import { type Got, serve, type Serving } from "./serving.ts"

const upload_bytes_max = 300_000
const taking = (path: string, uploads: boolean) =>
  postQuery(path, {
    name: `uploads.${uploads ? "take" : "refuse"}`,
    summary: "Says what came",
    ability: "products:write",
    permission: "products.edit",
    uploads,
    upload_bytes_max,
    answer: { body: Shown.map(json()), files: Shown.map(json()) },
    fields: { category: text() },
    run: ({ body, files }) =>
      Effect.succeed({
        status: 200,
        body: {
          body,
          files: Object.fromEntries(Object.entries(files ?? {}).map(([name, file]) => [name, { ...file }]))
        }
      })
  })
const slice: ServerSlice = {
  name: "uploads",
  endpoints: [taking("/api/v1/uploads", true), taking("/api/v1/no_uploads", false)]
}

let folder: string
let server: Serving
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "flightcase-uploads-"))
  server = await serve("sqlite", { slices: [slice], data_folder: folder, undescribed: () => {}, lenient: true })
})
afterAll(async () => {
  await server.close()
  rmSync(folder, { recursive: true, force: true })
})

const post = (bytes: Uint8Array, type: string, path = "/api/v1/uploads"): Promise<Got> =>
  server.ask(path, { method: "POST", bytes, headers: { "content-type": type } })
const sent = async (fields: ReadonlyArray<Field>, path?: string): Promise<Got> => {
  const { bytes, type } = await formOf(fields)
  return post(bytes, type, path)
}
const left = (): ReadonlyArray<string> => {
  try {
    return readdirSync(join(folder, "blobs", "tmp"))
  } catch {
    return []
  }
}
const hashOf = (content: Uint8Array): string => createHash("sha256").update(content).digest("hex")
const png = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64"
)

describe("multipart forms with files", () => {
  it("are read with their fields as the body, and the files' types detected from content", async () => {
    const content = new Uint8Array([0, 255, 13, 10, 45, 45, 128])
    const got = await sent([
      ["category", "Photo"],
      ["file", new Blob([content], { type: "image/png" }), "Scheinwerfer ü.png"],
      ["picture", new Blob([png], { type: "text/html" }), "p.html"]
    ])
    expect(got.status).toBe(200)
    expect(got.body.body).toEqual({ category: "Photo" })
    expect(got.body.files).toEqual({
      file: {
        name: "Scheinwerfer ü.png",
        mime_type: "application/octet-stream",
        size_bytes: content.length,
        sha256: hashOf(content)
      },
      picture: { name: "p.html", mime_type: "image/png", size_bytes: png.length, sha256: hashOf(png) }
    })
    expect(left()).toEqual([])
  })
  it("are refused by endpoints without files, and endpoints with files accept JSON as well", async () => {
    expect((await sent([["category", "Photo"]], "/api/v1/no_uploads")).status).toBe(415)
    const plain = await server.ask("/api/v1/uploads", { json: { category: "Photo", file: { sha256: "x" } } })
    expect(plain.body.body).toEqual({ category: "Photo", file: { sha256: "x" } })
  })
  it("are refused unread without a valid token", async () => {
    const { type } = await formOf([["category", "Photo"]])
    let read = false
    const reply = await server.app.ask({
      method: "POST",
      target: "/api/v1/uploads",
      headers: { authorization: "Bearer unknown", "content-type": type },
      remote_address: "192.0.2.9",
      body: async () => {
        read = true
        return new Uint8Array()
      }
    })
    expect(reply.status).toBe(401)
    expect(read).toBe(false)
  })
  it.each([
    ["cut off", (bytes: Uint8Array) => bytes.slice(0, -20)],
    ["cut off in its file", (bytes: Uint8Array) => bytes.slice(0, 300)],
    ["of an empty line", () => new Uint8Array([13, 10])],
    ["of noise", () => new Uint8Array(500).fill(7)],
    ["that is empty", () => new Uint8Array()],
    [
      "whose part has no name",
      (bytes: Uint8Array) =>
        Buffer.from(
          Buffer.from(bytes)
            .toString()
            .replace(/ name="file";/, "")
        )
    ],
    [
      "whose header is no header",
      (bytes: Uint8Array) =>
        Buffer.from(Buffer.from(bytes).toString().replace("Content-Disposition", "Content Disposition"))
    ]
  ])("are refused at errors.body and store nothing: a form %s", async (_, spoil) => {
    const { bytes, type } = await formOf([
      ["category", "Photo"],
      ["file", new Blob(["x".repeat(2_000)]), "x.txt"]
    ])
    const got = await post(spoil(bytes), type)
    expect(got.status).toBe(422)
    expect(Object.keys(got.body.errors)).toEqual(["body"])
    expect(left()).toEqual([])
  })
  it("are refused at errors.body without a boundary", async () => {
    const { bytes } = await formOf([["category", "Photo"]])
    expect((await post(bytes, "multipart/form-data")).body.errors).toHaveProperty("body")
  })
  it("may have fields named constructor and files named __proto__", async () => {
    const got = await sent([
      ["constructor", "y"],
      ["__proto__", new Blob(["z"]), "z.txt"]
    ])
    expect(got.status).toBe(200)
    expect(Object.keys(JSON.parse(got.text).files)).toEqual(["__proto__"])
  })
  it("accept a file of the maximum length, and refuse one byte more at its field", async () => {
    const whole = await sent([["file", new Blob([new Uint8Array(upload_bytes_max)]), "whole.bin"]])
    expect(whole.body.files.file.size_bytes).toBe(upload_bytes_max)
    const more = await sent([["file", new Blob([new Uint8Array(upload_bytes_max + 1)]), "more.bin"]])
    expect(more.status).toBe(422)
    expect(more.body.errors).toEqual({ file: ["The file must not be longer than 292 kilobytes."] })
    expect(left()).toEqual([])
  })
  it("accept an empty file", async () => {
    const got = await sent([["file", new Blob([]), "empty.txt"]])
    expect(got.body.files.file).toMatchObject({ size_bytes: 0, sha256: hashOf(new Uint8Array()) })
  })
  it.each([
    ["fields", Array.from({ length: 101 }, (_, at): Field => [`f${at}`, "x"])],
    ["files", Array.from({ length: 11 }, (_, at): Field => [`f${at}`, new Blob(["x"]), "x"])],
    ["bytes in a field", [["category", "x".repeat(65_537)] as const]],
    [
      "bytes in all fields",
      Array.from({ length: 20 }, (_, at): Field => [`f${at}`, "x".repeat(json_body_bytes_max / 18)])
    ]
  ])("are refused with too many %s", async (_, fields) => {
    const got = await sent(fields)
    expect(got.status).toBe(422)
    expect(got.body.errors.body[0]).toMatch(/^A form takes 100 fields/)
  })
  it.each([
    ["../../etc/passwd", "passwd"],
    ["C:\\Windows\\win.ini", "win.ini"],
    ["..", "file"],
    ["", "file"],
    ["a\u0007b\u202egpj.exe", "abgpj.exe"]
  ])("drop the path and control characters in the file name %j", async (name, shown) => {
    const boundary = "b0undary"
    const bytes = Buffer.from(
      `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename*=UTF-8''${encodeURIComponent(name)}\r\n\r\nx\r\n--${boundary}--\r\n`
    )
    const got = await post(bytes, `multipart/form-data; boundary=${boundary}`)
    expect((got.body.files as JsonObject)["file"]).toMatchObject({ name: shown })
  })
  it("are refused at the field whose text is not UTF-8", async () => {
    const boundary = "b0undary"
    const bytes = Buffer.concat([
      Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name="category"\r\n\r\n`),
      Buffer.from([0xff, 0xfe]),
      Buffer.from(`\r\n--${boundary}--\r\n`)
    ])
    expect((await post(bytes, `multipart/form-data; boundary=${boundary}`)).body.errors).toHaveProperty("category")
  })
})
