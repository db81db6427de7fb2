/** `sync conflicts` and `sync report`: what was refused and why, what was merged, what came out otherwise. */
import type { Json, JsonObject } from "../../../core/kernel/json.ts"
import type { Conflict, CommandReport } from "../../../sync/device/device.ts"
import { plainJson } from "../../answers.ts"
import type { CommandContext } from "../../context.ts"
import { exit_codes } from "../../exit-codes.ts"
import { column, tableText } from "../../output/table.ts"
import { styled } from "../../output/terminal.ts"
import { cellText, oneLine, minuteText } from "../../output/text.ts"
import type { Flags } from "../../program.ts"

export const showConflicts = async (context: CommandContext): Promise<number> => {
  const found = await (await context.device()).conflicts()
  if (context.options.json === true)
    context.printJson({
      conflicts: found.map((one) => plainJson({ ...one, error: { ...one.error, errors: one.error.errors ?? {} } }))
    })
  else if (found.length === 0) context.note("No conflicts.")
  else if (!context.terminal.is_tty) {
    context.print(
      tableText(
        [column("id"), column("n"), column("name"), column("message")],
        found.map(({ id, n, name, error }) => ({ id, n, name, message: error.message })),
        context.terminal
      )
    )
  } else for (const one of found) context.print(`${conflictText(context, one).join("\n")}\n\n`)
  return found.length > 0 ? exit_codes.sync_conflicts : exit_codes.ok
}

/** Instants within a sentence to the minute, as cells show them. */
const readable = (text: string): string =>
  oneLine(text).replace(/\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z/g, minuteText)
const shown = (value: Json): string => (value === null || value === "" ? "nothing" : readable(cellText(value)))
/** In full where it differs from the other by less than a minute. */
const apart = (value: Json = null, other: Json = null): string =>
  shown(value) === shown(other) ? cellText(value) : shown(value)
const words = (name: string): string => name.replaceAll("_", " ")
/** `product.updated` → updated */
const actionWords = (event: string): string => words(event.slice(event.indexOf(".") + 1))

/** A conflict for people, line by line. */
export const conflictText = (
  context: CommandContext,
  { n, summary, name, issued_at, error, changes, ways_out, held }: Conflict
): ReadonlyArray<string> => {
  const dim = (text: string): string => styled(context.terminal.colour, "dim", text)
  const reasons = Object.entries(error.errors ?? {}).flatMap(([field, texts]) =>
    texts.filter((text) => text !== error.message).map((text) => `   ${field}: ${readable(text)}`)
  )
  const width = Math.max(0, ...ways_out.map(({ command }) => command.length))
  return [
    `${styled(context.terminal.colour, "bold", oneLine(`${n}  ${summary}`))}  ${dim(`${name}, recorded ${minuteText(issued_at)}`)}`,
    `   ${readable(error.message)}`,
    ...reasons,
    ...(changes.length === 0
      ? []
      : [
          "   Meanwhile:",
          ...changes.map(({ who, when, what, event, field, from, to }) => {
            const change =
              field === null
                ? actionWords(event)
                : field === "held_by"
                  ? `held by ${shown(to)}`
                  : `${words(field)}: ${shown(from)} → ${shown(to)}`
            return `     ${dim(minuteText(when))}  ${oneLine(`${who ?? "the server"}  ${what}`)}  ${change}`
          })
        ]),
    ...(held.length === 0 ? [] : ["   Waiting for it:", ...held.map((one) => `     ${one.n}  ${one.name}`)]),
    "   Ways out:",
    ...ways_out.map(({ command, says }) => `     ${command.padEnd(width)}  ${dim(oneLine(says))}`)
  ]
}

/** Rows of the report: fields merged with others' changes, and results that differ from what was shown here. */
export const reportRows = (reports: ReadonlyArray<CommandReport>): ReadonlyArray<JsonObject> =>
  reports.flatMap(({ n, name, merged, differences }) => [
    ...merged.map(({ what, field, theirs, mine, who }): JsonObject => ({
      n,
      name,
      kind: "merged",
      what,
      field,
      here: mine,
      there: theirs,
      who: who ?? "the server"
    })),
    ...differences.map(({ what, field, here, there }): JsonObject => ({
      n,
      name,
      kind: "different",
      what,
      field,
      here,
      there,
      who: null
    }))
  ])
const deeds: { readonly [op: string]: string } = { insert: "made", update: "changed", delete: "removed" }
const reportLine = ({ n, kind, what, field, here, there, who }: JsonObject): string =>
  kind === "merged"
    ? `${n}  ${what}: ${words(String(field))} is ${shown(here ?? null)} as you set it; ${who} had set ${shown(there ?? null)} meanwhile.`
    : field === null
      ? `${n}  ${what}: ${deeds[String(there)] ?? "left alone"} by the server, ${deeds[String(here)] ?? "left alone"} here.`
      : `${n}  ${what}: ${words(String(field))} is ${apart(there, here)}; ${apart(here, there)} was shown here.`
export const reportLines = (reports: ReadonlyArray<CommandReport>): ReadonlyArray<string> =>
  reportRows(reports).map((row) => oneLine(reportLine(row)))

/** Lists accepted commands whose result differs from what was shown; `--seen` marks those listed as seen. */
export const reportText = async (
  context: CommandContext,
  _args: ReadonlyArray<string>,
  flags: Flags
): Promise<void> => {
  const device = await context.device()
  const reports = device.told(flags["all"] === true)
  if (context.options.json === true) context.printJson({ report: plainJson(reports) })
  else if (reports.length === 0)
    context.note(
      flags["all"] === true
        ? "Nothing came out otherwise than it was shown here."
        : "Nothing new came out otherwise than it was shown here."
    )
  else if (!context.terminal.is_tty) {
    context.print(
      tableText(
        ["n", "name", "kind", "what", "field", "here", "there", "who"].map((key) => column(key)),
        reportRows(reports),
        context.terminal
      )
    )
  } else
    context.print(
      reportLines(reports)
        .map((line) => `${line}\n`)
        .join("")
    )
  const last = reports.at(-1)
  if (flags["seen"] === true && last !== undefined) device.seen(last.n)
}
