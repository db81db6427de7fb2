/** Runs the statements of a store, and names the tables they write. */
import { Effect, type Fiber, References } from "effect"
import type { SqlClient, SqlConnection, SqlError } from "effect/sql"
import type { BoundSql } from "./statement.ts"

/**
 * "short": may share a connection with statements of other fibers. "ahead", of an outermost transaction, without
 * parameters: travels with the next one. "last": COMMIT of the outermost transaction travels with it.
 */
type StatementKind = "short" | "ahead" | "last"
/** A client that runs statements without spans and templates, in a fraction of the time. */
interface DirectClient {
  /** Rows of a statement, run in the fiber's transaction if there is one; undefined if it has to wait for others. */
  readonly direct: (
    text: string,
    values: ReadonlyArray<unknown>,
    fiber: Fiber.Fiber<unknown, unknown>,
    kind?: StatementKind
  ) => ReturnType<SqlConnection.Connection["execute"]> | undefined
  /** The same for several statements, in one round trip. */
  readonly together: (statements: ReadonlyArray<BoundSql>, fiber: Fiber.Fiber<unknown, unknown>) => AllRows | undefined
}
/** The rows of each of several statements. */
type AllRows = Effect.Effect<
  ReadonlyArray<Effect.Success<ReturnType<SqlConnection.Connection["execute"]>>>,
  SqlError.SqlError
>
/**
 * Runs any statement, or several that only read: directly where the client can and no spans are made. Calls `before`
 * ahead of each that may write.
 */
export const runnerOf = (sql: SqlClient.SqlClient & Partial<DirectClient>, before: (text: string) => void) => ({
  run: <Row extends object = { [column: string]: unknown }>(
    text: string,
    values: ReadonlyArray<unknown> = [],
    kind?: StatementKind
  ): Effect.Effect<ReadonlyArray<Row>, SqlError.SqlError> =>
    Effect.withFiber((fiber) => {
      before(text)
      return (
        (fiber.getRef(References.TracerEnabled) ? undefined : sql.direct?.(text, values, fiber, kind)) ??
        sql.unsafe<Row>(text, values)
      )
    }),
  readAll: (statements: ReadonlyArray<BoundSql>): AllRows =>
    Effect.withFiber(
      (fiber) =>
        (fiber.getRef(References.TracerEnabled) || statements.length === 0
          ? undefined
          : sql.together?.(statements, fiber)) ??
        Effect.forEach(statements, ({ text, values }) => sql.unsafe(text, values))
    )
})

const written_table = /^\s*(?:insert(?: or \w+)? into|update(?: or \w+)?|delete from)\s+"?(\w+)/i
const written_tables = new RegExp(written_table.source.slice("^\\s*".length), "gi")
/** Names of the tables that a statement writes; undefined if it may write any. */
export const tablesWrittenBy = (text: string): ReadonlyArray<string> | undefined => {
  if (/^\s*select\b/i.test(text)) return []
  const [, name] = written_table.exec(text) ?? []
  if (name !== undefined) return [name]
  return /^\s*with\b/i.test(text) ? [...text.matchAll(written_tables)].flatMap(([, one]) => one ?? []) : undefined
}
