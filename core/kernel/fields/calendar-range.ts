/**
 * The days that dates of the trade may have: databases hold none before year 1 or after 9999, and the days around one
 * are looked at as well. Instants end with 2199 (`parseTimestamp`).
 */
import type { JsonObject } from "./json.ts"
import type { FieldErrors } from "./rejection.ts"

export const first_day = "1900-01-01"
export const last_day = "9998-12-31"

/** Errors for instants of these fields that are outside the calendar's range, such as those of year 1. */
export const calendarErrors = (sent: JsonObject, fields: ReadonlyArray<string>): FieldErrors =>
  Object.fromEntries(
    fields.flatMap((field) => {
      const instant = sent[field]
      return typeof instant === "string" && instant < first_day
        ? [[field, [`The ${field.replaceAll("_", " ")} field must be a time from ${first_day} on.`]] as const]
        : []
    })
  )
