/** What prepares documents, where that is not what the house ships with: tests draw what they like. */
import { Context, Effect } from "effect"
import { later } from "../../../core/kernel/fields/later.ts"

/** Content of documents, by type: loaded with the first drawing. */
export const contents = later(() => import("../../../core/documents/content/prepare.ts"))

export type Prepare = Effect.Success<typeof contents>["prepareDocument"]
export const DocumentPreparation = Context.Reference<Prepare | undefined>("flightcase/DocumentPreparation", {
  defaultValue: () => undefined
})
export const preparation: Effect.Effect<Prepare> = Effect.flatMap(DocumentPreparation, (prepare) =>
  prepare === undefined ? Effect.map(contents, ({ prepareDocument }) => prepareDocument) : Effect.succeed(prepare)
)
