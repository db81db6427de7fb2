/** `sync conflicts` and `sync report`: rejected commands with reasons, merged values, and differing results. */
import type { Conflict, Device, NamedReport } from "../../../../sync/device/device.ts"
import type { AskFacts } from "../../../../sync/device/resolutions/ways-out.ts"
import type { CommandContext } from "../../../context/context.ts"
import type { Json, JsonObject } from "../../../../core/kernel/index.ts"
import { spokenNumber, typedNumber } from "../../../../core/values/text.ts"
import { isRows, plainJson } from "../../../base/answers.ts"
import { exit_codes, refusePlan } from "../../../base/exit-codes.ts"
import { printTable } from "../../../context/print.ts"
import { column } from "../../../output/table.ts"
import { cellText, minuteText, oneLine, sentenceText, styled, type Terminal, toType } from "../../../output/text.ts"
import type { CommandAction } from "../../../context/program.ts"

// Facts for resolving conflicts, from the server or, if it is unreachable or refuses, from the replica.

export const factsFor = (context: CommandContext, device: Device): AskFacts => {
  let reachable = !context.offline
  return async ({ body, method, path, query }) => {
    const asked = { method, path, query, body }
    if (reachable) {
      try {
        const answer = await context.requestAtServer(asked)
        // Rows created on this device do not exist on the server yet.
        if (answer.status < 400) return answer
      } catch {
        reachable = false
      }
    }
    return device.ask(asked)
  }
}

export const showConflicts = async (context: CommandContext): Promise<number> => {
  const device = await context.device()
  await context.lookUpClocks()
  const found = await device.conflicts(factsFor(context, device))
  if (context.options.json === true)
    context.printJson({
      conflicts: found.map((one) => plainJson({ ...one, error: { ...one.error, errors: one.error.errors ?? {} } }))
    })
  else if (found.length === 0) context.note("No conflicts.")
  else if (!context.terminal.is_tty) {
    printTable(context, "id, n, name, message, intent, meanwhile, held, ways_out", found.map(conflictRow))
  } else for (const one of found) context.print(`${conflictText(context, one).join("\n")}\n\n`)
  return found.length > 0 ? exit_codes.sync_conflicts : exit_codes.ok
}

/** A conflict as a row for pipes: lists separated by semicolons, full times. */
const conflictRow = ({ changes, error, held, id, intent, n, name, ways_out }: Conflict): JsonObject => ({
  id,
  n,
  name,
  message: error.message,
  intent,
  meanwhile: changes
    .map((one) => `${one.when} ${one.who ?? "the server"} ${one.what}: ${changeText(one, exactly)}`)
    .join("; "),
  held: held.map((one) => `${one.n} ${one.name}`).join("; "),
  ways_out: ways_out.map(({ command }) => command).join("; ")
})
const exactly = (value: Json): string => cellText(value) || "nothing"
const changeText = ({ event, field, from, to }: Conflict["changes"][number], told: (value: Json) => string): string =>
  field === null
    ? actionWords(event)
    : field === "held_by"
      ? heldText(told(to))
      : `${fieldText(field)}: ${told(from)} → ${told(to)}`

const inText = (value: Json, zone?: string): string =>
  value === null || value === "" ? "nothing" : sentenceText(cellText(value), zone)
/** A value for display; times in full if they differ by less than a minute. */
const apart = (value: Json = null, other: Json = null, zone?: string): string =>
  inText(value, zone) === inText(other, zone) ? cellText(value) : inText(value, zone)
const fieldText = (name: string): string => name.replaceAll("_", " ")
/** Describes a holder: `15 held by order 12 Gala from …`, with the quantity of bulk products. */
const heldText = (by: string): string => (/^\d+ by /.test(by) ? by.replace(" by ", " held by ") : `held by ${by}`)
/** Action of an event type: `updated` for `product.updated`. */
const actionWords = (event: string): string => fieldText(event.slice(event.indexOf(".") + 1))

/** Describes a conflict for users, in several lines. */
export const conflictText = (
  context: CommandContext,
  { about, n, intent, name, issued_at, error, changes, ways_out, held }: Conflict
): ReadonlyArray<string> => {
  const dim = (text: string): string => styled(context.terminal.colour, "dim", text)
  const zone = context.terminal.zoneOf?.({ store_id: about.order?.store_id ?? null })
  const reasons = Object.entries(error.errors ?? {}).flatMap(([field, texts]) =>
    texts.filter((text) => text !== error.message).map((text) => `   ${field}: ${sentenceText(text, zone)}`)
  )
  const ways = ways_out.map(({ command, says }) => ({ command: toType(command, zone), says: sentenceText(says, zone) }))
  const width = Math.max(0, ...ways.map(({ command }) => command.length))
  return [
    `${styled(context.terminal.colour, "bold", oneLine(`${n}  ${intent}`))}  ${dim(`${name}, recorded ${minuteText(issued_at, zone)}`)}`,
    `   Refused: ${sentenceText(error.message, zone)}`,
    ...reasons,
    ...(changes.length === 0
      ? []
      : [
          "   Meanwhile:",
          ...changes.map((one) => {
            const change = changeText(one, (value) => inText(value, zone))
            const row = oneLine(`${one.who ?? "the server"}  ${one.what}`)
            return `     ${dim(minuteText(one.when, zone))}  ${row}  ${change}`
          })
        ]),
    ...(held.length === 0 ? [] : ["   Waiting for it:", ...held.map((one) => `     ${one.n}  ${one.name}`)]),
    "   Ways out:",
    ...ways.map(({ command, says }) => `     ${command.padEnd(width)}  ${dim(says)}`)
  ]
}

/** Rows of the report: fields merged with others' changes, and results that differ from the device's. */
const reportRows = (reports: ReadonlyArray<NamedReport>): ReadonlyArray<JsonObject> =>
  reports.flatMap(({ about, n, name, merged, differences }) => {
    const of = {
      order: about.order?.number ?? null,
      subject: about.order?.name ?? null,
      customer: about.customer?.name ?? null
    }
    return [
      ...merged.map(({ what, field, theirs, mine, who }): JsonObject => ({
        n,
        name,
        kind: "merged",
        what,
        field,
        here: mine,
        there: theirs,
        who: who ?? "the server",
        ...of
      })),
      ...differences.map(({ what, field, here, there }): JsonObject => ({
        n,
        name,
        kind: "different",
        what,
        field,
        here,
        there,
        who: null,
        ...of
      }))
    ]
  })
const deeds: { readonly [op: string]: string } = { insert: "made", update: "changed", delete: "removed" }
const reportLine = (row: JsonObject, zone?: string): string => {
  const { field, here = null, kind, n, order, there = null, what, who } = row
  const of = `${n}  ${what}: `
  const named = fieldText(String(field))
  if (kind === "merged")
    return `${of}${named} is ${inText(here, zone)} as you set it; ${who} had set ${inText(there, zone)} meanwhile.`
  if (field === "has_shortage") {
    const typed = typeof order === "string" ? ` ${typedNumber(order, 0)}` : ""
    return there === true
      ? `${of}short: others hold what was free here. flightcase orders shortages${typed} shows what is missing.`
      : `${of}no longer short.`
  }
  // Differing lists are not compared by length, which says nothing about entries.
  if (isRows(there) && isRows(here)) return `${of}${named} is not as it was shown here.`
  if (field !== null) return `${of}${named} is ${apart(there, here, zone)}; ${apart(here, there, zone)} was shown here.`
  const deed = (by: Json): string => deeds[String(by)] ?? String(by)
  if (here === null) return `${of}the server ${deed(there)} it; nothing of that was shown here.`
  if (there === null) return `${of}${deed(here)} here; the server did not do that.`
  return `${of}${deed(there)} by the server, ${deed(here)} here.`
}
/** Order, if the row itself lacks it, and customer in brackets; empty without either. */
const whoseText = ({ customer, order, subject, what }: JsonObject): string => {
  const named = subject === null || String(what).includes(String(subject))
  const parts = [
    ...(named ? [] : [`order ${spokenNumber(String(order ?? ""))} ${String(subject)}`.replace("order  ", "order ")]),
    ...(customer === null ? [] : [String(customer)])
  ]
  return parts.length === 0 ? "" : ` (${parts.join(", ")})`
}
/** Lines of the report. `zoneOf`: time zone of a store. */
export const reportLines = (
  reports: ReadonlyArray<NamedReport>,
  zoneOf: Terminal["zoneOf"] = () => undefined
): ReadonlyArray<string> =>
  reports.flatMap((report) => {
    const zone = zoneOf({ store_id: report.about.order?.store_id ?? null })
    return reportRows([report]).map((row) => oneLine(`${reportLine(row, zone)}${whoseText(row)}`))
  })

/** Lists accepted commands with results that differ from the device's; `--seen` marks those listed as seen. */
export const reportText: CommandAction = async (context, _args, flags) => {
  if (flags.seen === true) refusePlan(context)
  const device = await context.device()
  await context.lookUpClocks()
  const reports = await device.named(device.told(flags.all === true))
  if (context.options.json === true) context.printJson({ report: plainJson(reports) })
  else if (reports.length === 0)
    context.note(
      flags.all === true
        ? "Nothing came out otherwise than it was shown here."
        : "Nothing new came out otherwise than it was shown here."
    )
  else if (!context.terminal.is_tty) {
    printTable(
      context,
      ["n", "name", "kind", "what", "field", "here", "there", "who", "order", "subject", "customer"].map((key) =>
        column(key)
      ),
      reportRows(reports)
    )
  } else
    context.print(
      reportLines(reports, context.terminal.zoneOf)
        .map((line) => `${line}\n`)
        .join("")
    )
  const last = reports.at(-1)
  if (flags.seen === true && last !== undefined) device.seen(last.n)
}
