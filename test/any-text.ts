/** A company whose text fields all hold difficult text: line ends, direction marks, terminal control characters. */
import { catalogue } from "../core/catalogue.ts"
import { match } from "../core/kernel/runtime/engine.ts"
import type { Endpoint, Request } from "../core/kernel/endpoints/endpoint.ts"
import { type Field, type Fields, isJsonObject, type Json, type JsonObject } from "../core/kernel/fields/field.ts"
import { Rejection } from "../core/kernel/fields/rejection.ts"
import { plays_everything } from "./app.ts"
import { seed_data } from "./sim/seed-data.ts"
import type { Answer } from "./rental-house.ts"
import type { Body } from "./answers.ts"

/**
 * U+0085, U+2028 and U+2029 end lines for some readers; U+202E and U+2066 change the direction of text; then ESC, CSI,
 * OSC with its end, BEL, CR.
 */
export const odd_text = "\u0085a\u2028b\u2029c\u202ed\u2066e\u2069\u001b[31mf\u009b2Jg\u001b]0;h\u0007\u0090i\ry"
/** Characters that databases or well-formed UTF-8 cannot hold. */
export const broken_texts: ReadonlyArray<string> = ["a\u0000b", "a\ud800b", "\udc00"]

const isPlainText = ({ type }: Field): boolean =>
  type.kind === "text" && type.format === undefined && type.length === undefined
/** Top-level text fields of a body, by name. */
const textFieldsOf = (endpoint: Endpoint): ReadonlyArray<string> =>
  Object.entries(endpoint.fields as Fields)
    .filter(([, field]) => !field.computed && isPlainText(field))
    .map(([name]) => name)
const maxOf = (field: Field | undefined): number => (field?.type.kind === "text" ? field.type.max : 0)

export interface Said {
  readonly endpoint: string
  readonly field: string
  readonly text: string
}
export type AskAny = (request: Request) => Promise<Answer>

/**
 * Creates the sample data with unusual texts. Texts a rule restricts (a preset, a module) are refused by name and kept
 * as in the sample. Returns all accepted texts.
 */
export const furnishOddly = async (
  ask: AskAny,
  broken?: (endpoint: Endpoint, field: string, status: number, body: Body) => void
): Promise<ReadonlyArray<Said>> => {
  const said: Array<Said> = []
  // In the short run the texts are distributed over the fields.
  let turn = 0
  for (const [at, request] of seed_data.entries()) {
    const found = match(catalogue, request.method, request.path)
    if (found instanceof Rejection || !isJsonObject(request.body))
      throw new Error(`no endpoint for ${request.method} ${request.path}`)
    const { endpoint } = found
    const plain = request.body
    const fields = textFieldsOf(endpoint)
    if (broken !== undefined) {
      for (const field of fields) {
        for (const text of plays_everything ? broken_texts : [broken_texts[turn++ % broken_texts.length]!]) {
          const { status, body } = await ask({ ...request, body: { ...plain, [field]: text } })
          broken(endpoint, field, status, body)
        }
      }
    }
    const oddly: { [field: string]: Json } = {}
    for (const field of fields)
      oddly[field] = `${typeof plain[field] === "string" ? plain[field] : `${field} ${at}`} ${odd_text}`
        .slice(0, maxOf((endpoint.fields as Fields)[field]))
        .trim()
    let answer = await ask({ ...request, body: { ...plain, ...oddly } })
    for (let tries = 0; answer.status === 422 && tries < 5 && Object.keys(oddly).length > 0; tries++) {
      const named = Object.keys((answer.body as { readonly errors?: JsonObject }).errors ?? {}).map(
        (path) => path.split(".")[0]!
      )
      for (const field of named.some((name) => name in oddly) ? named : Object.keys(oddly)) delete oddly[field]
      answer = await ask({ ...request, body: { ...plain, ...oddly } })
    }
    if (answer.status >= 500)
      throw new Error(`${request.method} ${request.path} answered ${answer.status}: ${JSON.stringify(answer.body)}`)
    if (answer.status < 400)
      for (const [field, text] of Object.entries(oddly))
        said.push({ endpoint: endpoint.name, field, text: String(text) })
  }
  return said
}
