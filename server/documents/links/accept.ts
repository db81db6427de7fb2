/**
 * Accepts a quotation, once per document, under the locks of the document and its opportunity: exactly the document
 * shown is accepted, or nothing.
 */
import * as MultipartParser from "effect/http/MultipartParser"
import { CommandRuntime, decideInSavepoint, insert, isJsonObject, lockStreams } from "../../../core/kernel/index.ts"
import { parseJson, Rejection, remove, retryOnConflict, Store, streamOf } from "../../../core/kernel/index.ts"
import type { Settings } from "../../../core/kernel/index.ts"
import { mediaType } from "../../http/body.ts"
import { recordByServer, viewerNamed } from "../../ports/server-context.ts"
import type { Opened, PublicCallShape, Text } from "./public-links.ts"
import { document_link_tries, form_bytes_max, headerOf, openLink, zoneFor } from "./public-links.ts"
import { randomUUID } from "node:crypto"
import { Clock, Effect } from "effect"
import { instantOf } from "../../../core/values/time.ts"
import type { Following, NotAccepted } from "../../../core/documents/links/acceptance.ts"
import {
  acceptanceEffect,
  isAcceptable,
  offerText,
  whatFollows,
  whyNotAccepted
} from "../../../core/documents/links/acceptance.ts"
import { documentAccepted, quotationAccepted } from "../../../core/documents/links/events.ts"
import type { DocumentAcceptanceRow, DocumentRow } from "../../../core/documents/schema.ts"
import {
  document_acceptances,
  documentChange,
  documentFinalised,
  documentStream
} from "../../../core/documents/schema.ts"
import { opportunities, type OpportunityRow } from "../../../core/orders/opportunities/tables/index.ts"
import { itemAt, printableLine } from "../../../core/values/text.ts"
import { preparedAgain } from "../papers/filled.ts"

// Parses a small form without files: urlencoded, multipart or JSON. The first value of a repeated field counts.

const fields_max = 20

export type Form = ReadonlyMap<string, string>

const first = (pairs: Iterable<readonly [string, string]>): Form => {
  const form = new Map<string, string>()
  for (const [name, value] of pairs) if (!form.has(name) && form.size < fields_max) form.set(name, value)
  return form
}
const textOf = (bytes: Uint8Array): string => new TextDecoder("utf-8").decode(bytes)

/** The form's fields; undefined for other content types and malformed bodies. */
export const readSmallForm = (bytes: Uint8Array, content_type: string): Form | undefined => {
  switch (mediaType(content_type || "application/x-www-form-urlencoded")) {
    case "application/x-www-form-urlencoded":
      return first(new URLSearchParams(textOf(bytes)))
    case "multipart/form-data":
      return multipart(bytes, content_type)
    case "application/json":
      return json(bytes)
    default:
      return undefined
  }
}
const multipart = (bytes: Uint8Array, content_type: string): Form | undefined => {
  const pairs: Array<readonly [string, string]> = []
  let is_broken = false
  const parser = MultipartParser.make({
    headers: { "content-type": content_type },
    maxParts: fields_max,
    maxFieldSize: form_bytes_max,
    onField: ({ name }, value) => void pairs.push([name, textOf(value)]),
    // Ignores files, as this form has none.
    onFile: () => () => {},
    onError: () => {
      is_broken = true
    },
    onDone: () => {}
  })
  parser.write(bytes)
  parser.end()
  return is_broken ? undefined : first(pairs)
}
const json = (bytes: Uint8Array): Form | undefined => {
  try {
    const value = parseJson(textOf(bytes))
    return isJsonObject(value)
      ? first(
          Object.entries(value).map(
            ([name, one]) => [name, typeof one === "string" ? one : one === true ? "1" : String(one ?? "")] as const
          )
        )
      : undefined
  } catch {
    return undefined
  }
}

// Limits wrong PINs per link: 5 in 15 minutes from one network, and 50 a day in total. Counted in the database, for all
// servers.

const tries_max = 5
const tries_seconds = 900
const day_tries_max = 50
const day_seconds = 86_400

interface Try {
  readonly network: string
  readonly millis: number
}
/** Seconds until the next allowed try; 0 for now. `tries` is in order of time. */
const waitFor = (tries: ReadonlyArray<Try>, network: string, now: number): number => {
  const within = (some: ReadonlyArray<Try>, seconds: number, max: number): number => {
    const counted = some.filter(({ millis }) => millis > now - seconds * 1_000)
    // The wait ends when the `max`th latest try leaves the window.
    const last = counted.at(-max)
    return last === undefined ? 0 : Math.max(1, Math.ceil((last.millis + seconds * 1_000 - now) / 1_000))
  }
  const own = tries.filter((one) => one.network === network)
  return Math.max(within(own, tries_seconds, tries_max), within(tries, day_seconds, day_tries_max))
}

type Reserved = { readonly key: string } | { readonly wait_seconds: number }

/** Counts a try before its PIN is checked, and returns its key; or the seconds to wait if the limit is reached. */
export const reserveTry = (link_id: number, network: string) =>
  Effect.gen(function* () {
    const store = yield* Store
    const now = yield* Clock.currentTimeMillis
    return yield* store.transaction(
      Effect.gen(function* () {
        yield* lockStreams([`document_link_tries ${link_id}`])
        const rows = yield* store.find(document_link_tries, { link_id }, { order: ["tried_at", "key"] })
        const tries = rows.map((row) => ({ network: row.network, millis: Date.parse(row.tried_at) }))
        const wait_seconds = waitFor(tries, network, now)
        if (wait_seconds > 0) return { wait_seconds } satisfies Reserved
        yield* store.sql`delete from document_link_tries where tried_at < ${instantOf(now - day_seconds * 1_000)}`
        const key = randomUUID()
        yield* store.apply([insert(document_link_tries, { key, link_id, network, tried_at: instantOf(now) })])
        return { key } satisfies Reserved
      })
    )
  }).pipe(retryOnConflict)

/** Removes a counted try whose PIN was right. */
export const forgetTry = (key: string) => Store.apply([remove(document_link_tries, key)])

/** Validated input. */
interface Given {
  readonly name: string
  readonly email: string | null
  readonly strokes: string | null
}
type Accepted =
  | { readonly kind: "accepted"; readonly acceptance: DocumentAcceptanceRow }
  | { readonly kind: "refused"; readonly reason: NotAccepted }
  /** The link is no longer valid. */
  | { readonly kind: "gone" }

/** The accepting customer, as whom the opportunity is reserved or converted; cannot ignore shortages as staff can. */
const customer = viewerNamed("public link", { permissions: new Set(["opportunities.view", "opportunities.edit"]) })

export const acceptanceOf = (document_id: number) => Store.first(document_acceptances, { document_id })

/** Whether the document still matches the opportunity's current offer. */
const isOffered = Effect.fnUntraced(function* (document: DocumentRow, text: Text, settings: Settings) {
  const prepared = yield* preparedAgain(document, settings)
  return prepared !== undefined && offerText(prepared.compose({})) === offerText(text.document)
})

/** Reserves or converts the opportunity by the rules for staff. Returns the reason if it stopped early. */
const follow = Effect.fnUntraced(function* (opportunity: OpportunityRow, steps: ReadonlyArray<Following>) {
  const { catalogue } = yield* CommandRuntime
  for (const { body, name } of steps) {
    const endpoint = catalogue.endpoint(name)
    if (endpoint === undefined) return yield* Effect.die(new Error(`no endpoint ${name}`))
    const params = { id: String(opportunity.id) }
    const call = {
      endpoint,
      params,
      viewer: customer,
      request: { method: endpoint.method, path: endpoint.path.replace("{id}", params.id), query: [], body }
    }
    const refused = yield* decideInSavepoint(call, {}).pipe(
      Effect.as(undefined),
      Effect.catch((failure) => (failure instanceof Rejection ? Effect.succeed(failure) : Effect.fail(failure)))
    )
    if (refused !== undefined) return Object.values(refused.errors ?? {}).flat()[0] ?? refused.message
  }
  return null
})

interface Accepting {
  readonly opened: Opened
  readonly text: Text
  readonly given: Given
  readonly call: PublicCallShape
}
const record = Effect.fnUntraced(function* (
  { call, given, opened: { document, link }, text }: Accepting,
  opportunity: OpportunityRow,
  now: string,
  settings: Settings
) {
  const runtime = yield* CommandRuntime
  const note = yield* follow(opportunity, whatFollows(opportunity, acceptanceEffect(settings)))
  const id = itemAt(yield* runtime.allocateIds(document_acceptances.name, 1), 0)
  const agent = printableLine(headerOf(call, "user-agent")).trim().slice(0, 500)
  const acceptance = {
    id,
    document_id: document.id,
    opportunity_id: opportunity.id,
    accepted_at: now,
    name: given.name,
    email: given.email,
    ip_address: call.remote_address.slice(0, 64),
    user_agent: agent === "" ? null : agent,
    link_id: link.id,
    text_sha256: text.row.sha256,
    pdf_sha256: document.sha256,
    signature_svg: given.strokes,
    note,
    uuid: null,
    file_name: null,
    mime_type: "application/pdf",
    file_size: null,
    sha256: null
  }
  const { document_number } = document
  yield* recordByServer(
    [
      documentAccepted.make(acceptance),
      ...(document.status === "generated"
        ? [documentFinalised.make(documentChange(document, { status: "finalised", finalised_at: now }))]
        : []),
      quotationAccepted.make({ id: opportunity.id, document_id: document.id, document_number, note })
    ],
    now
  )
})

export const accept = (accepting: Accepting, settings: Settings) =>
  Store.transaction(
    Effect.gen(function* () {
      const { link, document: before } = accepting.opened
      const now = instantOf(yield* Clock.currentTimeMillis)
      if (!isAcceptable(before)) return { kind: "refused", reason: "no_quotation" } satisfies Accepted
      yield* lockStreams([documentStream(before.id), streamOf("opportunity", before.documentable_id)])
      // Read again under the lock: the document may have been voided, the link revoked or replaced meanwhile.
      const opened = yield* openLink(link.token, now)
      if (opened === "gone" || opened === "expired" || opened.link.id !== link.id)
        return { kind: "gone" } satisfies Accepted
      const known = yield* acceptanceOf(before.id)
      if (known !== undefined) return { kind: "accepted", acceptance: known } satisfies Accepted
      const opportunity = yield* Store.get(opportunities, before.documentable_id)
      const { document } = opened
      const zone = yield* zoneFor(document.store_id, settings)
      const may = whyNotAccepted({ document, opportunity, is_same: true, now, zone })
      const reason = may ?? ((yield* isOffered(document, accepting.text, settings)) ? undefined : "changed")
      if (reason !== undefined || opportunity === undefined)
        return { kind: "refused", reason: reason ?? "closed" } satisfies Accepted
      yield* record({ ...accepting, opened }, opportunity, now, settings)
      const acceptance = yield* acceptanceOf(before.id)
      return acceptance === undefined
        ? yield* Effect.die(new Error(`the acceptance of document ${before.id} was not recorded`))
        : ({ kind: "accepted", acceptance } satisfies Accepted)
    })
  ).pipe(retryOnConflict)
