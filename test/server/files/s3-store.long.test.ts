/** Files in an S3 bucket: the contract of stores, temporary faults, and a server that uses one. */
import { readdirSync, rmSync, existsSync, mkdtempSync } from "node:fs"
import { createServer, type Server } from "node:http"
import { type AddressInfo } from "node:net"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { Cause, Effect, Exit } from "effect"
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { openServerApp } from "../../../server/host/app.ts"
import { nothing_outside } from "../../../server/ports/outside.ts"
import { s3Store } from "../../../server/files/s3-store.ts"
import { installedTools } from "../../installed-tools.ts"
import { serve } from "../serving.ts"
import { formOf } from "./sending.ts"
import { contentOf, put, storeContract } from "./store-contract.ts"

const tools = await installedTools(fileURLToPath(new URL("./s3-tools", import.meta.url)))
const credentials = {
  access_key_id: "S3RVER",
  secret_access_key: "S3RVER",
  session_token: undefined,
  region: "eu-central-1"
}

interface Bucket {
  readonly run: () => Promise<AddressInfo>
  readonly close: () => Promise<void>
}

type S3Options = Parameters<typeof s3Store>[0]

describe.skipIf(tools === undefined)("a bucket of files", () => {
  let place: string
  let bucket: Bucket
  let port: number
  let prefix = 0
  beforeAll(async () => {
    place = mkdtempSync(join(tmpdir(), "flightcase-s3-"))
    const S3rver = createRequire(join(tools ?? "", "package.json"))("s3rver")
    const made: Bucket = new S3rver({
      port: 0,
      address: "127.0.0.1",
      silent: true,
      directory: join(place, "buckets"),
      configureBuckets: [{ name: "files" }]
    })
    bucket = made
    port = (await made.run()).port
  })
  afterAll(async () => {
    await bucket.close()
    rmSync(place, { recursive: true, force: true })
  })
  beforeEach(() => {
    prefix++
  })
  const url = (at = port, name = "files"): string =>
    `s3://${name}?endpoint=${encodeURIComponent(`http://127.0.0.1:${at}`)}&prefix=a/${prefix}`
  const options = (more: Partial<S3Options> = {}): S3Options => ({
    url: url(),
    credentials,
    folder: join(place, "uploads"),
    alone: true,
    answer_millis: 2_000,
    ...more
  })
  const temporary = (): ReadonlyArray<string> =>
    existsSync(join(place, "uploads")) ? readdirSync(join(place, "uploads")) : []

  storeContract(() => s3Store(options()), temporary)

  it("stores a large file completely", async () => {
    const store = s3Store(options())
    const content = Buffer.alloc(20 * 1_048_576, "0123456789")
    const { sha256 } = await put(store, content)
    expect(content.equals(await contentOf(store, sha256))).toBe(true)
  })
  it("reports a missing bucket, wrong keys and an unreachable server in one line", async () => {
    const failureOf = async (more: Partial<S3Options>): Promise<unknown> => {
      const exit = await Effect.runPromiseExit(s3Store(options(more)).mark)
      return Exit.isFailure(exit) ? Cause.squash(exit.cause) : exit.value
    }
    expect(await failureOf({ url: url(port, "nothing") })).toMatchObject({
      message: expect.stringMatching(/^The bucket nothing\/a\/\d+ at 127\.0\.0\.1:\d+ cannot be used: .*\.$/)
    })
    expect(await failureOf({ credentials: { ...credentials, access_key_id: "UNKNOWN" } })).toMatchObject({
      fault: "failing",
      message: expect.stringContaining("403 InvalidAccessKeyId")
    })
    expect(await failureOf({ url: url(1) })).toMatchObject({ fault: "unreachable" })
  })
  it("retries temporary errors, reports permanent ones, and keeps no partial objects", async () => {
    let faults = 2
    let asked = 0
    const flaky = await before((request, response, pass) => {
      asked++
      if (faults-- <= 0) return pass()
      request.resume()
      response.writeHead(503).end("<Error><Code>SlowDown</Code></Error>")
    })
    try {
      const store = s3Store(options({ url: url(flaky.port) }))
      const { sha256 } = await put(store, Buffer.from("in the end"))
      expect((await contentOf(store, sha256)).toString()).toBe("in the end")
      expect(asked).toBeGreaterThan(3)
      faults = 1_000
      await expect(put(store, Buffer.from("never"))).rejects.toMatchObject({
        fault: "unreachable",
        message: expect.stringContaining("it answers 503")
      })
      expect(temporary()).toEqual([])
    } finally {
      await flaky.close()
    }
  })
  it("gives up on a store that does not respond", async () => {
    const silent = await before((request) => void request.resume())
    try {
      const store = s3Store(options({ url: url(silent.port), answer_millis: 100 }))
      await expect(Effect.runPromise(store.has("0".repeat(64)))).rejects.toMatchObject({
        message: expect.stringContaining("does not answer in time")
      })
    } finally {
      await silent.close()
    }
  })
  it("holds the attachment of a server, which serves a range of it", async () => {
    const outside = { ...nothing_outside, blobs: url(), aws: credentials }
    const server = await serve("pg", { outside, data_folder: join(place, "data") })
    try {
      const { product } = (await server.ask("/api/v1/products", { json: { name: "Lamp" } })).body
      const { bytes, type } = await formOf([
        ["attachable_type", "Product"],
        ["attachable_id", String(product.id)],
        ["file", new Blob(["%PDF-1.7 in the bucket"]), "lamp.pdf"]
      ])
      const made = await server.ask("/api/v1/attachments", { method: "POST", bytes, headers: { "content-type": type } })
      expect(made.status, made.text).toBe(201)
      const { pathname, search } = new URL(made.body.attachment.url!)
      const part = await server.ask(pathname + search, { token: null, headers: { range: "bytes=9-" } })
      expect([part.status, part.text]).toEqual([206, "in the bucket"])
    } finally {
      await server.close()
    }
  })
  it("keeps the server from starting if it is missing, with the reason", async () => {
    const outside = { ...nothing_outside, blobs: url(port, "nothing"), aws: credentials }
    await expect(
      openServerApp({
        database: { kind: "sqlite", path: ":memory:" },
        key: "key-of-the-tests-which-is-long",
        data_folder: join(place, "other"),
        outside
      })
    ).rejects.toMatchObject({ message: expect.stringContaining("The bucket nothing/") })
  })

  /** A proxy in front of the bucket that may answer instead of it. */
  const before = async (
    meet: (
      request: import("node:http").IncomingMessage,
      response: import("node:http").ServerResponse,
      pass: () => void
    ) => void
  ): Promise<{ readonly port: number; readonly close: () => Promise<void> }> => {
    const { request: ask } = await import("node:http")
    const proxy: Server = createServer((request, response) =>
      meet(request, response, () => {
        const onward = ask(
          { port, host: "127.0.0.1", method: request.method, path: request.url, headers: request.headers },
          (answer) => {
            response.writeHead(answer.statusCode ?? 500, answer.headers)
            answer.pipe(response)
          }
        )
        request.pipe(onward)
      })
    )
    await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve))
    const address = proxy.address()
    return {
      port: typeof address === "object" && address !== null ? address.port : 0,
      close: () =>
        new Promise((resolve) => {
          proxy.close(() => resolve())
          proxy.closeAllConnections()
        })
    }
  }
})
