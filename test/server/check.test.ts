import { existsSync, mkdtempSync } from "node:fs"
import { createServer as createHttpServer } from "node:http"
import { createServer } from "node:net"
import { DatabaseSync } from "node:sqlite"
import { once } from "node:events"
import { tmpdir } from "node:os"
import { join } from "node:path"
import pg from "pg"
import { describe, expect, it } from "vitest"
import { checkConfiguration } from "../../server/host/check.ts"
import type { Environment } from "../../server/host/environment.ts"
import { freePort } from "../free-port.ts"
import { freshDatabase } from "../postgres.ts"
import { openOnce, startedDatabase } from "./serving.ts"

const folder = join(mkdtempSync(join(tmpdir(), "flightcase-check-")), "data")
/** Runs the checks; returns their details by name, those of failed ones after `bad: `. */
const checked = async (environment: Environment): Promise<{ readonly [check: string]: string }> => {
  const port = String(await freePort())
  const found = await checkConfiguration({ FLIGHTCASE_DATA: folder, FLIGHTCASE_PORT: port, ...environment })
  return Object.fromEntries(found.map(({ check, ok, detail }) => [check, ok ? detail : `bad: ${detail}`]))
}
const key = "a-key-of-more-than-twenty-characters"

describe("serve --check", () => {
  it("passes every check with only a folder and a port set, and creates no folder", async () => {
    const found = await checked({})
    expect(Object.values(found).filter((detail) => detail.startsWith("bad"))).toEqual([])
    expect(found).toMatchObject({ database: `${join(folder, "flightcase.sqlite")}, to be made` })
    expect(existsSync(folder)).toBe(false)
  })
  it("names pending changes of an earlier release's database, makes none, and refuses a newer release's", async () => {
    const data = mkdtempSync(join(tmpdir(), "flightcase-check-"))
    const path = join(data, "flightcase.sqlite")
    await openOnce({ kind: "sqlite", path })
    const upgradeOf = async (): Promise<string | undefined> => (await checked({ FLIGHTCASE_DATA: data })).upgrade
    expect(await upgradeOf()).toBe("nothing is pending")
    const db = new DatabaseSync(path)
    db.exec(`delete from flightcase_migrations where migration_id > 2;
      update flightcase_meta set value = 'of another release' where key = 'tables'`)
    const before = db.prepare("select * from flightcase_meta order by key").all()
    const found = await upgradeOf()
    expect(found).toMatch(
      /^migrations: \w+(, \w+)*; tables are projected again from \d+ events; at most \d+ s and \d+ MiB of room/
    )
    expect(await upgradeOf()).toBe(found)
    expect(db.prepare("select * from flightcase_meta order by key").all()).toEqual(before)
    db.exec("insert into flightcase_migrations (migration_id, name) values (9999, 'of_a_newer_release')")
    expect(await upgradeOf()).toMatch(
      /^bad: A newer release altered this database \(migration 9999, of_a_newer_release\)/
    )
    db.close()
  })
  it("reports the version of the Postgres it reaches", async () => {
    const { url } = await freshDatabase()
    const found = await checked({ DATABASE_URL: url, FLIGHTCASE_KEY: key })
    expect(found).toMatchObject({ key: "set", database: expect.stringMatching(/^\S+ on Postgres \d+$/) })
    expect(found.upgrade).toBe("the tables are to be made")
  })
  it("reports a database whose encoding is not UTF8", async () => {
    const url = new URL((await freshDatabase()).url)
    const client = new pg.Client({ connectionString: url.href })
    await client.connect()
    const name = `${url.pathname.slice(1)}_ascii`
    await client.query(
      `create database ${name} template template0 encoding 'SQL_ASCII' lc_collate 'C' lc_ctype 'C' locale_provider libc`
    )
    await client.end()
    url.pathname = name
    expect(await checked({ DATABASE_URL: url.href, FLIGHTCASE_KEY: key })).toMatchObject({
      database: "bad: Its encoding is SQL_ASCII; make the database with the encoding UTF8 and the template template0."
    })
  })
  it("reports a port that is taken", async () => {
    const other = createServer().listen(0, "127.0.0.1")
    await once(other, "listening")
    const { port } = other.address() as { readonly port: number }
    expect(await checked({ FLIGHTCASE_PORT: String(port) })).toMatchObject({
      address: expect.stringMatching(/^bad: Port \d+ on 127\.0\.0\.1 is taken/)
    })
    other.close()
  })
  it("passes a port that a Flightcase server on Postgres answers, for another beside it, and no other", async () => {
    const other = createHttpServer((_, response) =>
      response.end(JSON.stringify({ health: { status: "ok", database: "postgres" } }))
    ).listen(0, "127.0.0.1")
    await once(other, "listening")
    const { port } = other.address() as { readonly port: number }
    const addressOf = async (environment: Environment) =>
      (await checked({ ...environment, FLIGHTCASE_PORT: String(port) })).address
    expect(await addressOf({ DATABASE_URL: "postgres://a:b@127.0.0.1:1/x", FLIGHTCASE_KEY: key })).toBe(
      `127.0.0.1 port ${port} is in use: a Flightcase server on Postgres runs there`
    )
    expect(await addressOf({})).toBe(
      `bad: Port ${port} on 127.0.0.1 is in use: a Flightcase server with another database runs there; ` +
        "FLIGHTCASE_PORT chooses another."
    )
    other.close()
  })
  it("reports a port that a Flightcase server on another Postgres database answers", async () => {
    const { database, drop } = await startedDatabase("pg")
    const client = new pg.Client({ connectionString: database.kind === "pg" ? database.url : "" })
    await client.connect()
    const { rows } = await client.query("select position from journal_head where id = 1")
    const position = Number(rows[0].position)
    let journal_position: number
    const other = createHttpServer((_, response) =>
      response.end(JSON.stringify({ health: { status: "ok", database: "postgres", journal_position } }))
    ).listen(0, "127.0.0.1")
    await once(other, "listening")
    const { port } = other.address() as { readonly port: number }
    const addressAt = async (served: number, url = database.kind === "pg" ? database.url : "") => {
      journal_position = served
      return (await checked({ DATABASE_URL: url, FLIGHTCASE_KEY: key, FLIGHTCASE_PORT: String(port) })).address
    }
    const another = `bad: Port ${port} on 127.0.0.1 is in use: a Flightcase server with another database runs there; `
    expect(await addressAt(position)).toMatch(/is in use: a Flightcase server on Postgres runs there$/)
    expect(await addressAt(position + 1)).toContain(another)
    const empty = await freshDatabase()
    expect(await addressAt(position, empty.url)).toContain(another)
    // What was recorded a minute ago is known to every server of the database.
    await client.query("update journal set recorded_at = now() - interval '2 minutes'")
    expect(await addressAt(position - 1)).toContain(another)
    await client.end()
    other.close()
    await Promise.all([drop(), empty.drop()])
  })
  it.each([
    ["settings", { FLIGHTCASE_PORT: "x" }, "FLIGHTCASE_PORT must be a whole number from 0 to 65535."],
    ["key", { DATABASE_URL: "postgres://a:b@127.0.0.1:1/x" }, /^FLIGHTCASE_KEY must be set beside DATABASE_URL/],
    ["database", { DATABASE_URL: "postgres://a:b@127.0.0.1:1/x", FLIGHTCASE_KEY: key }, /nothing answers there/],
    ["data folder", { FLIGHTCASE_DATA: "/proc/1/data" }, /cannot be written|FLIGHTCASE_DATA/],
    ["public address", { FLIGHTCASE_HOST: "0.0.0.0" }, /^FLIGHTCASE_URL is not set/],
    ["public address", { FLIGHTCASE_URL: "https://hire.example" }, /FLIGHTCASE_TRUST_PROXY is 0/],
    ["mail", { FLIGHTCASE_SMTP_URL: "smtp://127.0.0.1:1?tls=off" }, /^127\.0\.0\.1 port 1 cannot be reached/],
    ["files", { FLIGHTCASE_BLOBS: "s3://bucket" }, /^AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY must be set/]
  ] as const)("reports a failed check of %s with %o", async (check, environment, reason) => {
    const found = await checked(environment)
    expect(found[check]).toMatch(/^bad: /)
    expect(found[check]?.slice(5)).toMatch(reason)
  })
})
