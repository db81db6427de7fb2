/** Backups of a server under load, and restores from them. */
import { execFile } from "node:child_process"
import { createHash, randomBytes } from "node:crypto"
import { existsSync, mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { fileURLToPath } from "node:url"
import { generateX25519Identity, identityToRecipient } from "age-encryption"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { backupPlace } from "../../../../server/host/recover-owner.ts"
import { createBackup, restoreBackup, verifyBackup } from "../../../../server/operations/backups/backup.ts"
import { bucketBackups } from "../../../../server/operations/backups/bucket.ts"
import { hasProgram, installedTools } from "../../../installed-tools.ts"
import { freshDatabase } from "../../../postgres.ts"
import { cli_program, compiled_code } from "../../../programs.ts"
import { call, environment, token } from "../../killing.ts"
import { cleanUp, type Env, folderOfItsOwn, type ServerProcess, startServer } from "../../process.ts"

const authorization = `Bearer ${token}`
const content = randomBytes(1_500_000)
const file_sha256 = createHash("sha256").update(content).digest("hex")

let env: Env, server: ServerProcess, folder: string, file: string
const acknowledged: Array<number> = []

const flightcase = (env: Env, ...words: ReadonlyArray<string>) =>
  new Promise<{ readonly code: number; readonly out: string; readonly err: string }>((resolve) => {
    const more = { ...compiled_code, FLIGHTCASE_HOME: folder, PATH: process.env["PATH"] }
    execFile(process.execPath, [cli_program, "backup", ...words], { env: { ...more, ...env } }, (error, out, err) =>
      resolve({ code: error === null ? 0 : Number(error.code), out, err })
    )
  })
const made = async (): Promise<number> =>
  (await call(server, "POST", "product_groups", { name: `Group ${acknowledged.length}` })).product_group.id

beforeAll(async () => {
  folder = await folderOfItsOwn()
  env = await environment()
  server = await startServer(env)
  for (let at = 0; at < 20; at++) acknowledged.push(await made())
  const form = new FormData()
  form.set("attachable_type", "Member")
  form.set("attachable_id", "1")
  form.set("file", new Blob([content]), "plan.bin")
  await call(server, "POST", "members", { name: "Ann Ltd", membership_type: "organisation" })
  const attached = await fetch(`${server.url}/api/v1/attachments`, {
    method: "POST",
    headers: { authorization },
    body: form
  })
  expect(attached.status, await attached.text()).toBe(201)
})
afterAll(cleanUp)

describe("a backup", () => {
  it("can be made while the server writes, and has every write acknowledged before it", async () => {
    const before = [...acknowledged]
    let is_writing = true
    const writer = (async () => {
      while (is_writing) acknowledged.push(await made())
    })()
    const { code, err, out } = await flightcase(env, "create", join(folder, "backups"), "--json")
    is_writing = false
    await writer
    expect([code, err]).toEqual([0, expect.stringContaining("signing key")])
    const { backup }: { readonly backup: { readonly file: string } } = JSON.parse(out)
    file = backup.file
    expect(backup).toMatchObject({ engine: "sqlite", files: 1, is_sealed: false })
    // One file and nothing else.
    expect(readdirSync(join(folder, "backups"))).toHaveLength(1)

    const restored = join(folder, "restored")
    expect(await flightcase({}, "restore", file, "--data", restored)).toMatchObject({ code: 0 })
    const again = await startServer({ ...env, FLIGHTCASE_DATA: restored, FLIGHTCASE_KEY: undefined })
    const { product_groups } = await call(again, "GET", "product_groups?per_page=100&sort=id")
    expect(product_groups.map(({ id }) => id)).toEqual(expect.arrayContaining(before.slice(0, 20)))
    const { attachments } = await call(again, "GET", "attachments")
    const download = await fetch(attachments[0].url!.replace(/^https?:\/\/[^/]+/, again.url), {
      headers: { authorization }
    })
    expect(
      createHash("sha256")
        .update(Buffer.from(await download.arrayBuffer()))
        .digest("hex")
    ).toBe(file_sha256)
    await again.kill("SIGTERM")
  })

  it("restored without its key gives the server a new one, and names the settings that must be set again", async () => {
    const settings = { smtp_url: "smtp://house:secret@mail.example:587" }
    await call(server, "PUT", "settings/mail", { settings })
    const { out } = await flightcase(env, "create", join(folder, "keyless-backup"), "--json")
    const restored = join(folder, "keyless")
    const told = await flightcase({}, "restore", JSON.parse(out).backup.file, "--data", restored)
    expect(told).toMatchObject({ code: 0, err: expect.stringContaining("must be set again") })
    expect(existsSync(join(restored, "key"))).toBe(false)
    const again = await startServer({ ...env, FLIGHTCASE_DATA: restored, FLIGHTCASE_KEY: undefined })
    expect(existsSync(join(restored, "key"))).toBe(true)
    await expect.poll(() => again.stderr(), { timeout: 10_000 }).toMatch(/mail\.smtp_url/)
    await again.kill("SIGTERM")
  })

  it("can be verified, restored on trial and listed, and is named by the plan of a deletion", async () => {
    expect(await flightcase({}, "verify", file)).toMatchObject({ code: 0 })
    expect(await flightcase({}, "verify", file, "--restore")).toMatchObject({ code: 0 })
    expect(await flightcase(env, "create", join(folder, "backups"))).toMatchObject({ code: 0 })
    const listed = await flightcase({}, "list", join(folder, "backups"), "--json")
    const { backups }: { readonly backups: ReadonlyArray<{ readonly file: string; readonly made_at: string }> } =
      JSON.parse(listed.out)
    expect(backups.map((one) => one.file).indexOf(file)).toBe(1)
    const planned = await flightcase(env, "prune", join(folder, "backups"), "--keep", "1", "--plan", "--json")
    expect(JSON.parse(planned.out).backups.map((one: { readonly file: string }) => one.file)).toEqual([file])
    expect(existsSync(file)).toBe(true)
    expect(await flightcase({}, "prune", join(folder, "backups"), "--keep", "0")).toMatchObject({ code: 2 })
  })

  it("is refused by verify and restore with one changed byte", async () => {
    const damaged = join(folder, "damaged.backup")
    const bytes = readFileSync(file)
    // Within the attachment, which is not compressible.
    const at = bytes.indexOf(content.subarray(700_000, 700_016))
    expect(at).toBeGreaterThan(0)
    bytes[at] = bytes[at]! ^ 1
    writeFileSync(damaged, bytes)
    const data = join(folder, "from-damaged")
    for (const words of [
      ["verify", damaged],
      ["restore", damaged, "--data", data]
    ])
      expect(await flightcase({}, ...words)).toMatchObject({ code: 1, err: expect.stringContaining("damaged") })
    expect(existsSync(data)).toBe(false)
  })

  it("is restored into an empty folder only", async () => {
    const data = env["FLIGHTCASE_DATA"] ?? ""
    const refused = await flightcase({}, "restore", file, "--data", data)
    expect(refused).toMatchObject({ code: 1, err: expect.stringContaining("is not empty") })
  })

  it("that is encrypted opens with its passphrase only", async () => {
    const sealed_folder = join(folder, "sealed")
    const secret = { FLIGHTCASE_BACKUP_PASSPHRASE: "correct horse battery" }
    expect(await flightcase({ ...env, ...secret }, "create", sealed_folder)).toMatchObject({ code: 0 })
    const sealed = join(sealed_folder, readdirSync(sealed_folder)[0] ?? "")
    expect(readFileSync(sealed).indexOf(content.subarray(700_000, 700_016))).toBe(-1)
    expect(await flightcase(secret, "verify", sealed, "--restore")).toMatchObject({ code: 0 })
    expect(await flightcase({}, "verify", sealed)).toMatchObject({ code: 1, err: expect.stringContaining("sealed") })
    const wrong = { FLIGHTCASE_BACKUP_PASSPHRASE: "incorrect horse battery" }
    expect(await flightcase(wrong, "verify", sealed)).toMatchObject({
      code: 1,
      err: expect.stringContaining("not the passphrase")
    })
  })

  it("restores pending mail as failed, as it may have been sent since", async () => {
    const restored = join(folder, "held")
    const db = new DatabaseSync(join(env["FLIGHTCASE_DATA"] ?? "", "flightcase.sqlite"))
    db.exec(
      "insert into effect_queue (id, queue_name, element, state, attempts, visible_at, created_at, updated_at) " +
        "values ('waiting', 'mail.send', '{}', 'pending', 0, '2099-01-01', '2026-01-01', '2026-01-01')"
    )
    db.close()
    const { out } = await flightcase(env, "create", join(folder, "held-backup"), "--json")
    const { backup }: { readonly backup: { readonly file: string } } = JSON.parse(out)
    expect(await flightcase({}, "restore", backup.file, "--data", restored)).toMatchObject({ code: 0 })
    const after = new DatabaseSync(join(restored, "flightcase.sqlite"), { readOnly: true })
    expect(after.prepare("select state, last_failure from effect_queue where id = 'waiting'").get()).toEqual({
      state: "failed",
      last_failure: expect.stringContaining("may have been done since")
    })
    after.close()
  })

  it("for an age recipient opens with the file that age-keygen writes, and is listed without it", async () => {
    const sealed_folder = join(folder, "aged")
    const identity = await generateX25519Identity()
    const recipient = await identityToRecipient(identity)
    const { out } = await flightcase(env, "create", sealed_folder, "--recipient", recipient, "--json")
    const { file } = JSON.parse(out).backup
    const identity_file = join(folder, "identity.txt")
    writeFileSync(identity_file, `# created: today\n# public key: ${recipient}\n${identity}\n`)
    expect(await flightcase({}, "verify", file)).toMatchObject({ code: 1, err: expect.stringContaining("--identity") })
    expect(await flightcase({}, "verify", file, "--restore", "--identity", identity_file)).toMatchObject({ code: 0 })
    expect(await flightcase({}, "list", sealed_folder)).toMatchObject({ code: 0, out: expect.stringContaining(file) })
  })

  it("cannot be listed with --url, only on the server's own machine", async () => {
    const refused = await flightcase({}, "list", folder, "--url", "http://localhost:1")
    expect(refused).toMatchObject({ code: 2, err: expect.stringContaining("at the server's own machine") })
  })
})

const tools = await installedTools(fileURLToPath(new URL("../../files/s3-tools", import.meta.url)))
describe.skipIf(tools === undefined)("backups in a bucket", () => {
  let bucket: { readonly run: () => Promise<AddressInfo>; readonly close: () => Promise<void> }
  let place: string
  const keys = { AWS_ACCESS_KEY_ID: "S3RVER", AWS_SECRET_ACCESS_KEY: "S3RVER" }
  beforeAll(async () => {
    const S3rver = createRequire(join(tools ?? "", "package.json"))("s3rver")
    const directory = join(await folderOfItsOwn(), "buckets")
    const buckets = { directory, configureBuckets: [{ name: "safe" }] }
    bucket = new S3rver({ port: 0, address: "127.0.0.1", silent: true, ...buckets })
    place = `s3://safe/house/daily?endpoint=http://127.0.0.1:${(await bucket.run()).port}`
  })
  afterAll(() => bucket.close())

  it("are made, listed, verified, restored and pruned as in a folder", async () => {
    // Left two days ago by a killed program.
    const left = join(env["FLIGHTCASE_DATA"] ?? "", ".flightcase-abcdef")
    mkdirSync(left)
    utimesSync(left, new Date(), new Date(Date.now() - 2 * 86_400_000))
    for (let at = 0; at < 2; at++)
      expect(await flightcase({ ...env, ...keys }, "create", place)).toMatchObject({ code: 0 })
    // No temporary file is left on the server.
    expect(readdirSync(env["FLIGHTCASE_DATA"] ?? "").filter((name) => name.startsWith(".flightcase"))).toEqual([])
    const listed = await flightcase(keys, "list", place, "--json")
    const { backups } = JSON.parse(listed.out)
    expect(backups).toHaveLength(2)
    expect(backups[0]).toMatchObject({ engine: "sqlite", files: 1, is_sealed: false, size_bytes: expect.any(Number) })
    const newest: string = backups[0].file
    expect(newest).toMatch(/^s3:\/\/safe\/house\/daily\/flightcase-\w+-[0-9a-f]{8}\.backup\?endpoint=/)
    expect(await flightcase(keys, "verify", newest, "--restore")).toMatchObject({ code: 0 })
    const data = join(folder, "from-bucket")
    expect(await flightcase(keys, "restore", newest, "--data", data)).toMatchObject({ code: 0 })
    expect(existsSync(join(data, "flightcase.sqlite"))).toBe(true)
    expect(await flightcase({ ...env, ...keys }, "prune", place, "--keep", "1", "--plan")).toMatchObject({ code: 0 })
    const pruned = await flightcase({ ...env, ...keys }, "prune", place, "--keep", "1", "--json")
    expect(JSON.parse(pruned.out).backups).toMatchObject([{ file: backups[1].file }])
    expect(JSON.parse((await flightcase(keys, "list", place, "--json")).out).backups).toHaveLength(1)
  })
  it("come back unchanged if they are larger than one part, and leave nothing if they are aborted", async () => {
    const large = await folderOfItsOwn()
    const path = join(large, "large")
    const bytes = randomBytes(70_000_000)
    writeFileSync(path, bytes)
    const credentials = {
      access_key_id: "S3RVER",
      secret_access_key: "S3RVER",
      session_token: undefined,
      region: undefined
    }
    const { download, upload } = bucketBackups(place, credentials)
    const about = { format: 1, made_at: "2026-07-01T12:00:00.000Z", engine: "sqlite", position: 1, files: 0 } as const
    await upload("large", path, about, false)
    await download("large", join(large, "again"))
    expect(readFileSync(join(large, "again")).equals(bytes)).toBe(true)
    const ended = AbortSignal.timeout(100)
    await expect(upload("ended", path, about, false, ended)).rejects.toThrow()
    await expect(download("ended", join(large, "ended"))).rejects.toThrow("There is no ended")
  })
  it("report missing keys, a missing bucket and an unknown backup in one line", async () => {
    expect(await flightcase(env, "create", place)).toMatchObject({ code: 1, err: expect.stringContaining("AWS_") })
    const elsewhere = place.replace("safe", "nothing")
    const refused = { code: 1, err: expect.stringMatching(/The bucket nothing.* cannot be used: /) }
    expect(await flightcase({ ...env, ...keys }, "create", elsewhere)).toMatchObject(refused)
    expect(await flightcase(keys, "list", elsewhere)).toMatchObject(refused)
    const missing = place.replace("?", "/flightcase-20260701T120000000Z.backup?")
    const none = { code: 1, err: expect.stringContaining("There is no flightcase-20260701T120000000Z.backup") }
    expect(await flightcase(keys, "verify", missing)).toMatchObject(none)
  })
})

it.skipIf(!hasProgram("pg_dump"))("a Postgres backup has every write acknowledged before it", async () => {
  const { drop, url } = await freshDatabase()
  const empty = await freshDatabase()
  const env = await environment(url)
  const server = await startServer(env)
  const acknowledged: Array<number> = []
  const make = async (): Promise<void> => {
    const { product_group } = await call(server, "POST", "product_groups", { name: crypto.randomUUID() })
    acknowledged.push(product_group.id)
  }
  await make()
  let is_writing = true
  const writers = Array.from({ length: 16 }, async () => {
    while (is_writing) await make()
  })
  while (acknowledged.length < 50) await make()
  const before = [...acknowledged]
  const folder = await folderOfItsOwn()
  const { file } = await createBackup(backupPlace(env, undefined), folder, { now: new Date() })
  is_writing = false
  await Promise.all(writers)
  await server.kill("SIGTERM")
  await verifyBackup(file, backupPlace(env, undefined))

  const data = join(folder, "data")
  mkdirSync(data)
  const there = { ...env, DATABASE_URL: empty.url, FLIGHTCASE_DATA: data }
  await restoreBackup(file, backupPlace(there, undefined), {})
  await expect(restoreBackup(file, backupPlace(there, join(folder, "other")), {})).rejects.toThrow("is not empty")
  const again = await startServer(there)
  const ids: Array<number> = []
  for (let page = 1; ; page++) {
    const { product_groups } = await call(again, "GET", `product_groups?per_page=100&sort=id&page=${page}`)
    if (product_groups.length === 0) break
    ids.push(...product_groups.map(({ id }) => id))
  }
  expect(ids).toEqual(expect.arrayContaining(before))
  await again.kill("SIGTERM")
  await drop()
  await empty.drop()
})
