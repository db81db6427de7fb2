/** Messages about a CSV's cells. */
/** The note about cells that got an apostrophe. */
export const guardText = (led: number): string =>
  `${led} ${led === 1 ? "cell that a spreadsheet would run as a formula begins" : "cells that a spreadsheet would run as formulas begin"} with ' in the CSV; --raw writes ${led === 1 ? "it as it is" : "them as they are"}.`
