/**
 * The command line as a program. The first word decides what is loaded: for the version nothing, for a handwritten
 * command its own modules, for a noun of the API the endpoint tables.
 */
import { exit_codes } from "./base/exit-codes.ts"
import { isPrinted, onStdoutClosed } from "./output/out.ts"
import { runCommandLine } from "./run.ts"

onStdoutClosed(() => process.exit(exit_codes.ok))
// The first interruption lets a command close its resources; a second one, or one before it began, ends at once.
let interrupted = false
process.on("SIGINT", () => {
  if (interrupted || process.listenerCount("SIGINT") === 1) process.exit(exit_codes.interrupted)
  interrupted = true
})

process.exitCode = await runCommandLine(process.argv.slice(2))
// Electric's client leaves a timer of up to a minute when a process has followed the journal twice; a finished command
// does not wait for that one. This timer is unreferenced: a process with nothing left to do ends at once.
const linger_millis = 500
setTimeout(() => {
  if (isPrinted()) process.exit()
}, linger_millis).unref()
