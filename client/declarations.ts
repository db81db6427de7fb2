/**
 * Writes the API's part of `flightcase/client` from the OpenAPI description: the types of each call, and the table of
 * calls that `runtime.ts` reads. Equal shapes are written once, to keep the package small.
 */

interface Schema {
  readonly $ref?: string
  readonly type?: string | ReadonlyArray<string>
  readonly enum?: ReadonlyArray<unknown>
  readonly properties?: { readonly [name: string]: Schema }
  readonly required?: ReadonlyArray<string>
  readonly items?: Schema
  readonly additionalProperties?: boolean | Schema
  readonly anyOf?: ReadonlyArray<Schema>
  readonly format?: string
  readonly pattern?: string
}
interface Content {
  readonly content?: { readonly [type: string]: { readonly schema: Schema } }
}
interface Parameter {
  readonly $ref?: string
  readonly name: string
  readonly in: string
  readonly required?: boolean
  readonly description?: string
  readonly schema: Schema
}
interface Described {
  readonly operationId: string
  readonly summary: string
  readonly parameters: ReadonlyArray<Parameter>
  readonly requestBody?: Content
  readonly responses: { readonly [status: string]: Content }
}
export interface Description {
  readonly paths: { readonly [path: string]: { readonly [method: string]: Described } }
  readonly components: { readonly schemas: { readonly [name: string]: Schema } }
}
interface Operation extends Described {
  readonly method: string
  readonly path: string
  readonly words: ReadonlyArray<string>
}

const prefix = "/api/v1"
/** Verbs whose summary says no more than their name. */
const plain_verbs: ReadonlySet<string> = new Set(["list", "show", "create", "update", "delete"])
/** Types of the data of a stream's events, which OpenAPI does not describe, by operation. */
const stream_events: { readonly [operation: string]: string } = { "notifications.stream": "Notification" }

const camel = (name: string): string => name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
const pascal = (name: string): string => camel(`_${name.replaceAll(/\W/g, "_")}`)
const quoted = (values: ReadonlyArray<unknown>): string => values.map((value) => JSON.stringify(value)).join(" | ")
const key = (name: string): string => (/^[a-z_]\w*$/i.test(name) ? name : JSON.stringify(name))
const union = (types: ReadonlyArray<string>): string => [...new Set(types)].join(" | ") || "Json"
const nameIn = (ref: string): string => ref.slice(ref.lastIndexOf("/") + 1)

/** Operations below /api/v1, without those for devices (sync), for restoring a server and for incoming webhooks. */
const operationsIn = ({ paths }: Description): ReadonlyArray<Operation> =>
  Object.entries(paths).flatMap(([path, methods]) =>
    !path.startsWith(`${prefix}/`) || /^\/api\/v1\/(sync|system\/restore)\b/.test(path)
      ? []
      : Object.entries(methods).flatMap(([method, described]) =>
          described.operationId === "inbound_sources.receive"
            ? []
            : [
                {
                  ...described,
                  method: method.toUpperCase(),
                  path: path.slice(prefix.length),
                  words: described.operationId.split(".").map(camel)
                }
              ]
        )
  )
const queryOf = ({ parameters }: Described): ReadonlyArray<Parameter> => parameters.filter((one) => one.in === "query")
const answerOf = ({ responses }: Described): { readonly type: string; readonly schema: Schema } | undefined => {
  const [, good] = Object.entries(responses).find(([status]) => status.startsWith("2")) ?? []
  const [first] = Object.entries(good?.content ?? {})
  return first === undefined ? undefined : { type: first[0], schema: first[1].schema }
}
const bodyOf = ({ requestBody }: Described): Schema | undefined => {
  const [schema] = Object.values(requestBody?.content ?? {}).map((one) => one.schema)
  return Object.keys(schema?.properties ?? {}).length === 0 ? undefined : schema
}
const isPage = (operation: Described): boolean => queryOf(operation).some(({ name }) => name === "per_page")

/** A line for each call: name, method, path, and marks: q query, b body, p page, f file, s stream. */
export const operationTable = (description: Description): string =>
  operationsIn(description)
    .map((operation) => {
      const answer = answerOf(operation)?.type
      const input = operation.method === "GET" ? queryOf(operation).length > 0 && "q" : bodyOf(operation) && "b"
      const answers =
        answer === "text/event-stream"
          ? "s"
          : answer !== undefined && answer !== "application/json"
            ? "f"
            : isPage(operation) && "p"
      return `${operation.words.join(".")} ${operation.method} ${operation.path} ${input || ""}${answers || ""}`.trim()
    })
    .join("\n")

/** The text without spaces around signs; those in quotes and comments stay. */
const compact = (text: string): string =>
  text
    .split("\n")
    .map((line) =>
      line.startsWith("/**")
        ? line
        : line.replace(
            /("(?:[^"\\]|\\.)*")|\s*([{};:|&<>,?()=]+)\s*/g,
            (_, quote: string | undefined, sign: string) => quote ?? sign
          )
    )
    .join("\n")

const types_of_formats: { readonly [format: string]: string } = {
  "date-time": "Timestamp",
  date: "PlainDate",
  binary: "FilePart"
}
/** The declaration of `Client`, and of the types it names. */
export const declarationsOf = (description: Description): string => {
  const operations = operationsIn(description)
  const { schemas } = description.components
  const written = new Map<string, string>()
  const declare = (name: string, text: string): string => {
    written.set(name, text)
    return name
  }
  const free = (name: string): string => {
    for (let number = 1; ; number++) {
      const one = number === 1 ? name : `${name}${number}`
      if (!written.has(one) && schemas[one] === undefined) return one
    }
  }

  // How often each shape stands in the description, as its full text.
  const texts = new WeakMap<Schema, string>()
  const uses = new Map<string, number>()
  const names = new Map<string, string>()
  const fullText = (schema: Schema): string => {
    const known = texts.get(schema)
    if (known !== undefined) return known
    const text = textOf(schema, fullText)
    texts.set(schema, text)
    return text
  }
  const count = (schema: Schema): void => {
    if (schema.properties !== undefined) uses.set(fullText(schema), (uses.get(fullText(schema)) ?? 0) + 1)
    for (const inner of [
      ...Object.values(schema.properties ?? {}),
      ...(schema.anyOf ?? []),
      ...(schema.items ? [schema.items] : [])
    ])
      count(inner)
  }

  /** The type of a value. `inner` gives the types within it. */
  const textOf = (schema: Schema, inner: (schema: Schema, hint: string) => string, hint = ""): string => {
    if (schema.$ref !== undefined) return nameIn(schema.$ref)
    if (schema.enum !== undefined) return quoted(schema.enum)
    if (schema.anyOf !== undefined) {
      const parts = schema.anyOf.map((one) => inner(one, hint))
      const other = parts.filter((one) => one !== "null")
      const main = other.includes("Timestamp")
        ? "Timestamp"
        : other.includes("number") && other.includes("string")
          ? "Amount"
          : union(other)
      return union([main, ...parts.filter((one) => one === "null")])
    }
    const types = [schema.type ?? []].flat()
    if (types.length === 0 || types.length > 4) return "Json"
    return union(types.map((type) => simpleText(schema, type, inner, hint)))
  }
  const simpleText = (
    schema: Schema,
    type: string,
    inner: (schema: Schema, hint: string) => string,
    hint: string
  ): string => {
    switch (type) {
      case "string":
        return types_of_formats[schema.format ?? ""] ?? (schema.pattern?.startsWith("^-?\\d+(") ? "Decimal" : "string")
      case "integer":
        return "number"
      case "array": {
        const one = inner(schema.items ?? {}, hint)
        return / \| /.test(one) ? `(${one})[]` : `${one}[]`
      }
      case "object":
        return schema.properties === undefined
          ? `Record<string, ${typeof schema.additionalProperties === "object" ? inner(schema.additionalProperties, hint) : "Json"}>`
          : fieldsText(schema, inner, hint)
      default:
        return type
    }
  }
  const fieldsText = (
    { properties = {}, required = [] }: Schema,
    inner: (schema: Schema, hint: string) => string,
    hint: string
  ): string =>
    `{ ${Object.entries(properties)
      .map(([name, one]) => `${key(name)}${required.includes(name) ? "" : "?"}: ${inner(one, hint + pascal(name))}`)
      .join("; ")} }`
  /** The type of a value; shapes that stand in several places have a name. */
  const typeOf = (schema: Schema, hint: string): string => {
    if (schema.$ref !== undefined) return component(nameIn(schema.$ref))
    const full = schema.properties === undefined ? "" : fullText(schema)
    if (full.length < 60 || (uses.get(full) ?? 0) < 2) return textOf(schema, typeOf, hint)
    const known = names.get(full)
    if (known !== undefined) return known
    const name = free(hint)
    names.set(full, name)
    return declare(name, textOf(schema, typeOf, name))
  }
  const component = (name: string): string => {
    if (name !== "Json" && !written.has(name)) {
      written.set(name, "")
      declare(name, textOf(schemas[name] ?? {}, typeOf, name))
    }
    return name
  }

  /** First body of each resource, by the resource's name: later ones are written as differences from it. */
  const bodies = new Map<string, { readonly name: string; readonly fields: ReadonlyMap<string, string> }>()
  const bodyText = (operation: Operation, schema: Schema): string => {
    const { properties = {}, required = [] } = schema
    const [resource = "", verb = ""] = [operation.words.slice(0, -1).join("_"), operation.words.at(-1)]
    const hint = pascal(`${resource}_${verb}`)
    const fields = new Map(
      Object.entries(properties).map(([name, one]) => [name, asInput(typeOf(one, hint + pascal(name)))])
    )
    const text = textOfFields(fields)
    if (fields.size < 4) return textOfFields(fields, required)
    const known =
      names.get(text) ?? (bodies.has(resource) ? differenceOf(bodies.get(resource)!, fields, text) : undefined)
    const name = known ?? declare(free(`${hint}Body`), text)
    names.set(text, name)
    if (!bodies.has(resource)) bodies.set(resource, { name, fields })
    return required.length === 0 ? name : `Need<${name}, ${quoted(required)}>`
  }
  const asInput = (type: string): string =>
    type.replaceAll("Timestamp", "Instant").replace(/(.*)\[\]$/s, "readonly $1[]")
  const textOfFields = (fields: ReadonlyMap<string, string>, required: ReadonlyArray<string> = []): string =>
    `{ ${[...fields].map(([name, type]) => `${key(name)}${required.includes(name) ? "" : "?"}: ${type}`).join("; ")} }`
  const differenceOf = (
    other: { readonly name: string; readonly fields: ReadonlyMap<string, string> },
    fields: ReadonlyMap<string, string>,
    text: string
  ): string | undefined => {
    const without = [...other.fields.keys()].filter((name) => fields.get(name) !== other.fields.get(name))
    const more = new Map([...fields].filter(([name, type]) => other.fields.get(name) !== type))
    const base = without.length === 0 ? other.name : `Omit<${other.name}, ${quoted(without)}>`
    const difference = more.size === 0 ? base : `${base} & ${textOfFields(more)}`
    return difference.length < text.length ? difference : undefined
  }

  /** The shortest exact way to name some keys, by those of a row where it has most of them. */
  const keysText = (wanted: ReadonlyArray<string>, row: string | undefined): string => {
    const plain = quoted(wanted)
    const columns = Object.keys(schemas[row ?? ""]?.properties ?? {})
    const without = columns.filter((name) => !wanted.includes(name))
    const keys = without.length === 0 ? `keyof ${row}` : `Exclude<keyof ${row}, ${quoted(without)}>`
    const more = wanted.filter((name) => !columns.includes(name))
    const by_row = more.length === 0 ? keys : `${keys} | ${quoted(more)}`
    return columns.length > 0 && by_row.length < plain.length ? by_row : plain || "never"
  }
  const parameterText = (operation: Operation, { name, required, schema }: Parameter): string => {
    const type = typeOf(schema, pascal(`${operation.operationId}_${name}`))
    const taken = asInput(type).replace(/^readonly (.*)\[\]$/s, "OneOrMore<$1>")
    return `${name}${required === true ? "" : "?"}: ${taken}`
  }
  const includesIn = (parameters: ReadonlyArray<Parameter>): ReadonlyArray<string> =>
    /^Comma-separated: (.*)$/
      .exec(parameters.find(({ name }) => name === "include")?.description ?? "")?.[1]
      ?.split(", ") ?? []
  const queryText = (operation: Operation): string => {
    const parameters = queryOf(operation)
    const includes = includesIn(parameters)
    const rest = parameters.filter(({ name }) => !(name === "include" && includes.length > 0))
    const textOfRest = (skipped: ReadonlyArray<string>): ReadonlyArray<string> =>
      rest.filter(({ name }) => !skipped.includes(name)).map((one) => parameterText(operation, one))
    const q = parameters.find(({ name }) => name === "q")
    const [, fields] = /Fields: (.*?)(?:, cf\.<custom field>)?\. Predicates: /.exec(q?.description ?? "") ?? []
    if (fields === undefined) {
      const include = includes.length === 0 ? [] : [`include?: OneOrMore<${quoted(includes)}>`]
      return `{ ${[...textOfRest([]), ...include].join("; ")} }`
    }
    const sorts = (parameters.find(({ name }) => name === "sort")?.schema.enum ?? []).filter(
      (one) => !String(one).startsWith("-")
    )
    const row = rowOf(operation)
    const include = includes.length === 0 ? "" : `, ${quoted(includes)}`
    const list = `ListQuery<${keysText(fields.split(", "), row)}, ${keysText(sorts.map(String), row)}${include}>`
    const more = textOfRest(["page", "per_page", "sort", "view_id", "q"])
    return more.length === 0 ? list : `${list} & { ${more.join("; ")} }`
  }
  /** The component whose rows a list gives. */
  const rowOf = (operation: Operation): string | undefined => {
    const items = Object.values(answerOf(operation)?.schema.properties ?? {}).find(
      (one) => one.items !== undefined
    )?.items
    return items?.$ref === undefined ? undefined : nameIn(items.$ref)
  }

  const answerText = (operation: Operation): string => {
    const answer = answerOf(operation)
    const hint = pascal(operation.words.join("_"))
    if (answer === undefined) return "Promise<void>"
    if (answer.type === "text/event-stream")
      return `AsyncIterable<StreamEvent<${stream_events[operation.operationId] ?? "Json"}>>`
    if (answer.type !== "application/json") return "Promise<FileAnswer>"
    const type = typeOf(answer.schema, hint)
    if (!isPage(operation))
      return type.endsWith("; meta?: Ignored }")
        ? `Answer<${type.replace("; meta?: Ignored", "")}>`
        : `Promise<${type}>`
    const items = Object.values(answer.schema.properties ?? {}).find((one) => one.items !== undefined)?.items
    return `List<${type}, ${typeOf(items ?? {}, hint)}>`
  }
  const methodText = (operation: Operation): string => {
    const inPath = operation.parameters.filter((one) => one.in === "path")
    const query = queryOf(operation)
    const body = bodyOf(operation)
    const isRead = operation.method === "GET"
    const optional = (schema: { readonly required?: boolean }): string => (schema.required === true ? "" : "?")
    const input =
      isRead && query.length > 0
        ? [`query${optional({ required: query.some(({ required }) => required === true) })}: ${queryText(operation)}`]
        : !isRead && body !== undefined
          ? [`body${optional({ required: (body.required ?? []).length > 0 })}: ${bodyText(operation, body)}`]
          : []
    const call = !isRead && query.length > 0 ? `Call<${queryText(operation)}>` : "Call"
    const args = [
      ...inPath.map(
        ({ name, schema }) =>
          `${camel(name)}: ${schema.enum === undefined ? textOf(schema, typeOf) : quoted(schema.enum)}`
      ),
      ...input,
      `call?: ${call}`
    ]
    const verb = operation.words.at(-1) ?? ""
    const comment = plain_verbs.has(verb) ? "" : `/** ${operation.summary} */\n`
    return `${comment}${verb}(${args.join(", ")}): ${answerText(operation)}`
  }

  for (const schema of Object.values(schemas)) count(schema)
  for (const operation of operations) {
    const answer = answerOf(operation)
    const body = bodyOf(operation)
    if (answer !== undefined) count(answer.schema)
    if (body !== undefined) for (const one of Object.values(body.properties ?? {})) count(one)
  }
  interface Tree {
    readonly [word: string]: Tree | string
  }
  const tree: { [word: string]: Tree | string } = {}
  for (const operation of operations) {
    let at = tree
    for (const word of operation.words.slice(0, -1)) at = (at[word] ??= {}) as typeof tree
    at[operation.words.at(-1) ?? ""] = methodText(operation)
  }
  const textOfTree = (part: Tree): string =>
    Object.entries(part)
      .map(([word, one]) => (typeof one === "string" ? one : `readonly ${word}: {\n${textOfTree(one)}\n}`))
      .join("\n")
  component("Ignored")
  const client = `/** \`meta.ignored\` lists fields and parameters that the server does not know */
export type Answer<T> = Promise<T & { meta?: Ignored }>
/** Calls of the API by resource; each is named as in /docs */
export interface Client {
/** Calls any path, such as "/api/v1/products" */
request(method: string, path: string, request?: Request): Promise<any>
${textOfTree(tree)}
}
export declare const createClient: (options: ClientOptions) => Client`
  const types = [...written]
    .filter(([, text]) => text !== "")
    .map(([name, text]) =>
      /^\{.*\}$/s.test(text) && !/^\{[^{}]*\} [|&]/.test(text)
        ? `export interface ${name} ${text}`
        : `export type ${name} = ${text}`
    )
  return [...types, client].map(compact).join("\n") + "\n"
}
