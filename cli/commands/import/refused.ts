/** The rows an import refused, with the reason of each, in the form of the file they came from. */
import { appendFileSync, existsSync, writeFileSync } from "node:fs"
import { cellsFor } from "../../output/csv.ts"
import type { Source, SourceRow } from "./source.ts"

/** The column of the reasons; an import of the file passes over it. */
export const reason_column = "refused_because"

/** Writes refused rows as they come; `going_on`: behind those an interrupted import wrote. */
export const refusedRows = (
  file: string | undefined,
  { headers, separator, raw }: Source,
  going_on: boolean
): ((row: SourceRow, reasons: string) => void) | undefined => {
  if (file === undefined) return undefined
  const cells = cellsFor(raw)
  const line = (values: ReadonlyArray<string>): string =>
    `${values
      .map((value) => (/["\r\n]/.test(value) || value.includes(separator) ? `"${value.replaceAll('"', '""')}"` : value))
      .join(separator)}\n`
  const columns = headers?.filter((header) => header !== "" && header !== reason_column)
  if (!going_on || !existsSync(file))
    writeFileSync(file, columns === undefined ? "" : line([...columns, reason_column]))
  return ({ cells: row, broken_text }, reasons) =>
    appendFileSync(
      file,
      columns === undefined
        ? `${JSON.stringify({ ...row, [reason_column]: reasons })}\n`
        : broken_text === undefined
          ? line([...columns.map((column) => cells.of(row[column])), cells.of(reasons)])
          : `${broken_text}${separator}${line([reasons])}`
    )
}
