/** Pulls news from the server before a decision made here. Sends nothing, and gives up early on a slow server. */
import type { Profile } from "../outbox/folder.ts"
import { remoteAt, RemoteError, Unreachable } from "./remote.ts"
import { pull, type SyncParts } from "./sync.ts"

/** Pulls for at most the given time; returns whether it completed. Faults of the server are left to the next sync. */
export const fetchNews = async (
  parts: SyncParts,
  { token, url }: Pick<Profile, "token" | "url">,
  patience_millis: number
): Promise<boolean> => {
  const remote = remoteAt(url, token, { call: patience_millis, news: patience_millis, pull: patience_millis })
  try {
    // A single call checks that the server is reachable, as following the journal would retry several times.
    const { status } = await remote.call("GET", "/api/v1/system/health")
    if (status >= 500) return false
    await pull({ ...parts, remote })
    return true
  } catch (error) {
    if (error instanceof Unreachable || error instanceof RemoteError) return false
    throw error
  }
}
