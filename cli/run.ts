/** One command line, from its words to its exit code. */
import { exit_codes } from "./exit-codes.ts"
import { loadCommand, firstWord } from "./command-loader.ts"
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
      return exit_codes.ok
    }
    const { overview } = await import("./help.ts")
    const asked = argv.includes("--help") || argv.includes("-h")
    const show = asked ? printOut : printErr
    show(overview())
    return asked ? exit_codes.ok : exit_codes.usage
  }
  if (word === "help") return run([...argv.slice(at + 1).filter((one) => !one.startsWith("-")), "--help"])
  const { makeProgram, lastExitCode } = await import("./program.ts")
  const program = makeProgram()
  const words = await loadCommand(program, word, argv)
  await program.parseAsync(words, { from: "user" })
  return lastExitCode()
}

/** Runs it, and tells what went wrong as people or scripts are to read it. */
export const runCommandLine = async (argv: ReadonlyArray<string>): Promise<number> => {
  try {
    return await run(argv)
  } catch (error) {
    // Commander's own way of saying that help or the version was shown.
    const shown = error instanceof Error && "exitCode" in error && error.exitCode === 0
    const helped = error instanceof Error && "code" in error && error.code === "commander.help"
    if (shown) return exit_codes.ok
    if (helped) return exit_codes.usage
    const { reportError } = await import("./error-report.ts")
    return reportError(error, argv.slice(0, argv.includes("--") ? argv.indexOf("--") : undefined).includes("--json"))
  }
}
