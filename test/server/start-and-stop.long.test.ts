import { createServer } from "node:net"
import { once } from "node:events"
import { mkdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { setTimeout } from "node:timers/promises"
import { afterAll, describe, expect, it } from "vitest"
import { freshDatabase } from "../postgres.ts"
import { configFrom } from "../../server/host/config.ts"
import { nothing_outside } from "../../server/ports/outside.ts"
import { StartupError } from "../../server/ports/startup-error.ts"
import { cleanUp, type Env, folderOfItsOwn, launch, startServer } from "./process.ts"
import { bodyRead } from "../answers.ts"

afterAll(cleanUp)

const token = "a-token-of-more-than-twenty-characters"
const key = "a-key-of-more-than-twenty-characters"
const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" }

describe("a starting server", () => {
  it("creates a database, a key and an owner's token in an empty folder, and prints the token once", async () => {
    const folder = join(await folderOfItsOwn(), "deep", "data")
    const first = await startServer({ FLIGHTCASE_DATA: folder })
    const told = [...first.stderr().matchAll(/\d+\|[A-Za-z0-9_-]{43}/g)].map((found) => found[0])
    expect(told).toHaveLength(1)
    expect(first.stdout()).toBe("")
    const ask = (url: string) => fetch(`${url}/api/v1/products`, { headers: { authorization: `Bearer ${told[0]}` } })
    expect((await ask(first.url)).status).toBe(200)
    expect((await stat(folder)).mode & 0o777).toBe(0o700)
    for (const file of ["flightcase.sqlite", "flightcase.sqlite-wal", "key"])
      expect((await stat(join(folder, file))).mode & 0o777, file).toBe(0o600)
    const kept = await readFile(join(folder, "key"), "utf8")
    expect(await first.kill("SIGTERM")).toEqual({ code: 0, signal: null })
    const second = await startServer({ FLIGHTCASE_DATA: folder, FLIGHTCASE_TOKEN: token })
    expect((await ask(second.url)).status).toBe(200)
    // The database was not empty, so the variable creates no second owner token.
    expect((await fetch(`${second.url}/api/v1/products`, { headers })).status).toBe(401)
    expect(second.stderr()).not.toMatch(/\d+\|[A-Za-z0-9_-]{43}/)
    expect(await readFile(join(folder, "key"), "utf8")).toBe(kept)
    expect(await second.kill("SIGINT")).toEqual({ code: 0, signal: null })
  })
  it("serves from the command line until a signal arrives", async () => {
    const server = await startServer({ FLIGHTCASE_DATA: await folderOfItsOwn() }, "command line")
    // A finished command exits within half a second.
    const ended = await Promise.race([server.ended, setTimeout(1_500)])
    expect(ended, server.stderr()).toBeUndefined()
    expect((await fetch(`${server.url}/api/v1/system/health`)).status).toBe(200)
    expect(await server.kill("SIGTERM")).toEqual({ code: 0, signal: null })
  })
  it("reports to systemd that it is ready, alive and stopping", async () => {
    const folder = await folderOfItsOwn()
    const reports = join(folder, "reports")
    await writeFile(join(folder, "systemd-notify"), `#!/bin/sh\necho "$1" >> ${reports}\n`, { mode: 0o755 })
    const server = await startServer({
      FLIGHTCASE_DATA: join(folder, "data"),
      PATH: `${folder}:${process.env["PATH"]}`,
      NOTIFY_SOCKET: "/run/none",
      WATCHDOG_USEC: "200000"
    })
    const said = async (): Promise<ReadonlyArray<string>> =>
      (await readFile(reports, "utf8").catch(() => "")).trim().split("\n")
    while ((await said()).filter((one) => one === "WATCHDOG=1").length < 3) await setTimeout(20)
    await server.kill("SIGTERM")
    while ((await said()).at(-1) !== "--stopping") await setTimeout(20)
    expect((await said())[0]).toBe("--ready")
  })
  it("takes the owner's token from FLIGHTCASE_TOKEN, never prints it, and logs each event as a line of JSON", async () => {
    const server = await startServer({ FLIGHTCASE_DATA: await folderOfItsOwn(), FLIGHTCASE_TOKEN: token })
    expect(
      (
        await fetch(`${server.url}/api/v1/products?q[name_cont]=secret-query`, {
          headers: { ...headers, "x-request-id": "from-the-till" }
        })
      ).status
    ).toBe(200)
    await server.kill("SIGTERM")
    const lines = server
      .stderr()
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line))
    expect(lines.map((line) => line.event)).toEqual(["listening", "request", "stopping", "stopped"])
    expect(lines[1]).toMatchObject({
      level: "info",
      request_id: "from-the-till",
      method: "GET",
      path: "/api/v1/products",
      status: 200,
      user_id: 1,
      token_id: 1
    })
    expect(server.stderr()).not.toContain(token)
    expect(server.stderr()).not.toContain("secret-query")
  })
  it("fills an empty database with a store and settings, and no products", async () => {
    const server = await startServer({ FLIGHTCASE_DATA: await folderOfItsOwn(), FLIGHTCASE_TOKEN: token })
    const get = async (path: string) =>
      bodyRead(await (await fetch(`${server.url}/api/v1/${path}`, { headers })).json())
    expect((await get("stores")).stores).toMatchObject([{ name: "Main Warehouse" }])
    expect((await get("settings/company")).settings).toMatchObject({ base_currency: "GBP", timezone: "UTC" })
    expect((await get("products")).meta.total).toBe(0)
    await server.kill("SIGTERM")
  })
  it("serves from Postgres, and two servers that start at once create one owner", async () => {
    const database = await freshDatabase()
    const env = {
      DATABASE_URL: database.url,
      FLIGHTCASE_KEY: key,
      FLIGHTCASE_TOKEN: token,
      FLIGHTCASE_DATA: await folderOfItsOwn()
    }
    const [one, other] = await Promise.all([startServer(env), startServer(env)])
    const made = await fetch(`${one.url}/api/v1/products`, { method: "POST", headers, body: `{"name":"Lamp"}` })
    expect(made.status).toBe(201)
    const seen = bodyRead(await (await fetch(`${other.url}/api/v1/products`, { headers })).json())
    expect(seen.products.map((product) => product.name)).toEqual(["Lamp"])
    const tokens = bodyRead(await (await fetch(`${other.url}/api/v1/tokens`, { headers })).json())
    expect(tokens.meta.total).toBe(1)
    // Settings changed on one server apply on the other shortly after.
    await fetch(`${one.url}/api/v1/settings/api`, { method: "PUT", headers, body: `{"settings":{"rate_limit":77}}` })
    let limit: string | null = null
    for (let tries = 0; tries < 100 && limit !== "77"; tries++) {
      limit = (await fetch(`${other.url}/api/v1/products`, { headers })).headers.get("x-ratelimit-limit")
      await setTimeout(50)
    }
    expect(limit).toBe("77")
    expect(await Promise.all([one.kill("SIGTERM"), other.kill("SIGTERM")])).toEqual([
      { code: 0, signal: null },
      { code: 0, signal: null }
    ])
    await database.drop()
  })
})

describe("environment variables", () => {
  it.each([
    ["an invalid port", { FLIGHTCASE_PORT: "http" }, /FLIGHTCASE_PORT/],
    ["a port out of range", { FLIGHTCASE_PORT: "65536" }, /FLIGHTCASE_PORT/],
    ["a short token", { FLIGHTCASE_TOKEN: "short" }, /FLIGHTCASE_TOKEN .*20/],
    ["a token no header can carry", { FLIGHTCASE_TOKEN: "with spaces in between it all" }, /FLIGHTCASE_TOKEN/],
    ["a short key", { FLIGHTCASE_KEY: "short" }, /FLIGHTCASE_KEY .*20/],
    ["an invalid public address", { FLIGHTCASE_URL: "flightcase.example" }, /FLIGHTCASE_URL/],
    ["a database address of another kind", { DATABASE_URL: "mysql://x/y", FLIGHTCASE_KEY: key }, /DATABASE_URL/],
    ["a Postgres without a key", { DATABASE_URL: "postgres://127.0.0.1:1/x" }, /FLIGHTCASE_KEY .*DATABASE_URL/],
    ["an invalid rate limit", { FLIGHTCASE_RATE_LIMIT: "-1" }, /FLIGHTCASE_RATE_LIMIT/],
    ["an invalid limit for addresses", { FLIGHTCASE_ANONYMOUS_RATE_LIMIT: "0" }, /FLIGHTCASE_ANONYMOUS_RATE_LIMIT/],
    ["an invalid number of proxies", { FLIGHTCASE_TRUST_PROXY: "yes" }, /FLIGHTCASE_TRUST_PROXY/],
    ["an invalid log level", { FLIGHTCASE_LOG: "loud" }, /FLIGHTCASE_LOG/]
  ])("are refused by name with %s", (_, env: Env, words) => {
    expect(() => configFrom(env)).toThrow(StartupError)
    expect(() => configFrom(env)).toThrow(words)
  })
  it("have their default if they are absent", async () => {
    const folder = join(await folderOfItsOwn(), "data")
    expect(configFrom({ FLIGHTCASE_DATA: folder, FLIGHTCASE_PORT: " ", FLIGHTCASE_KEY: key })).toEqual({
      host: "127.0.0.1",
      port: 4480,
      data_folder: folder,
      database: { kind: "sqlite", path: join(folder, "flightcase.sqlite") },
      key,
      owner_token: undefined,
      public_url: undefined,
      rate_limit: undefined,
      anonymous_rate_limit: undefined,
      trusted_proxies: 0,
      outside: nothing_outside,
      log_level: "info"
    })
  })
})

describe("an invalid start of the server", () => {
  const refused = async (env: Env): Promise<string> => {
    const server = launch({ FLIGHTCASE_DATA: await folderOfItsOwn(), FLIGHTCASE_TOKEN: token, ...env })
    const ended = server.listening.then(
      () => server.kill("SIGKILL"),
      () => server.ended
    )
    expect(await ended).toEqual({ code: 1, signal: null })
    const lines = server.stderr().trimEnd().split("\n")
    expect(lines).toHaveLength(1)
    expect(lines[0]).toMatch(/^flightcase: /)
    return lines[0]!
  }
  it("prints one clear line and exits with 1 when the port is taken, before a database or a token is created", async () => {
    const taken = createServer().listen(0, "127.0.0.1")
    await once(taken, "listening")
    const { port } = taken.address() as { port: number }
    const folder = await folderOfItsOwn()
    const reason = await refused({
      FLIGHTCASE_PORT: String(port),
      FLIGHTCASE_DATA: folder,
      FLIGHTCASE_TOKEN: undefined
    })
    expect(reason).toMatch(new RegExp(`Port ${port} .*taken`))
    expect((await stat(join(folder, "flightcase.sqlite"))).size).toBe(0)
    taken.close()
  })
  it.each([
    [
      "a Postgres that does not answer",
      { DATABASE_URL: "postgres://somebody:hidden-password@127.0.0.1:1/x", FLIGHTCASE_KEY: key },
      /127\.0\.0\.1:1\/x: nothing answers/
    ],
    ["an address of another machine", { FLIGHTCASE_HOST: "192.0.2.1" }, /FLIGHTCASE_HOST/],
    ["an invalid port", { FLIGHTCASE_PORT: "http" }, /FLIGHTCASE_PORT/],
    [
      "an unknown host",
      { DATABASE_URL: "postgres://nowhere.invalid/x", FLIGHTCASE_KEY: key },
      /nowhere\.invalid\/x: its host name is not known/
    ]
  ])("prints one clear line and exits with 1 when there is %s", async (_, env, words) => {
    const line = await refused(env)
    expect(line).toMatch(words)
    expect(line).not.toContain("hidden-password")
  })
  it("prints one clear line and exits with 1 when the Postgres database is missing", async () => {
    const database = await freshDatabase()
    const url = new URL(database.url)
    url.pathname = "/not_there"
    expect(await refused({ DATABASE_URL: url.href, FLIGHTCASE_KEY: key })).toMatch(/no such database/)
    await database.drop()
  })
  it("prints one clear line and exits with 1 when the database is of a newer release", async () => {
    const folder = await folderOfItsOwn()
    const server = await startServer({ FLIGHTCASE_DATA: folder, FLIGHTCASE_TOKEN: token })
    await server.kill("SIGTERM")
    const database = new DatabaseSync(join(folder, "flightcase.sqlite"))
    database.exec("update flightcase_meta set value = '9999' where key = 'schema_version'")
    database.close()
    expect(await refused({ FLIGHTCASE_DATA: folder })).toMatch(/9999.*newer release/)
  })
  it("prints one clear line and exits with 1 when the key in the folder is invalid", async () => {
    const folder = await folderOfItsOwn()
    await writeFile(join(folder, "key"), "\n")
    expect(await refused({ FLIGHTCASE_DATA: folder })).toMatch(/key file .*holds no key/)
  })
  it("prints one clear line and exits with 1 when the file is not a database", async () => {
    const folder = await folderOfItsOwn()
    await writeFile(
      join(folder, "flightcase.sqlite"),
      "this is a shopping list, not a database, and long enough to be told apart from one".repeat(20)
    )
    expect(await refused({ FLIGHTCASE_DATA: folder })).toMatch(/flightcase\.sqlite: cannot be opened/)
  })
  it("prints one clear line and exits with 1 while another server uses the folder, also through a link", async () => {
    const folder = await folderOfItsOwn()
    const link = `${folder}-link`
    await symlink(folder, link)
    const first = await startServer({ FLIGHTCASE_DATA: folder, FLIGHTCASE_TOKEN: token })
    for (const name of [folder, link])
      expect(await refused({ FLIGHTCASE_DATA: name })).toMatch(/another Flightcase server .*FLIGHTCASE_DATA/)
    expect((await fetch(`${first.url}/api/v1/products`, { headers })).status).toBe(200)
    // A killed server leaves nothing that prevents the next start.
    await first.kill("SIGKILL")
    const next = await startServer({ FLIGHTCASE_DATA: folder })
    expect((await stat(join(folder, "server.lock"))).mode & 0o777).toBe(0o600)
    expect(await next.kill("SIGTERM")).toEqual({ code: 0, signal: null })
    await rm(link)
  })
  it("prints one clear line and exits with 1 when the data folder's path is a file", async () => {
    const folder = await folderOfItsOwn()
    await mkdir(folder, { recursive: true })
    await writeFile(join(folder, "data"), "")
    expect(await refused({ FLIGHTCASE_DATA: join(folder, "data") })).toMatch(/data folder/)
  })
})

describe("a stopping server", () => {
  it("completes the request in progress, accepts no new one, and exits with 0", async () => {
    const server = await startServer({ FLIGHTCASE_DATA: await folderOfItsOwn(), FLIGHTCASE_TOKEN: token })
    const { port } = new URL(server.url)
    const { connect } = await import("node:net")
    // A request whose body is still arriving at the signal.
    const slow = connect(Number(port), "127.0.0.1")
    await once(slow, "connect")
    const body = `{"name":"In flight"}`
    slow.write(
      `POST /api/v1/products HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body.slice(0, 5)}`
    )
    let got = ""
    slow.on("data", (part) => (got += part))
    // A response shows that the server has read the bytes before it.
    expect((await fetch(`${server.url}/api/v1/system/health`)).status).toBe(200)
    const ended = server.kill("SIGTERM")
    for (let tries = 0; tries < 200; tries++) {
      const open = await fetch(`${server.url}/api/v1/system/health`).then(
        () => true,
        () => false
      )
      if (!open) break
      await setTimeout(20)
    }
    await expect(fetch(`${server.url}/api/v1/system/health`)).rejects.toThrow()
    slow.write(body.slice(5))
    await once(slow, "close")
    expect(got).toMatch(/^HTTP\/1\.1 201 /)
    expect(got.toLowerCase()).toContain("connection: close")
    expect(await ended).toEqual({ code: 0, signal: null })
  })
  it("does not wait for a database that is still being opened", async () => {
    const silent = createServer().listen(0, "127.0.0.1")
    await once(silent, "listening")
    const { port } = silent.address() as { port: number }
    const asked = once(silent, "connection")
    const server = launch({
      FLIGHTCASE_DATA: await folderOfItsOwn(),
      DATABASE_URL: `postgres://x@127.0.0.1:${port}/x`,
      FLIGHTCASE_KEY: key
    })
    const [connection] = await asked
    const signalled = performance.now()
    expect(await server.kill("SIGTERM")).toEqual({ code: 0, signal: null })
    expect(performance.now() - signalled).toBeLessThan(5_000)
    expect(server.stderr()).toMatch(/^[^\n]*"event":"stopped"[^\n]*\n$/)
    connection.destroy()
    silent.close()
  })
  it("does not wait for an idle client", async () => {
    const server = await startServer({ FLIGHTCASE_DATA: await folderOfItsOwn(), FLIGHTCASE_TOKEN: token })
    const { connect } = await import("node:net")
    const idle = connect(Number(new URL(server.url).port), "127.0.0.1")
    idle.on("error", () => {})
    await once(idle, "connect")
    expect(await server.kill("SIGTERM")).toEqual({ code: 0, signal: null })
    idle.destroy()
  })
  it("answers waiting live requests before it exits", async () => {
    const server = await startServer({ FLIGHTCASE_DATA: await folderOfItsOwn(), FLIGHTCASE_TOKEN: token })
    const first = await fetch(`${server.url}/api/v1/sync/shape?table=journal&offset=now`, { headers })
    const handle = first.headers.get("electric-handle")
    const waiting = fetch(
      `${server.url}/api/v1/sync/shape?table=journal&offset=${first.headers.get("electric-offset")}&handle=${handle}&live=true`,
      { headers }
    )
    // The wait has begun once the server answers a later request.
    await setTimeout(200)
    expect((await fetch(`${server.url}/api/v1/system/health`)).status).toBe(200)
    const ended = server.kill("SIGTERM")
    expect((await waiting).status).toBe(200)
    expect(await ended).toEqual({ code: 0, signal: null })
  })
})
