/**
 * Encrypts texts the server must read again, with AES-256-GCM under a key derived from FLIGHTCASE_KEY; with another key
 * they are lost and must be entered again. Also signs URLs that work without a token.
 */
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes, timingSafeEqual } from "node:crypto"
import { insert, renderById, Store, text, viewContext } from "../../core/kernel/index.ts"
import type { Input, JsonObject, Resource, RowOf, SecretBox, StoreRead, Table } from "../../core/kernel/index.ts"
import { Effect } from "effect"

export type { SecretBox } from "../../core/kernel/endpoints/endpoint.ts"

/** Prefix that identifies the encryption scheme, so that others can be added later. */
const form = "v1."
const cipher = "aes-256-gcm"
const nonce_bytes = 12
const tag_bytes = 16

/** HMAC-SHA256 under a key derived for one purpose, so that signatures for other purposes are invalid here. */
export const signatureOf = (
  key: string,
  purpose: "boards" | "calendar feeds" | "files",
  address: string,
  encoding: "hex" | "base64url" = "hex"
): string => {
  const own_key = createHmac("sha256", key).update(`flightcase ${purpose}`).digest()
  return createHmac("sha256", own_key).update(address).digest(encoding)
}
/** Compares signatures in constant time. */
export const isSameSignature = (given: string, right: string): boolean => {
  const one = Buffer.from(given, "utf8")
  const other = Buffer.from(right, "utf8")
  return one.length === other.length && timingSafeEqual(one, other)
}

/** Encrypts and decrypts texts for a purpose, such as `webhooks`; other purposes have other keys. */
export const secretBox = (key: string, purpose: string): SecretBox => {
  const derived = new Uint8Array(hkdfSync("sha256", key, "flightcase", `secret ${purpose}`, 32))
  return {
    seal: (text) => {
      const nonce = randomBytes(nonce_bytes)
      const sealing = createCipheriv(cipher, derived, nonce, { authTagLength: tag_bytes })
      const parts = [nonce, sealing.update(text, "utf8"), sealing.final()]
      return form + Buffer.concat([...parts, sealing.getAuthTag()]).toString("base64url")
    },
    open: (sealed) => {
      if (!sealed.startsWith(form)) return undefined
      const bytes = Buffer.from(sealed.slice(form.length), "base64url")
      if (bytes.length < nonce_bytes + tag_bytes) return undefined
      const opening = createDecipheriv(cipher, derived, bytes.subarray(0, nonce_bytes), { authTagLength: tag_bytes })
      opening.setAuthTag(bytes.subarray(-tag_bytes))
      try {
        return opening.update(bytes.subarray(nonce_bytes, -tag_bytes), undefined, "utf8") + opening.final("utf8")
      } catch {
        return undefined
      }
    }
  }
}

// Rows of server tables with a secret, which is shown only in the answer that creates it.

/** The resource of the response that includes the secret. `title`: its name in the API description. */
export const withSecret = <T extends Table, N extends string>(
  resource: Resource<T, N>,
  title: string,
  describe: string
): Resource<T, N> => ({ ...resource, title, shows: { ...resource.shows, secret: text({ describe }) } })

/** The row rendered with its secret, which only the caller knows. */
export const shownWithSecret = <T extends Table, N extends string>(
  resource: Resource<T, N>,
  id: number,
  secret: string,
  input: Input
): StoreRead<{ readonly [K in N]: JsonObject }> =>
  Effect.map(renderById(resource, id, [], viewContext(input)), (shown) => ({
    ...shown,
    [resource.singular]: { ...shown[resource.singular], secret }
  }))

/** Inserts a row, in the creating command's transaction, and renders it with its secret. */
export const madeWithSecret = <T extends Table, N extends string>(
  resource: Resource<T, N>,
  row: Omit<RowOf<T>, "created_at" | "updated_at" | "deleted_at"> & { readonly id: number },
  secret: string,
  input: Input
): StoreRead<{ readonly [K in N]: JsonObject }> =>
  Effect.gen(function* () {
    const { now } = input
    const stamped = { ...row, created_at: now, updated_at: now, deleted_at: null }
    yield* Store.apply([insert<Table>(resource.table, stamped)])
    return yield* shownWithSecret(resource, row.id, secret, input)
  })
