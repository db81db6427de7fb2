/**
 * The command line. Nothing is loaded before the first word says what is needed: help and version come without
 * commander, a hand-made verb without the catalogue, a noun of the API with it.
 */
import { exits } from "./exits.ts"
import { onceUnread } from "./output/out.ts"
import { runTold } from "./run.ts"

onceUnread(() => process.exit(exits.ok))
// The first interruption lets a command close what it has open; a second one, or one before it began, ends at once.
let interrupted = false
process.on("SIGINT", () => {
  if (interrupted || process.listenerCount("SIGINT") === 1) process.exit(exits.interrupted)
  interrupted = true
})

process.exitCode = await runTold(process.argv.slice(2))
