/**
 * Every environment variable of the server: what it means, what holds without it and what is taken for it.
 * `config.ts` reads them, `flightcase serve --help` prints them, and a test holds README's table to them.
 */
import { isLevel, type Level } from "./log.ts"
import { WrongStart } from "./wrong-start.ts"

export type Environment = { readonly [name: string]: string | undefined }

interface Variable<A> {
  readonly meaning: string
  /** What holds without it, for people. */
  readonly otherwise: string
  /** Of a value that is set and not blank; throws a WrongStart that names the variable. */
  readonly read: (given: string | undefined, name: string) => A
}

export const least_secret_length = 20

/** `check` answers what a value must be, when it is not. */
const text = (meaning: string, otherwise: string, check: (given: string) => string | undefined = () => undefined): Variable<string | undefined> => ({
  meaning, otherwise, read: (given, name) => {
    const fault = given === undefined ? undefined : check(given)
    if (fault !== undefined) throw new WrongStart(`${name} must ${fault}`)
    return given
  }
})
const textOr = (meaning: string, otherwise: string): Variable<string> => ({ meaning, otherwise, read: (given) => given ?? otherwise })
const whole = <Fallback extends number | undefined>(meaning: string, min: number, max: number, fallback: Fallback, otherwise = String(fallback)): Variable<number | Fallback> => ({
  meaning, otherwise, read: (given, name) => {
    if (given === undefined) return fallback
    if (!/^\d{1,9}$/.test(given) || Number(given) < min || Number(given) > max) throw new WrongStart(`${name} must be a whole number from ${min} to ${max}.`)
    return Number(given)
  }
})
const longEnough = (given: string): string | undefined => given.length < least_secret_length ? `have ${least_secret_length} or more characters.` : undefined
const level: Variable<Level | "silent"> = {
  meaning: "What is logged: debug, info, warn, error or silent", otherwise: "info", read: (given = "info", name) => {
    if (!isLevel(given)) throw new WrongStart(`${name} must be debug, info, warn, error or silent.`)
    return given
  }
}

export const variables = {
  FLIGHTCASE_HOST: textOr("Address to listen on", "127.0.0.1"),
  FLIGHTCASE_PORT: whole("Port to listen on; 0 takes a free one", 0, 65_535, 4480),
  FLIGHTCASE_URL: text("Public address, where it is not the listening one", "the listening address", (given) =>
    /^https?:\/\//.test(given) && URL.canParse(given) ? undefined : "be the http or https address people reach this server under."),
  DATABASE_URL: text("Postgres 15 or newer: postgres://user:password@host:port/database", "SQLite in FLIGHTCASE_DATA", (given) =>
    /^postgres(ql)?:\/\//.test(given) && URL.canParse(given) ? undefined : "be postgres://user:password@host:port/database."),
  FLIGHTCASE_DATABASE_CONNECTIONS: whole("The most connections to Postgres that requests use at a time", 1, 1_000, 10),
  FLIGHTCASE_DATA: textOr("Folder of the SQLite database and the key", ".flightcase/server"),
  FLIGHTCASE_KEY: text("Signs feeds and links; 20 characters or more, required with DATABASE_URL", "generated and kept in FLIGHTCASE_DATA", longEnough),
  FLIGHTCASE_TOKEN: text("The first owner's token on an empty database; 20 characters or more", "generated and printed once", (given) =>
    longEnough(given) ?? (/^[\x21-\x7e]+$/.test(given) ? undefined : "be printable ASCII without spaces: it travels in a header.")),
  FLIGHTCASE_RATE_LIMIT: whole("Requests a token may make in a minute, unless the settings say otherwise", 1, 10_000, undefined, "600"),
  FLIGHTCASE_ANONYMOUS_RATE_LIMIT: whole("Requests without a valid token an address may make in a minute, unless the settings say otherwise", 1, 10_000, undefined, "20"),
  FLIGHTCASE_TRUST_PROXY: whole("How many proxies in front of the server are believed about whom they speak for", 0, 10, 0),
  FLIGHTCASE_LOG: level
}

export type Values = { readonly [Name in keyof typeof variables]: ReturnType<(typeof variables)[Name]["read"]> }

/** What the environment sets of them; blank is as good as absent. */
export const readVariables = (environment: Environment): Values =>
  Object.fromEntries(Object.entries(variables).map(([name, { read }]) => {
    const given = environment[name]?.trim()
    return [name, read(given === "" ? undefined : given, name)]
  })) as Values

/** For people: a line or two each. */
export const variablesText = (): string => {
  const width = Math.max(...Object.keys(variables).map((name) => name.length)) + 2
  return Object.entries(variables).map(([name, { meaning, otherwise }]) =>
    `  ${name.padEnd(width)}${meaning}\n  ${" ".repeat(width)}default: ${otherwise}\n`).join("")
}
