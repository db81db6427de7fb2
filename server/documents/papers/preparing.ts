/** What prepares documents, where that is not what the house ships with: tests draw what they like. */
import { Context, Effect, Option } from "effect"
import { later } from "../../../core/kernel/fields/later.ts"

/** What documents say, by their type: loaded when the first one is drawn. */
export const contents = later(() => import("../../../core/documents/content/prepare.ts"))

export type Prepare = Effect.Success<typeof contents>["prepareDocument"]
export class DocumentPreparation extends Context.Service<DocumentPreparation, Prepare>()(
  "flightcase/DocumentPreparation"
) {}
export const preparation: Effect.Effect<Prepare> = Effect.flatMap(
  Effect.serviceOption(DocumentPreparation),
  Option.match({
    onNone: () => Effect.map(contents, ({ prepareDocument }) => prepareDocument),
    onSome: (prepare) => Effect.succeed(prepare)
  })
)
