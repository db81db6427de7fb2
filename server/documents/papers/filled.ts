/** Documents with the texts that layouts give them, filled. */
import { Effect } from "effect"
import type { PreparedDocument } from "../../../core/documents/content/invoices.ts"
import type { PrintDocument } from "../../../core/pricing/print/blocks.ts"
import type { Renderer } from "../../print/renderer.ts"
import { serverContext } from "../../ports/server-context.ts"

type Filled = { readonly [place: string]: string }

/**
 * Texts filled. They were checked when they were saved; one that fails on these data all the same is left out, so that
 * its place says what it says without a text, and the document is made: it is wanted more than its introduction.
 */
const filledTexts = Effect.fnUntraced(function* (renderer: Pick<Renderer, "texts">, fragments: Filled, data: object) {
  if (Object.keys(fragments).length === 0) return {}
  return yield* renderer.texts(fragments, data).pipe(
    Effect.catchTag("TextInvalid", ({ faults }) => {
      const faulty = new Set(faults.map(({ name }) => name))
      const others = Object.entries(fragments).filter(([name]) => !faulty.has(name))
      return faulty.size === 0 || others.length === 0
        ? Effect.succeed<Filled>({})
        : renderer
            .texts(Object.fromEntries(others), data)
            .pipe(Effect.catchTag("TextInvalid", () => Effect.succeed<Filled>({})))
    })
  )
})

/** The document as blocks, with its texts. */
export const filledDocument = Effect.fnUntraced(function* (prepared: PreparedDocument) {
  const { renderer } = yield* serverContext
  return prepared.compose(yield* filledTexts(renderer, prepared.fragments, prepared.data)) satisfies PrintDocument
})

/** Subject and text of the mail that carries it. */
export const filledMail = Effect.fnUntraced(function* ({ data, mail }: PreparedDocument) {
  const { renderer } = yield* serverContext
  const fragments = Object.fromEntries(Object.entries(mail?.fragments ?? {}).filter(([, text]) => text.trim() !== ""))
  const filled: Filled = yield* filledTexts(renderer, fragments, data)
  return {
    subject: filled["mail_subject"]?.replace(/\s+/g, " ").trim() || (mail?.plain.subject ?? ""),
    text: filled["mail_text"]?.trim() ? filled["mail_text"] : (mail?.plain.text ?? "")
  }
})
