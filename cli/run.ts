/** Runs one command line, from its words to its exit code. */
import { exit_codes } from "./base/exit-codes.ts"
import { firstWord } from "./base/first-word.ts"
import { printOut } from "./output/out.ts"

declare global {
  interface ImportMeta {
    /** Names the command that runs, for what is kept of its compiled code; absent where sources run. */
    readonly ran?: (command: string) => void
  }
}

const version = async (): Promise<string> => {
  const { readFileSync } = await import("node:fs")
  const text = readFileSync(new URL("../package.json", import.meta.url), "utf8")
  const manifest: unknown = JSON.parse(text)
  return typeof manifest === "object" && manifest !== null && "version" in manifest ? String(manifest.version) : "?"
}

const run = async (argv: ReadonlyArray<string>): Promise<number> => {
  const { word, at } = firstWord(argv)
  if (word === undefined && (argv.includes("--version") || argv.includes("-V"))) {
    printOut(`flightcase ${await version()}\n`)
    return exit_codes.ok
  }
  if (word === "help") return run([...argv.slice(at + 1).filter((one) => !one.startsWith("-")), "--help"])
  if (word === undefined || word === "completion" || argv.includes("--help") || argv.includes("-h")) {
    import.meta.ran?.("help")
    const { answeredByBuild } = await import("./frame/built-commands.ts")
    const code = await answeredByBuild(new URL("words/", import.meta.url), word, argv, at)
    if (code !== undefined) return code
  }
  const { runWord } = await import("./frame/command-loader.ts")
  return runWord(word ?? "", argv)
}

/** Runs a command line, and prints its error, if any, as text or JSON. Returns the exit code. */
export const runCommandLine = async (argv: ReadonlyArray<string>): Promise<number> => {
  try {
    return await run(argv)
  } catch (error) {
    // Commander also throws after printing help.
    if (error instanceof Error && "exitCode" in error && error.exitCode === 0) return exit_codes.ok
    if (error instanceof Error && "code" in error && error.code === "commander.help") return exit_codes.usage
    const { reportError } = await import("./context/error-report.ts")
    return reportError(error, argv.slice(0, argv.includes("--") ? argv.indexOf("--") : undefined).includes("--json"))
  }
}
