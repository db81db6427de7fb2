/** Two servers on one Postgres with a streaming replica behind nginx, with the site of deploy/nginx.conf. */
import { spawn, type ChildProcess } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout } from "node:timers/promises"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { freePort } from "../free-port.ts"
import { hasProgram } from "../installed-tools.ts"
import { DURABLE, type PostgresServer, startPostgres, startReplica } from "../postgres-server.ts"
import { cleanUp, type Env, type ServerProcess, startServer } from "../server/process.ts"

const token = "a-token-of-more-than-twenty-characters"
const headers = { "authorization": `Bearer ${token}`, "content-type": "application/json" }

describe.skipIf(!hasProgram("nginx"))("a server behind nginx", () => {
  const folder = mkdtempSync(join(tmpdir(), "flightcase-proxy-"))
  const servers: Array<ServerProcess> = []
  let nginx: ChildProcess, url: string, env: Env, ports: ReadonlyArray<number>
  let primary: PostgresServer, replica: PostgresServer
  const start = (port: number) => startServer({ ...env, FLIGHTCASE_PORT: String(port) }, "command line")
  beforeAll(async () => {
    const [one, other, port] = [await freePort(), await freePort(), await freePort()]
    ports = [one, other]
    url = `http://127.0.0.1:${port}`
    primary = await startPostgres(DURABLE)
    replica = await startReplica(primary.url)
    env = {
      DATABASE_URL: primary.url,
      FLIGHTCASE_DATABASE_REPLICA_URL: replica.url,
      FLIGHTCASE_DATA: join(folder, "data"),
      FLIGHTCASE_KEY: "a-key-of-more-than-twenty-characters",
      FLIGHTCASE_TOKEN: token,
      FLIGHTCASE_URL: url,
      FLIGHTCASE_TRUST_PROXY: "1",
      FLIGHTCASE_RATE_LIMIT: "10000"
    }
    for (const each of ports) servers.push(await start(each))
    // The shipped site, except for addresses and certificates.
    const site = readFileSync(join(import.meta.dirname, "../../deploy/nginx.conf"), "utf8")
      .replace(/\nserver \{\n {2}listen 80;[^]*$/, "")
      .replace("listen 443 ssl;", `listen 127.0.0.1:${port};`)
      .replace(/^ *ssl_.*$/gm, "")
      .replace("127.0.0.1:4480", `127.0.0.1:${one}`)
      .replace("# server 127.0.0.1:4481", `server 127.0.0.1:${other}`)
    const paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
      .map((name) => `${name}_temp_path ${folder}/${name};`)
      .join("\n")
    writeFileSync(
      join(folder, "nginx.conf"),
      `pid ${folder}/pid;\nerror_log ${folder}/errors;\nevents {}\nhttp {\naccess_log off;\n${paths}\n${site}\n}\n`
    )
    nginx = spawn("nginx", ["-c", join(folder, "nginx.conf"), "-p", folder, "-g", "daemon off;"], { stdio: "inherit" })
    while (!(await fetch(`${url}/api/v1/system/health`).catch(() => undefined))?.ok) await setTimeout(50)
  })
  afterAll(async () => {
    nginx.kill("SIGQUIT")
    await once(nginx, "exit")
    await cleanUp()
    await replica.stop()
    await primary.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  const post = (path: string, body: object) =>
    fetch(`${url}/api/v1${path}`, { method: "POST", headers, body: JSON.stringify(body) })

  it("sends the start of a notification stream while the stream is open", async () => {
    const answer = await fetch(`${url}/api/v1/notifications/stream`, { headers })
    const reader = answer.body!.getReader()
    const first = await reader.read()
    expect(answer.headers.get("content-type")).toBe("text/event-stream")
    expect(new TextDecoder().decode(first.value)).not.toBe("")
    await reader.cancel()
  })
  it("accepts an attachment of 19 MB", async () => {
    const form = new FormData()
    const { product } = (await (await post("/products", { name: "Desk" })).json()) as { product: { id: number } }
    form.set("attachable_type", "Product")
    form.set("attachable_id", String(product.id))
    form.set("file", new Blob([new Uint8Array(19_000_000)], { type: "application/octet-stream" }), "plan.bin")
    const { authorization } = headers
    const answer = await fetch(`${url}/api/v1/attachments`, { method: "POST", headers: { authorization }, body: form })
    expect([answer.status, await answer.text()]).toEqual([201, expect.any(String)])
  })
  it("takes the client's address from nginx, and not from the client", async () => {
    const id = "from-behind-nginx"
    await fetch(`${url}/api/v1/products`, {
      headers: { ...headers, "x-request-id": id, "x-forwarded-for": "203.0.113.9" }
    })
    await setTimeout(2_000)
    const { request_logs } = (await (
      await fetch(`${url}/api/v1/request_logs?sort=-id&per_page=20`, { headers })
    ).json()) as { readonly request_logs: ReadonlyArray<{ readonly [key: string]: unknown }> }
    expect(request_logs.find((one) => one["request_id"] === id)).toMatchObject({ ip_address: "127.0.0.1" })
  })
  it("answers without errors and with all writes while servers restart in turn and the replica is killed", async () => {
    let stopped = false
    const counts = { requests: 0, errors: [] as Array<string> }
    const asked = (answering: Promise<Response>) =>
      answering.then(
        async (one) => ({ status: one.status, text: await one.text() }),
        (cause: unknown) => ({ status: 0, text: String(cause) })
      )
    /** Writes, and reads each write twice: from either server, or from the replica once it has it. */
    const client = async (name: string): Promise<void> => {
      for (let n = 0; !stopped; n++) {
        const made = await asked(post("/products", { name: `${name} ${n}` }))
        counts.requests++
        if (made.status !== 201) {
          counts.errors.push(`POST ${made.status}`)
          continue
        }
        const { product } = JSON.parse(made.text) as { readonly product: { readonly id: number } }
        for (let reads = 0; reads < 2; reads++) {
          const read = await asked(fetch(`${url}/api/v1/products/${product.id}`, { headers }))
          counts.requests++
          if (read.status !== 200 || !read.text.includes(`"${name} ${n}"`)) counts.errors.push(`GET ${read.status}`)
        }
      }
    }
    const clients = ["a", "b", "c", "d"].map(client)
    for (let round = 0; round < 2; round++)
      for (const [at, port] of ports.entries()) {
        await setTimeout(1_000)
        await servers[at]!.kill("SIGTERM")
        servers[at] = await start(port)
      }
    await replica.kill()
    await setTimeout(2_000)
    await replica.startAgain()
    await setTimeout(3_000)
    stopped = true
    await Promise.all(clients)
    const reads = await Promise.all(
      servers
        .slice(-2)
        .map(async (one) =>
          (await fetch(`${one.url}/metrics`)).text().then((text) => text.match(/^flightcase_replica_reads_total.*$/gm))
        )
    )
    console.log(`${counts.requests} requests over four restarts, ${counts.errors.length} errors`, reads)
    expect(counts.errors, readFileSync(join(folder, "errors"), "utf8").replace(/^.*refused.*\n/gm, "")).toEqual([])
    expect(counts.requests).toBeGreaterThan(100)
  })
})
