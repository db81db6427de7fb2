/**
 * The program. The first word decides what is loaded: nothing for the version, modules of a handwritten command, or
 * endpoints for a noun.
 */
import { exit_codes } from "./base/exit-codes.ts"
import { isPrinted, onStdoutClosed } from "./output/out.ts"
import { runCommandLine } from "./run.ts"

onStdoutClosed(() => process.exit(exit_codes.ok))
// The first interrupt lets a command close its resources; a second one, or one before the command runs, ends at once.
let interrupted = false
process.on("SIGINT", () => {
  if (interrupted || process.listenerCount("SIGINT") === 1) process.exit(exit_codes.interrupted)
  interrupted = true
})

process.exitCode = await runCommandLine(process.argv.slice(2))
// Electric's client may leave a timer of up to a minute after following the journal twice, so the process is ended
// after a delay. This timer is unreferenced: a process with nothing left to do ends at once.
const linger_millis = 500
setTimeout(() => {
  if (isPrinted()) process.exit()
}, linger_millis).unref()
