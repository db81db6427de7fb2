/** A failure of the start, a backup or the recovery of an owner, as one line to print. */
import { SqlError } from "effect/sql"
import { NewerSchema } from "../../core/kernel/runtime/schema.ts"
import { MigrationFailed } from "../../core/kernel/store/table-migration.ts"

export class StartupError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause })
  }
}

/** The line to print for any failure before the server is ready. */
export const startupErrorText = (cause: unknown, database: string): string => {
  if (cause instanceof StartupError || cause instanceof NewerSchema || cause instanceof MigrationFailed)
    return oneLine(cause.message)
  if (cause instanceof SqlError.SqlError) return `${database}: ${databaseReason(cause)}`
  return `cannot start: ${oneLine(cause instanceof Error ? cause.message : String(cause))}`
}

const databaseReason = ({ reason }: SqlError.SqlError): string => {
  const code = codeOf(reason.cause)
  const said = oneLine(reason.message ?? messageOf(reason.cause))
  switch (code) {
    case "ECONNREFUSED":
      return "nothing answers there. Is the database running, and are host and port right?"
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return "its host name is not known."
    case "ETIMEDOUT":
    case "EHOSTUNREACH":
    case "ENETUNREACH":
      return "it cannot be reached over the network."
    case "28P01":
    case "28000":
      return "it refuses the user or the password."
    case "3D000":
      return "it holds no such database; create it first."
    case "42501":
      return `the user may not do what is needed there (${said}).`
    case "53300":
      return "it has no connection left."
    default:
      return reason._tag === "ConnectionError" ? `cannot be opened (${said}).` : said
  }
}

const codeOf = (cause: unknown): string | undefined => {
  if (cause instanceof AggregateError) return codeOf(cause.errors[0])
  return cause instanceof Error && "code" in cause && typeof cause.code === "string" ? cause.code : undefined
}
const messageOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))
const oneLine = (text: string): string => text.replace(/\s+/g, " ").trim()
