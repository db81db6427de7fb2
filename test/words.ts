/** Words of a text, separated by spaces and line breaks. */
export const words = (text: string): Array<string> => text.trim().split(/\s+/)
/** Rows of a table drawn with bars, with trimmed cells. */
export const tableRows = (table: string): ReadonlyArray<ReadonlyArray<string>> =>
  table
    .trim()
    .split("\n")
    .map((row) => row.split("|").map((cell) => cell.trim()))
