/** One command line, from its words to its exit code. */
import { exits } from "./exits.ts"
import { findNoun, firstWord } from "./first-word.ts"
import { printErr, printOut } from "./output/out.ts"

const version = async (): Promise<string> => {
  const { readFileSync } = await import("node:fs")
  const text = readFileSync(new URL("../package.json", import.meta.url), "utf8")
  return String((JSON.parse(text) as { readonly version: string }).version)
}

const run = async (argv: ReadonlyArray<string>): Promise<number> => {
  const { word, at } = firstWord(argv)
  if (word === undefined) {
    if (argv.includes("--version") || argv.includes("-V")) {
      printOut(`flightcase ${await version()}\n`)
      return exits.ok
    }
    const { overview } = await import("./help.ts")
    const asked = argv.includes("--help") || argv.includes("-h")
    const show = asked ? printOut : printErr
    show(overview())
    return asked ? exits.ok : exits.usage
  }
  if (word === "help") return run([...argv.slice(at + 1).filter((one) => !one.startsWith("-")), "--help"])
  const { makeProgram, endedWith } = await import("./program.ts")
  const program = makeProgram()
  const words = await findNoun(program, word, argv)
  await program.parseAsync(words, { from: "user" })
  return endedWith()
}

/** Runs it, and tells what went wrong as people or scripts are to read it. */
export const runTold = async (argv: ReadonlyArray<string>): Promise<number> => {
  try {
    return await run(argv)
  } catch (error) {
    // Commander's own way of saying that help or the version was shown.
    const shown = error instanceof Error && "exitCode" in error && error.exitCode === 0
    const helped = error instanceof Error && "code" in error && error.code === "commander.help"
    if (shown) return exits.ok
    if (helped) return exits.usage
    const { report } = await import("./report.ts")
    return report(error, argv.slice(0, argv.includes("--") ? argv.indexOf("--") : undefined).includes("--json"))
  }
}
