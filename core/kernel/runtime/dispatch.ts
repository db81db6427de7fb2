/**
 * From a method and a path to an answer, without any transport: the server's HTTP and the CLI's `api` both come here.
 */
import { itemAt } from "../../values/text.ts"
import { Clock, Effect } from "effect"
import { instantOf } from "../../values/time.ts"
import type { Answer, Catalogue, CommandRuntime, Endpoint, Failure, Request } from "../endpoints/endpoint.ts"
import { noSuchView } from "../lists/custom-view.ts"
import { type CommandMetadata, type EndpointCall, type Outcome, prepare, runCommand } from "./engine.ts"
import { sayingIgnored } from "../endpoints/ignored.ts"
import { isJsonObject } from "../fields/field.ts"
import { valueOf } from "../lists/query.ts"
import { notFound, Rejection, type Viewer } from "../fields/rejection.ts"
import type { Store } from "../store/store.ts"

interface Matched {
  readonly endpoint: Endpoint
  readonly params: { readonly [name: string]: string }
}
interface Branch {
  readonly literal: Map<string, Branch>
  param: Branch | undefined
  readonly endpoints: Map<string, { readonly endpoint: Endpoint; readonly names: ReadonlyArray<string> }>
}
const branch = (): Branch => ({ literal: new Map(), param: undefined, endpoints: new Map() })
const roots = new WeakMap<Catalogue, Branch>()

const rootOf = (catalogue: Catalogue): Branch => {
  const known = roots.get(catalogue)
  if (known !== undefined) return known
  const root = branch()
  for (const [endpoint, path] of catalogue.endpoints.flatMap((one) =>
    catalogue.pathsOf(one).map((path) => [one, path] as const)
  )) {
    const names: Array<string> = []
    let at = root
    for (const segment of segmentsOf(path)) {
      const name = /^\{(\w+)\}(\.ics)?$/.exec(segment)?.[1]
      if (name === undefined) {
        const next: Branch = at.literal.get(segment) ?? branch()
        at.literal.set(segment, next)
        at = next
      } else {
        names.push(name)
        at = at.param ??= branch()
      }
    }
    at.endpoints.set(endpoint.method, { endpoint, names })
  }
  roots.set(catalogue, root)
  return root
}
const segmentsOf = (path: string): ReadonlyArray<string> => path.split("/").filter((segment) => segment !== "")

/**
 * The endpoint of a method and path: literal segments before parameters. 404 for no such path, 405 with Allow for no
 * such verb.
 */
export const match = (catalogue: Catalogue, method: string, path: string): Matched | Rejection => {
  const segments: Array<string> = []
  for (const segment of segmentsOf(path)) {
    let name = segment
    try {
      if (segment.includes("%")) name = decodeURIComponent(segment)
    } catch {
      return notFound()
    }
    // No name contains a NUL, and Postgres refuses one with an error.
    if (name.includes("\u0000")) return notFound()
    segments.push(name)
  }
  const leaves: Array<{ readonly at: Branch; readonly values: ReadonlyArray<string> }> = []
  const walk = (at: Branch, depth: number, values: ReadonlyArray<string>): void => {
    if (depth === segments.length) {
      if (at.endpoints.size > 0) leaves.push({ at, values })
      return
    }
    const segment = itemAt(segments, depth)
    const literal = at.literal.get(segment)
    if (literal !== undefined) walk(literal, depth + 1, values)
    if (at.param !== undefined) walk(at.param, depth + 1, [...values, segment])
  }
  walk(rootOf(catalogue), 0, [])
  if (leaves.length === 0) return notFound()
  const wanted = method === "HEAD" ? "GET" : method
  for (const { at, values } of leaves) {
    const found =
      at.endpoints.get(wanted) ??
      // PATCH and PUT are one verb to most clients; where only one is declared the other means it (rules/conventions
      // 8).
      (wanted === "PATCH" ? at.endpoints.get("PUT") : wanted === "PUT" ? at.endpoints.get("PATCH") : undefined)
    if (found !== undefined)
      return {
        endpoint: found.endpoint,
        params: Object.fromEntries(found.names.map((name, index) => [name, itemAt(values, index)]))
      }
  }
  const allowed = [...new Set(leaves.flatMap(({ at }) => [...at.endpoints.keys()]))].sort().join(", ")
  return new Rejection({
    kind: "method_not_allowed",
    message: `This path answers to ${allowed}.`,
    headers: { allow: allowed }
  })
}

/** Answers a read, or decides and records a write. */
export const dispatch = (
  call: EndpointCall,
  command_metadata?: CommandMetadata
): Effect.Effect<Answer, Failure, Store | CommandRuntime> =>
  call.endpoint.kind === "query"
    ? Effect.flatMap(answerQuery(call), (answered) => sayingIgnored(call.endpoint, call.request, answered))
    : Effect.map(runCommand(call, command_metadata), ({ answer, result }: Outcome): Answer => ({
        ...answer,
        about: result
      }))

const answerQuery = Effect.fnUntraced(function* (
  call: EndpointCall
): Effect.fn.Return<Answer, Failure, Store | CommandRuntime> {
  const now = instantOf(yield* Clock.currentTimeMillis)
  const input = yield* prepare(call, now)
  const answered = call.endpoint.kind === "query" ? yield* call.endpoint.run(input) : yield* notFound()
  // A list that ignores `view_id` has no views.
  if (
    call.request.method !== "POST" &&
    (valueOf(call.request.query, "view_id")?.trim() ?? "") !== "" &&
    isPlainList(answered.body)
  )
    return yield* noSuchView()
  return answered
})
const isPlainList = (body: Answer["body"]): boolean =>
  isJsonObject(body) && Array.isArray(Object.values(body)[0]) && !(isJsonObject(body["meta"]) && "view" in body["meta"])

/** Matches and answers in one go, for a viewer already known. */
export const answer = (
  catalogue: Catalogue,
  request: Request,
  viewer: Viewer
): Effect.Effect<Answer, Failure, Store | CommandRuntime> => {
  const found = match(catalogue, request.method, request.path)
  return found instanceof Rejection ? Effect.fail(found) : dispatch({ ...found, request, viewer })
}
