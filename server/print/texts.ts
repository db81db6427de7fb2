/**
 * Store-defined texts with fields in Liquid: `Dear {{ member.name }}`. They are untrusted programs, so they run in the
 * drawing threads only, within limits, and reach only their data.
 */
import { Liquid, type LiquidError, type Template } from "liquidjs"
import type { Answer, TextFault } from "./fonts.ts"

const text_bytes_max = 200_000
const limits = { parseLimit: 200_000, memoryLimit: 5_000_000, renderLimit: 500 } as const

const refused = (): never => {
  throw new Error("texts do not include files")
}
/** Creates an engine per task, so that nothing a text defines persists. */
const engine = (): Liquid => {
  const made = new Liquid({
    ...limits,
    ownPropertyOnly: true,
    strictFilters: true,
    // Empty fields render nothing; unknown names are found when the text is saved.
    strictVariables: false,
    dynamicPartials: false,
    relativeReference: false,
    timezoneOffset: 0,
    locale: "en-US",
    cache: false,
    fs: {
      readFile: refused,
      readFileSync: refused,
      exists: async () => false,
      existsSync: () => false,
      resolve: (_folder, file) => file,
      contains: async () => false,
      containsSync: () => false
    }
  })
  for (const tag of ["include", "render", "layout", "block"]) {
    made.registerTag(tag, {
      parse: () => {
        throw new Error(`texts have no {% ${tag} %}`)
      },
      render: refused
    })
  }
  return made
}

export const fillTexts = (fragments: { readonly [name: string]: string }, data: object): Answer =>
  eachText(
    fragments,
    (made, name, source) => {
      const text: unknown = made.renderSync(parsed(made, source), data)
      const filled = String(text)
      if (filled.length > text_bytes_max) throw new Error("the text becomes longer than 200,000 characters")
      return [name, filled] as const
    },
    (entries) => ({ kind: "texts", texts: Object.fromEntries(entries) })
  )

/** Fields used by each text, as paths: `lines.name` for `line.name` in a loop over lines. */
export const fieldsOfTexts = (fragments: { readonly [name: string]: string }): Answer =>
  eachText(
    fragments,
    (made, name, source) => [name, fieldsOf(made, parsed(made, source), source)] as const,
    (entries) => ({ kind: "fields", fields: Object.fromEntries(entries) })
  )

const parsed = (made: Liquid, source: string): Array<Template> => {
  if (source.length > text_bytes_max) throw new Error("the text is longer than 200,000 characters")
  return made.parse(source)
}

const eachText = <A>(
  fragments: { readonly [name: string]: string },
  read: (made: Liquid, name: string, source: string) => A,
  answer: (all: ReadonlyArray<A>) => Answer
): Answer => {
  const made = engine()
  const faults: Array<TextFault> = []
  const all = Object.entries(fragments).flatMap(([name, source]) => {
    try {
      return [read(made, name, source)]
    } catch (cause) {
      faults.push(faultOf(name, cause))
      return []
    }
  })
  const [first] = faults
  if (first === undefined) return answer(all)
  return { kind: "refused", message: faults.map(told).join(" "), faults }
}

const isLiquidError = (cause: unknown): cause is LiquidError =>
  cause instanceof Error && "token" in cause && typeof cause.token === "object" && cause.token !== null
const faultOf = (name: string, cause: unknown): TextFault => {
  if (!isLiquidError(cause)) {
    return { name, message: cause instanceof Error ? cause.message : String(cause), line: undefined, column: undefined }
  }
  const [line, column] = cause.token.getPosition()
  // Removes the position and excerpt from the library's message.
  const message = (cause.originalError?.message ?? cause.message).replace(/, line:.*$/s, "").split("\n")[0] ?? ""
  return { name, message, line, column }
}
const told = ({ line, message, name }: TextFault): string =>
  `${name}${line === undefined ? "" : `, line ${line}`}: ${message}.`

const loops = /\{%-?\s*(?:for|tablerow)\s+([\w-]+)\s+in\s+([\w.[\]-]+)/g
const fieldsOf = (made: Liquid, template: Array<Template>, source: string): ReadonlyArray<string> => {
  const locals = new Map(
    [...source.matchAll(loops)].map(([, name = "", of = ""]) => [name, of.replace(/\[\d*\]/g, "")])
  )
  const roots = new Set(made.globalVariablesSync(template))
  const path = (field: string): string | undefined => {
    const plain = field.replace(/\[\d+\]/g, "")
    const [root = "", ...rest] = plain.split(".")
    // An inner loop may reuse an outer loop's variable, so each is followed at most once.
    let of = locals.get(root)
    for (let step = 0; step < locals.size && of !== undefined; step++) {
      const [head = "", ...tail] = of.split(".")
      const outer = locals.get(head)
      if (outer === undefined) break
      of = [outer, ...tail].join(".")
    }
    if (of !== undefined) return [of, ...rest].join(".")
    return roots.has(root) ? plain : undefined
  }
  return [...new Set(made.fullVariablesSync(template).flatMap((field) => path(field) ?? []))].sort()
}
