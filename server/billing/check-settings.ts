/** Settings of invoices as a server checks them: texts with fields, the account, the address to pay at, the logo. */
import { Effect } from "effect"
import { attachments } from "../../core/attachments/schema.ts"
import { isBic, isIban, paymentLinkFault } from "../../core/billing/paper/pay.ts"
import { mail_fields } from "../../core/billing/paper/mail-text.ts"
import { isJsonObject, type JsonObject } from "../../core/kernel/json.ts"
import { Rejection } from "../../core/kernel/rejection.ts"
import { Store } from "../../core/kernel/store/store.ts"
import { unknownFields } from "../../core/print/texts.ts"
import type { ServerCall } from "../server-slice.ts"
import { serverContext } from "../server-context.ts"

type Errors = { [field: string]: ReadonlyArray<string> }

/** The settings a call would change, if it changes those of invoices. */
export const invoicingGiven = ({ endpoint, params, request }: ServerCall): JsonObject | undefined => {
  if (endpoint.name !== "settings.update" || params["group"] !== "invoicing" || !isJsonObject(request.body))
    return undefined
  const given = request.body["settings"]
  return isJsonObject(given) ? given : undefined
}

const textIn = (given: JsonObject, key: string): string => {
  const value = given[key]
  return typeof value === "string" ? value.trim() : ""
}

export const checkInvoicing = Effect.fnUntraced(function* (given: JsonObject) {
  const errors: Errors = {}
  const iban = textIn(given, "iban")
  if (iban !== "" && !isIban(iban))
    errors["iban"] = ["The iban field must be an IBAN: its two check digits do not fit the rest."]
  const bic = textIn(given, "bic")
  if (bic !== "" && !isBic(bic)) errors["bic"] = ["The bic field must have 8 or 11 signs, such as BYLADEM1001."]
  const link = textIn(given, "payment_link")
  const fault = link === "" ? undefined : paymentLinkFault(link)
  if (fault !== undefined) errors["payment_link"] = [`The payment_link field ${fault}`]
  const accent = textIn(given, "accent")
  if (accent !== "" && !/^#[0-9a-f]{6}$/.test(accent))
    errors["accent"] = ["The accent field must be a colour such as #1f4e79, in small letters."]
  yield* checkTexts(given, errors)
  yield* checkLogo(given, errors)
  if (Object.keys(errors).length === 0) return
  return yield* new Rejection({
    kind: "invalid",
    message: "The settings are invalid.",
    errors: {
      ...errors,
      ...Object.fromEntries(Object.entries(errors).map(([key, texts]) => [`settings.${key}`, texts]))
    }
  })
})

const checkTexts = Effect.fnUntraced(function* (given: JsonObject, errors: Errors) {
  const { renderer } = yield* serverContext
  for (const key of ["mail_subject", "mail_text"]) {
    const fragment = textIn(given, key)
    if (fragment === "") continue
    const found = yield* renderer.fieldsOf({ [key]: fragment }).pipe(
      Effect.catchTag("TextInvalid", ({ faults, message }) => {
        const [first] = faults
        errors[key] = [`The ${key} field cannot be read: ${first?.message ?? message}`]
        return Effect.succeed({ [key]: [] })
      }),
      // A busy server saves without the check; what cannot be filled later is replaced by the plain text.
      Effect.catch(() => Effect.succeed({ [key]: [] }))
    )
    const [unknown] = unknownFields(found[key] ?? [], mail_fields)
    if (unknown !== undefined)
      errors[key] = [`The ${key} field names ${unknown}, which there is not. There are: ${mail_fields.join(", ")}.`]
  }
})

const pictures = ["image/png", "image/jpeg", "image/svg+xml"]
const checkLogo = Effect.fnUntraced(function* (given: JsonObject, errors: Errors) {
  const id = given["logo_attachment_id"]
  if (typeof id !== "number" || !Number.isSafeInteger(id)) return
  const row = yield* (yield* Store).get(attachments, id)
  if (row === undefined || row.deleted_at !== null)
    errors["logo_attachment_id"] = ["The logo_attachment_id field must be the id of an attachment."]
  else if (!pictures.includes(row.mime_type))
    errors["logo_attachment_id"] = ["The attachment of the logo must be a PNG, JPEG or SVG picture."]
})
