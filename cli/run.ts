/** One command line, from its words to its exit code. */
import { exit_codes } from "./base/exit-codes.ts"
import { firstWord } from "./base/first-word.ts"
import { printErr, printOut } from "./output/out.ts"

const version = async (): Promise<string> => {
  const { readFileSync } = await import("node:fs")
  const text = readFileSync(new URL("../package.json", import.meta.url), "utf8")
  const manifest: unknown = JSON.parse(text)
  return typeof manifest === "object" && manifest !== null && "version" in manifest ? String(manifest.version) : "?"
}

/** Where the build wrote the commands as data; there is no such folder beside the sources. */
const built = new URL("words/", import.meta.url)
const liveCommands = async () => (await import("./frame/command-loader.ts")).all_commands
const liveOverview = async (): Promise<string> =>
  (await import("./frame/help.ts")).overview(await (await liveCommands()).firstWords())

const run = async (argv: ReadonlyArray<string>): Promise<number> => {
  const { word, at } = firstWord(argv)
  const wants_help = argv.includes("--help") || argv.includes("-h")
  if (word === undefined) {
    if (argv.includes("--version") || argv.includes("-V")) {
      printOut(`flightcase ${await version()}\n`)
      return exit_codes.ok
    }
    const { builtOverview } = await import("./frame/built-commands.ts")
    const show = wants_help ? printOut : printErr
    show(builtOverview(built) ?? (await liveOverview()))
    return wants_help ? exit_codes.ok : exit_codes.usage
  }
  if (word === "help") return run([...argv.slice(at + 1).filter((one) => !one.startsWith("-")), "--help"])
  if (wants_help && (await (await import("./frame/built-commands.ts")).printBuiltHelp(built, word, argv)))
    return exit_codes.ok
  const shell = word === "completion" ? argv[at + 1] : undefined
  if (shell === "words" || shell === "line") {
    const { complete } = await import("./commands/operations/completion/candidates.ts")
    const { builtCommands } = await import("./frame/built-commands.ts")
    printOut(await complete(shell, argv.slice(at + 2), process.env, builtCommands(built, liveCommands)))
    return exit_codes.ok
  }
  if (shell === "data") {
    const { builtFrom } = await import("./frame/built-commands.ts")
    const { overview } = await import("./frame/help.ts")
    printOut(`${JSON.stringify(await builtFrom(await liveCommands(), overview))}\n`)
    return exit_codes.ok
  }
  const { exitCodeOf } = await import("./context/program.ts")
  const { makeProgram } = await import("./output/program.ts")
  const { loadCommand } = await import("./frame/command-loader.ts")
  const program = makeProgram()
  const words = await loadCommand(program, word, argv)
  await program.parseAsync(words, { from: "user" })
  return exitCodeOf(program)
}

/** Runs a command line and prints its error, if any: as words for people, as JSON for scripts. Gives the exit code. */
export const runCommandLine = async (argv: ReadonlyArray<string>): Promise<number> => {
  try {
    return await run(argv)
  } catch (error) {
    // Commander throws also where it has only shown help.
    if (error instanceof Error && "exitCode" in error && error.exitCode === 0) return exit_codes.ok
    if (error instanceof Error && "code" in error && error.code === "commander.help") return exit_codes.usage
    const { reportError } = await import("./context/error-report.ts")
    return reportError(error, argv.slice(0, argv.includes("--") ? argv.indexOf("--") : undefined).includes("--json"))
  }
}
