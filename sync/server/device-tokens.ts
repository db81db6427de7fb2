/** Services the host provides to sync: tokens of devices, their files, and the key that signs bundles. */
import { Context, type Effect } from "effect"
import type { Failure } from "../../core/kernel/endpoint.ts"
import type { CommandRuntime } from "../../core/kernel/command-runtime.ts"
import type { Store } from "../../core/kernel/store/store.ts"
import type { Viewer } from "../../core/kernel/viewer.ts"
import type { Seed } from "../protocol/signature.ts"

export interface DeviceTokensShape {
  /** A token of the device's own, with no more abilities than the caller's; its secret is given this once. */
  readonly issue: (
    name: string,
    viewer: Viewer,
    now: string
  ) => Effect.Effect<{ readonly id: number; readonly secret: string }, Failure, Store | CommandRuntime>
  /** The token's abilities; undefined when it is not valid any more. */
  readonly abilitiesOf: (
    token_id: number,
    now: string
  ) => Effect.Effect<ReadonlyArray<string> | undefined, Failure, Store>
  /** Ends it, for good. */
  readonly end: (token_id: number, viewer: Viewer, now: string) => Effect.Effect<void, Failure, Store | CommandRuntime>
}
export class DeviceTokens extends Context.Service<DeviceTokens, DeviceTokensShape>()("flightcase/sync/DeviceTokens") {}

export interface FileContent {
  readonly sha256: string
  readonly size_bytes: number
  readonly mime_type: string
}
/** Where contents of files are kept on the server. */
export interface DeviceFilesShape {
  /** Which of these contents are here. */
  readonly present: (sha256: ReadonlyArray<string>) => Effect.Effect<ReadonlySet<string>, Failure, Store>
  readonly keep: (content: Uint8Array) => Effect.Effect<FileContent, Failure, Store>
}
export class DeviceFiles extends Context.Service<DeviceFiles, DeviceFilesShape>()("flightcase/sync/DeviceFiles") {}

/** Signs the server's bundles. */
export class BundleKey extends Context.Service<BundleKey, { readonly seed: Seed }>()("flightcase/sync/BundleKey") {}
