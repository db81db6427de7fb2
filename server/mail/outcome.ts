/**
 * What a mail server's answer means: 4xx and everything about the connection may be otherwise later, 5xx stays. Wrong
 * passwords and certificates are ours to mend, so that the message waits for it.
 */
import { Option, Schema } from "effect"
import { printableLine } from "../../core/values/printable.ts"
import type { Refusal } from "./message.ts"

export type Outcome =
  | {
      readonly kind: "taken"
      readonly accepted: ReadonlyArray<string>
      readonly refused: ReadonlyArray<Refusal>
      readonly deferred: ReadonlyArray<Refusal>
      readonly response: string
    }
  /** For good. */
  | { readonly kind: "refused"; readonly refused: ReadonlyArray<Refusal>; readonly text: string }
  /** Some for good, the others are to be tried again. */
  | { readonly kind: "split"; readonly refused: ReadonlyArray<Refusal>; readonly deferred: ReadonlyArray<Refusal> }
  | { readonly kind: "later"; readonly text: string }

const optional = Schema.optional
const text = optional(Schema.Unknown)
const refusedRecipient = Schema.Struct({
  recipient: Schema.String,
  responseCode: optional(Schema.Unknown),
  response: text
})
const failure = Schema.Struct({
  message: text,
  code: text,
  response: text,
  responseCode: optional(Schema.Unknown),
  rejectedErrors: optional(Schema.Array(refusedRecipient))
})
const sent = Schema.Struct({
  accepted: Schema.Array(Schema.String),
  rejectedErrors: optional(Schema.Array(refusedRecipient)),
  response: text
})
const readFailure = Schema.decodeUnknownOption(failure)
const readSent = Schema.decodeUnknownOption(sent)

/** Of a message that the server took for one recipient or more. */
export const outcomeOfSent = (info: unknown): Outcome => {
  const read = readSent(info)
  if (Option.isNone(read)) return { kind: "later", text: "The mail server's answer was not understood." }
  const { accepted, rejectedErrors = [], response } = read.value
  return { kind: "taken", accepted, ...divided(rejectedErrors), response: shown(response) }
}

/** Of a message that the server took for nobody, or that never reached it. */
export const outcomeOfFailure = (error: unknown, recipients: ReadonlyArray<string>): Outcome => {
  const read = Option.getOrElse(readFailure(error), (): typeof failure.Type => ({ message: String(error) }))
  const code = codeOf(read.responseCode)
  const words = shown(read.response ?? read.message)
  const [about_connection] = connectionTexts.find(([, codes]) => codes.includes(String(read.code))) ?? []
  if (about_connection !== undefined || (code !== null && login_codes.has(code)))
    return { kind: "later", text: `${about_connection ?? "The mail server wants a login or encryption"}: ${words}` }
  const { refused, deferred } = divided(read.rejectedErrors ?? [])
  if (refused.length > 0 && deferred.length > 0) return { kind: "split", refused, deferred }
  if (refused.length > 0)
    return { kind: "refused", refused, text: `The mail server refused ${addressesIn(refused)}: ${words}` }
  if (deferred.length > 0) return { kind: "later", text: `The mail server deferred ${addressesIn(deferred)}: ${words}` }
  const is_final = code === null ? read.code === "EMESSAGE" || read.code === "EENVELOPE" : isFinal(code)
  return is_final
    ? {
        kind: "refused",
        refused: recipients.map((address) => ({ address, code, text: words })),
        text: `The mail server refused the message: ${words}`
      }
    : { kind: "later", text: `The mail server did not take the message: ${words}` }
}

/** What is wrong when it is not the message. */
const connectionTexts: ReadonlyArray<readonly [text: string, codes: ReadonlyArray<string>]> = [
  ["The mail server did not accept the user name and password", ["EAUTH", "ENOAUTH", "EOAUTH2"]],
  ["The connection to the mail server could not be encrypted", ["ETLS", "EREQUIRETLS"]],
  ["The mail server could not be found", ["EDNS"]],
  ["The mail server could not be reached", ["ECONNECTION", "ESOCKET"]],
  ["The mail server did not answer in time", ["ETIMEDOUT", "EABORT"]]
]
/** Authentication required, too weak or in the clear: the message itself is not refused. */
const login_codes: ReadonlySet<number> = new Set([530, 534, 535, 538])
/** 503 is about the order of commands: another connection may do. */
const isFinal = (code: number | null): boolean => code !== null && code >= 500 && code < 600 && code !== 503

const divided = (
  errors: ReadonlyArray<typeof refusedRecipient.Type>
): { readonly refused: ReadonlyArray<Refusal>; readonly deferred: ReadonlyArray<Refusal> } => {
  const all = errors.map(({ recipient, responseCode, response }): Refusal => ({
    address: recipient,
    code: codeOf(responseCode),
    text: shown(response)
  }))
  return { refused: all.filter(({ code }) => isFinal(code)), deferred: all.filter(({ code }) => !isFinal(code)) }
}
const addressesIn = (refusals: ReadonlyArray<Refusal>): string => refusals.map(({ address }) => address).join(", ")
const codeOf = (given: unknown): number | null => (Number.isInteger(given) ? Number(given) : null)
const shown = (given: unknown): string => (typeof given === "string" ? printableLine(given).slice(0, 500) : "")
