/** Sends requests to a server over HTTP with a bearer token. */
import { randomUUID } from "node:crypto"
import { isJsonObject, type Answer, type Request } from "../../core/kernel/index.ts"
import { afterItsWord, type HttpAnswer, httpClientAt, jsonOf, Unreachable } from "../../sync/http-client.ts"
import { CliError, exit_codes, usageError } from "../base/exit-codes.ts"
import type { LocalFile } from "../base/input.ts"
import { clearMoving, printErr, terminals } from "../output/out.ts"

export interface RemoteRequest extends Request {
  readonly files?: { readonly [field: string]: LocalFile }
}
interface Server {
  readonly url: string
  readonly ask: (request: RemoteRequest) => Promise<Answer>
}

const timeout_millis = 120_000
/** Maximum number of retries after the time in Retry-After; then the last answer is returned. */
const waits_max = 5
const wait_seconds_max = 60
/** Shortest wait that is reported. */
const reported_seconds_min = 2
const own_headers = { accept: "application/json, */*;q=0.5", "user-agent": "flightcase-cli" }

export const serverUrl = (text: string): string => {
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text))
    throw usageError(`${JSON.stringify(text)} is no http or https address.`)
  return text.replace(/\/+$/, "")
}

export const serverAt = (address: string, token: string): Server => {
  const client = httpClientAt({
    url: serverUrl(address),
    token,
    timeout_millis,
    headers: own_headers,
    again: afterItsWord(waits_max, wait_seconds_max, (seconds) => {
      if (seconds < reported_seconds_min) return
      // A progress line may stand there.
      if (terminals.err()?.isTTY === true && process.env["TERM"] !== "dumb") clearMoving()
      printErr(`Too many requests for now; going on in ${seconds} seconds.\n`)
    })
  })
  return {
    url: client.url,
    ask: async (request) => {
      const query = new URLSearchParams(
        request.query.map(([name, value]): [string, string] => [name, value])
      ).toString()
      const answer = await client
        .send({
          method: request.method,
          path: request.path + (query === "" ? "" : `?${query}`),
          // All attempts of a request share one key, so that a lost response is replayed and nothing runs twice.
          headers: {
            ...(request.method === "POST" ? { "idempotency-key": randomUUID() } : {}),
            ...(request.strict === true ? { prefer: "handling=strict" } : {})
          },
          body: request.files === undefined ? request.body : await formOf(request)
        })
        .catch((error: unknown) => {
          throw error instanceof Unreachable ? unreachable(client.url, error.cause) : error
        })
      return answerOf(client.url, answer)
    }
  }
}

/** Multipart form with files and the other fields. */
const formOf = async ({ body, files }: RemoteRequest): Promise<FormData> => {
  const { openAsBlob } = await import("node:fs")
  const form = new FormData()
  for (const [name, value] of Object.entries(isJsonObject(body) ? body : {}))
    form.set(name, typeof value === "string" ? value : JSON.stringify(value))
  for (const [name, file] of Object.entries(files ?? {})) form.set(name, await openAsBlob(file.path), file.name)
  return form
}

const unreachable = (url: string, error: unknown): CliError => {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
  const detail = cause instanceof Error && cause.message !== "" ? `: ${cause.message}` : ""
  return new CliError(exit_codes.network, `The server at ${url} cannot be reached${detail}.`, {
    way_out: "Check the address and the connection; commands that the replica can answer work without it.",
    cause: error
  })
}

const answerOf = (url: string, answer: HttpAnswer): Answer => {
  const { status, bytes } = answer
  const headers = Object.fromEntries(answer.headers)
  const type = headers["content-type"] ?? ""
  if (status === 204) return { status, headers }
  if (!/\bjson\b/.test(type)) return { status, headers, content: { type, text: bytes } }
  try {
    return { status, headers, body: jsonOf(answer) }
  } catch {
    return {
      status: 502,
      headers,
      body: { message: `The server's answer is no JSON: is ${new URL(url).origin} a Flightcase server?` }
    }
  }
}
