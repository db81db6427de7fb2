/**
 * Texts that the server must be able to read again but that its database alone does not tell: sealed by AES-256-GCM
 * under a key made from FLIGHTCASE_KEY. Without that key, or under another, they are lost and have to be given again.
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto"
import type { SecretBox } from "../../core/kernel/endpoints/command-runtime.ts"

export type { SecretBox } from "../../core/kernel/endpoints/command-runtime.ts"

/** Says how the rest was sealed, so that another way can be added without asking for secrets again. */
const form = "v1."
const cipher = "aes-256-gcm"
const nonce_bytes = 12
const tag_bytes = 16

/** What is sealed for one purpose, such as `webhooks`, cannot be opened for another. */
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
