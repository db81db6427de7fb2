/**
 * Work at the server's machine: the place to back up; and a new token for the owner, after it was lost, to anyone who
 * can read its folder or database. It works while the server runs; other tokens stay valid.
 */
import { randomUUIDv7 } from "node:crypto"
import { existsSync } from "node:fs"
import { join, resolve } from "node:path"
import { Clock, Effect, Layer, ManagedRuntime } from "effect"
import { SqlError } from "effect/sql"
import { catalogue as core } from "../../core/catalogue.ts"
import { catalogueOf, CommandRuntime, Store, type Catalogue } from "../../core/kernel/index.ts"
import { serverRuntime } from "../../core/kernel/runtime/server-runtime.ts"
import { users } from "../../core/people/users/permissions.ts"
import { instantOf } from "../../core/values/time.ts"
import { recordByServer } from "../ports/server-context.ts"
import { sqlLayer } from "./app.ts"
import { shownError } from "../delivery/jobs/queue-table.ts"
import type { BackupPlace } from "../operations/backups/backup.ts"
import { onDatabase } from "../operations/backups/database.ts"
import { backupsOf } from "../operations/backups/schedule.ts"
import { bucketKeys, type Database } from "./config.ts"
import { type Environment, readVariables } from "./environment.ts"
import { serverSlices } from "./slices.ts"
import { nothing_outside } from "../ports/outside.ts"
import { StartupError } from "../ports/startup-error.ts"
import { issueOwnToken } from "../access/tokens/issue.ts"

interface RecoveredToken {
  readonly id: number
  /** The token's secret; only its hash is stored. */
  readonly secret: string
  readonly user_id: number
  readonly user_name: string
}

/** The database of the environment; creates nothing. Throws a StartupError if its SQLite file is missing. */
export const databaseHere = (environment: Environment): Database => {
  const { DATABASE_URL, FLIGHTCASE_DATA, FLIGHTCASE_DATABASE_CONNECTIONS } = readVariables(environment)
  if (DATABASE_URL !== undefined)
    return { kind: "pg", url: DATABASE_URL, connections_max: Math.min(2, FLIGHTCASE_DATABASE_CONNECTIONS) }
  const path = join(resolve(FLIGHTCASE_DATA), "flightcase.sqlite")
  if (!existsSync(path))
    throw new StartupError(
      `There is no database at ${path}. Set FLIGHTCASE_DATA or DATABASE_URL as the server has it, ` +
        "and run this at the server's own machine."
    )
  return { kind: "sqlite", path }
}

/** Database and folder to back up. `given_folder` overrides FLIGHTCASE_DATA. */
export const backupPlace = (environment: Environment, given_folder: string | undefined): BackupPlace => {
  const given = readVariables(environment)
  const data_folder = resolve(given_folder ?? given.FLIGHTCASE_DATA)
  return {
    data_folder,
    database:
      given.DATABASE_URL === undefined
        ? { kind: "sqlite", path: join(data_folder, "flightcase.sqlite") }
        : { kind: "pg", url: given.DATABASE_URL },
    outside: {
      ...nothing_outside,
      blobs: given.FLIGHTCASE_BLOBS,
      aws: bucketKeys(given),
      backups: given.FLIGHTCASE_BACKUPS
    },
    catalogue: async () => serverCatalogue()
  }
}

/**
 * Place (FLIGHTCASE_BACKUPS, else the setting) and recipient of backups, the server id in their names, and the latest
 * scheduled one; the place alone if the database cannot be read.
 */
export const scheduledBackup = async ({ database, outside }: BackupPlace) => {
  const unknown = { folder: outside.backups, recipient: undefined, server: undefined, last: undefined }
  if (database.kind === "sqlite" && !existsSync(database.path)) return unknown
  // A lost database must not hide its backups.
  const { folder, last, recipient, server } = await onDatabase(database, backupsOf(outside.backups)).catch(
    () => unknown
  )
  if (last === undefined) return { folder, recipient, server, last }
  const { error, result, status, updated_at } = last
  return { folder, recipient, server, last: { status, at: updated_at, error: shownError(error), result } }
}

const serverCatalogue = (): Catalogue => {
  const catalogue: Catalogue = catalogueOf(core.slices.concat(serverSlices(() => catalogue)))
  return catalogue
}

/** Issues the token and records it. Throws a StartupError with the reason if it cannot. */
export const recoverOwner = async (database: Database): Promise<RecoveredToken> => {
  const catalogue = serverCatalogue()
  const runtime = ManagedRuntime.make(
    Layer.mergeAll(
      Layer.provide(Store.layer, sqlLayer(database)),
      serverRuntime({ catalogue, commandId: randomUUIDv7 })
    )
  )
  try {
    return await runtime.runPromise(issue)
  } catch (cause) {
    if (!(cause instanceof SqlError.SqlError)) throw cause
    throw new StartupError(
      "The database cannot be used: start the server of this release on it once, and see that it can be reached.",
      cause
    )
  } finally {
    await runtime.dispose().catch(() => {})
  }
}

const issue = Effect.gen(function* () {
  return yield* Store.transaction(
    Effect.gen(function* () {
      const owner = yield* Store.first(users, { is_owner: true }, { order: ["id"] })
      if (owner === undefined)
        return yield* Effect.die(new StartupError("The database has no owner yet: start the server on it first."))
      const runtime = yield* CommandRuntime
      const now = instantOf(yield* Clock.currentTimeMillis)
      const { event, id, secret } = yield* issueOwnToken(
        { name: "Recovered at the server", user_id: owner.id },
        yield* runtime.settings,
        now
      )
      // No user is authenticated: the actor has access to the machine.
      yield* recordByServer([event], now)
      return { id, secret, user_id: owner.id, user_name: owner.name } satisfies RecoveredToken
    })
  )
})
