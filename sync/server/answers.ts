/** What the sync endpoints answer with: the Schemas of sync/protocol, and what is only described. */
import { choice, integer, json, list, text, timestamp } from "../../core/kernel/field.ts"
import * as Shown from "../../core/kernel/answer-schema.ts"

/** A signed bundle: whoever it is for reads its body by its kind. */
export const bundleShown = Shown.keys({
  flightcase_bundle: integer(),
  kind: text(),
  made_at: timestamp(),
  key: text(),
  body: json(),
  signature: text()
})

const control = Shown.keys({ headers: Shown.map(text()) })
/** Messages of Electric's shape protocol: rows of the journal as texts, and what controls the reader. */
export const messagesShown = Shown.list(
  Shown.either(
    control,
    Shown.keys({
      key: text(),
      value: Shown.map(text({ nullable: true })),
      headers: Shown.keys({
        operation: choice({ insert: "Insert" }),
        relation: list(text()),
        lsn: text(),
        op_position: integer()
      })
    })
  )
)
export const mustRefetchShown = Shown.list(control)

export const private_says = {
  Vary: "Answers differ by who asks",
  "Access-Control-Expose-Headers": "Every header may be read by pages"
}
export const shape_says = {
  ...private_says,
  "Electric-Handle": "Names the shape as its reader sees it",
  "Electric-Offset": "How far this answer goes",
  "Electric-Cursor": "Keeps caches apart while following live",
  "Electric-Schema": "Columns of the journal",
  "Electric-Up-To-Date": "There is no more for now"
}
