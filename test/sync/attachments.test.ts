/** Files made offline: they wait on their device, travel ahead of their commands, and are gone where they must be. */
import { createHash } from "node:crypto"
import { existsSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs"
import { request } from "node:http"
import { join } from "node:path"
import { Effect } from "effect"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { upload_bytes_max } from "../../core/kernel/body-limits.ts"
import type { JsonObject } from "../../core/kernel/json.ts"
import { type Device, openDevice } from "../../sync/device/device.ts"
import { openOutboxOf } from "../../sync/device/folder.ts"
import { moveUnsent } from "../../sync/device/recovery/move-unsent.ts"
import { waitingPath } from "../../sync/device/files.ts"
import { collectFiles } from "../../server/files/collect.ts"
import { ServerContext } from "../../server/server-context.ts"
import { localFile } from "../../cli/input.ts"
import { engines } from "../app.ts"
import { type DeviceTestServer, openDeviceTestServer, token } from "./server.ts"

const png = Buffer.from("89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489", "hex")
const sha256Of = (content: Uint8Array): string => createHash("sha256").update(content).digest("hex")

describe.each(engines)("attachments of devices, with a server on %s", (engine) => {
  let server: DeviceTestServer
  let member_id: number
  beforeEach(async () => {
    server = await openDeviceTestServer(engine)
    const made = await server.ask("POST", "/api/v1/members", { name: "Quuxcorp", membership_type: "organisation" })
    member_id = made.body.member.id
  })
  afterEach(() => server.close())

  const source = (name: string, content: Uint8Array = png): string => {
    const path = join(server.folder, name)
    writeFileSync(path, content)
    return path
  }
  const attach = async (device: Device, path: string, more: JsonObject = {}) =>
    device.ask({
      method: "POST",
      path: "/api/v1/attachments",
      query: [],
      body: { attachable_type: "member", attachable_id: member_id, ...more },
      files: { file: await localFile(path) }
    })
  const read = async (device: Device, path: string): Promise<any> =>
    (await device.ask({ method: "GET", path, query: [], body: undefined })).body
  const waiting = (name: string): ReadonlyArray<string> => {
    const folder = join(server.folder, name, "files")
    return existsSync(folder) ? readdirSync(folder) : []
  }
  const listed = async (): Promise<any> => (await server.ask("GET", `/api/v1/members/${member_id}/attachments`)).body
  const download = async (url: string): Promise<Uint8Array> => {
    const got = await fetch(url)
    expect(got.status).toBe(200)
    return new Uint8Array(await got.arrayBuffer())
  }
  const addressed = (url: string): string => server.url() + new URL(url).pathname + new URL(url).search

  it("made offline are read elsewhere byte for byte, and their files are gone from the device", async () => {
    const van = await server.enrol("van")
    const office = await server.enrol("office")
    const made = await attach(van, source("Scheinwerfer ü.png"), { category: "photo", description: "Front" })
    expect(made).toMatchObject({
      status: 201,
      body: {
        attachment: {
          original_name: "Scheinwerfer ü.png",
          mime_type: "image/png",
          file_size: png.length,
          category: "photo",
          attachable_type: "Member",
          url: null,
          thumb_url: null
        }
      }
    })
    expect(waiting("van")).toEqual([sha256Of(png)])
    expect(statSync(waitingPath(join(server.folder, "van"), sha256Of(png))).mode & 0o777).toBe(0o600)
    expect(statSync(join(server.folder, "van", "files")).mode & 0o777).toBe(0o700)
    rmSync(join(server.folder, "Scheinwerfer ü.png"))
    expect(await van.sync()).toMatchObject({ sent: 1, accepted: 1, rejected: 0, pending: 0 })
    expect(waiting("van")).toEqual([])
    expect(van.told(true)).toEqual([])
    await office.sync()
    const there = (await read(office, `/api/v1/members/${member_id}/attachments`)).attachments
    expect(there).toMatchObject([{ original_name: "Scheinwerfer ü.png", mime_type: "image/png", url: null }])
    const [one] = (await listed()).attachments
    expect(one.uuid).toBe(there[0].uuid)
    expect(Buffer.from(await download(addressed(one.url)))).toEqual(png)
    expect(await server.replicaTables("van")).toEqual(await server.serverTables())
    expect(await server.replicaTables("office")).toEqual(await server.serverTables())
  })

  it("are gone from a device that was revoked: rows, and every file but those of its unsent commands", async () => {
    const van = await server.enrol("van")
    await attach(van, source("a.png"))
    await van.sync()
    const unsent = Buffer.from("not sent")
    await attach(van, source("b.txt", unsent))
    writeFileSync(join(server.folder, "van", "files", sha256Of(png)), png)
    await server.ask("DELETE", `/api/v1/sync/replicas/${van.profile.replica_id}`)
    await expect(van.sync()).rejects.toThrow(/revoked/)
    expect(existsSync(join(server.folder, "van", "replica.sqlite"))).toBe(false)
    expect(waiting("van")).toEqual([sha256Of(unsent)])
    const fresh = await server.enrol("fresh")
    const outbox = openOutboxOf(join(server.folder, "van"))
    const moved = await moveUnsent(
      outbox.pending(),
      van.profile.replica_id,
      fresh,
      join(server.folder, "fresh"),
      (sha256) => waitingPath(join(server.folder, "van"), sha256)
    ).finally(() => outbox.close())
    expect(moved).toMatchObject({ moved: 1, left: [] })
    expect(await fresh.sync()).toMatchObject({ accepted: 1 })
    const names = (await listed()).attachments.map((one: any) => one.original_name)
    expect(names).toEqual(["a.png", "b.txt"])
  })

  it("are not opened by a SHA-256 alone: content counts only from the person who sent it", async () => {
    const van = await server.enrol("van")
    await attach(van, source("secret.png"))
    await van.sync()
    const eves = await server.letInWith({ name: "Eve", permissions: ["members.view", "members.edit"] })
    const eve = await server.enrol("eve", eves.token)
    const command = {
      n: 1,
      id: "01890000-0000-7000-8000-000000000001",
      name: "attachments.create",
      payload: {
        params: {},
        body: { attachable_type: "Member", attachable_id: member_id },
        files: { file: { name: "mine.png", mime_type: "image/png", size_bytes: png.length, sha256: sha256Of(png) } }
      },
      ids: {},
      issued_at: "2026-11-22T12:00:00.000Z"
    }
    const replica_id = eve.profile.replica_id
    const push = () => server.ask("POST", "/api/v1/sync/commands", { replica_id, commands: [command] }, eves.token)
    expect(await push()).toMatchObject({ status: 409, body: { errors: { files: [sha256Of(png)] } } })
    const asked = { replica_id, sha256: [sha256Of(png)] }
    expect((await server.ask("POST", "/api/v1/sync/files/wanted", asked, eves.token)).body.wanted).toEqual([
      sha256Of(png)
    ])
    expect((await listed()).meta.total).toBe(1)
    // Whoever has the content may send it.
    const form = new FormData()
    form.set("replica_id", String(replica_id))
    form.set("sha256", sha256Of(png))
    form.set("file", new Blob([png]), "x")
    const sent = await fetch(`${server.url()}/api/v1/sync/files`, {
      method: "POST",
      headers: { authorization: `Bearer ${eves.token}` },
      body: form
    })
    expect(sent.status).toBe(201)
    expect((await push()).body.verdicts).toMatchObject([{ status: "accepted" }])
    // The same command again is answered, not done again.
    expect((await push()).body.verdicts).toMatchObject([{ status: "accepted" }])
    expect((await listed()).meta.total).toBe(2)
    const plain = { attachable_type: "Member", attachable_id: member_id, file: command.payload.files.file }
    expect((await server.ask("POST", "/api/v1/attachments", plain)).body.errors).toHaveProperty("file")
  })

  it("that arrive otherwise than they were sent are refused, and leave nothing", async () => {
    const van = await server.enrol("van")
    const form = new FormData()
    form.set("replica_id", String(van.profile.replica_id))
    form.set("sha256", sha256Of(png))
    form.set("file", new Blob([png.subarray(1)]), "x")
    const sent = await fetch(`${server.url()}/api/v1/sync/files`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}` },
      body: form
    })
    expect(sent.status).toBe(422)
    expect(await sent.json()).toHaveProperty("errors.file")
  })

  it("are on devices of those who see what they hang on, and follow a merge there", async () => {
    const enrolAs = async (name: string, permissions: ReadonlyArray<string>): Promise<Device> =>
      server.enrol(name, (await server.letInWith({ name, permissions })).token)
    const seller = await enrolAs("seller", ["members.view", "members.edit"])
    const packer = await enrolAs("packer", ["products.view"])
    await attach(seller, source("Zork.png"))
    await seller.sync()
    await packer.sync()
    const kept = await server.ask("POST", "/api/v1/members", { name: "Kept", membership_type: "organisation" })
    const { id } = kept.body.member
    await server.ask("POST", `/api/v1/members/${id}/merge`, { secondary_id: member_id })
    await seller.sync()
    await packer.sync()
    expect((await read(seller, `/api/v1/members/${id}/attachments`)).attachments).toMatchObject([
      { original_name: "Zork.png", attachable_id: id }
    ])
    const held = (await server.replicaTables("packer")) as { readonly attachments: ReadonlyArray<unknown> }
    expect(held.attachments).toEqual([])
    for (const file of readdirSync(join(server.folder, "packer")).filter((one) => one.includes("sqlite")))
      expect(readFileSync(join(server.folder, "packer", file)).includes("Zork"), file).toBe(false)
  })

  it("cut off at every tenth of their way count as not sent, and are sent again whole", async () => {
    const van = await server.enrol("van")
    const content = Buffer.alloc(200_000, "cut")
    await attach(van, source("long.bin", content))
    const asked = { replica_id: van.profile.replica_id, sha256: [sha256Of(content)] }
    const form = new FormData()
    form.set("replica_id", String(asked.replica_id))
    form.set("sha256", sha256Of(content))
    form.set("file", new Blob([content]), "x")
    const whole = new Request("http://x/", { method: "POST", body: form })
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
    expect((await server.ask("POST", "/api/v1/sync/files/wanted", asked)).body.wanted).toEqual(asked.sha256)
    expect(await van.sync()).toMatchObject({ accepted: 1 })
    expect((await server.ask("POST", "/api/v1/sync/files/wanted", asked)).body.wanted).toEqual([])
    expect(sha256Of(await download(addressed((await listed()).attachments[0].url)))).toBe(sha256Of(content))
  })

  it("wait while the server cannot be reached, and go once it can", async () => {
    const van = await server.enrol("van")
    await attach(van, source("a.png"))
    await server.stop()
    await expect(van.sync()).rejects.toThrow(/cannot be reached/)
    expect(waiting("van")).toHaveLength(1)
    await server.start()
    expect(await van.sync()).toMatchObject({ accepted: 1, pending: 0 })
    expect(waiting("van")).toEqual([])
  })

  it("of the same content are one file: attached twice, by two devices, deleted once", async () => {
    const [van, office] = [await server.enrol("van"), await server.enrol("office")]
    await attach(van, source("a.png"))
    await attach(van, source("b.png"))
    await attach(office, source("c.png"))
    expect(waiting("van")).toHaveLength(1)
    expect(await van.sync()).toMatchObject({ accepted: 2 })
    expect(await office.sync()).toMatchObject({ accepted: 1 })
    const { attachments } = await listed()
    expect(attachments.map((one: any) => one.original_name).sort()).toEqual(["a.png", "b.png", "c.png"])
    expect(new Set(attachments.map((one: any) => one.uuid)).size).toBe(3)
    await server.ask("DELETE", `/api/v1/attachments/${attachments[0].id}`)
    expect((await server.ask("GET", `/api/v1/attachments/${attachments[0].id}`)).status).toBe(404)
    expect(await download(addressed(attachments[1].url))).toHaveLength(png.length)
    expect((await fetch(addressed(attachments[0].url))).status).toBe(404)
  })

  it("of refused commands stay until the conflict is settled, and go then", async () => {
    const van = await server.enrol("van")
    await attach(van, source("a.png"))
    await server.ask("DELETE", `/api/v1/members/${member_id}`)
    expect(await van.sync()).toMatchObject({ rejected: 1, conflicts: 1 })
    expect(waiting("van")).toHaveLength(1)
    const [conflict] = await van.conflicts()
    await server.ask("POST", `/api/v1/members/${member_id}/restore`)
    await van.sync()
    expect(waiting("van")).toHaveLength(1)
    expect((await van.resolve(conflict!.id, { retry: true })).status).toBe(201)
    expect(await van.sync()).toMatchObject({ accepted: 1, conflicts: 0 })
    expect(waiting("van")).toEqual([])
    expect((await listed()).meta.total).toBe(1)
    await attach(van, source("b.txt", Buffer.from("b")))
    await server.ask("DELETE", `/api/v1/members/${member_id}`)
    await van.sync()
    const [second] = await van.conflicts()
    await van.resolve(second!.id, { drop: true })
    expect(waiting("van")).toEqual([])
  })

  it("that are lost on the device are refused with their name, and hold nobody up", async () => {
    const van = await server.enrol("van")
    await attach(van, source("a.png"))
    await attach(van, source("b.txt", Buffer.from("b")))
    writeFileSync(waitingPath(join(server.folder, "van"), sha256Of(png)), "something else")
    expect(await van.sync()).toMatchObject({ accepted: 1, rejected: 1, pending: 0 })
    expect(await van.conflicts()).toMatchObject([
      { error: { status: 422, errors: { file: [expect.stringContaining("a.png")] } } }
    ])
  })

  it("refused offline leave nothing: too large by a byte, of nothing that is there, without a file", async () => {
    const van = await server.enrol("van")
    const large = await attach(van, source("large.bin", Buffer.alloc(upload_bytes_max + 1)))
    expect(large).toMatchObject({ status: 422, body: { errors: { file: [expect.stringContaining("20 MB")] } } })
    expect((await attach(van, source("a.png"), { attachable_id: 999_999 })).status).toBe(404)
    expect((await attach(van, source("a.png"), { attachable_type: "Nope" })).body).toMatchObject({
      errors: { attachable_type: [expect.any(String)] }
    })
    const bare = { attachable_type: "Member", attachable_id: member_id }
    const without = await van.ask({ method: "POST", path: "/api/v1/attachments", query: [], body: bare })
    expect(without).toMatchObject({ status: 422, body: { errors: { file: [expect.any(String)] } } })
    expect(waiting("van")).toEqual([])
    expect(await van.pending()).toEqual([])
    const full = await attach(van, source("full.bin", Buffer.alloc(upload_bytes_max)))
    expect(full.status).toBe(201)
    expect(await van.sync()).toMatchObject({ accepted: 1 })
  })

  it("left by a crash are removed when they are old; what waits for a command stays however old", async () => {
    const van = await server.enrol("van")
    await attach(van, source("a.png"))
    const folder = join(server.folder, "van", "files")
    const old = new Date(Date.now() - 86_400_000)
    for (const name of ["11.part", "2".repeat(64), "fresh.part"]) writeFileSync(join(folder, name), "x")
    for (const name of ["11.part", "2".repeat(64), sha256Of(png)]) utimesSync(join(folder, name), old, old)
    await server.stop()
    await van.sync().catch(() => undefined)
    await server.start()
    expect(waiting("van")).toContain(sha256Of(png))
    await van.sync()
    expect(waiting("van")).toEqual(["fresh.part"])
  })

  it("survive a restart of the device before they are sent", async () => {
    const van = await server.enrol("van")
    await attach(van, source("a.png"))
    const again = server.keep(await openDevice(join(server.folder, "van")))
    expect((await read(again, `/api/v1/members/${member_id}/attachments`)).meta.total).toBe(1)
    expect(await again.sync()).toMatchObject({ accepted: 1 })
    expect(Buffer.from(await download(addressed((await listed()).attachments[0].url)))).toEqual(png)
  })

  it("go by bundle as well, as many as one carries", async () => {
    const van = await server.enrol("van")
    for (const name of ["a", "b", "c"]) await attach(van, source(`${name}.bin`, Buffer.alloc(upload_bytes_max, name)))
    const counts: Array<readonly [number, number, boolean]> = []
    for (let more = true; more;) {
      const out = await van.bundleOut()
      expect(out.text.length).toBeLessThan(64 * 1_048_576)
      counts.push([out.commands, out.files, out.more])
      more = out.more
      const { body, status } = await server.ask("POST", "/api/v1/sync/bundles", { bundle: JSON.parse(out.text) })
      expect(status, JSON.stringify(body).slice(0, 300)).toBe(200)
      await van.bundleIn(JSON.stringify(body.bundle))
    }
    expect(counts).toEqual([
      [2, 2, true],
      [1, 1, false]
    ])
    expect(waiting("van")).toEqual([])
    const { attachments } = await listed()
    expect(attachments).toHaveLength(3)
    expect(sha256Of(await download(addressed(attachments[2].url)))).toBe(sha256Of(Buffer.alloc(upload_bytes_max, "c")))
  })

  it("of an erased person are gone from the server, from replicas and from what the journal says", async () => {
    const [van, office] = [await server.enrol("van"), await server.enrol("office")]
    await attach(van, source("Passport of Ann Zork.png"), { description: "Zork's passport" })
    await van.sync()
    await office.sync()
    const [one] = (await listed()).attachments
    const path = `/api/v1/attachments/${one.id}`
    expect((await van.ask({ method: "DELETE", path, query: [], body: undefined })).status).toBe(204)
    await attach(van, source("Zork again.png"))
    await van.sync()
    const [two] = (await listed()).attachments
    expect((await server.ask("POST", `/api/v1/members/${member_id}/anonymise`)).status).toBe(200)
    expect((await server.ask("GET", `/api/v1/attachments/${two.id}`)).status).toBe(404)
    expect((await fetch(addressed(two.url))).status).toBe(404)
    const has = (): Promise<boolean> =>
      server.app().run(Effect.flatMap(ServerContext, ({ blobs }) => blobs.has(sha256Of(png))))
    expect(await has()).toBe(true)
    for (const days of [0, 2]) await server.app().run(collectFiles(Date.now() + days * 86_400_000))
    expect(await has()).toBe(false)
    await van.sync()
    await office.sync()
    for (const device of [van, office]) expect((await read(device, "/api/v1/attachments")).attachments).toEqual([])
    for (const name of ["van", "office"])
      for (const file of readdirSync(join(server.folder, name)).filter((one) => one.includes("sqlite")))
        expect(readFileSync(join(server.folder, name, file)).includes("Zork"), `${name}/${file}`).toBe(false)
  })
})
