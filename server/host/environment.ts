/**
 * Every environment variable of the server: its meaning, its default and the values it accepts.
 * `config.ts` reads them, `flightcase serve --help` prints them, and a test compares docs/OPERATIONS.md with them.
 */
import { Config, ConfigProvider, Effect, Result, Schema, SchemaIssue } from "effect"
import { parseSmtpUrl } from "../../core/values/mail-address.ts"
import { StartupError } from "../ports/startup-error.ts"

export type Environment = { readonly [name: string]: string | undefined }

interface Variable<A> {
  readonly meaning: string
  /** Description of the default, for `--help`. */
  readonly otherwise: string
  readonly config: (name: string) => Config.Config<A>
}

export const least_secret_length = 20

/** A text variable. `check` returns the expected form if the value is invalid. */
const checked = (name: string, check: (given: string) => string | undefined): Config.Config<string> =>
  Config.schema(Schema.String.check(Schema.makeFilter(check)), name)
const text = (
  meaning: string,
  otherwise: string,
  check: (given: string) => string | undefined
): Variable<string | undefined> => ({
  meaning,
  otherwise,
  config: (name) => Config.withDefault(checked(name, check), undefined)
})
const textOr = (meaning: string, otherwise: string): Variable<string> => ({
  meaning,
  otherwise,
  config: (name) => Config.withDefault(Config.String(name), otherwise)
})
const whole = <Fallback extends number | undefined>(
  meaning: string,
  min: number,
  max: number,
  fallback: Fallback,
  otherwise = String(fallback)
): Variable<number | Fallback> => {
  const check = (given: string): string | undefined =>
    /^\d{1,9}$/.test(given) && Number(given) >= min && Number(given) <= max
      ? undefined
      : `be a whole number from ${min} to ${max}.`
  return {
    meaning,
    otherwise,
    config: (name) => Config.withDefault(Config.map(checked(name, check), Number), fallback)
  }
}
const otlpOrNone = (given: string): string | undefined =>
  given === "otlp" || given === "none" ? undefined : "be otlp or none."
const anyText = (): undefined => undefined
const isBucket = (given: string): boolean => {
  if (!/^s3:\/\/[a-z0-9][a-z0-9.-]{1,62}(\?|$)/.test(given) || !URL.canParse(given)) return false
  const endpoint = new URL(given).searchParams.get("endpoint")
  return endpoint === null || (/^https?:\/\//.test(endpoint) && URL.canParse(endpoint))
}
const postgresUrl = (given: string): string | undefined =>
  /^postgres(ql)?:\/\//.test(given) && URL.canParse(given)
    ? undefined
    : "be postgres://user:password@host:port/database."
const longEnough = (given: string): string | undefined =>
  given.length < least_secret_length ? `have ${least_secret_length} or more characters.` : undefined
const levels = ["debug", "info", "warn", "error", "silent"] as const
const level: Variable<(typeof levels)[number]> = {
  meaning: "Log level: debug, info, warn, error or silent",
  otherwise: "info",
  config: (name) =>
    Config.withDefault(
      Config.schema(Schema.Literals(levels).annotate({ message: "be debug, info, warn, error or silent." }), name),
      "info"
    )
}

export const variables = {
  FLIGHTCASE_HOST: textOr("Address to listen on", "127.0.0.1"),
  FLIGHTCASE_PORT: whole("Port to listen on; 0 takes a free one", 0, 65_535, 4480),
  FLIGHTCASE_URL: text("Public URL, if it differs from the listening address", "the listening address", (given) =>
    /^https?:\/\//.test(given) && URL.canParse(given)
      ? undefined
      : "be the http or https address people reach this server under."
  ),
  DATABASE_URL: text(
    "Postgres 15 or newer: postgres://user:password@host:port/database",
    "SQLite in FLIGHTCASE_DATA",
    postgresUrl
  ),
  FLIGHTCASE_DATABASE_REPLICA_URL: text(
    "Streaming replica of DATABASE_URL that answers reads: postgres://user:password@host:port/database",
    "the primary answers all",
    postgresUrl
  ),
  FLIGHTCASE_DATABASE_CONNECTIONS: whole("Maximum number of Postgres connections for requests", 1, 1_000, 10),
  FLIGHTCASE_DATA: textOr("Folder of the SQLite database, key, files and outbox/", ".flightcase/server"),
  FLIGHTCASE_KEY: text(
    "Key that signs links and encrypts secrets; 20 or more characters, required with DATABASE_URL",
    "generated and kept in FLIGHTCASE_DATA",
    longEnough
  ),
  FLIGHTCASE_TOKEN: text(
    "Owner token for an empty database; 20 or more characters",
    "generated and printed once",
    (given) =>
      longEnough(given) ??
      (/^[\x21-\x7e]+$/.test(given) ? undefined : "be printable ASCII without spaces: it travels in a header.")
  ),
  FLIGHTCASE_RATE_LIMIT: whole("Requests per minute and token; the settings override it", 1, 10_000, undefined, "600"),
  FLIGHTCASE_ANONYMOUS_RATE_LIMIT: whole(
    "Requests per minute and IP address without a valid token; the settings override it",
    1,
    10_000,
    undefined,
    "20"
  ),
  FLIGHTCASE_TRUST_PROXY: whole("Number of trusted proxies in front of the server (X-Forwarded-For)", 0, 10, 0),
  FLIGHTCASE_SMTP_URL: text(
    "Mail server: smtp://user:password@host:587, or smtps:// for TLS from the start",
    "mail is written to outbox/ in FLIGHTCASE_DATA",
    (given) => Result.match(parseSmtpUrl(given), { onSuccess: () => undefined, onFailure: (fault) => fault })
  ),
  FLIGHTCASE_BLOBS: text(
    "Bucket for files: s3://bucket?endpoint=https://…, with AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION",
    "files are kept in blobs/ in FLIGHTCASE_DATA",
    (given) => (isBucket(given) ? undefined : "be s3://bucket?endpoint=https://…, with region and prefix where needed.")
  ),
  AWS_ACCESS_KEY_ID: text("Access key id of the buckets for files and backups", "none", anyText),
  AWS_SECRET_ACCESS_KEY: text("Secret key of the buckets for files and backups", "none", anyText),
  AWS_SESSION_TOKEN: text("Session token, for temporary keys", "none", anyText),
  AWS_REGION: text("Region of the bucket, if its URL has none", "us-east-1", anyText),
  FLIGHTCASE_BACKUPS: text(
    "Folder or bucket (s3://bucket/prefix) of the backups, whose age `doctor --server` reports",
    "the setting backups.folder",
    anyText
  ),
  FLIGHTCASE_BACKUP_PASSPHRASE: text(
    "Passphrase that seals backups, 12 or more characters",
    "backups are not sealed",
    (given) => (given.length < 12 ? "have 12 or more characters." : undefined)
  ),
  FLIGHTCASE_WEBHOOKS_PRIVATE: whole("1 allows webhooks to private and loopback addresses, for trials", 0, 1, 0),
  FLIGHTCASE_WEBHOOKS_WAITS: text(
    "Seconds between attempts at a webhook delivery, separated by commas, for trials",
    "60,300,1800,7200,21600",
    (given) => (/^\d{1,6}(,\d{1,6}){0,19}$/.test(given) ? undefined : "be whole seconds separated by commas.")
  ),
  FLIGHTCASE_LOG: level,
  OTEL_EXPORTER_OTLP_ENDPOINT: text(
    "OpenTelemetry collector that receives traces and metrics: http://host:4318",
    "nothing is sent",
    (given) =>
      /^https?:\/\//.test(given) && URL.canParse(given) ? undefined : "be the http or https address of a collector."
  ),
  OTEL_EXPORTER_OTLP_HEADERS: text("Headers for the collector: name=value, separated by commas", "none", anyText),
  OTEL_EXPORTER_OTLP_PROTOCOL: text("http/protobuf or http/json", "http/protobuf", (given) =>
    given === "http/protobuf" || given === "http/json" ? undefined : "be http/protobuf or http/json."
  ),
  OTEL_SERVICE_NAME: text("Name of this server in traces and metrics", "flightcase", anyText),
  OTEL_TRACES_EXPORTER: text("none sends no traces", "otlp", otlpOrNone),
  OTEL_METRICS_EXPORTER: text("none sends no metrics", "otlp", otlpOrNone),
  OTEL_SDK_DISABLED: text("true sends nothing, whatever else is set", "false", anyText)
}

export type Values = {
  readonly [Name in keyof typeof variables]: Config.Success<ReturnType<(typeof variables)[Name]["config"]>>
}

const settings = Config.all(
  Object.fromEntries(Object.entries(variables).map(([name, { config }]) => [name, config(name)]))
) as Config.Config<Values>
const issuesOf = SchemaIssue.makeFormatterStandardSchemaV1()

/**
 * Values of the environment variables; blank ones count as absent. Throws a StartupError that names an invalid
 * variable.
 */
export const readVariables = (environment: Environment): Values => {
  const env: { [name: string]: string } = {}
  for (const name of Object.keys(variables)) {
    const given = environment[name]?.trim() ?? ""
    if (given !== "") env[name] = given
  }
  return Effect.runSync(
    Effect.mapError(settings.parse(ConfigProvider.fromEnv({ env })), ({ cause }) => {
      const [failure] = cause._tag === "SchemaError" ? issuesOf(cause.issue).issues : []
      return new StartupError(
        failure === undefined ? cause.message : `${String(failure.path?.[0])} must ${failure.message}`,
        cause
      )
    })
  )
}

/** Help text with two lines per variable: its meaning and its default. */
export const variablesText = (): string => {
  const width = Math.max(...Object.keys(variables).map((name) => name.length)) + 2
  return Object.entries(variables)
    .map(
      ([name, { meaning, otherwise }]) =>
        `  ${name.padEnd(width)}${meaning}\n  ${" ".repeat(width)}default: ${otherwise}\n`
    )
    .join("")
}
