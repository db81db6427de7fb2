/**
 * The command line. Nothing is loaded before the first word says what is needed: help and version come without
 * commander, a hand-made verb without the catalogue, a noun of the API with it.
 */
import { exits } from "./exits.ts"
import { findNoun, firstWord } from "./first-word.ts"

const version = async (): Promise<string> => {
  const { readFileSync } = await import("node:fs")
  const text = readFileSync(new URL("../package.json", import.meta.url), "utf8")
  return String((JSON.parse(text) as { readonly version: string }).version)
}

const run = async (argv: ReadonlyArray<string>): Promise<number> => {
  const { word, at } = firstWord(argv)
  if (word === undefined) {
    if (argv.includes("--version") || argv.includes("-V")) {
      process.stdout.write(`flightcase ${await version()}\n`)
      return exits.ok
    }
    const { overview } = await import("./help.ts")
    const asked = argv.includes("--help") || argv.includes("-h")
    ;(asked ? process.stdout : process.stderr).write(overview())
    return asked ? exits.ok : exits.usage
  }
  if (word === "help") return run([...argv.slice(at + 1).filter((one) => !one.startsWith("-")), "--help"])
  const { makeProgram, endedWith } = await import("./program.ts")
  const program = makeProgram()
  const words = await findNoun(program, word, argv)
  await program.parseAsync(words, { from: "user" })
  return endedWith()
}

// A reader that has seen enough (head, less) ends us quietly.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(exits.ok)
  throw error
})
process.stderr.on("error", () => {})
// The first interruption lets a command close what it has open; a second one, or one before it began, ends at once.
let interrupted = false
process.on("SIGINT", () => {
  if (interrupted || process.listenerCount("SIGINT") === 1) process.exit(exits.interrupted)
  interrupted = true
})

const argv = process.argv.slice(2)
try {
  process.exitCode = await run(argv)
} catch (error) {
  // Commander's own way of saying that help or the version was shown.
  const shown = error instanceof Error && "exitCode" in error && error.exitCode === 0
  const helped = error instanceof Error && "code" in error && error.code === "commander.help"
  if (shown) process.exitCode = exits.ok
  else if (helped) process.exitCode = exits.usage
  else {
    const { report } = await import("./report.ts")
    process.exitCode = report(error, argv.slice(0, argv.includes("--") ? argv.indexOf("--") : undefined).includes("--json"))
  }
}
