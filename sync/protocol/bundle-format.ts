/**
 * A bundle: what would have gone over the network, as one signed file. It holds no secret: who carries it can read it,
 * and can neither change it nor make another.
 */
import { parseJson, TooDeep, wire_body_depth_max } from "../../core/kernel/body-limits.ts"
import { canonicalJson, canonicalPieces, isJsonObject, type Json, type JsonObject } from "../../core/kernel/json.ts"
import { type PublicKey, publicKeyOf, type Seed, signed, verifies } from "./signature.ts"
import type { LeaseRange, Verdict, WireCommand } from "./wire.ts"

export const bundle_version = 1
export const bundle_bytes_max = 64 * 1_048_576
export const commands_per_bundle_max = 5_000

export type BundleKind = "commands" | "events"
export interface SignedBundle {
  readonly flightcase_bundle: number
  readonly kind: BundleKind
  readonly made_at: string
  /** The public key of whoever made it. */
  readonly key: PublicKey
  readonly body: JsonObject
  readonly signature: string
}

/** From a device: what is pending there, and where its replica stands. */
export type CommandsBody = {
  readonly replica_id: number
  readonly device: string
  /** The server's address as the device knows it: a courier may reach it under another. */
  readonly server: string
  readonly schema_version: number
  readonly position: number
  readonly offset: string
  readonly handle: string | null
  /** Ascending, without gaps. */
  readonly commands: ReadonlyArray<WireCommand>
  /** More is pending than one bundle carries. */
  readonly more: boolean
  readonly leases: ReadonlyArray<{ readonly entity: string; readonly request_no: number }>
  /** The blocks of ids it holds, and how many it was ever given: a server put back from a backup may have forgotten some. */
  readonly blocks?: ReadonlyArray<Block>
  readonly blocks_asked?: number
}
type Block = LeaseRange & { readonly request_no: number }
/** Rows of the journal as the shape protocol tells them. */
export type Page = {
  /** The server began a new history for this reader: what it holds is replaced. */
  readonly anew: boolean
  /** Where this page begins. */
  readonly from: string
  readonly offset: string
  readonly handle: string
  readonly up_to_date: boolean
  readonly rows: ReadonlyArray<JsonObject>
}
/** From the server: its verdicts, and what happened since the device stood where it said. */
export type EventsBody = {
  readonly replica_id: number
  readonly schema_version: number
  readonly verdicts: ReadonlyArray<Verdict>
  readonly pages: ReadonlyArray<Page>
  /** False when more happened than one bundle carries: the next round brings it. */
  readonly complete: boolean
  readonly leases: ReadonlyArray<{
    readonly entity: string
    readonly request_no: number
    readonly ranges: ReadonlyArray<LeaseRange>
  }>
  /** What the server knows of the device. */
  readonly remembered?: {
    readonly last_n: number
    readonly leases: ReadonlyArray<LeaseRange>
    /** Blocks it had forgotten, and what of them is the device's again. */
    readonly shown: ReadonlyArray<LeaseRange>
  }
}

/** What is wrong with a bundle, and what to do about it. */
export class BundleError extends Error {
  override readonly name = "BundleFault"
  readonly way_out: string
  constructor(message: string, way_out: string) {
    super(message)
    this.way_out = way_out
  }
}

const what = ({ flightcase_bundle, kind, made_at, key, body }: Omit<SignedBundle, "signature">): string =>
  canonicalJson({ flightcase_bundle, kind, made_at, key, body })

/** Characters of a long bundle after which others have their turn. */
const turn_chars = 262_144
const whatInPieces = async ({
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

const unsignedOf = (
  kind: BundleKind,
  body: JsonObject,
  seed: Seed,
  made_at: string
): Omit<SignedBundle, "signature"> => ({
  // As JSON will read it: a key that is undefined is no key.
  flightcase_bundle: bundle_version,
  kind,
  made_at,
  key: publicKeyOf(seed),
  body: JSON.parse(JSON.stringify(body)) as JsonObject
})
export const signBundle = (kind: BundleKind, body: JsonObject, seed: Seed, made_at: string): SignedBundle => {
  const unsigned = unsignedOf(kind, body, seed, made_at)
  return { ...unsigned, signature: signed(seed, what(unsigned)) }
}
/** The same, for a server that answers others meanwhile. */
export const signBundleInPieces = async (
  kind: BundleKind,
  body: JsonObject,
  seed: Seed,
  made_at: string
): Promise<SignedBundle> => {
  const unsigned = unsignedOf(kind, body, seed, made_at)
  return { ...unsigned, signature: signed(seed, await whatInPieces(unsigned)) }
}

/** A file's text as a bundle, its signature not yet looked at. */
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
  const { kind, made_at, key, body, signature } = given
  if (
    (kind !== "commands" && kind !== "events") ||
    typeof made_at !== "string" ||
    typeof key !== "string" ||
    typeof signature !== "string" ||
    !isJsonObject(body)
  )
    throw notABundle()
  return { flightcase_bundle: version, kind, made_at, key, body, signature }
}
const notABundle = (): BundleError =>
  new BundleError("This file is no bundle.", "flightcase sync bundle out FILE makes one.")

/** Made by the holder of this key, and unchanged since? */
export const isSignedBy = (sealed: SignedBundle, key: PublicKey): boolean =>
  sealed.key === key && verifies(key, what(sealed), sealed.signature)
export const isSignedByInPieces = async (sealed: SignedBundle, key: PublicKey): Promise<boolean> =>
  sealed.key === key && verifies(key, await whatInPieces(sealed), sealed.signature)
/** Unchanged since whoever it names made it; says nothing of who that is. */
export const isComplete = (sealed: SignedBundle): boolean => verifies(sealed.key, what(sealed), sealed.signature)
