/** `sync conflicts` and `sync report`: what was refused and why, what was merged, what came out otherwise. */
import type { Json, JsonObject } from "../../core/kernel/json.ts"
import type { Conflict, Told } from "../../sync/replica/device.ts"
import type { Desk } from "../desk.ts"
import { exits } from "../exits.ts"
import { column, tableText } from "../output/table.ts"
import { inked } from "../output/terminal.ts"
import { cellText, oneLine, shortened } from "../output/text.ts"
import type { Flags } from "../program.ts"

/** Plain data, as it is printed with --json. */
export const asJson = (value: unknown): Json => JSON.parse(JSON.stringify(value)) as Json

export const conflicts = async (desk: Desk): Promise<number> => {
  const found = await (await desk.device()).conflicts()
  if (desk.options.json === true) desk.printJson({ conflicts: found.map((one) => asJson({ ...one, error: { ...one.error, errors: one.error.errors ?? {} } })) })
  else if (found.length === 0) desk.note("No conflicts.")
  else if (!desk.terminal.seen) {
    desk.print(tableText([column("id"), column("n"), column("name"), column("message")], found.map(({ id, n, name, error }) => ({ id, n, name, message: error.message })), desk.terminal))
  } else for (const one of found) desk.print(`${conflictText(desk, one).join("\n")}\n\n`)
  return found.length > 0 ? exits.sync_conflicts : exits.ok
}

/** Instants within a sentence to the minute, as cells show them. */
const readable = (text: string): string => oneLine(text).replace(/\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z/g, shortened)
const shown = (value: Json): string => value === null || value === "" ? "nothing" : readable(cellText(value))
const words = (name: string): string => name.replaceAll("_", " ")
/** `product.updated` → updated */
const deed = (event: string): string => words(event.slice(event.indexOf(".") + 1))

/** A conflict for people, line by line. */
export const conflictText = (desk: Desk, { n, summary, name, issued_at, error, changes, ways_out, held }: Conflict): ReadonlyArray<string> => {
  const dim = (text: string): string => inked(desk.terminal.colour, "dim", text)
  const reasons = Object.entries(error.errors ?? {}).flatMap(([field, texts]) => texts.filter((text) => text !== error.message).map((text) => `   ${field}: ${readable(text)}`))
  const width = Math.max(0, ...ways_out.map(({ command }) => command.length))
  return [
    `${inked(desk.terminal.colour, "bold", oneLine(`${n}  ${summary}`))}  ${dim(`${name}, recorded ${shortened(issued_at)}`)}`,
    `   ${readable(error.message)}`,
    ...reasons,
    ...(changes.length === 0 ? [] : ["   Meanwhile:", ...changes.map(({ who, when, what, event, field, from, to }) => {
      const change = field === null ? deed(event) : field === "held_by" ? `held by ${shown(to)}` : `${words(field)}: ${shown(from)} → ${shown(to)}`
      return `     ${dim(shortened(when))}  ${oneLine(`${who ?? "the server"}  ${what}`)}  ${change}`
    })]),
    ...(held.length === 0 ? [] : ["   Waiting for it:", ...held.map((one) => `     ${one.n}  ${one.name}`)]),
    "   Ways out:",
    ...ways_out.map(({ command, says }) => `     ${command.padEnd(width)}  ${dim(oneLine(says))}`)
  ]
}

/** What is told about accepted commands, a row each. */
export const toldRows = (told: ReadonlyArray<Told>): ReadonlyArray<JsonObject> => told.flatMap(({ n, name, merged, differences }) => [
  ...merged.map(({ what, field, theirs, mine, who }): JsonObject => ({ n, name, kind: "merged", what, field, here: mine, there: theirs, who: who ?? "the server" })),
  ...differences.map(({ what, field, here, there }): JsonObject => ({ n, name, kind: "different", what, field, here, there, who: null }))
])
const deeds: { readonly [op: string]: string } = { insert: "made", update: "changed", delete: "removed" }
const toldLine = ({ n, kind, what, field, here, there, who }: JsonObject): string => kind === "merged"
  ? `${n}  ${what}: ${words(String(field))} is ${shown(here ?? null)} as you set it; ${who} had set ${shown(there ?? null)} meanwhile.`
  : field === null ? `${n}  ${what}: ${deeds[String(there)] ?? "left alone"} by the server, ${deeds[String(here)] ?? "left alone"} here.`
  : `${n}  ${what}: ${words(String(field))} is ${shown(there ?? null)}; ${shown(here ?? null)} was shown here.`
export const toldLines = (told: ReadonlyArray<Told>): ReadonlyArray<string> => toldRows(told).map((row) => oneLine(toldLine(row)))

/** Accepted commands with something to tell; `--seen` ticks off what is listed. */
export const toldReport = async (desk: Desk, _args: ReadonlyArray<string>, flags: Flags): Promise<void> => {
  const device = await desk.device()
  const told = device.told(flags["all"] === true)
  if (desk.options.json === true) desk.printJson({ report: asJson(told) })
  else if (told.length === 0) desk.note(flags["all"] === true ? "Nothing came out otherwise than it was shown here." : "Nothing new came out otherwise than it was shown here.")
  else if (!desk.terminal.seen) {
    desk.print(tableText(["n", "name", "kind", "what", "field", "here", "there", "who"].map((key) => column(key)), toldRows(told), desk.terminal))
  } else desk.print(toldLines(told).map((line) => `${line}\n`).join(""))
  const last = told.at(-1)
  if (flags["seen"] === true && last !== undefined) device.seen(last.n)
}
