/**
 * A signature drawn on a page: strokes, as pairs of integers on a board. Other data from the browser is dropped, so
 * that drawing it later draws lines and runs nothing.
 */
export const board = { width: 600, height: 180 } as const
const signature_chars_max = 100_000

/** Validates the strokes of a drawing, `M12 30L13 31L15 35M…` within the board; undefined if invalid. */
export const strokesIn = (given: string): string | undefined => {
  if (given.length > signature_chars_max || !/^(M\d{1,3} \d{1,3}(L\d{1,3} \d{1,3})*)+$/.test(given)) return undefined
  const inside = [...given.matchAll(/(\d+) (\d+)/g)].every(
    ([, x, y]) => Number(x) <= board.width && Number(y) <= board.height
  )
  return inside ? given : undefined
}
const pen = 'fill="none" stroke="#1c2430" stroke-width="3" stroke-linecap="round" stroke-linejoin="round"'
const { height, width } = board
/** The strokes as an SVG image. */
export const signatureSvg = (strokes: string): string =>
  `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">` +
  `<path d="${strokes}" ${pen}/></svg>`
