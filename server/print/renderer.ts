/**
 * Draws documents as PDF and fills texts with fields, in threads of its own: nothing else waits for it, and what never
 * ends is ended. Used by the server and, without one, by the command line.
 */
import { Data, Effect, Result, type Scope } from "effect"
import { type Block, type Picture, picturesOf, type PrintDocument } from "../../core/print/blocks.ts"
import { type PictureData, type Pictures, readPicture } from "../../core/print/picture.ts"
import type { Answer, StoreFont, Task, TextFault } from "./messages.ts"
import { type Ended, makePool, type Pool, type PoolOptions } from "./pool.ts"

export type { StoreFont, TextFault } from "./messages.ts"

/** The document or a font or picture of it cannot be drawn; trying again does not help. */
export class Undrawable extends Data.TaggedError("Undrawable")<{ readonly message: string }> {}
/** A text with fields is wrong; trying again does not help. */
export class TextInvalid extends Data.TaggedError("TextInvalid")<{
  readonly message: string
  readonly faults: ReadonlyArray<TextFault>
}> {}
/** Took longer than its limit and was stopped. */
export class DrawingTooLong extends Data.TaggedError("DrawingTooLong")<{
  readonly message: string
  readonly limit_millis: number
}> {}
/** Not now: too much waits, the server stops, or a thread broke. May be tried again. */
export class DrawingUnavailable extends Data.TaggedError("DrawingUnavailable")<{ readonly message: string }> {}

/** While somebody waits for the answer: 40 lines on 3 pages take a tenth of it. */
export const limit_millis = 5_000
/** For work in the background: 1,000 lines took 1.1 to 5.2 s, by how busy the machine was. */
export const background_limit_millis = 60_000

export interface DrawOptions {
  readonly fonts?: ReadonlyArray<StoreFont>
  /** The content of the pictures that the document names by hash. */
  readonly pictures?: Pictures
  readonly limit_millis?: number
  /** The invoice as CII, to be carried in a PDF/A-3b (Factur-X). No validator of PDF/A has judged it. */
  readonly carried_xml?: string
}
export interface Pdf {
  readonly bytes: Uint8Array
  readonly pages: number
}
export type DrawingFailure = Undrawable | DrawingTooLong | DrawingUnavailable
export type TextFailure = TextInvalid | DrawingTooLong | DrawingUnavailable

export interface Renderer {
  /** The same document, fonts and pictures give the same bytes. */
  readonly pdf: (document: PrintDocument, options?: DrawOptions) => Effect.Effect<Pdf, DrawingFailure>
  /** Fills the fields of texts, by name. All of them or none. */
  readonly texts: (
    fragments: { readonly [name: string]: string },
    data: object,
    options?: { readonly limit_millis?: number }
  ) => Effect.Effect<{ readonly [name: string]: string }, TextFailure>
  /** The fields each text names, without filling it: {@link unknownFields} tells which of them do not exist. */
  readonly fieldsOf: (fragments: {
    readonly [name: string]: string
  }) => Effect.Effect<{ readonly [name: string]: ReadonlyArray<string> }, TextFailure>
  readonly counts: Pool["counts"]
}

/** Starts nothing until it is asked; its threads end with the scope. */
export const makeRenderer = (options: PoolOptions = {}): Effect.Effect<Renderer, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => makePool(options)),
      (pool) => Effect.promise(() => pool.close())
    ),
    rendererOver
  )

const rendererOver = (pool: Pool): Renderer => ({
  pdf: (document, { carried_xml, fonts = [], limit_millis: limit = limit_millis, pictures = new Map() } = {}) =>
    Effect.gen(function* () {
      const read = yield* Effect.fromResult(readPictures(document, pictures))
      const task = { kind: "pdf", document, fonts, pictures: read } as const
      const answer = yield* run(pool, carried_xml === undefined ? task : { ...task, carried_xml }, limit)
      if (answer.kind === "pdf") return { bytes: answer.bytes, pages: answer.pages }
      return yield* new Undrawable({ message: reasonOf(answer) })
    }),
  texts: (fragments, data, { limit_millis: limit = limit_millis } = {}) =>
    Effect.flatMap(run(pool, { kind: "texts", fragments, data }, limit), (answer) =>
      answer.kind === "texts" ? Effect.succeed(answer.texts) : Effect.fail(invalid(answer))
    ),
  fieldsOf: (fragments) =>
    Effect.flatMap(run(pool, { kind: "fields", fragments }, limit_millis), (answer) =>
      answer.kind === "fields" ? Effect.succeed(answer.fields) : Effect.fail(invalid(answer))
    ),
  counts: () => pool.counts()
})

const reasonOf = (answer: Answer): string =>
  answer.kind === "refused" ? answer.message : "the drawing thread answered something else"
const invalid = (answer: Answer): TextInvalid =>
  new TextInvalid({ message: reasonOf(answer), faults: answer.kind === "refused" ? (answer.faults ?? []) : [] })

const run = (pool: Pool, task: Task, limit: number): Effect.Effect<Answer, DrawingTooLong | DrawingUnavailable> =>
  Effect.callback((resume) => {
    const giveUp = pool.run(task, limit, (how) => resume(outcome(how, limit)))
    return Effect.sync(giveUp)
  })
const outcome = (how: Ended, limit: number): Effect.Effect<Answer, DrawingTooLong | DrawingUnavailable> => {
  switch (how.kind) {
    case "answered":
      return Effect.succeed(how.answer)
    case "too_long":
      return Effect.fail(
        new DrawingTooLong({
          message: `This took longer than ${limit / 1_000} s and was stopped.`,
          limit_millis: limit
        })
      )
    case "busy":
      return Effect.fail(
        new DrawingUnavailable({ message: "Too many documents wait to be drawn; try again in a minute." })
      )
    case "closed":
      return Effect.fail(new DrawingUnavailable({ message: "The server stops; try again." }))
    case "broken":
      return Effect.fail(new DrawingUnavailable({ message: `Drawing broke off: ${how.message}.` }))
  }
}

/** Every picture of the document, checked: those named by hash from what is given, the others as they are. */
const readPictures = (
  document: PrintDocument,
  given: Pictures
): Result.Result<ReadonlyMap<string, PictureData>, Undrawable> => {
  const read = new Map<string, PictureData>()
  const contents = [
    ...picturesOf(document.blocks).map((sha256) => [sha256, given.get(sha256)] as const),
    ...embedded(document.blocks).map((base64) => [base64, Buffer.from(base64, "base64")] as const)
  ]
  for (const [key, bytes] of contents) {
    if (bytes === undefined) return Result.fail(new Undrawable({ message: `The picture ${key} is not given.` }))
    const picture = Result.mapError(readPicture(bytes), (message) => new Undrawable({ message }))
    if (Result.isFailure(picture)) return Result.fail(picture.failure)
    read.set(key, picture.success)
  }
  return Result.succeed(read)
}
const embedded = (blocks: ReadonlyArray<Block>): ReadonlyArray<string> => {
  const contentOf = (picture: Picture | undefined): ReadonlyArray<string> =>
    picture !== undefined && "base64" in picture ? [picture.base64] : []
  return blocks.flatMap((block) => {
    if (block.kind === "together") return embedded(block.blocks)
    if (block.kind === "columns") return block.columns.flatMap((part) => embedded(part.blocks))
    return contentOf(block.kind === "image" ? block.picture : block.kind === "signature" ? block.drawn : undefined)
  })
}
