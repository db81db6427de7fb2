/** Figures as block characters: a line for a series of days, a bar for a share. */

const heights = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"]
const nothing = "·"
/** A block for each figure, the highest of them as high as a line; a dot for none. */
export const sparkline = (figures: ReadonlyArray<number>): string => {
  const most = Math.max(0, ...figures)
  return figures
    .map((figure) => (figure <= 0 ? nothing : (heights[Math.ceil((figure / most) * heights.length) - 1] ?? nothing)))
    .join("")
}
/** So many figures in no more than so many: neighbours are added up, the same number of them each time. */
export const gathered = (figures: ReadonlyArray<number>, most: number): ReadonlyArray<number> => {
  const each = Math.max(1, Math.ceil(figures.length / Math.max(1, most)))
  return Array.from({ length: Math.ceil(figures.length / each) }, (_, at) =>
    figures.slice(at * each, (at + 1) * each).reduce((sum, figure) => sum + figure, 0)
  )
}

const eighths = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"]
/** A bar of a share from 0 to 1, to an eighth of a column; what there is is never shown as nothing. */
export const shareBar = (share: number, width: number): string => {
  if (!(share > 0)) return ""
  const parts = Math.max(1, Math.round(Math.min(1, share) * width * eighths.length))
  return "█".repeat(Math.floor(parts / eighths.length)) + (eighths[parts % eighths.length] ?? "")
}
