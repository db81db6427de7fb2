/** How printed documents look. Lengths are points unless said otherwise. */
export const points_per_mm = 72 / 25.4

export const sizes = { body: 9.5, small: 8, headings: { 1: 18, 2: 12.5, 3: 10.5 } } as const
export const colours = {
  text: "#1c2430",
  muted: "#5a6675",
  line: "#d5dae1",
  stripe: "#f4f6f8",
  group: "#e9edf2",
  accent: "#1d3f66",
  watermark: "#b3261e"
} as const

/** Around the text of a cell. */
export const cell_padding = { x: 4, y: 3.2 } as const

/** Width and height of a page in points. */
export const page_sizes = { A4: [595.28, 841.89], LETTER: [612, 792] } as const

/** Of a code within a table, in millimetres: low for many rows on a page, high enough for a hand-held scanner. */
export const cell_code = { qr: 13, code128: { width: 46, height: 7 }, gap: 1.2 } as const
