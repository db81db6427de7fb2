/** Derives commands from the endpoints: one noun per resource. */
import { Argument, type Command, Option } from "commander"
import { catalogue } from "../../core/catalogue.ts"
import { document_types } from "../../core/documents/schema.ts"
import { resourceOf, type Endpoint } from "../../core/kernel/index.ts"
import { withAction, repeatable } from "../context/program.ts"
import { type Flag, flagsOf, isList, kebab, placeholder, valuesFor, type Verb, verb_aliases } from "./names.ts"
import { resourceWhere } from "../base/nameable.ts"
import { withValues } from "../output/program.ts"
import { runDerivedCommand } from "./run.ts"

/** Adds verbs and their nouns to the program; returns names of boolean flags. */
export const addDerivedCommands = (program: Command, verbs: ReadonlyArray<Verb>): ReadonlySet<string> => {
  const booleans = new Set<string>()
  const by_hand = new Set(program.commands.flatMap((noun) => noun.commands))
  for (const verb of verbs) {
    const above = verb.words.slice(0, -1)
    const word = verb.words.at(-1) ?? ""
    const parent = above.reduce(childOf, program)
    // Handwritten verbs take precedence.
    if (parent.commands.some((one) => one.name() === word && one.registeredArguments.length + one.options.length > 0))
      continue
    const command = childOf(parent, word)
    const alias = verb_aliases[word]
    const is_taken = (name: string): boolean =>
      parent.commands.some((one) => one.name() === name) ||
      verbs.some((other) => other.words.join(" ") === [...above, name].join(" "))
    if (alias !== undefined && !is_taken(alias)) command.alias(alias)
    for (const { flag, field } of addVerb(command, verb)) if (field.type.kind === "boolean") booleans.add(flag)
  }
  for (const noun of program.commands) {
    setApart(noun, by_hand)
  }
  return booleans
}
/** In help of nouns with over 20 verbs, lists handwritten ones before those that only follow the API. */
const setApart = (noun: Command, by_hand: ReadonlySet<Command>): void => {
  if (noun.commands.length <= 20 || !noun.commands.some((one) => by_hand.has(one))) return
  for (const one of noun.commands) if (!by_hand.has(one)) one.helpGroup("Other operations:")
}
/** Subcommand of a parent by word, added if missing. */
const childOf = (parent: Command, word: string): Command => {
  const there = parent.commands.find((one) => one.name() === word)
  if (there !== undefined) return there
  const child = parent.createCommand(word).copyInheritedSettings(parent).enablePositionalOptions()
  if (word.includes("-")) child.alias(word.replaceAll("-", "_"))
  parent.addCommand(child)
  return child
}

/** Path parameters that are one of a few words instead of an id. */
const path_words: { readonly [path: string]: (() => ReadonlyArray<string>) | undefined } = {
  "/api/v1/settings/{group}": () => Object.keys(catalogue.settings),
  "/api/v1/document_types/{type}": () => Object.keys(document_types)
}
const listsArchived = (endpoint: Endpoint): boolean =>
  resourceWhere(({ plural }) => plural === resourceOf(endpoint))?.lists_archived === true
/** Name of a path parameter in usage: its own, for `{id}` the row's table. */
const argumentName = (endpoint: Endpoint, param: string): string => {
  const table = endpoint.params[param]?.table
  if (param !== "id") return kebab(param)
  return table === undefined ? "id" : kebab(table.entity)
}

const addVerb = (command: Command, verb: Verb): ReadonlyArray<Flag> => {
  const { endpoint } = verb
  command.description(`${endpoint.summary} (${endpoint.method} ${endpoint.path})`).summary(endpoint.summary)
  for (const param of verb.params) {
    const words = path_words[`${endpoint.path.split(`{${param}}`)[0]}{${param}}`]?.()
    const argument = new Argument(`<${argumentName(endpoint, param)}>`)
    command.addArgument(words === undefined ? argument : withValues(argument, { words }))
  }
  const flags = flagsOf(endpoint.fields, endpoint.mode)
  const is_update = endpoint.mode === "update"
  for (const flag of flags) {
    const values = valuesFor(flag.field)
    const option = new Option(`${flag.flag} ${placeholder(flag.field)}`)
    option.description = describeFlag(flag, is_update)
    command.addOption(withValues(option, values))
    // The suffix -id may be omitted: --store 2.
    const brief = flag.flag.replace(/-id$/, "")
    if (
      flag.field.type.kind === "ref" &&
      brief !== flag.flag &&
      !flags.some((other) => other.flag === brief) &&
      !reserved.has(brief)
    ) {
      command.addOption(withValues(new Option(`${brief} <id>`).hideHelp(), values))
    }
  }
  addFixedOptions(command, endpoint)
  if (verb.may_end) command.addOption(new Option("-y, --yes"))
  withAction(command, (context, args, given) => runDerivedCommand(context, verb, flags, args, given))
  return flags
}
/** Flags of all commands, whose names a flag cannot take when shortened by `-id`. */
const reserved: ReadonlySet<string> = new Set("--token --profile --url --json --plan --remote --data".split(" "))

/** Description of a flag; `~` stands for the text by its name. Updates require no flag: absent ones keep values. */
const describeFlag = ({ field }: Flag, is_update: boolean): string =>
  [
    field.describe ?? "~",
    field.type.kind === "choice" || field.type.kind === "code"
      ? `one of ${Object.entries(field.type.labels)
          .map(([key, label]) => (field.type.kind === "code" ? `${key} ${label}` : key))
          .join(", ")}`
      : undefined,
    field.required && !is_update ? "required" : undefined,
    field.default === undefined || field.default === null || typeof field.default === "object" || field.default === ""
      ? undefined
      : `default ${String(field.default)}`
  ]
    .filter((part) => part !== undefined)
    .join("; ")

/** Adds the flags of all verbs of a kind, whatever their fields. */
export const addFixedOptions = (command: Command, endpoint: Endpoint): void => {
  for (const option of fixedOptions(endpoint))
    if (
      !command.options.some(
        (one) => one.long === option.long || (one.short !== undefined && one.short === option.short)
      )
    )
      command.addOption(option)
}
const fixedOptions = (endpoint: Endpoint): ReadonlyArray<Option> => {
  if (endpoint.method === "GET" && isList(endpoint)) {
    return [
      repeatable("filter, such as name_cont=truss; repeatable")("-q, --q <name=value>"),
      new Option("--sort <field>"),
      new Option("--page <number>"),
      new Option("--per-page <number>"),
      new Option("--all"),
      new Option("--include <a,b>"),
      new Option("--view <id>"),
      ...(listsArchived(endpoint) ? [new Option("--archived <with|only>")] : [])
    ]
  }
  if (endpoint.method === "GET") {
    return [
      repeatable("other query parameters; repeatable")("-q, --q <name=value>"),
      new Option("--include <a,b>"),
      new Option("-o, --output <file>")
    ]
  }
  return [
    ...(endpoint.uploads ? [new Option("--file <path>", "file to send")] : []),
    new Option("-d, --data <json>"),
    new Option("--include <a,b>")
  ]
}
