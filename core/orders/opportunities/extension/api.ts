/** Endpoints that extend a hire, or preview an extension (rules/opportunities 4.3). */
import { Effect } from "effect"
import { command, type DecideContext, type Endpoint, postQuery } from "../../../kernel/endpoints/endpoint.ts"
import { json, list, longText, text } from "../../../kernel/fields/field.ts"
import { later, withRules } from "../../../kernel/fields/later.ts"
import { ok, withMore } from "../../../kernel/endpoints/resource.ts"
import * as Shown from "../../../kernel/lists/answer-schema.ts"
import { edit, one, path, read } from "../tables/paths.ts"
import { opportunityShown, plainAnswer, warned, withParts } from "../state/resources.ts"
import { acknowledgements } from "../tables/lines.ts"
import { dateFields, extendedResult, extensionErrors, extensionShown, seenFields, type WhichLines } from "./plan.ts"

const extending = later(() => import("./facts.ts"))

const fields = {
  ...dateFields,
  lines: json<WhichLines>({
    form: "any",
    nullable: true,
    describe: "Lines to move: follow (those with the old dates; default), keep (none), or their ids"
  }),
  ...seenFields,
  reason: longText({ nullable: true, max: 1_000 })
}

const extend = command("POST", `${path}/{id}/extend`, {
  answer: { ...opportunityShown, extension: extensionShown },
  name: "opportunities.extend",
  summary: "Extend or shorten the hire, with its lines",
  ...edit,
  params: one,
  fields,
  seen: { was_starts_at: "starts_at", was_ends_at: "ends_at" },
  success_status: 200,
  check: extensionErrors,
  creates: [acknowledgements],
  facts: (input) => withRules(extending, ({ extensionFacts }) => extensionFacts(input.rows.id, input)),
  decide: ({ known, rules }, input, context) => rules.extendHire(known, input.values.reason ?? null, context),
  result: extendedResult,
  respond: ({ extension, id, warnings }, input) =>
    Effect.map(plainAnswer(id, input, withParts), (answer) => withMore(warned(answer, warnings), { extension }))
})

const preview = postQuery(`${path}/{id}/extend/preview`, {
  answer: { extension: extensionShown, meta: Shown.keys({ warnings: list(text()) }) },
  name: "opportunities.extend_preview",
  summary: "Preview an extension of the hire; writes nothing",
  ...read,
  params: one,
  fields,
  check: extensionErrors,
  run: (input) =>
    Effect.gen(function* () {
      const { extendHire, extensionFacts } = yield* extending
      let last = 0
      // Context for deciding without recording: ids are placeholders.
      const context: DecideContext = {
        now: input.now,
        happened_at: input.happened_at,
        viewer: input.viewer,
        settings: input.settings,
        id: () => --last,
        number: () => null
      }
      const facts = yield* extensionFacts(input.rows.id, input)
      const { result } = yield* Effect.fromResult(extendHire(facts, input.values.reason ?? null, context))
      return ok({ extension: result.extension, meta: { warnings: result.warnings } })
    })
})

export const extensionEndpoints: ReadonlyArray<Endpoint> = [extend, preview]
