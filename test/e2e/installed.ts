/** Flightcase as users have it, npm package or single executable, run from another folder. */
import { type ChildProcess, execFile, spawn } from "node:child_process"
import { once } from "node:events"
import { readFileSync, writeFileSync } from "node:fs"
import { delimiter, join } from "node:path"
import { promisify } from "node:util"
import { expect } from "vitest"

const root = join(import.meta.dirname, "../..")

/** The environment of a fresh shell: without this clone on the path and without the variables npm sets for scripts. */
export const environment: NodeJS.ProcessEnv = Object.fromEntries(
  Object.entries(process.env)
    .filter(
      ([name]) =>
        !/^(FLIGHTCASE_|DATABASE_URL|NODE_OPTIONS|VITEST|npm_(lifecycle|package|config_(local|global)?_?prefix))/.test(
          name
        )
    )
    .map(([name, value]) => [
      name,
      name === "PATH"
        ? value
            ?.split(delimiter)
            .filter((one) => !one.startsWith(root))
            .join(delimiter)
        : value
    ])
)

export interface Ran {
  readonly code: number
  readonly out: string
  readonly err: string
}
export const runIn =
  (cwd: string) =>
  async (program: string, words: ReadonlyArray<string>, env: NodeJS.ProcessEnv = environment): Promise<Ran> =>
    promisify(execFile)(program, [...words], { env, cwd, maxBuffer: 50_000_000 }).then(
      ({ stdout, stderr }) => ({ code: 0, out: stdout, err: stderr }),
      (cause) => ({ code: cause.code, out: cause.stdout, err: cause.stderr })
    )

export interface Serving {
  readonly url: string
  readonly child: ChildProcess
  readonly said: () => string
  readonly stop: (signal: NodeJS.Signals) => Promise<number | null>
}
/** Starts this program's server with its data in the folder's `data`. */
export const servingIn =
  (folder: string, bin: string) =>
  async (port: number): Promise<Serving> => {
    const child = spawn(bin, ["serve"], {
      env: { ...environment, FLIGHTCASE_DATA: join(folder, "data"), FLIGHTCASE_PORT: String(port) },
      cwd: folder,
      stdio: ["ignore", "ignore", "pipe"]
    })
    let said = ""
    const ended = once(child, "close")
    const url = await new Promise<string>((resolve, reject) => {
      child.stderr.on("data", (part: Buffer) => {
        said += part.toString()
        const found = /"event":"listening","url":"([^"]+)"/.exec(said)
        if (found !== null) resolve(found[1]!)
      })
      void ended.then(() => reject(new Error(`the server did not start: ${said}`)))
    })
    return {
      url,
      child,
      said: () => said,
      stop: async (signal) => {
        child.kill(signal)
        await ended
        return child.exitCode
      }
    }
  }

/** A first job: import, login, a quote while the server is stopped, and its sync once the server is back. */
export const quotesOffline = async (folder: string, bin: string): Promise<void> => {
  const run = runIn(folder)
  const serve = servingIn(folder, bin)
  const home = { ...environment, FLIGHTCASE_HOME: join(folder, "home"), FLIGHTCASE_NO_BACKGROUND: "1" }
  const cli = (...words: ReadonlyArray<string>) => run(bin, words, home)
  const ok = async (...words: ReadonlyArray<string>): Promise<string> => {
    const { code, out, err } = await cli(...words)
    expect({ words, code, err: code === 0 ? "" : err }).toEqual({ words, code: 0, err: "" })
    return out
  }
  const first = await serve(0)
  const token = /\d+\|[A-Za-z0-9_-]{43}/.exec(first.said())?.[0]
  expect(token).toBeDefined()
  for (const page of ["docs", "guide/", "guide/tour"]) expect((await fetch(`${first.url}/${page}`)).status).toBe(200)
  writeFileSync(join(folder, "lamps.csv"), "sku,name,rate.preset,rate.price\nLAMP,Lamp,daily-rate,12.50\n")
  await ok("import", "products", "lamps.csv", "--url", first.url, "--token", token!)
  await ok("login", first.url, "--token", token!)
  expect(await first.stop("SIGTERM")).toBe(0)
  await ok("quote", "new", "--subject", "Winter Gala", "--from", "2030-12-01T09:00", "--to", "2030-12-04T09:00")
  await ok("quote", "add", "1", "LAMP", "--quantity", "2")
  expect(JSON.parse(await ok("quote", "show", "1", "--json"))).toMatchObject({
    opportunity: { subject: "Winter Gala", number: null, charge_total: "75.00" }
  })
  const second = await serve(Number(new URL(first.url).port))
  expect(second.said()).not.toMatch(/\d+\|[A-Za-z0-9_-]{43}/)
  await ok("sync")
  const sent = await fetch(`${second.url}/api/v1/opportunities/1`, { headers: { authorization: `Bearer ${token}` } })
  expect(((await sent.json()) as { readonly opportunity: unknown }).opportunity).toMatchObject({
    subject: "Winter Gala",
    number: expect.any(String)
  })
  await ok("documents", "generate", "--type", "quotation", "--order", "1", "-o", "quote.pdf")
  expect(readFileSync(join(folder, "quote.pdf"), "latin1")).toMatch(/^%PDF-/)
  expect(await second.stop("SIGINT")).toBe(0)
}
