/** `sync`: sends and fetches; its verbs show what is pending and settle what was refused. */
import type { Command } from "commander"
import { declareBundle } from "./bundle.ts"
import { watching, withWatch } from "./watch.ts"
import { plainJson } from "../../answers.ts"
import type { CommandContext } from "../../context.ts"
import { CliError, exit_codes } from "../../exit-codes.ts"
import { progressOf } from "../../output/progress.ts"
import { withAction, repeatable } from "../../program.ts"
import { showConflicts, reportLines, reportText } from "./conflicts.ts"
import { showStatus } from "./status.ts"
import { resolveConflict } from "./resolve.ts"

export const declare = (program: Command): void => {
  const sync = program.command("sync").description("Send what was done here, fetch what was done elsewhere")
  withAction(withWatch(sync), async (context, _args, flags) => (await watching(context, flags)) ?? run(context))
  declareBundle(sync)
  withAction(sync.command("status").description("What is pending, and how fresh the replica is"), showStatus)
  withAction(
    sync.command("conflicts").description("What the server refused, what changed meanwhile, and the ways out"),
    showConflicts
  )
  withAction(
    sync
      .command("report")
      .description("What was accepted, but came out otherwise than it was shown here")
      .option("--all", "what was ticked off before, too")
      .option("--seen", "tick off what is listed"),
    reportText
  )
  withAction(
    sync
      .command("resolve")
      .description("Settle a conflict; on a terminal, without a flag, by answering")
      .argument("<id>", "the conflict's id, or its number")
      .option("--retry", "record it again as it is")
      .addOption(
        repeatable(
          "--set <field=value>",
          "record it again with another value; may be repeated, and dots lead into lists"
        )
      )
      .option("--amend <json>", "record it again with this body (JSON, @FILE or @-)")
      .option("--edit", "change the body in $EDITOR")
      .option("--reduce-to <number>", "ask for so many instead; free: for what is free of each line that is short")
      .option("--unit <asset>", "take this unit instead")
      .option("--dates <from..until>", "move it to these dates, and record it again")
      .option("--waitlist", "put what is short on the waiting list instead")
      .option("--quarantine", "record the damage that a refused check-in reports, and give up the check-in")
      .option("--substitute [asset]", "take another unit: this one, or the first that is free")
      .option("--split", "record what can be had now; the rest is asked for again")
      .option("--drop", "give it up")
      .option("--with-dependants", "with --drop: what builds on it, too"),
    resolveConflict
  )
}

const words = {
  files: "Sending files",
  push: "Sending",
  fill: "Filling",
  pull: "Fetching",
  lease: "Taking ids"
} as const

const run = async (context: CommandContext): Promise<number> => {
  if (context.offline)
    throw new CliError(exit_codes.network, "Syncing needs the server, and --offline forbids to ask it.")
  const device = await context.device()
  const progress = progressOf(context)
  const before = new Set(device.told(true).map(({ n }) => n))
  let report
  try {
    report = await device.sync(({ phase, done, total }) => progress.at(words[phase], done, total))
  } finally {
    progress.end()
  }
  const reports = device.told(true).filter(({ n }) => !before.has(n))
  const { held } = await device.status()
  if (context.options.json === true) context.printJson({ sync: plainJson({ ...report, held, told: reports }) })
  else {
    for (const warning of report.warnings) context.note(warning)
    context.note(
      `Sent ${report.sent}: ${report.accepted} accepted, ${report.rejected} refused, ${report.pending} pending. ` +
        `Fetched ${report.pulled_events} events, up to ${report.position}. ` +
        `Server: ${device.profile.url}.`
    )
    for (const line of reportLines(await device.named(reports), context.terminal.zoneOf)) context.note(`  ${line}`)
    if (held > 0)
      context.note(`${held} ${held === 1 ? "command waits" : "commands wait"} for a conflict to be settled.`)
    if (report.conflicts > 0)
      context.note(
        `${report.conflicts} ${report.conflicts === 1 ? "conflict is" : "conflicts are"} left; flightcase sync conflicts shows ${report.conflicts === 1 ? "it" : "them"}.`
      )
  }
  return report.conflicts > 0 ? exit_codes.sync_conflicts : exit_codes.ok
}
