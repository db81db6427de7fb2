/** What the sync endpoints answer with: the interfaces of the same names (wire.ts, snapshot.ts), as the description tells them. */
import { boolean, choice, integer, json, list, text, timestamp } from "../../core/kernel/field.ts"
import * as Shown from "../../core/kernel/answer-schema.ts"

export const leaseShown = Shown.objects({ entity: text(), from: integer(), to: integer() })
const errorShown = Shown.keys({
  status: integer(),
  message: text(),
  errors: Shown.optional(Shown.map(list(text()))),
  cause: Shown.optional(text())
})
const verdict_statuses = choice({ accepted: "Accepted", rejected: "Rejected" })
export const verdictsShown = Shown.objects({
  id: text(),
  status: verdict_statuses,
  position: Shown.optional(integer()),
  error: Shown.optional(errorShown)
})
export const serverShown = Shown.keys({
  schema_version: integer(),
  client_schema_min: integer(),
  public_key: text({ nullable: true })
})

/** An event of the journal. */
export const eventShown = Shown.keys({
  position: integer(),
  stream: text(),
  version: integer(),
  type: text(),
  data: json(),
  command_id: text(),
  actor_id: integer({ nullable: true }),
  replica_id: integer({ nullable: true }),
  recorded_at: timestamp()
})
export const planShown = Shown.keys({
  handle: text(),
  position: integer(),
  offset: text(),
  rows: integer(),
  last_n: integer(),
  decided: Shown.objects({ n: integer(), id: text(), status: verdict_statuses, error: Shown.optional(errorShown) }),
  leases: leaseShown,
  erased: Shown.optional(
    Shown.objects({ streams: list(text()), placeholders: json(), kept: Shown.optional(Shown.map(list(text()))) })
  )
})
export const rowsShown = Shown.keys({
  position: integer(),
  offset: text(),
  events: Shown.list(eventShown),
  sections: Shown.objects({
    table: text(),
    columns: list(text()),
    rows: Shown.list(Shown.list(Shown.anything())),
    done: boolean()
  }),
  next: text({ nullable: true })
})
export const checksumsShown = Shown.keys({
  position: integer(),
  sums: Shown.objects({
    table: text(),
    after: text(),
    through: text({ nullable: true }),
    rows: integer(),
    digest: text()
  }),
  next: text({ nullable: true })
})
/** A sealed bundle: whoever it is for reads its body by its kind. */
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
