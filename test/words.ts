/** The words of a text, told apart by spaces and line breaks. */
export const words = (text: string): Array<string> => text.trim().split(/\s+/)
/** The rows of a table drawn with bars, each cell trimmed. */
export const tableRows = (table: string): ReadonlyArray<ReadonlyArray<string>> =>
  table
    .trim()
    .split("\n")
    .map((row) => row.split("|").map((cell) => cell.trim()))
