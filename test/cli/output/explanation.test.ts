/** Explanations on a terminal and in a pipe. */
import { describe, expect, it } from "vitest"
import { explanationText, wrapped } from "../../../cli/output/explanation.ts"

const terminal = { is_tty: true, progress: false, colour: false, columns: 30 }
const step = (figure: string, words: string) => ({ figure, rule: "sum", from: null, to: "1.00", words })

describe("an explanation", () => {
  it("is wrapped between words to the terminal's width, under one heading for each figure", () => {
    expect(
      explanationText(
        [
          step("tax_total", "Tax of 20% on 100.00 net comes to 20.00, once."),
          step("tax_total", "Kept."),
          step("total", "Sum.")
        ],
        terminal
      )
    ).toBe("tax_total\n  Tax of 20% on 100.00 net\n  comes to 20.00, once.\n  Kept.\ntotal\n  Sum.\n")
  })
  it("is at most 120 columns wide, however wide the terminal is", () => {
    const lines = explanationText([step("total", "word ".repeat(100))], { ...terminal, columns: 400 })
      .split("\n")
      .slice(1, -1)
    expect(Math.max(...lines.map((line) => line.length))).toBe(2 + 118 - 4)
    expect(lines.map((line) => line.trim()).join(" ")).toBe("word ".repeat(100).trim())
  })
  it("measures display width, not characters, and does not split a word that is too wide", () => {
    expect(wrapped("照明 照明 照明", 9)).toEqual(["照明 照明", "照明"])
    expect(wrapped("a incomprehensibilities b", 10)).toEqual(["a", "incomprehensibilities", "b"])
    expect(wrapped("", 10)).toEqual([""])
  })
  it("replaces escape characters and line breaks in names", () => {
    expect(explanationText([step("total", "\u001b[2JGala\nnight")], terminal)).toBe("total\n  \ufffd[2JGala night\n")
  })
  it("keeps a step of a hundred words on one line in a pipe", () => {
    const text = explanationText([step("total", "word ".repeat(100).trim())], { ...terminal, is_tty: false })
    expect(text.trimEnd().split("\n").at(-1)).toContain("word ".repeat(100).trim())
  })
})
