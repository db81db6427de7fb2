/**
 * The command line. Nothing is loaded before the first word says what is needed: help and version come without
 * commander, a hand-made verb without the catalogue, a noun of the API with it.
 */
import { exit_codes } from "./exit-codes.ts"
import { isPrinted, onStdoutClosed } from "./output/out.ts"
import { runCommandLine } from "./run.ts"

onStdoutClosed(() => process.exit(exit_codes.ok))
// The first interruption lets a command close what it has open; a second one, or one before it began, ends at once.
let interrupted = false
process.on("SIGINT", () => {
  if (interrupted || process.listenerCount("SIGINT") === 1) process.exit(exit_codes.interrupted)
  interrupted = true
})

process.exitCode = await runCommandLine(process.argv.slice(2))
// Electric's client leaves a timer of up to a minute once a process has followed the journal twice: a finished command
// does not wait for it. Unreferenced, so that one with nothing left to wait for ends at once.
const linger_millis = 500
setTimeout(() => {
  if (isPrinted()) process.exit()
}, linger_millis).unref()
