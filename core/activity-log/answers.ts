/** An entry of the action log and of an opportunity's activity (rules/conventions 12). */
import { integer, text, timestamp } from "../kernel/field.ts"
import * as Shown from "../kernel/answer-schema.ts"

const values = Shown.map(Shown.anything(), { nullable: true })
export const auditShown = {
  id: integer(),
  user_id: integer({ nullable: true }),
  user_name: text({ nullable: true }),
  action: text({ describe: "The type of the event" }),
  auditable_type: text(),
  auditable_id: Shown.either(integer(), text()),
  old_values: values,
  new_values: values,
  ip_address: Shown.nothing("The journal keeps no addresses of people's machines"),
  created_at: timestamp()
}
export type AuditEntry = Shown.KeysShown<typeof auditShown>
