/** Reclaims leased blocks of ids that a server restored from a backup has forgotten, before anything is sent. */
import { decodeLease } from "../../protocol/answers.ts"
import type { Outbox } from "../outbox/outbox.ts"
import { readAnswer, type Remote } from "./remote.ts"

const claims_per_request = 500

/** How many blocks of a device the server remembers, and up to which number it has decided. */
export interface ServerMemory {
  readonly blocks: number
  readonly last_n: number
}

/** The part of the blocks that the server confirms stays leased; ids that others have by now are not used any more. */
export const reclaimForgottenLeases = async (
  replica_id: number,
  { blocks: known, last_n }: ServerMemory,
  outbox: Outbox,
  remote: Pick<Remote, "call">
): Promise<void> => {
  const leases = outbox.leases()
  const here = leases.blocks_asked
  const position = `${known}/${here}`
  // A server that forgot verdicts this device knows was restored since, perhaps to the same backup as before.
  if (known >= here || (outbox.get("claimed") === position && last_n >= outbox.lastSettled())) return
  for (let at = 0; at < leases.blocks.length; at += claims_per_request) {
    const blocks = leases.blocks.slice(at, at + claims_per_request)
    const answer = await remote.call("POST", "/api/v1/sync/leases/claim", { replica_id, blocks })
    outbox.trimLeases(blocks, readAnswer("the server", answer, decodeLease).lease)
  }
  outbox.set("claimed", position)
}
