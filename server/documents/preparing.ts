/** What prepares documents, where that is not what the house ships with: tests draw what they like. */
import { Context, Effect, Option } from "effect"
import { prepareDocument } from "../../core/documents/content/prepare.ts"

export type Prepare = typeof prepareDocument
export class DocumentPreparation extends Context.Service<DocumentPreparation, Prepare>()(
  "flightcase/DocumentPreparation"
) {}
export const preparation: Effect.Effect<Prepare> = Effect.map(
  Effect.serviceOption(DocumentPreparation),
  Option.getOrElse(() => prepareDocument)
)
