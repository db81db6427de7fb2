/**
 * Ed25519 signatures of bundles. Device and server each keep a secret of their own and know the other's public key:
 * neither whoever carries a bundle nor a reader of the server's database can forge one.
 */
import { createPrivateKey, createPublicKey, hkdfSync, type KeyObject, randomBytes, sign, verify } from "node:crypto"

/** Base64url of the 32 bytes an Ed25519 key is made of. */
export type Seed = string
export type PublicKey = string

// The bytes before the key's 32 in PKCS #8 and in SPKI (RFC 8410).
const private_prefix = Buffer.from("302e020100300506032b657004220420", "hex")
const public_prefix = Buffer.from("302a300506032b6570032100", "hex")

const privateKey = (seed: Seed): KeyObject =>
  createPrivateKey({
    key: Buffer.concat([private_prefix, Buffer.from(seed, "base64url")]),
    format: "der",
    type: "pkcs8"
  })

export const newSeed = (): Seed => randomBytes(32).toString("base64url")
/** One secret gives one key for each purpose. */
export const seedFrom = (secret: string, purpose: string): Seed =>
  Buffer.from(hkdfSync("sha256", secret, "", purpose, 32)).toString("base64url")

export const publicKeyOf = (seed: Seed): PublicKey =>
  createPublicKey(privateKey(seed))
    .export({ format: "der", type: "spki" })
    .subarray(public_prefix.length)
    .toString("base64url")

export const signed = (seed: Seed, text: string): string =>
  sign(null, Buffer.from(text), privateKey(seed)).toString("base64url")

/** False, too, for malformed keys and signatures: they come from files anybody may have written. */
export const verifies = (key: PublicKey, text: string, signature: string): boolean => {
  if (!isPublicKey(key)) return false
  try {
    const spki = createPublicKey({
      key: Buffer.concat([public_prefix, Buffer.from(key, "base64url")]),
      format: "der",
      type: "spki"
    })
    return verify(null, Buffer.from(text), spki, Buffer.from(signature, "base64url"))
  } catch {
    return false
  }
}
export const isPublicKey = (text: string): boolean => /^[A-Za-z0-9_-]{43}$/.test(text)
