/** The words of notifications, whose sentences are loaded when the first is shown. */
import { Effect } from "effect"

type WordsFor = typeof import("./texts.ts").wordsFor

export const wordsFor: WordsFor = (rows, settings) =>
  Effect.flatMap(
    Effect.promise(() => import("./texts.ts")),
    (texts) => texts.wordsFor(rows, settings)
  )
