/** A rental company and three users, each with a device, on a clock the script sets. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect } from "effect"
import { vi } from "vitest"
import { isJsonObject, type Json, type JsonObject } from "../../../core/kernel/fields/field.ts"
import { openServerApp, type ServerApp } from "../../../server/host/app.ts"
import { itIs } from "../../api/playing.ts"
import type { Engine } from "../../app.ts"
import { freshDatabase } from "../../postgres.ts"
import { described, type Listening, openListener } from "../../server/serving.ts"
import { typeHere } from "../command-line.ts"
import type { Ran } from "../session.ts"

const owner_token = "owner-token-of-the-week"

/** Result of a command: exit code, both streams, and its JSON by paths such as `opportunity.items.0.id`. */
export interface Said extends Ran {
  readonly words: string
  readonly json: (path: string) => Json | undefined
  readonly rows: (path: string) => ReadonlyArray<JsonObject>
}
export interface Person {
  readonly name: string
  readonly home: string
  /** Disconnects or reconnects the device. */
  readonly goes: (where: "offline" | "online") => void
  /** Runs a command; fails if it exits with another code than `exits`. */
  readonly types: (words: ReadonlyArray<string>, given?: Given) => Promise<Said>
}
export interface Given {
  /** Lines of its standard input. */
  readonly codes?: ReadonlyArray<string>
  /** Default 0; "any" if the script checks it. */
  readonly exits?: number | "any"
}
export interface House {
  readonly engine: Engine
  readonly app: ServerApp
  readonly url: string
  readonly folder: string
  readonly owner: Person
  readonly ann: Person
  readonly ben: Person
  readonly cora: Person
  readonly people: ReadonlyArray<Person>
  /** Sets the time, which advances by a minute with each command. */
  readonly clock: (instant: string) => void
  readonly now: () => number
  readonly close: () => Promise<void>
}

export const at = (json: Json | undefined, path: string): Json | undefined =>
  path
    .split(".")
    .filter((step) => step !== "")
    .reduce<Json | undefined>(
      (value, step) =>
        Array.isArray(value)
          ? (value as ReadonlyArray<Json>)[Number(step)]
          : isJsonObject(value)
            ? value[step]
            : undefined,
      json
    )

const minute = 60_000
/** Responses carry the set time; Node's own Date header would show the machine's. */
const onTheSetClock =
  (app: ServerApp): ServerApp["answer"] =>
  (asked) =>
    Effect.map(app.answer(asked), (response) => ({
      ...response,
      headers: { ...response.headers, date: new Date().toUTCString() }
    }))

export const openHouse = async (engine: Engine, monday: string): Promise<House> => {
  const folder = mkdtempSync(join(tmpdir(), "flightcase-week-"))
  let now = Date.parse(monday)
  itIs(monday)
  const database = engine === "pg" ? await freshDatabase() : undefined
  const app = described(
    await openServerApp({
      database:
        database === undefined
          ? { kind: "sqlite", path: ":memory:" }
          : { kind: "pg", url: database.url, connections_max: 5 },
      key: "key-of-the-week-which-is-long",
      data_folder: join(folder, "server"),
      owner_token,
      rate_limit: 1_000_000
    })
  )
  const listening: Listening = await openListener(onTheSetClock(app))
  app.listensAt(listening.url)
  const tick = (): void => {
    now += minute
    itIs(new Date(now).toISOString())
  }
  const person = (name: string): Person => personIn({ name, folder, tick })
  const [owner, ann, ben, cora] = [person("Owner"), person("Ann"), person("Ben"), person("Cora")]
  const close = async (): Promise<void> => {
    await listening.stop(1_000)
    await app.close()
    await database?.drop()
    vi.useRealTimers()
    rmSync(folder, { recursive: true, force: true })
  }
  const house: House = {
    engine,
    app,
    url: listening.url,
    folder,
    owner,
    ann,
    ben,
    cora,
    people: [ann, ben, cora],
    clock: (instant) => {
      now = Date.parse(instant)
      itIs(instant)
    },
    now: () => now,
    close
  }
  await owner.types(["login", house.url, "--token", owner_token, "--name", "office"])
  return house
}

const personIn = ({ name, folder, tick }: { name: string; folder: string; tick: () => void }): Person => {
  const home = join(folder, `home-${name.toLowerCase()}`)
  let offline = false
  const types = async (words: ReadonlyArray<string>, { codes = [], exits = 0 }: Given = {}): Promise<Said> => {
    tick()
    const ran = await typeHere(words, {
      env: {
        PATH: process.env["PATH"] ?? "",
        HOME: folder,
        FLIGHTCASE_HOME: home,
        FLIGHTCASE_NO_BACKGROUND: "1",
        TZ: "Asia/Tokyo",
        ...(offline ? { FLIGHTCASE_OFFLINE: "1" } : {})
      },
      folder,
      input: codes.map((code) => `${code}\n`).join("")
    })
    const said = `${name}${offline ? " (offline)" : ""}: flightcase ${words.join(" ")}`
    if (process.env["WEEK_TOLD"] !== undefined) {
      const shown = words.includes("--json") ? ran.err : `${ran.out}${ran.err}`
      process.stderr.write(`${[said, ...codes].join(" ")}\n→ ${ran.code} ${shown}`)
    }
    if (exits !== "any" && ran.code !== exits)
      throw new Error(
        `${said}\nexit ${ran.code}, expected ${exits}\ncodes: ${codes.join(" ")}\n${ran.out.slice(0, 4000)}\n${ran.err}`
      )
    let parsed: Json | undefined
    return {
      ...ran,
      words: said,
      json: (path) => at((parsed ??= JSON.parse(ran.out) as Json), path),
      rows: (path) => {
        const rows = at((parsed ??= JSON.parse(ran.out) as Json), path)
        return Array.isArray(rows) ? rows.filter(isJsonObject) : []
      }
    }
  }
  return {
    name,
    home,
    goes: (where) => {
      offline = where === "offline"
    },
    types
  }
}
