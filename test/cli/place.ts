/** A server and a command line with its own home, for the tests of a suite. */
import { readFileSync } from "node:fs"
import { parse } from "csv-parse/sync"
import { afterAll, afterEach, beforeAll, beforeEach } from "vitest"
import type { ServerOptions } from "../../server/host/app.ts"
import { rentalHouse } from "../rental-house.ts"
import { typeAtTerminal } from "./command-line.ts"
import { callOf, type Given, openPlace, owner_token, type Place, type Ran, runHere, wordsOf } from "./session.ts"
import type { Body } from "../answers.ts"

/** Rows of an exported file: NDJSON, or CSV as texts. */
export const linesOf = (file: string): ReadonlyArray<any> =>
  readFileSync(file, "utf8")
    .split("\n")
    .flatMap((line) => (line === "" ? [] : [JSON.parse(line)]))
export const cellsOf = (file: string): ReadonlyArray<any> =>
  parse<any>(readFileSync(file), { bom: true, columns: true })

const houseAt = (place: Place) => rentalHouse(callOf(place))
/** A line, split as by a shell, or its arguments. */
type Line = string | ReadonlyArray<string>
interface TypingPlace extends Place {
  readonly type: (line: Line, given?: Given) => Promise<Ran>
  /** Throws if the command exits with another code than 0. */
  readonly done: (line: Line, given?: Given) => Promise<Ran>
  /** Output of such a command with --json. */
  readonly json: (line: Line, given?: Given) => Promise<Body>
  /** A line whose words have no spaces, typed at a terminal. */
  readonly atTerminal: (line: string) => Promise<Ran>
  readonly login: (name?: string) => Promise<Ran>
  /** The server over HTTP, as its owner. */
  readonly house: ReturnType<typeof houseAt>
  readonly manifest: () => Promise<any>
}

const typingAt = (place: Place): TypingPlace => {
  const wordsIn = (line: Line) => (typeof line === "string" ? wordsOf(line) : line)
  const type: TypingPlace["type"] = (line, given) => runHere(place, wordsIn(line), given)
  const done: TypingPlace["done"] = async (line, given) => {
    const ran = await type(line, given)
    if (ran.code !== 0) throw new Error(`${wordsIn(line).join(" ")}\nexit ${ran.code}: ${ran.err}${ran.out}`)
    return ran
  }
  const house = houseAt(place)
  return {
    ...place,
    type,
    done,
    json: async (line, given) => JSON.parse((await done([...wordsIn(line), "--json"], given)).out),
    atTerminal: (line) => typeAtTerminal(line.split(" "), { env: place.env, folder: place.folder }),
    login: (name = "van") => done(["login", place.url, "--token", owner_token, "--name", name]),
    house,
    manifest: () => house.show("/system/manifest")
  }
}

const opening =
  (before: typeof beforeAll, after: typeof afterAll) =>
  (options?: Partial<ServerOptions>): TypingPlace => {
    let open: TypingPlace | undefined
    before(async () => void (open = typingAt(await openPlace(options))))
    after(() => open?.close())
    return new Proxy({} as TypingPlace, {
      get: (_, name: keyof TypingPlace) =>
        open === undefined
          ? (...args: ReadonlyArray<unknown>) => Reflect.apply(open![name] as never, open, args)
          : open[name]
    })
  }
export const placeOfSuite = opening(beforeAll, afterAll)
export const placeOfEachTest = opening(beforeEach, afterEach)
