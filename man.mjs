// Writes out/man: `flightcase(1)` and a page for each noun, from the declarations that --help shows. npm links them.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { gzipSync } from "node:zlib"
import { isGlobal, makeProgram } from "./cli/output/program.ts"
import { all_commands } from "./cli/frame/command-loader.ts"
import { commands } from "./cli/frame/command-list.ts"
import { overview } from "./cli/frame/help.ts"

const root = fileURLToPath(new URL(".", import.meta.url))
const { version } = JSON.parse(readFileSync(`${root}package.json`, "utf8"))

/** Text for troff: in ASCII, no line is a request, hyphens can be copied, and long words break at | and /. */
const escaped = (text) =>
  text
    .replaceAll("\\", "\\e")
    .replaceAll("-", "\\-")
    .replace(/[|/](?=[^ ])/g, "$&\\:")
    .replace(/[^\n -~]/gu, (sign) => `\\[u${sign.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}]`)
    .replace(/^(?=[.'])/gm, "\\&")
const bold = (text) => `\\fB${escaped(text)}\\fR`
const section = (title, ...lines) => (lines.length === 0 ? [] : [`.SH ${title}`, ...lines])
/** Terms, each with its description indented below. */
const listed = (entries) => entries.flatMap(([term, text]) => [".TP", bold(term), escaped(text || " ")])
/** Text whose lines stay as they are. */
const literal = (text) => [".nf", escaped(text.trim()), ".fi"]
const page = (name, ...parts) =>
  [
    `.TH "${escaped(name.toUpperCase())}" 1 "" "flightcase ${escaped(version)}" "Flightcase manual"`,
    // Flags and examples are neither broken nor spread.
    ".nh",
    ".ad l",
    ...parts.flat(),
    ""
  ].join("\n")

const optionsOf = (command, help) =>
  help.visibleOptions(command).filter((option) => !isGlobal(option) && option.long !== "--help")
/** Examples and notes below the help of a command. */
const notesOf = (command) => {
  let text = ""
  command.emit("afterHelp", { error: false, command, write: (part) => (text += part) })
  return text
}
const partsOf = (command, help) => [
  escaped(help.commandDescription(command)),
  ...listed(help.visibleArguments(command).map((one) => [help.argumentTerm(one), help.argumentDescription(one)])),
  ...listed(optionsOf(command, help).map((option) => [help.optionTerm(option), help.optionDescription(option)])),
  ...(notesOf(command) === "" ? [] : [".PP", ...literal(notesOf(command))])
]
/** Each command that does something, below its usage. */
const subsections = (command, help) =>
  command.commands
    .filter((one) => one.name() !== "help")
    .flatMap((one) => [
      ...(one.registeredArguments.length + optionsOf(one, help).length > 0 || one.commands.length === 0
        ? [`.SS "${escaped(help.commandUsage(one)).replaceAll('"', '""')}"`, ...partsOf(one, help)]
        : []),
      ...subsections(one, help)
    ])

const pageOf = (command, help) => {
  const inner = subsections(command, help)
  return page(
    `flightcase-${command.name()}`,
    section("NAME", `flightcase\\-${escaped(command.name())} \\- ${escaped(help.commandDescription(command))}`),
    section("SYNOPSIS", bold(help.commandUsage(command))),
    section("DESCRIPTION", ...partsOf(command, help)),
    section("COMMANDS", ...inner),
    section("SEE ALSO", `${bold("flightcase")}(1), for flags of every command and exit codes`)
  )
}

/** The text of each page, by its file's name. */
export const manPages = async () => {
  const pages = new Map()
  const words = await all_commands.firstWords()
  for (const word of words) {
    const program = makeProgram()
    await all_commands.load(program, word, [word, "--help"])
    for (const command of program.commands)
      pages.set(`flightcase-${command.name()}.1`, pageOf(command, command.createHelp()))
  }
  const program = makeProgram()
  const help = program.createHelp()
  const text = overview(words)
  const [, codes = ""] = /Exit codes: ([^]*)\.\n/.exec(text) ?? []
  const [, examples = ""] = /Examples:\n([^]*?)\n\n/.exec(text) ?? []
  const others = [...pages.keys()].map((file) => file.slice(0, -2)).toSorted()
  pages.set(
    "flightcase.1",
    page(
      "flightcase",
      section("NAME", "flightcase \\- the back office for equipment rental"),
      section("SYNOPSIS", `${bold("flightcase")} <noun> <verb> [flags]`),
      section("COMMANDS", ...listed(Object.values(commands).map(({ usage_line }) => usage_line))),
      section(
        "FLAGS OF EVERY COMMAND",
        ...listed(program.options.map((option) => [help.optionTerm(option), help.optionDescription(option)]))
      ),
      section("EXIT STATUS", ...listed(codes.split(/,\s/).map((one) => one.split(/ (.*)/s)))),
      section("EXAMPLES", ...literal(examples.replace(/^ +/gm, ""))),
      section("SEE ALSO", others.map((name) => `${bold(name)}(1)`).join(", "))
    )
  )
  return pages
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const folder = process.argv[2] ?? `${root}out/man`
  mkdirSync(folder, { recursive: true })
  for (const [file, text] of await manPages()) writeFileSync(`${folder}/${file}.gz`, gzipSync(text))
}
