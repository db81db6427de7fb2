/** `sync export-pending`. */
import type { OutboxCommand } from "../../../sync/device/outbox/command.ts"
import type { UnsentReport } from "../../../sync/device/outbox/unsent.ts"
import type { MissingCommands } from "../../../sync/device/recovery/missing-commands.ts"
import { plainJson } from "../../answers.ts"
import type { CommandContext } from "../../context.ts"
import { type Cells, cellsFor, guardText } from "../../output/csv.ts"
import type { Flags } from "../../program.ts"
import { writePrivately } from "./write-privately.ts"

/** Writes commands that were not sent, and those refused, to a file for review. */
export const exportPending = async (
  context: CommandContext,
  [file = ""]: ReadonlyArray<string>,
  flags: Flags
): Promise<void> => {
  const cells = cellsFor(flags["raw"] === true)
  const { readUnsent } = await import("../../../sync/device/outbox/unsent.ts")
  const { commands, profile, ...doubtful } = readUnsent(context.folder())
  const text = file.toLowerCase().endsWith(".csv")
    ? csvOf(commands, cells)
    : `${JSON.stringify({ unsent: { ...profile, exported_at: new Date().toISOString(), ...doubtful, commands } }, null, 2)}\n`
  if (file === "-") context.printContent(text)
  else await writePrivately(file, text)
  if (file !== "-" && context.options.json === true)
    context.printJson({
      exported: {
        file,
        commands: commands.length,
        unreadable: doubtful.unreadable,
        unreadable_numbers: plainJson(doubtful.unreadable_numbers),
        lost: plainJson(doubtful.lost),
        traces: doubtful.traces.length
      }
    })
  else
    context.note(
      `Wrote ${commands.length} unsent ${commands.length === 1 ? "command" : "commands"}${file === "-" ? "" : ` to ${file}`}.`
    )
  for (const line of doubtText(doubtful, commands)) context.note(line)
  if (cells.led() > 0) context.note(guardText(cells.led()))
}

/** What could not be read or was altered, in sentences. */
const doubtText = (
  { unreadable_numbers, lost, traces }: Omit<UnsentReport, "commands" | "profile">,
  commands: UnsentReport["commands"]
): ReadonlyArray<string> => {
  const numbers = (ranges: ReadonlyArray<MissingCommands>): string =>
    ranges.map(({ from, to }) => (from === to ? String(from) : `${from} to ${to}`)).join(", ")
  const altered = commands.filter((one) => one.altered === true).map(({ n }) => n)
  return [
    ...(unreadable_numbers.length === 0
      ? []
      : [`Could not be read any more: ${numbers(unreadable_numbers)}, sent or not.`]),
    ...(altered.length === 0
      ? []
      : [
          `Read, but not as it was written: ${altered.join(", ")}; look at what the file says of ${altered.length === 1 ? "it" : "them"} with care.`
        ]),
    ...(lost === null ? [] : [`Acknowledged here, and not in the outbox any more: ${numbers([lost])}.`]),
    ...(traces.length === 0
      ? []
      : [
          `What ${traces.length === 1 ? "one of these" : `${traces.length} of these`} did here is in the file under traces (not in a table).`
        ])
  ]
}

const csvOf = (
  commands: ReadonlyArray<Pick<OutboxCommand, "n" | "id" | "state" | "name" | "issued_at" | "payload" | "error">>,
  cells: Cells
): string => {
  const cell = (text: string): string => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)
  const rows = commands.map(({ n, id, state, name, issued_at, payload, error }) =>
    [
      String(n),
      id,
      state,
      name,
      issued_at,
      JSON.stringify(payload.params),
      JSON.stringify(payload.body),
      error?.message ?? ""
    ]
      .map((text) => cell(cells.of(text)))
      .join(",")
  )
  return `${["number,id,state,command,issued_at,params,body,refused_because", ...rows].join("\r\n")}\r\n`
}
