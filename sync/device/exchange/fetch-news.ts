/** News from the server for a decision taken here: nothing is sent, and a server that is far is not waited for. */
import type { Profile } from "../outbox/folder.ts"
import { remoteAt, RemoteError, Unreachable } from "./remote.ts"
import { pull, type SyncParts } from "./sync.ts"

/** The next sync reports the server's faults. */
export const fetchNews = async (
  parts: SyncParts,
  { token, url }: Pick<Profile, "token" | "url">,
  patience_millis: number
): Promise<boolean> => {
  const remote = remoteAt(url, token, { call: patience_millis, news: patience_millis, pull: patience_millis })
  try {
    // One call says whether it is there; following its journal would be tried several times.
    const { status } = await remote.call("GET", "/api/v1/system/health")
    if (status >= 500) return false
    await pull({ ...parts, remote })
    return true
  } catch (error) {
    if (error instanceof Unreachable || error instanceof RemoteError) return false
    throw error
  }
}
