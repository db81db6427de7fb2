/** The server as the command line asks it: HTTP with a bearer token. */
import { randomUUID } from "node:crypto"
import { parseJson, wire_depth_max } from "../core/kernel/body.ts"
import type { Answer, Request } from "../core/kernel/endpoint.ts"
import { isJsonObject } from "../core/kernel/json.ts"
import { Exit, exits, misused } from "./exits.ts"

export interface Server {
  readonly url: string
  readonly ask: (request: Request) => Promise<Answer>
}

const deadline_ms = 120_000
/** A rate limit is waited for this often before it is handed on. */
const waits_max = 5
const wait_seconds_max = 60

export const serverUrl = (text: string): string => {
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) throw misused(`${JSON.stringify(text)} is no http or https address.`)
  return text.replace(/\/+$/, "")
}

export const serverAt = (address: string, token: string): Server => {
  const url = serverUrl(address)
  return {
    url,
    ask: async (request) => {
      // One key for all tries of one request: a reply that was lost is answered again, not done again.
      const key = request.method === "POST" ? randomUUID() : undefined
      for (let tries = 0; ; tries++) {
        const response = await send(url, token, request, key)
        const after = Number(response.headers.get("retry-after") ?? "1")
        const worth_waiting = response.status === 429 || response.status === 425
        if (!worth_waiting || tries >= waits_max || !(after <= wait_seconds_max)) return answerOf(response)
        await response.arrayBuffer().catch(() => undefined)
        await new Promise((resolve) => setTimeout(resolve, Math.max(after, 0.2) * 1000))
      }
    }
  }
}

const send = async (url: string, token: string, request: Request, key: string | undefined): Promise<Response> => {
  const query = new URLSearchParams(request.query.map(([name, value]): [string, string] => [name, value])).toString()
  try {
    return await fetch(url + request.path + (query === "" ? "" : `?${query}`), {
      method: request.method, signal: AbortSignal.timeout(deadline_ms),
      headers: {
        accept: "application/json, */*;q=0.5", "user-agent": "flightcase-cli",
        ...(token === "" ? {} : { authorization: `Bearer ${token}` }),
        ...(key === undefined ? {} : { "idempotency-key": key }),
        ...(request.body === undefined || request.files !== undefined ? {} : { "content-type": "application/json" })
      },
      ...(request.files !== undefined ? { body: formOf(request) } : request.body === undefined ? {} : { body: JSON.stringify(request.body) })
    })
  } catch (error) { throw unreachable(url, error) }
}

/** Files travel as a form, the other fields beside them. */
const formOf = ({ body, files }: Request): FormData => {
  const form = new FormData()
  for (const [name, value] of Object.entries(isJsonObject(body) ? body : {})) form.set(name, typeof value === "string" ? value : JSON.stringify(value))
  for (const [name, file] of Object.entries(files ?? {})) form.set(name, new Blob([new Uint8Array(file.bytes)], { type: file.type }), file.name)
  return form
}

export const unreachable = (url: string, error: unknown): Exit => {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
  const detail = cause instanceof Error && cause.message !== "" ? `: ${cause.message}` : ""
  return new Exit(exits.network, `The server at ${url} cannot be reached${detail}.`, {
    way_out: "Check the address and the connection; commands that the replica can answer work without it.", cause: error
  })
}

const answerOf = async (response: Response): Promise<Answer> => {
  const headers = Object.fromEntries(response.headers)
  const type = response.headers.get("content-type") ?? ""
  if (response.status === 204) return { status: 204, headers }
  const bytes = new Uint8Array(await response.arrayBuffer().catch((error: unknown) => { throw unreachable(response.url, error) }))
  if (!/\bjson\b/.test(type)) return { status: response.status, headers, content: { type, text: bytes } }
  try {
    return { status: response.status, headers, body: parseJson(new TextDecoder().decode(bytes), wire_depth_max) }
  } catch {
    return { status: 502, headers, body: { message: `The server's answer is no JSON: is ${new URL(response.url).origin} a Flightcase server?` } }
  }
}
