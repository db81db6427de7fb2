/** What refusals hold, whatever the operation. */
import { Schema } from "effect"

const texts = Schema.Array(Schema.String).check(Schema.isMinLength(1))
const by_field = Schema.Record(Schema.String, texts)

export const errorSchemas = {
  Message: Schema.Struct({ message: Schema.String, errors: Schema.optionalKey(by_field) }).annotate({
    identifier: "Message",
    description: "Why not, in words"
  }),
  Invalid: Schema.Struct({
    message: Schema.String,
    errors: by_field.annotate({ description: "What is wrong by field, dotted with indexes (items.0.name)" })
  }).annotate({ identifier: "Invalid", description: "The first thing that is wrong, and all of them by field" }),
  AnswerRemoved: Schema.Struct({ message: Schema.String }).annotate({
    identifier: "AnswerRemoved",
    description:
      "Instead of an answer kept under an Idempotency-Key: the request was done, and the answer was removed together with personal data"
  })
}
