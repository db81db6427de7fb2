/** What is free, for the ways out of conflicts: the server knows best; where it does not answer, the replica does. */
import type { Device } from "../../../sync/device/device.ts"
import type { AskFacts } from "../../../sync/device/resolutions/ways-out.ts"
import type { CommandContext } from "../../context.ts"

export const factsFor = (context: CommandContext, device: Device): AskFacts => {
  let reachable = !context.offline
  return async ({ body, method, path, query }) => {
    const asked = { method, path, query, body }
    if (reachable) {
      try {
        const answer = await context.requestAtServer(asked)
        // A row that was made here is not there yet.
        if (answer.status < 400) return answer
      } catch {
        reachable = false
      }
    }
    return device.ask(asked)
  }
}
