/** Events redacted for a reader: withheld values stay withheld when a person is erased. */
import { describe, expect, it } from "vitest"
import { catalogue } from "../../../core/catalogue.ts"
import { foldStored } from "../../../core/kernel/endpoints/endpoint.ts"
import type { StoredEvent } from "../../../core/kernel/events/event-type.ts"
import type { JsonObject } from "../../../core/kernel/fields/field.ts"
import { isWithheldIn, redacted_event, redactedEventData, scrubbed } from "../../../core/kernel/events/journal.ts"
import { insert, update } from "../../../core/kernel/tables/table.ts"
import { redactedValue } from "../../../core/kernel/tables/visibility.ts"
import { anonymous_name } from "../../../core/people/users/decide.ts"

const members = catalogue.table("members"),
  users = catalogue.table("users")
const scrub = { placeholders: { name: anonymous_name, email: "erased@invalid", description: null } }
const isWithheld = isWithheldIn(catalogue.tables)
/** The change after an erasure. */
const left = (change: Parameters<typeof redactedEventData>[1][number], ...rest: [typeof isWithheld] | []): JsonObject =>
  (scrubbed(redactedEventData("member.created", [change], undefined), scrub, ...rest)["changes"] as [JsonObject])[0]

describe("erasure in a partly visible event", () => {
  const withheld = { name: redactedValue(members, "name", 7), description: redactedValue(members, "description", 7) }

  it("removes data that the reader saw", () => {
    expect(left(insert(members, { id: 7, name: "Ada", description: "Tall" }), isWithheld)).toMatchObject({
      row: { id: 7, name: anonymous_name, description: null }
    })
    expect(left(update(members, 7, { name: "Ada" }), isWithheld)).toMatchObject({ set: { name: anonymous_name } })
  })
  it("leaves withheld data, but removes an equal-looking value on the server, which withholds nothing", () => {
    const row = { id: 7, ...withheld }
    expect(left(insert(members, row), isWithheld)).toMatchObject({ row })
    expect(left(update(members, 7, withheld), isWithheld)).toMatchObject({ set: withheld })
    // The server withholds nothing, so an equal-looking value is a user's own.
    expect(left(insert(members, row))).toMatchObject({ row: { name: anonymous_name } })
  })
  it("recognises a withheld unique value by the key of its row", () => {
    const email = redactedValue(users, "email", 7)
    expect(left(update(users, 7, { email: email as string }), isWithheld)).toMatchObject({ set: { email } })
    expect(left(update(users, 8, { email: email as string }), isWithheld)).toMatchObject({
      set: { email: scrub.placeholders.email }
    })
  })
  it("removes values of tables and columns that this release does not know", () => {
    const told = (change: JsonObject) => ({ of: "x", changes: [change] })
    for (const change of [
      { op: "update", table: "later_things", key: 7, set: { name: "" } },
      { op: "update", table: "stores", key: 7, set: { email: "" } }
    ])
      expect(scrubbed(told(change), scrub, isWithheld)).not.toEqual(told(change))
  })
  it("returns the event's data unchanged if there is nothing to remove", () => {
    const data = redactedEventData("member.created", [insert(members, { id: 7, ...withheld })], undefined)
    expect(scrubbed(data, scrub, isWithheld)).toBe(data)
  })
  it("leaves rows projected from withheld values unchanged", () => {
    const data = redactedEventData("member.created", [update(members, 7, withheld)], undefined)
    const folded = (of: JsonObject) => {
      const event: StoredEvent = {
        position: 1,
        stream: "member:7",
        version: 1,
        type: redacted_event,
        data: of,
        command_id: "c",
        actor_id: 1,
        replica_id: null,
        recorded_at: "2026-06-18T12:00:00.000Z"
      }
      return foldStored(catalogue, event, event)
    }
    expect(folded(scrubbed(data, scrub, isWithheld))).toEqual(folded(data))
    expect(folded(data)).toMatchObject([{ op: "update", key: 7, set: withheld }])
  })
})
