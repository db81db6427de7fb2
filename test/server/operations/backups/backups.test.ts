/** Backups: scheduled, pruned, of the journal only and encrypted to an age recipient; and moves of a server. */
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { randomUUID } from "node:crypto"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { generateX25519Identity, identityToRecipient } from "age-encryption"
import { afterAll, afterEach, describe, expect, it } from "vitest"
import { insert, Store } from "../../../../core/kernel/index.ts"
import { accounting_exports } from "../../../../server/billing/accounting.ts"
import { openServerApp, type ServerApp } from "../../../../server/host/app.ts"
import type { Database } from "../../../../server/host/config.ts"
import { backupPlace, scheduledBackup } from "../../../../server/host/recover-owner.ts"
import {
  type BackupPlace,
  backupsIn,
  createBackup,
  moveServer,
  newestBackup,
  pruneBackups,
  restoreBackup,
  verifyBackup
} from "../../../../server/operations/backups/backup.ts"
import { nothing_outside } from "../../../../server/ports/outside.ts"
import { both_engines, engines } from "../../../app.ts"
import { freshDatabase } from "../../../postgres.ts"
import { rowsOf } from "../../delivery/jobs/words.ts"
import { formOf } from "../../files/sending.ts"
import { askOf, clockAt, owner_token, startedDatabase } from "../../serving.ts"

const folder = mkdtempSync(join(tmpdir(), "flightcase-backups-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const open: Array<() => Promise<unknown>> = []
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close()
})
const folderOf = (name: string): string => mkdtempSync(join(folder, `${name}-`))

const openedAt = async (database: Database, data_folder: string, instant: string, token = owner_token) => {
  const app = await openServerApp({
    database,
    data_folder,
    key: "a key of more than twenty characters",
    owner_token: token,
    outside: nothing_outside,
    services: clockAt(() => Date.parse(instant))
  })
  const close = (): Promise<void> => app.close()
  open.push(close)
  return { app, close: () => (open.splice(open.indexOf(close), 1), close()) }
}
const databaseOf = async (engine: (typeof engines)[number], data_folder: string): Promise<Database> => {
  if (engine === "sqlite") return { kind: "sqlite", path: join(data_folder, "flightcase.sqlite") }
  const { drop, url } = await freshDatabase()
  open.push(drop)
  return { kind: "pg", url, connections_max: 4 }
}
/** Hides pg_dump, as a dump fails while another server creates its views. */
const withoutPgDump = (programs = folder): void => {
  const path = process.env["PATH"]
  process.env["PATH"] = programs
  open.push(async () => void (process.env["PATH"] = path))
}
const placeAt = (database: BackupPlace["database"], data_folder: string): BackupPlace => ({
  ...backupPlace({}, data_folder),
  database
})
const poll = { timeout: 20_000 }
const jobs = (app: ServerApp) =>
  rowsOf(app, "select status, error, result from system_jobs where kind = 'backups.daily' order by sequence")
const set = async (app: ServerApp, settings: object, token = owner_token) =>
  (await askOf(app, "/api/v1/settings/backups", { method: "PUT", json: { settings }, token })).status
const checkOf = async (app: ServerApp) => {
  const { body } = await askOf(app, "/api/v1/system/checks", {})
  return body.checks.find(({ check }: { readonly check: string }) => check === "backups")
}

describe.each(both_engines)("the scheduled backup on %s", (engine) => {
  it("is made once a day at the company's time by one of the servers, and old ones are deleted", async () => {
    const data_folder = folderOf("data")
    const backups = join(folderOf("place"), "backups")
    const database = await databaseOf(engine, data_folder)
    withoutPgDump()
    const first = await openedAt(database, data_folder, "2026-07-01T12:00:00.000Z")
    await expect.poll(() => rowsOf(first.app, "select kind from timed_work"), poll).not.toEqual([])
    expect(await set(first.app, { folder: backups, daily_at: "03:30", keep: 1 })).toBe(200)
    const company = { settings: { timezone: "Europe/Berlin" } }
    await askOf(first.app, "/api/v1/settings/company", { method: "PUT", json: company })
    await first.close()
    // The first one is made at once; 03:30 in Berlin is 01:30 in UTC.
    const done = expect.objectContaining({ status: "done", error: null })
    for (const time of ["12:01", "12:02"]) {
      const early = await openedAt(database, data_folder, `2026-07-01T${time}:00.000Z`)
      await expect.poll(() => jobs(early.app), poll).toEqual([done])
      await early.close()
    }
    const second = await openedAt(database, data_folder, "2026-07-02T01:31:00.000Z")
    const other = engine === "pg" ? await openedAt(database, data_folder, "2026-07-02T01:31:00.000Z") : undefined
    await expect.poll(() => jobs(second.app), poll).toEqual([done, done])
    expect(readdirSync(backups)).toEqual([
      expect.stringMatching(/^flightcase-20260702T013100000Z-[0-9a-f]{8}\.backup$/)
    ])
    expect(await checkOf(second.app)).toMatchObject({ ok: true, detail: "the newest is 0 hours old" })
    await second.close()
    await other?.close()
    const third = await openedAt(database, data_folder, "2026-07-03T01:31:00.000Z")
    await expect.poll(() => jobs(third.app), poll).toEqual([done, done, done])
    expect((await backupsIn(backups, undefined)).backups).toMatchObject([{ made_at: "2026-07-03T01:31:00.000Z" }])
    const place = { database, data_folder, outside: nothing_outside, catalogue: async () => third.app.catalogue }
    expect(await scheduledBackup(place)).toMatchObject({ folder: backups, last: { status: "done", error: null } })
  })
})

it("a scheduled backup that fails is reported to the owner by a notification, and by the server's checks", async () => {
  const data_folder = folderOf("data")
  const blocked = join(folderOf("place"), "backups")
  writeFileSync(blocked, "no folder")
  const database = await databaseOf("sqlite", data_folder)
  const first = await openedAt(database, data_folder, "2026-07-01T12:00:00.000Z")
  await expect.poll(() => rowsOf(first.app, "select kind from timed_work"), poll).not.toEqual([])
  expect(await set(first.app, { folder: blocked, daily_at: "03:30" })).toBe(200)
  await first.close()
  const { app } = await openedAt(database, data_folder, "2026-07-02T04:00:00.000Z")
  await expect.poll(async () => (await jobs(app)).at(-1)?.["error"] ?? null, poll).not.toBeNull()
  await rowsOf(
    app,
    "update effect_queue set attempts = 2, visible_at = datetime('now') where queue_name = 'backups.daily' and state = 'pending'"
  )
  await expect.poll(async () => (await jobs(app)).at(-1)?.["status"], poll).toBe("failed")
  const { body } = await askOf(app, "/api/v1/notifications?q[notification_type_eq]=backup.failed", {})
  expect(body.notifications).toMatchObject([
    { title: "The daily backup failed", body: expect.stringContaining("EEXIST") }
  ])
  expect(await rowsOf(app, "select mail_state from notifications")).not.toEqual([{ mail_state: "none" }])
  expect(await checkOf(app)).toMatchObject({ ok: false, detail: expect.stringMatching(/^the scheduled one failed: /) })
  expect(await set(app, { folder: "", daily_at: "" })).toBe(200)
  expect(await checkOf(app)).toMatchObject({ ok: true })
})

it("a scheduled backup is made once even if old ones cannot be deleted, and its result and the checks report that", async () => {
  const data_folder = folderOf("data")
  const backups = folderOf("place")
  // Folders are not deleted.
  mkdirSync(join(backups, "flightcase-20260101T000000000Z.backup"))
  const database = await databaseOf("sqlite", data_folder)
  const first = await openedAt(database, data_folder, "2026-07-01T12:00:00.000Z")
  await expect.poll(() => rowsOf(first.app, "select kind from timed_work"), poll).not.toEqual([])
  expect(await set(first.app, { folder: backups, daily_at: "03:30", keep: 1 })).toBe(200)
  await first.close()
  const { app } = await openedAt(database, data_folder, "2026-07-02T04:00:00.000Z")
  const result = expect.objectContaining({ prune_error: expect.any(String) })
  await expect.poll(() => jobs(app), poll).toEqual([{ status: "done", error: null, result }])
  expect(await checkOf(app)).toMatchObject({
    ok: false,
    detail: expect.stringMatching(/^old ones cannot be deleted: /)
  })
})

it("pruning deletes backups that cannot be read, and neither counts nor deletes those dated later than now", async () => {
  const backups = folderOf("pruned")
  const names = [1, 2, 3].map((day) => `flightcase-2026010${day}T000000000Z.backup`)
  const later = "flightcase-20990101T000000000Z.backup"
  for (const name of [...names, later]) writeFileSync(join(backups, name), "truncated")
  const now = new Date("2026-01-03T01:00:00.000Z")
  const own = { now, server: undefined }
  expect(await newestBackup(backups, own)).toBe(Date.parse("2026-01-03T00:00:00.000Z"))
  expect(await pruneBackups(backups, 2, own)).toEqual([{ file: join(backups, names[0] ?? "") }])
  expect(await pruneBackups(backups, 1, { ...own, is_plan: true })).toEqual([{ file: join(backups, names[1] ?? "") }])
  expect(readdirSync(backups)).toEqual([...names.slice(1), later])
})

it("two servers that share a folder find the newest of their own backups, and prune only these", async () => {
  const backups = folderOf("shared")
  const [one, other] = ["0000000a", "0000000b"]
  const nameOf = (day: number, server = ""): string =>
    `flightcase-2026010${day}T000000000Z${server && `-${server}`}.backup`
  const old = nameOf(1)
  const names = [old, nameOf(2, one), nameOf(3, one), nameOf(4, other), nameOf(5, other)]
  const now = new Date("2026-02-01T00:00:00.000Z")
  const at = (server: string | undefined) => ({ now, server })
  for (const name of names.slice(0, 3)) writeFileSync(join(backups, name), "truncated")
  const planned = await pruneBackups(backups, 1, { ...at(one), is_plan: true })
  expect(planned.map(({ file }) => file)).toEqual([nameOf(2, one), old].map((name) => join(backups, name)))
  for (const name of names.slice(3)) writeFileSync(join(backups, name), "truncated")
  expect(await newestBackup(backups, at(one))).toBe(Date.parse("2026-01-03T00:00:00.000Z"))
  expect(await newestBackup(backups, at("0000000c"))).toBeUndefined()
  expect(await pruneBackups(backups, 1, at(other))).toEqual([{ file: join(backups, nameOf(4, other)) }])
  // Once two servers share the folder, a backup that names none belongs to neither.
  expect(await pruneBackups(backups, 1, at(one))).toEqual([{ file: join(backups, nameOf(2, one)) }])
  expect(readdirSync(backups)).toEqual([old, nameOf(3, one), nameOf(5, other)])
  await expect(pruneBackups(backups, 1, at(undefined))).rejects.toThrow("unknown whose backups")
})

it("the settings of backups are changed by the owner only, whatever permissions other users have", async () => {
  const data_folder = folderOf("data")
  const { app } = await openedAt(await databaseOf("sqlite", data_folder), data_folder, "2026-07-01T12:00:00.000Z")
  const made = async (path: string, json: object) => (await askOf(app, `/api/v1/${path}`, { json })).body
  const { role } = await made("roles", { name: "Settings", permissions: ["settings.manage", "settings.view"] })
  const { user } = await made("users", { name: "Ann", email: "ann@example.com", roles: [role.name], active: true })
  const { token } = await made("tokens", { name: "Ann", abilities: ["*"], user_id: user.id })
  expect(await set(app, { folder: "s3://elsewhere" }, token.secret)).toBe(403)
  expect(await set(app, { keep: 7 })).toBe(200)
})

describe.each(engines)("a backup of a server on %s", (engine) => {
  const started = async () => {
    const data_folder = folderOf("data")
    const { database, drop } = await startedDatabase(engine)
    open.push(drop)
    const { app, close } = await openedAt(database, data_folder, "2026-07-01T12:00:00.000Z")
    const place: BackupPlace = { database, data_folder, outside: nothing_outside, catalogue: async () => app.catalogue }
    return { app, close, place }
  }
  it("opens with the identity of its age recipient only", async () => {
    const { place } = await started()
    const identity = await generateX25519Identity()
    const keys = { recipient: await identityToRecipient(identity) }
    const { file, is_sealed } = await createBackup(place, folderOf("age"), { now: new Date(), keys })
    expect(is_sealed).toBe(true)
    expect(readFileSync(file).includes("opportunity")).toBe(false)
    await expect(verifyBackup(file, {})).rejects.toThrow("the identity of its age recipient is needed")
    const other = { identity: await generateX25519Identity() }
    await expect(verifyBackup(file, other)).rejects.toThrow("not the identity")
    expect(await verifyBackup(file, { identity, catalogue: place.catalogue })).toMatchObject({ files: 0 })
    const wrong = createBackup(place, folderOf("age"), { now: new Date(), keys: { recipient: "age1nobody" } })
    await expect(wrong).rejects.toThrow("The recipient is none of age")
  })
  it("leaves no temporary files, and removes those that a killed backup left a day before", async () => {
    const { place } = await started()
    const backups = folderOf("left")
    mkdirSync(join(backups, ".flightcase-abcdef"))
    writeFileSync(join(backups, "flightcase-20260101T000000000Z.backup.partial"), "")
    writeFileSync(join(backups, "notes.txt"), "mine")
    const in_two_days = new Date(Date.now() + 2 * 86_400_000)
    await createBackup(place, backups, { now: in_two_days })
    expect(readdirSync(backups)).toEqual([expect.stringMatching(/^flightcase-\d{8}T\d{9}Z\.backup$/), "notes.txt"])
    expect(await pruneBackups(backups, 1, { now: in_two_days, server: undefined })).toEqual([])
  })
  it("is refused before anything is written where the disk has no room for database and files", async () => {
    const { app, place } = await started()
    const columns = "sha256, size_bytes, mime_type, state, stored_at"
    const row = `'${"0".repeat(64)}', 1125899906842624, 'text/plain', 'kept', '2026-07-01T12:00:00.000Z'`
    await rowsOf(app, `insert into blobs (${columns}) values (${row})`)
    const backups = folderOf("full")
    const refused = createBackup(place, backups, { now: new Date() })
    await expect(refused).rejects.toThrow(/ MiB free: a backup needs 1,073,74\d,\d{3} MiB, /)
    expect(readdirSync(backups)).toEqual([])
  })
})

it("a backup of Postgres without pg_dump, or with an older one, holds the journal, and is restored on both engines", async () => {
  const { database, drop } = await startedDatabase("pg")
  open.push(drop)
  const { app } = await openedAt(database, folderOf("data"), "2026-07-01T12:00:00.000Z")
  const group = await askOf(app, "/api/v1/product_groups", { json: { name: "Lamps" } })
  const outside = nothing_outside
  const place: BackupPlace = { database, data_folder: folderOf("files"), outside, catalogue: async () => app.catalogue }
  withoutPgDump()
  const made = await createBackup(place, folderOf("journal"), { now: new Date() })
  expect(made).toMatchObject({ engine: "pg", holds: "journal" })
  const programs = folderOf("older")
  const refusal = "pg_dump: error: aborting because of server version mismatch"
  writeFileSync(join(programs, "pg_dump"), `#!/bin/sh\necho "${refusal}" >&2\nexit 1\n`)
  chmodSync(join(programs, "pg_dump"), 0o755)
  withoutPgDump(programs)
  expect(await createBackup(place, folderOf("journal"), { now: new Date() })).toMatchObject({ holds: "journal" })
  await verifyBackup(made.file, { catalogue: place.catalogue })
  const empty = await freshDatabase()
  open.push(empty.drop)
  for (const kind of engines) {
    const data_folder = join(folderOf("restored"), "data")
    const to: Database =
      kind === "pg"
        ? { kind, url: empty.url, connections_max: 4 }
        : { kind, path: join(data_folder, "flightcase.sqlite") }
    await restoreBackup(made.file, { ...place, database: to, data_folder }, {})
    const again = await openedAt(to, data_folder, "2026-07-02T12:00:00.000Z")
    const rows = await rowsOf(again.app, "select id from product_groups where name = 'Lamps'")
    expect(rows).toEqual([{ id: group.body.product_group.id }])
    expect(await rowsOf(again.app, "select id from tokens")).toEqual([])
  }
})

it("a server moves to an empty Postgres and back with the same rows, ids and files, but not onto existing data", async () => {
  const data_folder = folderOf("data")
  const database = await databaseOf("sqlite", data_folder)
  const { app, close } = await openedAt(database, data_folder, "2026-07-01T12:00:00.000Z")
  const group = await askOf(app, "/api/v1/product_groups", { json: { name: "Lamps" } })
  const member = await askOf(app, "/api/v1/members", { json: { name: "Ann Ltd", membership_type: "organisation" } })
  const { bytes, type } = await formOf([
    ["attachable_type", "Member"],
    ["attachable_id", String(member.body.member.id)],
    ["file", new File(["a plan"], "plan.txt")]
  ])
  const sent = await askOf(app, "/api/v1/attachments", { method: "POST", headers: { "content-type": type }, bytes })
  expect(sent.status).toBe(201)
  const { server } = await scheduledBackup({ ...placeAt(database, data_folder), catalogue: async () => app.catalogue })
  // Kept outside the journal: when documents were exported to accounting.
  const exported_at = "2026-06-01T00:00:00.000Z"
  await app.run(Store.apply([insert(accounting_exports, { key: "invoices/1", exported_at })]))
  await close()
  const pg = await databaseOf("pg", data_folder)
  const from = placeAt(database, data_folder)
  const there = placeAt(pg, data_folder)
  const moved = await moveServer(from, there)
  expect(moved).toMatchObject({ files: 1, digest: expect.stringMatching(/^[0-9a-f]{64}$/) })
  expect(readdirSync(data_folder).filter((name) => name.startsWith(".flightcase"))).toEqual([])
  await expect(moveServer(from, there)).rejects.toThrow("The Postgres database is not empty")
  await expect(moveServer(there, from)).rejects.toThrow("There is a database at")
  await expect(moveServer(from, placeAt(database, folderOf("data")))).rejects.toThrow("of the same kind")

  const back_folder = join(folderOf("back"), "data")
  const back = await databaseOf("sqlite", back_folder)
  const serves = async (kept: Database, kept_in: string) => {
    const again = await openedAt(kept, kept_in, "2026-07-02T12:00:00.000Z")
    const rows = await rowsOf(again.app, "select id from product_groups where name = 'Lamps'")
    expect(rows).toEqual([{ id: group.body.product_group.id }])
    expect(await rowsOf(again.app, "select key from accounting_exports")).toEqual([{ key: "invoices/1" }])
    expect((await scheduledBackup(placeAt(kept, kept_in))).server).toBe(server)
    await again.close()
  }
  await serves(pg, data_folder)
  expect(await moveServer(there, placeAt(back, back_folder))).toEqual(moved)
  expect(statSync(join(back_folder, "flightcase.sqlite")).mode & 0o777).toBe(0o600)
  await serves(back, back_folder)
  // A move without the folder of files would lose them.
  const without_files = { ...there, data_folder: folderOf("data") }
  const empty_folder = join(folderOf("back"), "data")
  await expect(
    moveServer(without_files, placeAt(await databaseOf("sqlite", empty_folder), empty_folder))
  ).rejects.toThrow(/The files of this database are in .*: set FLIGHTCASE_BLOBS/)
  // Events recorded while the source is copied would be lost.
  const open_again = await openedAt(database, data_folder, "2026-07-02T12:00:00.000Z")
  const late = {
    ...from,
    catalogue: async () => (
      await askOf(open_again.app, "/api/v1/product_groups", { json: { name: randomUUID() } }),
      from.catalogue()
    )
  }
  await expect(moveServer(late, placeAt(await databaseOf("pg", data_folder), data_folder))).rejects.toThrow(
    "stop the server"
  )
})
