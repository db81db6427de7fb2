/** Pages at `/d/{token}`: a document for anyone with its link, and its acceptance (rules/billing 3). */
import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto"
import { Clock, Effect, Result } from "effect"
import { isAcceptable, isPastValidity, strokesIn } from "../../../core/documents/links/acceptance.ts"
import type { Page, Sent, Shown } from "../../../core/documents/links/page.ts"
import { documentPage, expiredPage, gonePage, pinPage, triesPage } from "../../../core/documents/links/page.ts"
import { languageFor, linkWords } from "../../../core/documents/links/words.ts"
import { type DocumentAcceptanceRow, type DocumentRow, linkAddress } from "../../../core/documents/schema.ts"
import { CommandRuntime, Store, type Answer, type Input, type Settings } from "../../../core/kernel/index.ts"
import { opportunities } from "../../../core/orders/opportunities/tables/index.ts"
import { momentText } from "../../../core/pricing/print/format.ts"
import { contentDisposition } from "../../../core/values/file-name.ts"
import { parseMailAddress } from "../../../core/values/mail-address.ts"
import { printableLine } from "../../../core/values/text.ts"
import { instantOf } from "../../../core/values/time.ts"
import { filesUnavailable } from "../../files/downloads.ts"
import { networkOf } from "../../http/http-message.ts"
import { RawRequest, serverContext } from "../../ports/server-context.ts"
import { accept, acceptanceOf, forgetTry, type Form, readSmallForm, reserveTry } from "./accept.ts"
import type { Opened, PublicCallShape } from "./public-links.ts"
import {
  customerOf,
  document_link_pins,
  headerOf,
  isPin,
  openLink,
  picturesFor,
  PublicCall,
  textOf,
  zoneFor
} from "./public-links.ts"

// Cookie set after the right PIN: signed, valid for an hour, sent to this URL only. A changed PIN invalidates it.

const name = "document_pass"
const pass_seconds = 3_600

const macOf = (key: string, link_id: number, pin_hash: string, expires: string): string =>
  createHmac("sha256", createHmac("sha256", key).update("flightcase document links").digest())
    .update(`${link_id}\n${pin_hash}\n${expires}`)
    .digest("base64url")

/** Set-Cookie header. `path`: the page's path as the browser sees it. */
const passCookie = (
  key: string,
  link_id: number,
  pin_hash: string,
  now_millis: number,
  at: { readonly path: string; readonly is_secure: boolean }
): string => {
  const expires = String(Math.floor(now_millis / 1_000) + pass_seconds)
  const value = `${expires}.${macOf(key, link_id, pin_hash, expires)}`
  const held = `Path=${at.path}; Max-Age=${pass_seconds}; HttpOnly; SameSite=Lax`
  return `${name}=${value}; ${held}${at.is_secure ? "; Secure" : ""}`
}
const hasPass = (key: string, link_id: number, pin_hash: string, now_millis: number, cookies: string): boolean =>
  cookies.split(";").some((cookie) => {
    const [, expires = "", mac = ""] = /^\s*document_pass=(\d{1,12})\.([\w-]{43})\s*$/.exec(cookie) ?? []
    if (expires === "" || Number(expires) * 1_000 <= now_millis) return false
    const right = Buffer.from(macOf(key, link_id, pin_hash, expires))
    const sent = Buffer.from(mac)
    return sent.length === right.length && timingSafeEqual(sent, right)
  })

type Answered = Answer<never>
interface Extra {
  readonly headers?: { readonly [name: string]: string }
  readonly nonce?: string
}
const plain_headers = {
  "cache-control": "private, no-store",
  "referrer-policy": "no-referrer",
  "x-robots-tag": "noindex, nofollow, noarchive",
  "cross-origin-resource-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
  "permissions-policy": "camera=(), geolocation=(), microphone=()"
}
/** The response with a page, and a policy that allows its own script, styles and form, and nothing else. */
const pageAnswer = (status: number, page: Page, { headers = {}, nonce }: Extra = {}): Answered => ({
  status,
  content: { type: "text/html; charset=utf-8", text: page.html },
  headers: {
    ...plain_headers,
    "content-security-policy": [
      "default-src 'none'",
      `style-src 'sha256-${createHash("sha256").update(page.style).digest("base64")}'`,
      // Styles within attributes set column widths; escaped texts cannot contain any.
      "style-src-attr 'unsafe-inline'",
      "img-src data:",
      ...(nonce === undefined ? [] : [`script-src 'nonce-${nonce}'`]),
      "form-action 'self'",
      "base-uri 'none'",
      "frame-ancestors 'none'"
    ].join("; "),
    "x-frame-options": "DENY",
    ...headers
  }
})

type Admission = { readonly kind: "in"; readonly cookie?: string } | { readonly kind: "out"; readonly answer: Answered }

/** The page's path as browsers see it, as the public URL in the settings may add a prefix; and whether it is https. */
const cookiePlace = (token: string, settings: Settings, public_url: string) => {
  const address = linkAddress(token, settings, public_url)
  const url = URL.canParse(address) ? new URL(address) : undefined
  return { path: url?.pathname ?? `/d/${token}`, is_secure: url?.protocol === "https:" }
}

/** Admits callers if the link has no PIN, with the PIN, or with the cookie of the last hour. */
const admit = Effect.fnUntraced(function* ({ link }: Opened, pin: string, call: PublicCallShape, settings: Settings) {
  if (!link.requires_pin) return { kind: "in" } satisfies Admission
  const server = yield* serverContext
  const now = yield* Clock.currentTimeMillis
  const language = languageFor(headerOf(call, "accept-language"))
  const hash = (yield* Store.get(document_link_pins, link.id))?.hash
  if (hash !== undefined && hasPass(server.key, link.id, hash, now, headerOf(call, "cookie")))
    return { kind: "in" } satisfies Admission
  if (pin === "")
    return {
      kind: "out",
      answer: { ...pageAnswer(403, pinPage(language, link.token, false)), no_miss: true }
    } satisfies Admission
  const reserved = yield* reserveTry(link.id, networkOf(call.remote_address))
  if ("wait_seconds" in reserved) {
    const headers = { "retry-after": String(reserved.wait_seconds) }
    const page = triesPage(language, reserved.wait_seconds)
    return { kind: "out", answer: pageAnswer(429, page, { headers }) } satisfies Admission
  }
  if (!(yield* isPin(pin, hash)))
    return { kind: "out", answer: pageAnswer(403, pinPage(language, link.token, true)) } satisfies Admission
  yield* forgetTry(reserved.key)
  const place = cookiePlace(link.token, settings, server.public_url())
  return { kind: "in", cookie: passCookie(server.key, link.id, hash ?? "", now, place) } satisfies Admission
})

interface FileShown {
  readonly sha256: string
  readonly name: string
  readonly size_bytes: number
}
const fileAnswer = Effect.fnUntraced(function* ({ name, sha256, size_bytes }: FileShown, cookie: string | undefined) {
  const { blobs } = yield* serverContext
  return {
    status: 200,
    streamed: {
      type: "application/pdf",
      size_bytes,
      open: (range) => Effect.map(Effect.catch(blobs.read(sha256, range), filesUnavailable), ({ content }) => content)
    },
    headers: {
      ...plain_headers,
      "content-disposition": contentDisposition(name, "inline"),
      "content-security-policy": "frame-ancestors 'none'",
      "accept-ranges": "bytes",
      ...(cookie === undefined ? {} : { "set-cookie": cookie })
    }
  } satisfies Answered
})

interface Showing {
  readonly opened: Opened
  readonly settings: Settings
  readonly cookie: string | undefined
  readonly status?: number
  /** Outcome of a submitted form; if absent, the page shows the form or the acceptance. */
  readonly told?: { readonly refused: string } | { readonly sent: Sent }
}
const show = Effect.fnUntraced(function* ({ cookie, opened, settings, status = 200, told }: Showing) {
  const { document, link } = opened
  const text = yield* textOf(document.id)
  const acceptance = isAcceptable(document) ? yield* acceptanceOf(document.id) : undefined
  const zone = yield* zoneFor(document.store_id, settings)
  const is_over = acceptance === undefined && (yield* isNoLongerValid(document, zone))
  const nonce = randomBytes(18).toString("base64")
  const openPart = (): Shown["part"] => {
    if (told !== undefined && "refused" in told) return { kind: "refused", text: told.refused }
    if (is_over) return { kind: "refused", text: linkWords(text.document.language).not_accepted.expired }
    if (!isAcceptable(document)) return { kind: "none" }
    const sent = told === undefined ? {} : { sent: told.sent }
    return { kind: "form", text_sha256: text.row.sha256, script_nonce: nonce, ...sent }
  }
  const part =
    acceptance === undefined ? openPart() : yield* acceptedPart(document, acceptance, text.document.language, zone)
  const pictures = yield* picturesFor(text.document)
  const page = documentPage({ document: text.document, token: link.token, html: { pictures }, part })
  const answer = pageAnswer(status, page, {
    ...(page.has_script ? { nonce } : {}),
    ...(cookie === undefined ? {} : { headers: { "set-cookie": cookie } })
  })
  return { ...answer, no_miss: true } as const
})
const isNoLongerValid = Effect.fnUntraced(function* (document: DocumentRow, zone: string) {
  if (!isAcceptable(document)) return false
  const opportunity = yield* Store.get(opportunities, document.documentable_id)
  const now = instantOf(yield* Clock.currentTimeMillis)
  return opportunity !== undefined && isPastValidity(opportunity, now, zone)
})
const acceptedPart = Effect.fnUntraced(function* (
  document: DocumentRow,
  { accepted_at, email, name, uuid }: DocumentAcceptanceRow,
  language: string,
  zone: string
) {
  return {
    kind: "accepted",
    name,
    date: momentText(accepted_at, zone, language, "long"),
    has_certificate: uuid !== null,
    has_copy: email !== null || (yield* customerOf(document)) !== undefined
  } satisfies Shown["part"]
})

/** Format to respond with: the parameter `format`, else "pdf" if only PDF is accepted, else "html". */
const formatOf = (query: Input["query"], call: PublicCallShape): string => {
  const asked = query.find(([name]) => name === "format")?.[1].toLowerCase()
  const accepts = headerOf(call, "accept").toLowerCase()
  return asked ?? (accepts.includes("application/pdf") && !accepts.includes("text/html") ? "pdf" : "html")
}
/** Draws a missing PDF again. A failure is logged; the response is then that for any missing file. */
const thereOrTold = (document: Opened["document"]) =>
  Effect.catchCause(
    Effect.flatMap(
      Effect.promise(() => import("../papers/drawing.ts")),
      ({ pdfThere }) => pdfThere(document)
    ),
    (cause) => Effect.logWarning("the PDF of a document is missing, and cannot be drawn again", cause)
  )
const read = Effect.fnUntraced(function* (
  opened: Opened,
  format: string,
  settings: Settings,
  cookie: string | undefined
): CommandRuntime.Reads<Answered> {
  const { document } = opened
  const name = document.file_name ?? `document-${document.id}.pdf`
  if (format === "pdf") {
    yield* thereOrTold(document)
    return yield* fileAnswer({ sha256: document.sha256, name, size_bytes: document.file_size ?? 0 }, cookie)
  }
  const certificate = format === "certificate" ? yield* acceptanceOf(document.id) : undefined
  if (certificate !== undefined && certificate.sha256 !== null)
    return yield* fileAnswer(
      { sha256: certificate.sha256, name: certificate.file_name ?? name, size_bytes: certificate.file_size ?? 0 },
      cookie
    )
  return yield* show({ opened, settings, cookie })
})

const entered = Effect.fnUntraced(function* (input: Input, call: PublicCallShape, pin: string) {
  const language = languageFor(headerOf(call, "accept-language"))
  const opened = yield* openLink(input.params["token"] ?? "", input.now)
  if (opened === "gone") return { kind: "out", answer: pageAnswer(404, gonePage(language)) } as const
  if (opened === "expired") return { kind: "out", answer: pageAnswer(410, expiredPage(language)) } as const
  const admission = yield* admit(opened, pin, call, input.settings)
  return admission.kind === "out" ? admission : ({ kind: "in", opened, cookie: admission.cookie } as const)
})

/** A visible character: no space, zero-width or control character, and no substitute for one. */
const visible = /[^\s\p{C}\p{Default_Ignorable_Code_Point}\ufffd]/u
/** Form values to show again, with their errors; `given`: the values to record, if there is no error. */
const sentIn = (form: Form, language: string) => {
  const words = linkWords(language)
  const given_name = printableLine(form.get("name") ?? "").trim()
  const name = visible.test(given_name) ? given_name : ""
  const email = (form.get("email") ?? "").trim()
  const is_ticked = /^(1|on|true|yes)$/i.test((form.get("accept") ?? "").trim())
  const drawn = form.get("signature") ?? ""
  const strokes = drawn === "" ? null : strokesIn(drawn)
  const address = email === "" ? null : Result.getOrUndefined(parseMailAddress(email))
  const errors: Sent["errors"] = {
    ...(name === "" ? { name: words.name_missing } : name.length > 255 ? { name: words.name_long } : {}),
    ...(address === undefined ? { email: words.email_wrong } : {}),
    ...(is_ticked ? {} : { accept: words.tick_missing }),
    ...(strokes === undefined ? { signature: words.signature_wrong } : {})
  }
  const sent: Sent = { name: name.slice(0, 255), email: email.slice(0, 255), is_ticked, errors }
  return Object.keys(errors).length > 0 || address === undefined || strokes === undefined
    ? { sent }
    : { sent, given: { name, email: address, strokes } }
}
const answerForm = Effect.fnUntraced(function* (
  form: Form,
  opened: Opened,
  call: PublicCallShape,
  settings: Settings,
  cookie: string | undefined
): CommandRuntime.Reads<Answered> {
  const text = yield* textOf(opened.document.id)
  const { language } = text.document
  const words = linkWords(language)
  const shown = (status: number, told?: Showing["told"]) =>
    show({ opened, settings, cookie, status, ...(told === undefined ? {} : { told }) })
  if (!isAcceptable(opened.document)) return yield* shown(422, { refused: words.not_accepted.no_quotation })
  if ((yield* acceptanceOf(opened.document.id)) !== undefined) return yield* shown(200)
  const seen = form.get("text_sha256")
  if (seen !== undefined && seen !== text.row.sha256)
    return yield* shown(409, { refused: words.not_accepted.other_text })
  const { given, sent } = sentIn(form, language)
  if (given === undefined) return yield* shown(422, { sent })
  const accepted = yield* accept({ opened, text, given, call }, settings)
  switch (accepted.kind) {
    case "gone":
      return pageAnswer(404, gonePage(language))
    case "refused":
      return yield* shown(409, { refused: words.not_accepted[accepted.reason] })
    case "accepted":
      return yield* shown(200)
  }
})

/** Endpoint `GET /d/{token}`: the document's page, PDF or certificate. */
export const showPublic = Effect.fnUntraced(function* (input: Input) {
  const call = yield* PublicCall
  const pin = input.query.find(([name]) => name === "pin")?.[1].trim() ?? ""
  const entry = yield* entered(input, call, pin)
  if (entry.kind === "out") return entry.answer
  return yield* read(entry.opened, formatOf(input.query, call), input.settings, entry.cookie)
})

const noForm: Answered = {
  status: 415,
  content: { type: "text/plain; charset=utf-8", text: "This takes a form.\n" },
  headers: plain_headers
}
/** Endpoint `POST /d/{token}`: submits the PIN or accepts the quotation. */
export const answerPublic = Effect.fnUntraced(function* (input: Input) {
  const call = yield* PublicCall
  const form = readSmallForm((yield* RawRequest).bytes, headerOf(call, "content-type"))
  if (form === undefined) return noForm
  // Refuses forms of other sites, by the header in which browsers state a form's origin.
  if (headerOf(call, "sec-fetch-site") === "cross-site")
    return pageAnswer(403, gonePage(languageFor(headerOf(call, "accept-language"))))
  const entry = yield* entered(input, call, (form.get("pin") ?? "").trim())
  if (entry.kind === "out") return entry.answer
  const is_answer = form.has("name") || form.has("accept")
  return is_answer
    ? yield* answerForm(form, entry.opened, call, input.settings, entry.cookie)
    : yield* read(entry.opened, formatOf(input.query, call), input.settings, entry.cookie)
})
