/**
 * The program. The first word decides what is loaded: nothing for the version, modules of a handwritten command, or
 * endpoints for a noun.
 */
import { exit_codes } from "./base/exit-codes.ts"
import { openOutput } from "./output/out.ts"
import { runCommandLine } from "./run.ts"

const isPrinted = openOutput()
// The first interrupt lets a command close its resources; a second one, or one before the command runs, ends at once.
let interrupted = false
process.on("SIGINT", () => {
  if (interrupted || process.listenerCount("SIGINT") === 1) process.exit(exit_codes.interrupted)
  interrupted = true
})

process.exitCode = await runCommandLine(process.argv.slice(2))
// Commands wait for what they begin. Ending here leaves Node's memory to the system, and does not wait for the timer of
// up to a minute that Electric's client may have. Faults of the output are raised before; what its reader delays, too.
const endPrinted = (): void => {
  if (isPrinted()) process.exit()
  setTimeout(endPrinted, 10).unref()
}
setImmediate(endPrinted)
