/** Tokens of public links, and the link of a document. */
import { randomBytes } from "node:crypto"
import { document_links, type DocumentLinkRow } from "../../../core/documents/schema.ts"
import type { StoreRead } from "../../../core/kernel/endpoints/endpoint.ts"
import { Store } from "../../../core/kernel/store/store.ts"

export const linkOf = (document_id: number): StoreRead<DocumentLinkRow | undefined> =>
  Store.first(document_links, { document_id })
/** 30 bytes are 40 signs. */
export const freshToken = (): string => randomBytes(30).toString("base64url")
