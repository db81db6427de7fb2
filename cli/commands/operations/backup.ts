/** `backup`: creates, lists, verifies, restores, moves and prunes backups of a server, on its own machine. */
import type { Command } from "commander"
import type { CommandContext } from "../../context/context.ts"
import { CliError, exit_codes, refusePlan, usageError } from "../../base/exit-codes.ts"
import { type Flags, required, textFlag, verb } from "../../context/program.ts"
import { columnsNamed, recordText, tableText } from "../../output/table.ts"
import { refuseElsewhere } from "./serve.ts"
import type { Backup, BackupPlace } from "../../../server/operations/backups/backup.ts"

const machine = () => import("../../../server/host/recover-owner.ts")
const backupsModule = () => import("../../../server/operations/backups/backup.ts")

/** Runs work on the server's own machine, never through its API, with errors for users. */
const atTheMachine = async <A>(
  context: CommandContext,
  work: (backups: Awaited<ReturnType<typeof backupsModule>>) => Promise<A>
): Promise<A> => {
  refuseElsewhere(context, "Backups are made")
  const { StartupError } = await import("../../../server/ports/startup-error.ts")
  try {
    return await work(await backupsModule())
  } catch (error) {
    if (error instanceof StartupError) throw new CliError(exit_codes.failed, error.message, { cause: error })
    const { code, path } = error as NodeJS.ErrnoException
    if (code === "ENOSPC" || code === "EACCES" || code === "EROFS")
      throw new CliError(exit_codes.failed, `${path ?? "The folder"} cannot be written (${code}).`, { cause: error })
    throw error
  }
}
const placeOf = async ({ env }: CommandContext, flags: Flags): Promise<BackupPlace> =>
  (await machine()).backupPlace(env, textFlag(flags, "data"))

/** The text of a file, without comments and blank lines around it. */
const textIn = async (file: string): Promise<string> => {
  const { readFile } = await import("node:fs/promises")
  const text = await readFile(file, "utf8")
  return text.replaceAll(/^#.*$/gm, "").trim()
}
/** Passphrase from a file, or FLIGHTCASE_BACKUP_PASSPHRASE; undefined without either. */
const passphraseOf = async ({ env }: CommandContext, flags: Flags): Promise<string | undefined> => {
  const file = textFlag(flags, "passphraseFile")
  const given =
    file === undefined
      ? env["FLIGHTCASE_BACKUP_PASSPHRASE"]
      : (await (await import("node:fs/promises")).readFile(file, "utf8")).trim()
  if (given === undefined || given === "") {
    if (file !== undefined) throw usageError(`${file} is empty.`, "Write the passphrase into it.")
    return undefined
  }
  if (given.length < 12) throw usageError("A passphrase has 12 characters or more.")
  return given
}
/** Secrets that open a backup, and keys of its bucket. */
const openedBy = async (context: CommandContext, flags: Flags) => {
  const identity = textFlag(flags, "identity")
  return {
    passphrase: await passphraseOf(context, flags),
    identity: identity === undefined ? undefined : await textIn(identity),
    aws: (await placeOf(context, flags)).outside.aws
  }
}
const shown = ({ engine, file, files, holds = "database", is_sealed, made_at, position, size_bytes }: Backup) => ({
  file,
  made_at,
  engine: engine === "pg" ? "postgres" : "sqlite",
  holds,
  position,
  files,
  size_bytes,
  is_sealed
})
const printOne = (context: CommandContext, backup: Backup): void => {
  if (context.options.json === true) context.printJson({ backup: shown(backup) })
  else context.print(recordText(shown(backup), context.terminal))
}
/** Prints backups; one that cannot be read by its file's name only. */
const printAll = (
  context: CommandContext,
  backups: ReadonlyArray<Backup | Pick<Backup, "file">>,
  more: object = {}
): void => {
  const rows = backups.map((backup) => ("engine" in backup ? shown(backup) : { file: backup.file }))
  if (context.options.json === true) return context.printJson({ backups: rows, ...more })
  const named = "made_at=MADE, engine=ENGINE, holds=HOLDS, position=EVENTS, files=FILES, size_bytes=BYTES"
  const columns = columnsNamed(`${named}, is_sealed=SEALED, file=FILE`)
  context.print(tableText(columns, rows, context.terminal))
}

const key_apart =
  "The signing key (FLIGHTCASE_KEY, or the file key in FLIGHTCASE_DATA) is not in it: keep it in another place."

const of_journal =
  "pg_dump is not installed, or older than the server: the backup holds the journal. Tokens, devices, webhooks and " +
  "secrets of settings are not in it."

const create = (context: CommandContext, [folder = ""]: ReadonlyArray<string>, flags: Flags): Promise<void> =>
  atTheMachine(context, async ({ createBackup }) => {
    refusePlan(context)
    const place = await placeOf(context, flags)
    const passphrase = await passphraseOf(context, flags)
    const { recipient, server } = await (await machine()).scheduledBackup(place)
    const of_settings = passphrase === undefined ? recipient : undefined
    const keys = { passphrase, recipient: textFlag(flags, "recipient") ?? of_settings }
    const made = await createBackup(place, folder, { now: new Date(), server, keys })
    printOne(context, made)
    if (made.holds === "journal") context.note(of_journal)
    context.note(key_apart)
  })

const list = (context: CommandContext, [given]: ReadonlyArray<string>, flags: Flags): Promise<void> =>
  atTheMachine(context, async ({ backupsIn }) => {
    const place = await placeOf(context, flags)
    const { folder, last, server } = await (await machine()).scheduledBackup(place)
    const from = given ?? folder
    if (from === undefined) throw usageError("Name a folder: neither FLIGHTCASE_BACKUPS nor backups.folder does.")
    const { backups, others } = await backupsIn(from, place.outside.aws, flags.all === true ? undefined : server)
    printAll(context, backups, { last_scheduled: last ?? null, others })
    if (backups.length === 0) context.note(`There are no backups of this server in ${from}.`)
    if (others > 0) context.note(`Backups of other servers in ${from}: ${others}; --all lists them, too.`)
    if (last === undefined) return
    const { at, error, result, status } = last
    context.note(`Last scheduled backup: ${status} at ${at}${error === null ? "" : `: ${error}`}`)
    const prune_error = result?.["prune_error"]
    if (typeof prune_error === "string") context.note(`Old backups could not be deleted: ${prune_error}`)
  })

const prune = (context: CommandContext, [folder = ""]: ReadonlyArray<string>, flags: Flags): Promise<void> =>
  atTheMachine(context, async ({ pruneBackups }) => {
    const keep = Number(textFlag(flags, "keep"))
    if (!Number.isInteger(keep) || keep < 1) throw usageError("--keep must be a whole number from 1.")
    const place = await placeOf(context, flags)
    const { server } = await (await machine()).scheduledBackup(place)
    const options = { now: new Date(), server, aws: place.outside.aws, is_plan: context.options.plan === true }
    printAll(context, await pruneBackups(folder, keep, options))
  })

const journal_leaves_out =
  "Tokens, devices, webhooks, inbound sources, boards, notifications, usage, waiting jobs and secrets of settings " +
  "are not in a journal: start the server, get the owner a token (flightcase serve recover-owner), and set them again."

const restore = (context: CommandContext, [file = ""]: ReadonlyArray<string>, flags: Flags): Promise<void> =>
  atTheMachine(context, async ({ restoreBackup }) => {
    refusePlan(context)
    const place = await placeOf(context, flags)
    const made = await restoreBackup(file, place, await openedBy(context, flags))
    printOne(context, made)
    if (made.holds === "journal") context.note(journal_leaves_out)
    context.note(
      `Restored into ${place.data_folder}${place.database.kind === "pg" ? " and the Postgres of DATABASE_URL" : ""}. ` +
        "Start the server with FLIGHTCASE_KEY as it was, or in that folder's file key: with another key, links and " +
        "feeds that were given out end, and sealed secrets (mail password, webhooks) must be set again. Waiting " +
        "mail and jobs are held (flightcase jobs list -q status_eq=failed, jobs retry ID); waiting webhooks were " +
        "dropped (webhooks replay ID --since TIME). It backs up daily where the settings say (settings show backups)."
    )
  })

const move = (context: CommandContext, [target = ""]: ReadonlyArray<string>, flags: Flags): Promise<void> =>
  atTheMachine(context, async ({ moveServer }) => {
    refusePlan(context)
    const { join, resolve } = await import("node:path")
    const from = await placeOf(context, flags)
    const is_postgres = /^postgres(ql)?:\/\//.test(target)
    const folder = is_postgres ? from.data_folder : resolve(target)
    const database = is_postgres
      ? ({ kind: "pg", url: target } as const)
      : ({ kind: "sqlite", path: join(folder, "flightcase.sqlite") } as const)
    const moved = await moveServer(from, { ...from, database, data_folder: folder })
    if (context.options.json === true) context.printJson({ moved })
    else context.print(recordText(moved, context.terminal))
    const old =
      from.database.kind === "sqlite"
        ? `${from.database.path} (with -wal and -shm, but nothing else of that folder)`
        : "the old Postgres database"
    const key = is_postgres ? `as it was: without one in the environment, it is in ${join(folder, "key")}` : "as it was"
    context.note(
      "The copy has the same journal, rows, ids and numbers; its files are in " +
        `${from.outside.blobs ?? join(folder, "blobs")}. ` +
        `Start the server ${is_postgres ? "with" : "without"} DATABASE_URL, with FLIGHTCASE_DATA=${folder} and ` +
        `FLIGHTCASE_KEY ${key}. The source is unchanged: delete ${old} when the copy serves. ${journal_leaves_out}`
    )
  })

const data = { "--data <folder>": "the server's data folder (default: FLIGHTCASE_DATA)" }
const folder_text = "folder, or s3://bucket/prefix?endpoint=https://…"

export const declare = (program: Command): void => {
  const backup = program
    .command("backup")
    .description("Create, verify, restore and move a server's database and files, at its machine")
  const passphrase = { "--passphrase-file <file>": "file with the passphrase (default: FLIGHTCASE_BACKUP_PASSPHRASE)" }
  const identity = { "--identity <file>": "file with the identity of the backup's age recipient" }
  verb(backup, "create", {
    about: "Write a backup into a folder or bucket",
    "<folder>": `${folder_text}; a folder is created if missing`,
    ...data,
    ...passphrase,
    "--recipient <age1…>": "age recipient to encrypt to",
    run: create
  })
  verb(backup, "list", {
    about: "List this server's backups in a folder or bucket, newest first, and the last scheduled one",
    "[folder]": `${folder_text}; default: FLIGHTCASE_BACKUPS, or the setting backups.folder`,
    "--all": "list other servers' backups, too",
    ...data,
    run: list
  })
  verb(backup, "verify", {
    about: "Read a whole backup and check it; exit 1 if a part is damaged",
    "<file>": "backup to verify",
    "--restore": "also restore it into a temporary folder and check its journal",
    ...passphrase,
    ...identity,
    run: (context, [file = ""], flags) =>
      atTheMachine(context, async ({ verifyBackup }) => {
        const opened = await openedBy(context, flags)
        const { catalogue } = await placeOf(context, flags)
        printOne(context, await verifyBackup(file, { ...opened, ...(flags.restore === true ? { catalogue } : {}) }))
      })
  })
  verb(backup, "restore", {
    about: "Restore a backup into an empty folder, or an empty Postgres",
    "<file>": "backup to restore",
    ...data,
    ...passphrase,
    ...identity,
    run: restore
  })
  declareMoveAndPrune(backup)
}
const declareMoveAndPrune = (backup: Command): void => {
  verb(backup, "move", {
    about: "Copy the stopped server's data from SQLite to an empty Postgres, or back, and compare both",
    "<target>": "postgres://user@host:port/database, with PGPASSWORD; or a folder for an SQLite database",
    ...data,
    run: move
  })
  verb(backup, "prune", {
    about: "Delete this server's old backups in a folder or bucket; --plan lists them",
    "<folder>": folder_text,
    ...data,
    "--keep <n>": required("number of newest backups to keep"),
    run: prune
  })
}
