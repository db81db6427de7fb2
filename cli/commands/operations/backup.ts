/** `backup`: backs up a server on its own machine: its SQLite file or Postgres, and its files. */
import { type Command, Option } from "commander"
import type { CommandContext } from "../../context/context.ts"
import { CliError, exit_codes, refusePlan, usageError } from "../../base/exit-codes.ts"
import { type Flags, textFlag, withAction } from "../../context/program.ts"
import { columnsNamed, recordText, tableText } from "../../output/table.ts"
import { refuseElsewhere } from "./serve.ts"
import type { Backup, BackupPlace } from "../../../server/host/backup.ts"

const host = () => import("../../../server/host/backup.ts")

/** Runs work on this machine, with errors for users; the network is never used. */
const atTheMachine = async <A>(
  context: CommandContext,
  work: (backups: Awaited<ReturnType<typeof host>>) => Promise<A> | A
): Promise<A> => {
  refuseElsewhere(context, "Backups are made")
  const { StartupError } = await import("../../../server/ports/startup-error.ts")
  try {
    return await work(await host())
  } catch (error) {
    if (error instanceof StartupError) throw new CliError(exit_codes.failed, error.message, { cause: error })
    const { code, path } = error as NodeJS.ErrnoException
    if (code === "ENOSPC" || code === "EACCES" || code === "EROFS")
      throw new CliError(exit_codes.failed, `${path ?? "The folder"} cannot be written (${code}).`, { cause: error })
    throw error
  }
}
const placeOf = ({ placeFrom }: Awaited<ReturnType<typeof host>>, { env }: CommandContext, flags: Flags): BackupPlace =>
  placeFrom(env, textFlag(flags, "data"))

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
const shown = ({ engine, file, files, is_sealed, made_at, position, size_bytes }: Backup) => ({
  file,
  made_at,
  engine: engine === "pg" ? "postgres" : "sqlite",
  position,
  files,
  size_bytes,
  is_sealed
})
const printOne = (context: CommandContext, backup: Backup): void => {
  if (context.options.json === true) context.printJson({ backup: shown(backup) })
  else context.print(recordText(shown(backup), context.terminal))
}
const printAll = (context: CommandContext, backups: ReadonlyArray<Backup>): void => {
  const rows = backups.map(shown)
  if (context.options.json === true) return context.printJson({ backups: rows })
  const columns = columnsNamed(
    "made_at=MADE, engine=ENGINE, position=EVENTS, files=FILES, size_bytes=BYTES, is_sealed=SEALED, file=FILE"
  )
  context.print(tableText(columns, rows, context.terminal))
}

const key_apart =
  "The signing key (FLIGHTCASE_KEY, or the file key in FLIGHTCASE_DATA) is not in it: keep it in another place."

const create = (context: CommandContext, [folder = ""]: ReadonlyArray<string>, flags: Flags): Promise<void> =>
  atTheMachine(context, async (backups) => {
    refusePlan(context)
    const made = await backups.createBackup(placeOf(backups, context, flags), folder, {
      now: new Date(),
      passphrase: await passphraseOf(context, flags)
    })
    printOne(context, made)
    context.note(key_apart)
  })

const restore = (context: CommandContext, [file = ""]: ReadonlyArray<string>, flags: Flags): Promise<void> =>
  atTheMachine(context, async (backups) => {
    refusePlan(context)
    const place = placeOf(backups, context, flags)
    printOne(context, await backups.restoreBackup(file, place, await passphraseOf(context, flags)))
    context.note(
      `Restored into ${place.data_folder}${place.database.kind === "pg" ? " and the Postgres of DATABASE_URL" : ""}. ` +
        "Start the server with FLIGHTCASE_KEY as it was, or in that folder's file key: with another key, links and " +
        "feeds that were given out end, and sealed secrets (mail password, webhooks) must be set again. Waiting " +
        "mail and jobs are held (flightcase jobs list -q status_eq=failed, jobs retry ID); waiting webhooks were " +
        "dropped (webhooks replay ID --since TIME)."
    )
  })

export const declare = (program: Command): void => {
  const backup = program
    .command("backup")
    .description("Create, verify and restore backups at the server's machine: one file each, with database and files")
  const data = () => new Option("--data <folder>", "the server's data folder (default: FLIGHTCASE_DATA)")
  const passphrase = () =>
    new Option("--passphrase-file <file>", "file with the passphrase (default: FLIGHTCASE_BACKUP_PASSPHRASE)")
  withAction(
    backup
      .command("create")
      .description("Write a backup into a folder")
      .argument("<folder>", "folder; created if missing")
      .addOption(data())
      .addOption(passphrase()),
    create
  )
  withAction(
    backup
      .command("list")
      .description("List the backups in a folder, newest first")
      .argument("<folder>", "folder of the backups"),
    (context, [folder = ""]) => atTheMachine(context, ({ backupsIn }) => printAll(context, backupsIn(folder)))
  )
  withAction(
    backup
      .command("verify")
      .description("Read a whole backup and check it; exit 1 if a part is damaged")
      .argument("<file>", "backup to verify")
      .option("--restore", "also restore it into a temporary folder and check its journal")
      .addOption(passphrase()),
    (context, [file = ""], flags) =>
      atTheMachine(context, async ({ drillBackup, verifyBackup }) => {
        const check = flags.restore === true ? drillBackup : verifyBackup
        printOne(context, await check(file, await passphraseOf(context, flags)))
      })
  )
  withAction(
    backup
      .command("restore")
      .description("Restore a backup into an empty folder, or an empty Postgres")
      .argument("<file>", "backup to restore")
      .addOption(data())
      .addOption(passphrase()),
    restore
  )
  withAction(
    backup
      .command("prune")
      .description("Delete old backups of a folder; --plan lists them")
      .argument("<folder>", "folder of the backups")
      .requiredOption("--keep <n>", "number of newest backups to keep"),
    (context, [folder = ""], flags) =>
      atTheMachine(context, ({ pruneBackups }) => {
        const keep = Number(textFlag(flags, "keep"))
        if (!Number.isInteger(keep) || keep < 1) throw usageError("--keep must be a whole number from 1.")
        printAll(context, pruneBackups(folder, keep, context.options.plan === true))
      })
  )
}
