/** `webhooks`: the verbs derived from the API, and a receiver for developers. */
import { createServer, type IncomingHttpHeaders, type Server } from "node:http"
import { rowIn } from "../../base/answers.ts"
import type { CommandContext } from "../../context/context.ts"
import { CliError, exit_codes, usageError } from "../../base/exit-codes.ts"
import { type CommandAction, type Flags, textFlag, verb } from "../../context/program.ts"
import { parseJson, type Json } from "../../../core/kernel/index.ts"
import type { Command } from "commander"

// `webhooks listen`: receives deliveries on this machine until stopped.

const body_bytes_max = 10_000_000
const usual_port = 4490

interface Subscription {
  readonly id: number
  readonly secret: string
}
interface Delivered {
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

export const listen: CommandAction = async (context, _args, flags) => {
  const status = numberOf(flags, "status", 204, 100, 599)
  let secret = textFlag(flags, "secret")
  const server = createServer((request, response) => {
    const chunks: Array<Buffer> = []
    let length = 0
    request.on("data", (chunk: Buffer) => {
      length += chunk.length
      if (length <= body_bytes_max) chunks.push(chunk)
    })
    request.on("end", () => {
      response.writeHead(status).end()
      const delivered = { headers: request.headers, text: Buffer.concat(chunks).toString("utf8") }
      void print(context, delivered, secret)
    })
  })
  const port = await opened(server, numberOf(flags, "port", usual_port, 0, 65_535))
  const url = `http://127.0.0.1:${port}/`
  let own: Subscription | undefined
  try {
    if (secret === undefined) {
      own = await subscribe(context, url, eventsIn(flags))
      secret = own.secret
    }
    context.note(
      own === undefined
        ? `Listening at ${url}; Ctrl-C stops it.`
        : `Listening at ${url} as webhook ${own.id}; Ctrl-C unsubscribes and stops.`
    )
    return await stopped()
  } finally {
    server.closeAllConnections()
    server.close()
    if (own !== undefined) await unsubscribe(context, own)
  }
}

const numberOf = (flags: Flags, name: string, usual: number, min: number, max: number): number => {
  const given = textFlag(flags, name)
  const value = given === undefined ? usual : Number(given)
  if (!Number.isInteger(value) || value < min || value > max)
    throw usageError(`--${name} takes a whole number from ${min} to ${max}.`)
  return value
}
const eventsIn = (flags: Flags): ReadonlyArray<string> =>
  (textFlag(flags, "events") ?? "*").split(",").map((name) => name.trim())

const opened = (server: Server, port: number): Promise<number> =>
  new Promise((resolve, reject) => {
    server.once("error", (cause: NodeJS.ErrnoException) =>
      reject(
        cause.code === "EADDRINUSE"
          ? new CliError(exit_codes.failed, `Port ${port} is taken.`, { way_out: "Choose another with --port." })
          : cause
      )
    )
    server.listen(port, "127.0.0.1", () => {
      const address = server.address()
      resolve(typeof address === "object" && address !== null ? address.port : port)
    })
  })

const subscribe = async (
  context: CommandContext,
  url: string,
  events: ReadonlyArray<string>
): Promise<Subscription> => {
  const answer = await context.requestAtServer({
    method: "POST",
    path: "/api/v1/webhooks",
    body: { url, events: [...events] }
  })
  if (answer.status >= 400) {
    const refusal = (await import("../../base/response-errors.ts")).responseError(answer)
    if (!refusal.message.includes("private or reserved")) throw refusal
    throw new CliError(exit_codes.invalid, "The server sends nothing to this machine's own addresses.", {
      way_out:
        "Start it with FLIGHTCASE_WEBHOOKS_PRIVATE=1, " +
        "or give --secret and have deliveries forwarded from a public address."
    })
  }
  const { id, secret } = rowIn(answer.body, "webhook")
  return { id: Number(id), secret: String(secret) }
}
const unsubscribe = async (context: CommandContext, { id }: Subscription): Promise<void> => {
  const answer = await context
    .requestAtServer({ method: "DELETE", path: `/api/v1/webhooks/${id}` })
    .catch(() => undefined)
  context.note(
    answer?.status === 204
      ? `Unsubscribed webhook ${id}.`
      : `Webhook ${id} is still subscribed: flightcase webhooks delete ${id}`
  )
}

/** Resolves with the exit code at a stop signal. */
const stopped = (): Promise<number> =>
  new Promise((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
      process.removeAllListeners(signal)
      process.once(signal, () => {
        process.once(signal, () => process.exit(exit_codes.interrupted))
        resolve(exit_codes.ok)
      })
    }
  })

/** Reason the signature of a delivery is invalid; undefined if it is valid. */
export const signatureProblem = async ({ headers, text }: Delivered, secret: string): Promise<string | undefined> => {
  const { Webhook } = await import("standardwebhooks")
  try {
    const given = Object.fromEntries(
      Object.entries(headers).flatMap(([name, value]) => (typeof value === "string" ? [[name, value]] : []))
    )
    new Webhook(secret).verify(text, given)
    return undefined
  } catch (cause) {
    return cause instanceof Error ? cause.message : String(cause)
  }
}
const jsonOf = (text: string): Json => {
  try {
    return parseJson(text)
  } catch {
    return text
  }
}

const print = async (context: CommandContext, delivered: Delivered, secret: string | undefined): Promise<void> => {
  const { headers, text } = delivered
  const problem = secret === undefined ? "no secret is known yet" : await signatureProblem(delivered, secret)
  const event_id = String(headers["webhook-id"] ?? "")
  const event = String(headers["x-signals-event"] ?? "")
  const body = jsonOf(text)
  if (context.options.json === true) {
    context.printJsonLine({ event, event_id, verified: problem === undefined, problem: problem ?? null, body })
    return
  }
  const verdict = problem === undefined ? "signature holds" : `SIGNATURE REFUSED: ${problem}`
  context.print(`${event}  ${event_id}  ${verdict}\n${JSON.stringify(body, undefined, 2)}\n\n`)
}

export const declare = (program: Command): void => {
  const webhooks = program.command("webhooks").description("Webhooks: URLs that events are posted to")
  verb(webhooks, "listen", {
    about: "Receive and print deliveries here, by a temporary webhook unless --secret is given",
    "--port <port>": "port to listen on (default: 4490; 0 for any free port)",
    "--events <names>": "events to subscribe to, separated by commas (default: all)",
    "--secret <secret>": "verify with an existing webhook's secret, and do not subscribe",
    "--status <code>": "status to respond with, to test retries (default: 204)",
    run: listen
  })
}
