/** Files attached offline: stored on their device, sent before their commands, and deleted where they must be. */
import { createHash } from "node:crypto"
import { existsSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs"
import { request } from "node:http"
import { join } from "node:path"
import { Effect } from "effect"
import { beforeEach, describe, expect, it } from "vitest"
import { upload_bytes_max } from "../../core/kernel/fields/input.ts"
import type { JsonObject } from "../../core/kernel/fields/field.ts"
import { collectFiles } from "../../server/files/serve.ts"
import { openOutboxOf } from "../../sync/device/outbox/folder.ts"
import { moveUnsent } from "../../sync/device/move-unsent.ts"
import { waitingPath } from "../../sync/device/exchange/files.ts"
import { bundle_bytes_max, bundle_content_bytes_max } from "../../sync/protocol/bundle-format.ts"
import { ServerContext } from "../../server/ports/server-context.ts"
import { localFile } from "../../cli/base/input.ts"
import { engines } from "../app.ts"
import { serverOfSuite, type TestDevice, token, wireCommand } from "./opening.ts"

const png_head = Buffer.from("89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489", "hex")
const sha256Of = (content: Uint8Array): string => createHash("sha256").update(content).digest("hex")

describe.each(engines)("attachments on devices, server on %s", (engine) => {
  const server = serverOfSuite(engine)
  /** A picture, a member and a device for each test. */
  let png: Buffer, sha256: string, member_id: number, van: TestDevice
  let serial = 0
  beforeEach(async () => {
    png = Buffer.concat([png_head, Buffer.from(`picture ${++serial}`)])
    sha256 = sha256Of(png)
    member_id = await server.customer()
    van = await server.enrol()
  })

  const source = (name: string, content: Uint8Array = png): string => {
    const path = join(server.folder, name)
    writeFileSync(path, content)
    return path
  }
  const attach = async (device: TestDevice, path: string, more: JsonObject = {}) =>
    device.ask({
      method: "POST",
      path: "/api/v1/attachments",
      query: [],
      body: { attachable_type: "member", attachable_id: member_id, ...more },
      files: { file: await localFile(path) }
    })
  const waiting = (device = van): ReadonlyArray<string> => {
    const folder = join(device.folder, "files")
    return existsSync(folder) ? readdirSync(folder) : []
  }
  const listed = (from: Pick<TestDevice, "show"> = server): Promise<any> =>
    from.show(`/members/${member_id}/attachments`)
  const names = async () => (await listed()).map((one: any) => one.original_name).sort()
  const download = async (url: string): Promise<Response> => {
    const { pathname, search } = new URL(url)
    return fetch(server.url() + pathname + search)
  }
  const downloaded = async (url: string): Promise<string> => {
    const got = await download(url)
    expect(got.status).toBe(200)
    return sha256Of(new Uint8Array(await got.arrayBuffer()))
  }
  /** Form in which a device sends a file. */
  const form = (content: Uint8Array<ArrayBuffer>, of = sha256, replica_id = van.profile.replica_id): FormData => {
    const body = new FormData()
    body.set("replica_id", String(replica_id))
    body.set("sha256", of)
    body.set("file", new Blob([content]), "x")
    return body
  }
  const sendFile = (body: FormData, as = token) =>
    fetch(`${server.url()}/api/v1/sync/files`, { method: "POST", headers: { authorization: `Bearer ${as}` }, body })
  const wanted = async (of = sha256, { profile: { replica_id } } = van, as = token) =>
    (await server.post("/sync/files/wanted", { replica_id, sha256: [of] }, as)).body.wanted
  const holdsText = ({ folder }: TestDevice, text: string): boolean =>
    readdirSync(folder).some((one) => one.includes("sqlite") && readFileSync(join(folder, one)).includes(text))

  it("added offline can be downloaded unchanged once synced, and leave no file on the device", async () => {
    const office = await server.enrol()
    const original_name = "Scheinwerfer ü.png"
    const made = await attach(van, source(original_name), { category: "photo", description: "Front" })
    const attachment = { original_name, mime_type: "image/png", file_size: png.length, category: "photo" }
    expect(made).toMatchObject({
      ...{ status: 201, body: { attachment: { ...attachment, attachable_type: "Member", url: null, thumb_url: null } } }
    })
    expect(waiting()).toEqual([sha256])
    expect(statSync(waitingPath(van.folder, sha256)).mode & 0o777).toBe(0o600)
    expect(statSync(join(van.folder, "files")).mode & 0o777).toBe(0o700)
    rmSync(join(server.folder, original_name))
    expect(await van.sync()).toMatchObject({ sent: 1, accepted: 1, rejected: 0, pending: 0 })
    expect([waiting(), van.told(true)]).toEqual([[], []])
    await office.sync()
    const there = await listed(office)
    expect(there).toMatchObject([{ original_name, mime_type: "image/png", url: null }])
    const [one] = await listed()
    expect(one.uuid).toBe(there[0].uuid)
    expect(await downloaded(one.url)).toEqual(sha256)
    await server.sameOn(van, office)
  })

  it("are deleted from a revoked device, except the files of its unsent commands", async () => {
    await attach(van, source("a.png"))
    await van.sync()
    const unsent = Buffer.from(`not sent ${serial}`)
    await attach(van, source("b.txt", unsent))
    writeFileSync(join(van.folder, "files", sha256), png)
    const { replica_id } = van.profile
    await server.must("DELETE", `/sync/replicas/${replica_id}`)
    await expect(van.sync()).rejects.toThrow(/revoked/)
    expect(existsSync(join(van.folder, "replica.sqlite"))).toBe(false)
    expect(waiting()).toEqual([sha256Of(unsent)])
    const fresh = await server.enrol()
    const outbox = openOutboxOf(van.folder)
    const path = (of: string) => waitingPath(van.folder, of)
    const moved = await moveUnsent(outbox.pending(), replica_id, fresh, fresh.folder, path).finally(() =>
      outbox.close()
    )
    expect(moved).toMatchObject({ moved: 1, left: [] })
    expect(await fresh.sync()).toMatchObject({ accepted: 1 })
    expect(await names()).toEqual(["a.png", "b.txt"])
  })

  it("cannot be claimed by SHA-256 alone: each user must send the content", async () => {
    await attach(van, source("secret.png"))
    await van.sync()
    const { secret } = await server.person({ permissions: ["members.view", "members.edit"] })
    const eve = await server.enrol(undefined, secret)
    const { replica_id } = eve.profile
    const file = { name: "mine.png", mime_type: "image/png", size_bytes: png.length, sha256 }
    const body = { attachable_type: "Member", attachable_id: member_id }
    const commands = [wireCommand(1, `eve-${serial}`, "attachments.create", body, { files: { file } })]
    const push = () => server.post("/sync/commands", { replica_id, commands }, secret)
    expect(await push()).toMatchObject({ status: 409, body: { errors: { files: [sha256] } } })
    expect(await wanted(sha256, eve, secret)).toEqual([sha256])
    expect(await listed()).toHaveLength(1)
    // Anyone with the content may send it.
    expect((await sendFile(form(png as Buffer<ArrayBuffer>, sha256, replica_id), secret)).status).toBe(201)
    // A repeated command gets its verdict again and has no further effect.
    for (const _ of [1, 2]) expect((await push()).body.verdicts).toMatchObject([{ status: "accepted" }])
    expect(await listed()).toHaveLength(2)
    expect((await server.post("/attachments", { ...body, file })).body.errors).toHaveProperty("file")
  })

  it("are refused if their content does not match their SHA-256", async () => {
    const sent = await sendFile(form(png.subarray(1) as Buffer<ArrayBuffer>))
    expect([sent.status, await sent.json()]).toMatchObject([422, { errors: { file: expect.anything() } }])
  })

  it("reach only devices of users who may see their member, and follow it there when it is merged", async () => {
    const enrolAs = async (permissions: ReadonlyArray<string>): Promise<TestDevice> =>
      server.enrol(undefined, (await server.person({ permissions })).secret)
    const seller = await enrolAs(["members.view", "members.edit"])
    const packer = await enrolAs(["products.view"])
    await attach(seller, source("Zork.png"))
    await seller.sync()
    await packer.sync()
    const secondary_id = member_id
    member_id = await server.customer()
    await server.must("POST", `/members/${member_id}/merge`, { secondary_id })
    await seller.sync()
    await packer.sync()
    expect(await listed(seller)).toMatchObject([{ original_name: "Zork.png", attachable_id: member_id }])
    expect((await packer.tables())["attachments"]).toEqual([])
    expect(holdsText(packer, "Zork")).toBe(false)
  })

  it("are sent again from the start if their upload breaks off", async () => {
    const content = Buffer.alloc(200_000, `cut ${serial}`)
    const of = sha256Of(content)
    await attach(van, source("long.bin", content))
    const whole = new Request("http://x/", { method: "POST", body: form(content, of) })
    const bytes = new Uint8Array(await whole.arrayBuffer())
    for (let tenth = 1; tenth < 10; tenth++) {
      await new Promise<void>((resolve) => {
        const sending = request(`${server.url()}/api/v1/sync/files`, {
          method: "POST",
          headers: {
            "authorization": `Bearer ${token}`,
            "content-type": whole.headers.get("content-type") ?? "",
            "content-length": bytes.length
          }
        })
        sending.on("error", () => {}).on("close", resolve)
        sending.write(bytes.subarray(0, (bytes.length * tenth) / 10), () => sending.destroy())
      })
    }
    expect(await wanted(of)).toEqual([of])
    expect(await van.sync()).toMatchObject({ accepted: 1 })
    expect(await wanted(of)).toEqual([])
    expect(await downloaded((await listed())[0].url)).toBe(of)
  })

  it("wait while the server is unreachable, survive a restart of the device, and are sent afterwards", async () => {
    await attach(van, source("a.png"))
    await server.stop()
    await expect(van.sync()).rejects.toThrow(/cannot be reached/)
    expect(waiting()).toHaveLength(1)
    await server.start()
    const again = await server.reopen(van.profile.device)
    expect(await listed(again)).toHaveLength(1)
    expect(await again.sync()).toMatchObject({ accepted: 1, pending: 0 })
    expect(waiting()).toEqual([])
    expect(await downloaded((await listed())[0].url)).toEqual(sha256)
  })

  it("share one file if their content is the same, which outlives the deletion of one of them", async () => {
    const office = await server.enrol()
    for (const name of ["a.png", "b.png"]) await attach(van, source(name))
    await attach(office, source("c.png"))
    expect(waiting()).toHaveLength(1)
    expect(await van.sync()).toMatchObject({ accepted: 2 })
    expect(await office.sync()).toMatchObject({ accepted: 1 })
    expect(await names()).toEqual(["a.png", "b.png", "c.png"])
    const [first, second, ...more] = await listed()
    expect(new Set([first, second, ...more].map((one) => one.uuid)).size).toBe(3)
    await server.must("DELETE", `/attachments/${first.id}`)
    expect((await server.get(`/attachments/${first.id}`)).status).toBe(404)
    expect(await downloaded(second.url)).toBe(sha256)
    expect((await download(first.url)).status).toBe(404)
  })

  it("keep the file of a refused command until its conflict is resolved", async () => {
    await attach(van, source("a.png"))
    await server.must("DELETE", `/members/${member_id}`)
    expect(await van.sync()).toMatchObject({ rejected: 1, conflicts: 1 })
    expect(waiting()).toHaveLength(1)
    const [conflict] = await van.conflicts()
    await server.must("POST", `/members/${member_id}/restore`)
    await van.sync()
    expect(waiting()).toHaveLength(1)
    expect((await van.resolve(conflict!.id, { retry: true })).status).toBe(201)
    expect(await van.sync()).toMatchObject({ accepted: 1, conflicts: 0 })
    expect([waiting(), await names()]).toEqual([[], ["a.png"]])
    await attach(van, source("b.txt", Buffer.from("b")))
    await server.must("DELETE", `/members/${member_id}`)
    await van.sync()
    const [second] = await van.conflicts()
    await van.resolve(second!.id, { drop: true })
    expect(waiting()).toEqual([])
  })

  it("are refused by name if their file was altered on the device, and delay no other command", async () => {
    await attach(van, source("a.png"))
    await attach(van, source("b.txt", Buffer.from("b")))
    writeFileSync(waitingPath(van.folder, sha256), "something else")
    expect(await van.sync()).toMatchObject({ accepted: 1, rejected: 1, pending: 0 })
    const errors = { file: [expect.stringContaining("a.png")] }
    expect(await van.conflicts()).toMatchObject([{ error: { status: 422, errors } }])
  })

  it("leave no file and no command when refused offline: too large, of an unknown member or type, without a file", async () => {
    const refused = (field: string, words = "") => ({
      ...{ status: 422, body: { errors: { [field]: [expect.stringContaining(words)] } } }
    })
    expect(await attach(van, source("large.bin", Buffer.alloc(upload_bytes_max + 1)))).toMatchObject(
      refused("file", "20 MB")
    )
    expect((await attach(van, source("a.png"), { attachable_id: 999_999 })).status).toBe(404)
    expect(await attach(van, source("a.png"), { attachable_type: "Nope" })).toMatchObject(refused("attachable_type"))
    const bare = { attachable_type: "Member", attachable_id: member_id }
    expect(await van.post("/attachments", bare)).toMatchObject(refused("file"))
    expect([waiting(), await van.pending()]).toEqual([[], []])
    expect((await attach(van, source("full.bin", Buffer.alloc(upload_bytes_max)))).status).toBe(201)
  })

  it("leave no files of a crash behind after a day, and keep those of pending commands", async () => {
    await attach(van, source("a.png"))
    const folder = join(van.folder, "files")
    const old = new Date(Date.now() - 86_400_000)
    for (const name of ["11.part", "2".repeat(64), "fresh.part"]) writeFileSync(join(folder, name), "x")
    for (const name of ["11.part", "2".repeat(64), sha256]) utimesSync(join(folder, name), old, old)
    await server.stop()
    await van.sync().catch(() => undefined)
    await server.start()
    expect(waiting()).toContain(sha256)
    await van.sync()
    expect(waiting()).toEqual(["fresh.part"])
  })

  it("travel in bundles, as many as fit the size limit of each", async () => {
    const size = 30_000
    for (const name of ["a", "b", "c"]) await attach(van, source(`${name}.bin`, Buffer.alloc(size, name + serial)))
    const counts: Array<readonly [number, number, boolean]> = []
    for (let more = true; more;) {
      // Two of them fit in base64 with their commands, three do not.
      const out = await van.bundleOut(4 * size)
      counts.push([out.commands, out.files, out.more])
      more = out.more
      const { bundle } = await server.must("POST", "/sync/bundles", { bundle: JSON.parse(out.text) })
      await van.bundleIn(JSON.stringify(bundle))
    }
    expect(counts).toEqual([
      [2, 2, true],
      [1, 1, false]
    ])
    expect([waiting(), await names()]).toEqual([[], ["a.bin", "b.bin", "c.bin"]])
    expect(await downloaded((await listed())[2].url)).toBe(sha256Of(Buffer.alloc(size, `c${serial}`)))
    // Two of the largest files fit into a bundle, with room for the rest of it.
    expect((2 * upload_bytes_max * 4) / 3).toBeLessThan(bundle_content_bytes_max)
    expect(bundle_content_bytes_max).toBeLessThan(bundle_bytes_max)
  })

  it("are deleted from the server, its file store and two devices when their member is anonymised", async () => {
    const office = await server.enrol()
    await attach(van, source("Passport of Ann Zork.png"), { description: "Zork's passport" })
    await van.sync()
    await office.sync()
    const [one] = await listed()
    await van.must("DELETE", `/attachments/${one.id}`)
    await attach(van, source("Zork again.png"))
    await van.sync()
    const [two] = await listed()
    await server.must("POST", `/members/${member_id}/anonymise`)
    expect((await server.get(`/attachments/${two.id}`)).status).toBe(404)
    expect((await download(two.url)).status).toBe(404)
    const has = () => server.app().run(Effect.flatMap(ServerContext, ({ blobs }) => blobs.has(sha256)))
    expect(await has()).toBe(true)
    for (const days of [0, 2]) await server.app().run(collectFiles(Date.now() + days * 86_400_000))
    expect(await has()).toBe(false)
    for (const device of [van, office]) {
      await device.sync()
      expect((await device.get(`/members/${member_id}/attachments`)).body.attachments ?? []).toEqual([])
      expect(holdsText(device, "Zork again"), device.folder).toBe(false)
      expect(holdsText(device, "Ann Zork"), device.folder).toBe(false)
    }
  })
})
