/** Requests of the smoke test, and checks of responses; the first unexpected one ends the test. */
import { isJsonObject, type Answer, type Json, type JsonObject, type Query } from "../../../../core/kernel/index.ts"
import { isRows } from "../../../base/answers.ts"

export type SmokeClient = (method: string, path: string, body?: Json, query?: Query) => Promise<Answer>

/** An unexpected response. */
export class SmokeFailure extends Error {}

/** Body of a response; throws unless it has the expected status. */
export const expectStatus = (answer: Answer, status: number): JsonObject => {
  if (answer.status !== status)
    throw new SmokeFailure(`expected ${status}, got ${answer.status} ${excerptOf(answer.body)}`)
  return isJsonObject(answer.body) ? answer.body : {}
}
/** Throws unless the response is an error with this status and field. */
export const expectRefusal = (answer: Answer, status: number, field?: string): void => {
  const body = expectStatus(answer, status)
  if (typeof body.message !== "string") throw new SmokeFailure(`the refusal has no message: ${excerptOf(body)}`)
  if (field !== undefined && !(isJsonObject(body.errors) && Object.hasOwn(body.errors, field)))
    throw new SmokeFailure(`the refusal does not name ${field}: ${excerptOf(body)}`)
}
export const expectValue = (what: string, value: Json | undefined, expected: Json): void => {
  if (JSON.stringify(value) !== JSON.stringify(expected))
    throw new SmokeFailure(`${what} is ${excerptOf(value)}, expected ${excerptOf(expected)}`)
}
export const one = (body: JsonObject, key: string): JsonObject => {
  const value = body[key]
  if (!isJsonObject(value)) throw new SmokeFailure(`the answer has no ${key}: ${excerptOf(body)}`)
  return value
}
export const many = (body: JsonObject, key: string): ReadonlyArray<JsonObject> => {
  const value = body[key]
  if (!isRows(value)) throw new SmokeFailure(`the answer has no ${key}: ${excerptOf(body)}`)
  return value
}
const excerptOf = (value: Json | undefined): string => {
  const text = JSON.stringify(value) ?? "nothing"
  return text.length > 300 ? `${text.slice(0, 300)}…` : text
}
