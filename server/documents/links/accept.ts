/**
 * Accepting a quotation: once for each document, under the locks of the document and of its opportunity, so that it is
 * accepted as it is, or not at all.
 */
import { Clock, Effect } from "effect"
import { documentChange, documentFinalised, documentStream } from "../../../core/documents/events.ts"
import {
  acceptanceEffect,
  type Following,
  isAcceptable,
  type NotAccepted,
  whatFollows,
  whyNotAccepted
} from "../../../core/documents/links/acceptance.ts"
import { documentAccepted, quotationAccepted } from "../../../core/documents/links/events.ts"
import { offerText } from "../../../core/documents/links/offer.ts"
import { document_acceptances, type DocumentAcceptanceRow, type DocumentRow } from "../../../core/documents/schema.ts"
import { CommandRuntime, recordEvents } from "../../../core/kernel/command-runtime.ts"
import { decideInSavepoint, lockStreams, retryOnConflict } from "../../../core/kernel/engine.ts"
import { streamOf } from "../../../core/kernel/event.ts"
import { Rejection } from "../../../core/kernel/rejection.ts"
import type { Settings } from "../../../core/kernel/settings.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import type { Viewer } from "../../../core/kernel/viewer.ts"
import { opportunities, type OpportunityRow } from "../../../core/opportunities/schema.ts"
import { printableLine } from "../../../core/values/printable.ts"
import { instantOf } from "../../../core/values/time.ts"
import { itemAt } from "../../../core/values/lists.ts"
import { preparation } from "../preparing.ts"
import { openLink, type Opened, type Text, zoneFor } from "./opened.ts"
import { headerOf, type PublicCallShape } from "./public-call.ts"

/** What somebody gave, once it holds. */
export interface Given {
  readonly name: string
  readonly email: string | null
  readonly strokes: string | null
}
export type Accepted =
  | { readonly kind: "accepted"; readonly acceptance: DocumentAcceptanceRow }
  | { readonly kind: "refused"; readonly reason: NotAccepted }
  /** The address itself does not hold any more. */
  | { readonly kind: "gone" }

/** Whoever accepts: may have the opportunity follow, and nothing more; not what only staff decides about shortages. */
const customer: Viewer = {
  user_id: 0,
  name: "public link",
  person_id: null,
  is_owner: false,
  is_active: true,
  role_ids: [],
  permissions: new Set(["opportunities.view", "opportunities.edit"]),
  abilities: new Set(["*"]),
  token_id: null
}

export const acceptanceOf = (document_id: number) =>
  Effect.flatMap(Store, (store) => store.first(document_acceptances, { document_id }))

/** What the opportunity would be offered at now, compared with what the document says. */
const isOffered = Effect.fnUntraced(function* (document: DocumentRow, text: Text, settings: Settings) {
  const prepare = yield* preparation
  const prepared = yield* prepare(
    {
      document_type: document.document_type,
      documentable_id: document.documentable_id,
      store_id: document.store_id,
      document_number: document.document_number,
      now: document.created_at
    },
    settings
  )
  return prepared !== undefined && offerText(prepared.compose({})) === offerText(text.document)
})

/** Reserves or orders by the rules that staff goes by. Answers with why it stopped, where it did. */
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
  yield* recordEvents(
    [
      documentAccepted.make(acceptance),
      ...(document.status === "generated"
        ? [documentFinalised.make(documentChange(document, { status: "finalised", finalised_at: now }))]
        : []),
      quotationAccepted.make({ id: opportunity.id, document_id: document.id, document_number, note })
    ],
    { command_id: yield* runtime.commandId, actor_id: null, replica_id: null, recorded_at: now }
  )
})

export const accept = (accepting: Accepting, settings: Settings) =>
  Effect.flatMap(Store, (store) =>
    store.transaction(
      Effect.gen(function* () {
        const { link, document: before } = accepting.opened
        const now = instantOf(yield* Clock.currentTimeMillis)
        if (!isAcceptable(before)) return { kind: "refused", reason: "no_quotation" } satisfies Accepted
        yield* lockStreams([documentStream(before.id), streamOf("opportunity", before.documentable_id)])
        // As it is once nobody else changes it: voided, revoked, or given another address meanwhile.
        const opened = yield* openLink(link.token, now)
        if (opened === "gone" || opened === "expired" || opened.link.id !== link.id)
          return { kind: "gone" } satisfies Accepted
        const known = yield* acceptanceOf(before.id)
        if (known !== undefined) return { kind: "accepted", acceptance: known } satisfies Accepted
        const opportunity = yield* store.get(opportunities, before.documentable_id)
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
    )
  ).pipe(retryOnConflict)
