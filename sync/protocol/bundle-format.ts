/**
 * A bundle: a signed file with the content of a sync over the network. It contains no secret: its carrier can read it,
 * but neither change nor forge it.
 */
import { createPrivateKey, createPublicKey, hkdfSync, type KeyObject, randomBytes, sign, verify } from "node:crypto"
import { Schema } from "effect"
import { canonicalJson, canonicalPieces, isJsonObject, jsonObject, parseJson } from "../../core/kernel/index.ts"
import { TooDeep, wholeNumber, wire_body_depth_max, type Json, type JsonObject } from "../../core/kernel/index.ts"
import { DecodeFailure, decoderOf, type LeaseRange, leaseRange, verdict, type WireCommand } from "./wire.ts"

// Ed25519 signatures of bundles. Device and server each keep their private key and know the other's public key, so
// neither a carrier of bundles nor a reader of the server's database can forge one.

/** The 32 bytes of an Ed25519 private key, base64url. */
export type Seed = string
export type PublicKey = string

// DER prefixes of a 32-byte Ed25519 key in PKCS #8 and SPKI (RFC 8410).
const private_prefix = Buffer.from("302e020100300506032b657004220420", "hex")
const public_prefix = Buffer.from("302a300506032b6570032100", "hex")

const privateKey = (seed: Seed): KeyObject =>
  createPrivateKey({
    key: Buffer.concat([private_prefix, Buffer.from(seed, "base64url")]),
    format: "der",
    type: "pkcs8"
  })

export const newSeed = (): Seed => randomBytes(32).toString("base64url")
/** Derives a seed for one purpose from a secret. */
export const seedFrom = (secret: string, purpose: string): Seed =>
  Buffer.from(hkdfSync("sha256", secret, "", purpose, 32)).toString("base64url")

export const publicKeyOf = (seed: Seed): PublicKey =>
  createPublicKey(privateKey(seed))
    .export({ format: "der", type: "spki" })
    .subarray(public_prefix.length)
    .toString("base64url")

export const signed = (seed: Seed, text: string): string =>
  sign(null, Buffer.from(text), privateKey(seed)).toString("base64url")

/** Verifies a signature; also false for malformed keys and signatures, as files may have any content. */
const verifies = (key: PublicKey, text: string, signature: string): boolean => {
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

const bundle_version = 1
export const bundle_bytes_max = 64 * 1_048_576
export const commands_per_bundle_max = 5_000
/** Maximum bytes of commands and their files; the remaining bytes of a bundle are for the rest of its content. */
export const bundle_content_bytes_max = bundle_bytes_max - 4 * 1_048_576

type BundleKind = "commands" | "events"
const signedBundle = Schema.suspend(() =>
  Schema.Struct({
    /** Version of the bundle format. */
    flightcase_bundle: wholeNumber,
    kind: Schema.Literals(["commands", "events"]),
    made_at: Schema.String,
    /** Public key of the author. */
    key: Schema.String,
    body: jsonObject,
    /** Signature over all other keys. */
    signature: Schema.String
  })
)
type SignedBundle = typeof signedBundle.Type
const decodeEnvelope = decoderOf("the bundle", () => signedBundle)

/** Content of a device's bundle: its pending commands and its replica's position. */
export type CommandsBody = {
  readonly replica_id: number
  readonly device: string
  /** The server's URL as known to the device; the bundle may be delivered to another one. */
  readonly server: string
  readonly schema_version: number
  readonly position: number
  readonly offset: string
  readonly handle: string | null
  /** Commands in ascending order, without gaps. */
  readonly commands: ReadonlyArray<WireCommand>
  /** Whether more commands are pending than the bundle contains. */
  readonly more: boolean
  readonly leases: ReadonlyArray<{ readonly entity: string; readonly request_no: number }>
  /** Id blocks of the device and how many it ever got, as a server restored from a backup may have forgotten some. */
  readonly blocks?: ReadonlyArray<LeaseRange & { readonly request_no: number }>
  readonly blocks_asked?: number
  /** Content of the commands' files, as base64. `lost_files`: hashes of content the device has lost. */
  readonly files?: ReadonlyArray<{ readonly sha256: string; readonly content: string }>
  readonly lost_files?: ReadonlyArray<string>
}
const page = Schema.suspend(() =>
  Schema.Struct({
    /** Whether a new history replaces the reader's data. */
    anew: Schema.Boolean,
    /** Offset at which the page begins. */
    from: Schema.String,
    offset: Schema.String,
    handle: Schema.String,
    up_to_date: Schema.Boolean,
    /** Journal rows, decoded by `eventOfShapeRow`. */
    rows: Schema.Array(jsonObject)
  })
)
/** A page of journal rows, as sent by the shape protocol. */
export type Page = typeof page.Type
const eventsBody = Schema.suspend(() =>
  Schema.Struct({
    replica_id: wholeNumber,
    schema_version: wholeNumber,
    verdicts: Schema.Array(verdict),
    pages: Schema.Array(page),
    /** False if there are more events than a bundle contains, so that another exchange is needed. */
    complete: Schema.Boolean,
    leases: Schema.Array(
      Schema.Struct({ entity: Schema.String, request_no: wholeNumber, ranges: Schema.Array(leaseRange) })
    ),
    /** The server's record of the device: id blocks and commands. */
    remembered: Schema.optionalKey(
      Schema.Struct({
        last_n: wholeNumber,
        leases: Schema.Array(leaseRange),
        /** All blocks the device presented, if the server had forgotten some; their valid parts are in `leases`. */
        shown: Schema.Array(leaseRange)
      })
    )
  })
)
/** Content of a server's bundle: verdicts, and the events since the device's position. */
export type EventsBody = typeof eventsBody.Type

/** A fault in a bundle, with advice. */
export class BundleError extends Error {
  override readonly name = "BundleFault"
  readonly way_out: string
  constructor(message: string, way_out: string) {
    super(message)
    this.way_out = way_out
  }
}

/** Decodes a bundle's content by a Schema; throws a BundleError for content of another release. */
const bodyDecoder = <T>(schema: () => Schema.Codec<T, unknown>): ((body: JsonObject) => T) => {
  const decode = decoderOf("the bundle", schema)
  return (body) => {
    try {
      return decode(body)
    } catch (error) {
      throw error instanceof DecodeFailure ? unreadableBundle(error) : error
    }
  }
}
export const unreadableBundle = ({ message }: DecodeFailure): BundleError =>
  new BundleError(
    `The bundle cannot be read (${message}). Nothing of it was applied.`,
    "The server that made it is of another release: update Flightcase here, or there, and fetch the bundle again."
  )
/**
 * Decodes the addressed device and the release of a server's bundle. Decoded first, as newer releases may change the
 * rest.
 */
export const decodeAddress = bodyDecoder(() => Schema.Struct({ replica_id: wholeNumber, schema_version: wholeNumber }))
export const decodeEventsBody = bodyDecoder(() => eventsBody)
const decodeObject = decoderOf("the bundle's body", () => jsonObject)

const signedText = ({ flightcase_bundle, kind, made_at, key, body }: Omit<SignedBundle, "signature">): string =>
  canonicalJson({ flightcase_bundle, kind, made_at, key, body })

/** Characters of a long bundle processed before other work runs. */
const turn_chars = 262_144
const signedTextInPieces = async ({
  flightcase_bundle,
  kind,
  made_at,
  key,
  body
}: Omit<SignedBundle, "signature">): Promise<string> => {
  const texts: Array<string> = []
  let text = ""
  for (const piece of canonicalPieces({ flightcase_bundle, kind, made_at, key, body })) {
    text += piece
    if (text.length < turn_chars) continue
    texts.push(text)
    text = ""
    await new Promise((resolve) => {
      setImmediate(resolve)
    })
  }
  return texts.join("") + text
}

const unsignedOf = (kind: BundleKind, body: object, seed: Seed, made_at: string): Omit<SignedBundle, "signature"> => ({
  // As in JSON, undefined keys are left out.
  flightcase_bundle: bundle_version,
  kind,
  made_at,
  key: publicKeyOf(seed),
  body: decodeObject(JSON.parse(JSON.stringify(body)))
})
export const signBundle = (kind: BundleKind, body: object, seed: Seed, made_at: string): SignedBundle => {
  const unsigned = unsignedOf(kind, body, seed, made_at)
  return { ...unsigned, signature: signed(seed, signedText(unsigned)) }
}
/** `signBundle` in pieces, between which the server handles other requests. */
export const signBundleInPieces = async (
  kind: BundleKind,
  body: object,
  seed: Seed,
  made_at: string
): Promise<SignedBundle> => {
  const unsigned = unsignedOf(kind, body, seed, made_at)
  return { ...unsigned, signature: signed(seed, await signedTextInPieces(unsigned)) }
}

/** Parses a bundle, without verifying its signature. */
export const readBundle = (text: string): SignedBundle => {
  let given: Json
  try {
    given = parseJson(text, wire_body_depth_max)
  } catch (cause) {
    if (cause instanceof TooDeep)
      throw new BundleError(
        "The bundle nests deeper than any that was made: nobody's device or server wrote it.",
        "Fetch it again from where it was made."
      )
    throw /^\s*\{"flightcase_bundle"/.test(text)
      ? new BundleError(
          "The bundle is cut off: it was not written or copied whole.",
          "Copy it again from where it was made, and unmount the stick before it is pulled."
        )
      : notABundle()
  }
  return bundleFrom(given)
}
export const bundleFrom = (given: Json): SignedBundle => {
  if (!isJsonObject(given) || typeof given["flightcase_bundle"] !== "number") throw notABundle()
  const version = given["flightcase_bundle"]
  if (version > bundle_version) {
    throw new BundleError(
      `The bundle has version ${version}, of a newer release; this one reads version ${bundle_version}.`,
      "Update Flightcase here, or carry the bundle to a newer one."
    )
  }
  if (version < 1)
    throw new BundleError(
      `The bundle has version ${version}, which was never written.`,
      "Make it again: flightcase sync bundle out FILE."
    )
  try {
    return decodeEnvelope(given)
  } catch (error) {
    throw error instanceof DecodeFailure ? notABundle(error) : error
  }
}
const notABundle = (cause?: DecodeFailure): BundleError =>
  new BundleError(
    `This file is no bundle${cause === undefined ? "" : ` (${cause.message})`}.`,
    "flightcase sync bundle out FILE makes one."
  )

/** Whether the bundle was signed with this key and is unchanged. */
export const isSignedBy = (sealed: SignedBundle, key: PublicKey): boolean =>
  sealed.key === key && verifies(key, signedText(sealed), sealed.signature)
export const isSignedByInPieces = async (sealed: SignedBundle, key: PublicKey): Promise<boolean> =>
  sealed.key === key && verifies(key, await signedTextInPieces(sealed), sealed.signature)
/** Whether the bundle is unchanged since it was signed, with any key. */
export const isComplete = (sealed: SignedBundle): boolean => verifies(sealed.key, signedText(sealed), sealed.signature)
