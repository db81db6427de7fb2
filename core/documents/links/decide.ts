/** Rules of public links: which documents may have one, and how it changes (rules/billing 3). */
import { Result } from "effect"
import { decided, decision, invalidField, notFound } from "../../kernel/index.ts"
import type { DecideContext, Decided, FieldErrors } from "../../kernel/index.ts"
import { mayHandle } from "../decide.ts"
import { document_links, type DocumentLinkRow, type DocumentRow } from "../schema.ts"
import { linkChanged, linkCreated, revoked } from "./events.ts"

interface LinkGiven {
  readonly pin?: string | null | undefined
  readonly expires_at?: string | null | undefined
}
/** Error of a PIN that is not 4 to 12 letters or digits; blank text does not remove a PIN, only null does. */
export const linkErrors = (_values: object, { pin }: { readonly pin?: unknown }): FieldErrors =>
  typeof pin === "string" && !/^[A-Za-z0-9]{4,12}$/.test(pin.trim())
    ? { pin: ["The pin field must be 4 to 12 letters or digits."] }
    : {}
const isPast = (expires_at: string | null | undefined, now: string): boolean =>
  typeof expires_at === "string" && expires_at <= now
const past = invalidField("expires_at", "The expires_at field must be a time to come.")

/** Reason a document cannot have a public link; undefined if it can. */
export const whyNotShared = ({ status }: Pick<DocumentRow, "status">) =>
  status === "generated" || status === "finalised"
    ? undefined
    : invalidField(
        "status",
        status === "pending"
          ? "The document is not drawn yet; share it once it is."
          : `The document is ${status}; generate another one to share.`
      )

/** Creates a public link with a new token; an existing link of the document is revoked. */
export const share = (
  { document, link, token }: { document: DocumentRow; link: DocumentLinkRow | undefined; token: string },
  { expires_at = null, pin = null }: LinkGiven,
  context: DecideContext
): Decided =>
  Result.gen(function* () {
    yield* mayHandle(document, context.viewer)
    const refusal = whyNotShared(document)
    if (refusal !== undefined) return yield* Result.fail(refusal)
    if (isPast(expires_at, context.now)) return yield* Result.fail(past)
    const id = context.id(document_links)
    return decision(document.id, [
      linkCreated.make({
        id: document.id,
        link: {
          id,
          document_id: document.id,
          document_type: document.document_type,
          token,
          expires_at,
          requires_pin: pin !== null
        },
        replaced_id: link?.id ?? null
      })
    ])
  })

/** Columns of a link for its events, which carry all of them. */
const whole = ({ document_id, document_type, expires_at, requires_pin, token }: DocumentLinkRow) => ({
  document_id,
  document_type,
  token,
  expires_at,
  requires_pin
})
const noLink = notFound("The document has no public link.")
/** Changes expiry or PIN of a link; absent values stay, null clears them. */
export const changeLink = (
  { document, link }: { document: DocumentRow; link: DocumentLinkRow | undefined },
  { expires_at, pin }: LinkGiven,
  context: DecideContext
): Decided =>
  Result.gen(function* () {
    yield* mayHandle(document, context.viewer)
    if (link === undefined) return yield* Result.fail(noLink)
    const refusal = whyNotShared(document)
    if (refusal !== undefined) return yield* Result.fail(refusal)
    if (isPast(expires_at, context.now)) return yield* Result.fail(past)
    const set = {
      ...(expires_at === undefined || expires_at === link.expires_at ? {} : { expires_at }),
      ...(pin === undefined ? {} : { requires_pin: pin !== null })
    }
    const was = {
      ...("expires_at" in set ? { expires_at: link.expires_at } : {}),
      ...("requires_pin" in set ? { requires_pin: link.requires_pin } : {})
    }
    return {
      // Replacing a PIN is a change, although no column shows it.
      events:
        Object.keys(set).length === 0 || (pin === null && !link.requires_pin && !("expires_at" in set))
          ? []
          : [linkChanged.make({ id: document.id, link_id: link.id, set: { ...whole(link), ...set }, was })],
      result: { id: document.id }
    }
  })
export const revokeLink = (
  { document, link }: { readonly document: DocumentRow; readonly link: DocumentLinkRow | undefined },
  { viewer }: Pick<DecideContext, "viewer">
): Decided =>
  Result.flatMap(mayHandle(document, viewer), () =>
    link === undefined ? Result.fail(noLink) : decided(link.document_id, [revoked(link)])
  )
