/** Usage as a file that spreadsheets open. */
import type { UsageRow } from "./usage.ts"

/** A name that a spreadsheet would take for a formula begins with an apostrophe. */
const cell = (value: string | number | null): string => {
  const text = String(value ?? "")
  const plain = typeof value === "string" && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain
}

export const csvOf = (rows: ReadonlyArray<UsageRow>): string =>
  [
    ["key", "label", "request_count", "weighted_units"],
    ...rows.map(({ key, label, request_count, weighted_units }) => [key, label, request_count, weighted_units])
  ]
    .map((cells) => `${cells.map(cell).join(",")}\r\n`)
    .join("")
