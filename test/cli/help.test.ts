/** The help of every command agrees with the API. */
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import type { Command } from "commander"
import { expect, it } from "vitest"
import { builtFrom, declareBuilt } from "../../cli/frame/built-commands.ts"
import { flag_texts } from "../../cli/derived/flag-texts.ts"
import { all_commands } from "../../cli/frame/command-loader.ts"
import { allEndpoints } from "../../cli/context/routing.ts"
import { makeProgram, valuesOf } from "../../cli/output/program.ts"
import { root } from "../source/tree.ts"

/** Help of a command and of all its subcommands. */
const helpOf = (command: Command): string => {
  let text = ""
  command.configureOutput({
    writeOut: (part) => {
      text += part
    }
  })
  command.outputHelp()
  return [text, ...command.commands.map(helpOf)].join("\n")
}
/** Addresses with a method, or full ones; /api/v1 may be left out. */
const addresses = /\b(?:(GET|POST|PUT|PATCH|DELETE)\s+)?((?:\/[\w{}.-]+)+)/g
const isAddress = (method: string | undefined, path: string): boolean =>
  method !== undefined || /^\/api\/v1\/./.test(path)

it("help names only endpoints that exist", async () => {
  const endpoints = await allEndpoints()
  const isThere = (method: string | undefined, path: string): boolean => {
    const named = path.replace(/^\/api\/v1(?=\/)|\.$/g, "").split("/")
    return endpoints.some((endpoint) => {
      const own = endpoint.path.replace(/^\/api\/v1(?=\/)/, "").split("/")
      return (
        (method === undefined || endpoint.method === method) &&
        own.length === named.length &&
        own.every((part, at) => part === named[at] || (part.startsWith("{") && /^\{|^\d+$/.test(named[at] ?? "")))
      )
    })
  }
  const wrong: Array<string> = []
  let looked_at = 0
  for (const word of await all_commands.firstWords()) {
    const program = makeProgram()
    await all_commands.load(program, word, [word, "--help"])
    const said = program.commands.map(helpOf).join("\n").matchAll(addresses)
    for (const [whole, method, path = ""] of said) {
      if (!isAddress(method, path)) continue
      looked_at++
      if (!isThere(method, path)) wrong.push(`${word}: ${whole}`)
    }
  }
  expect(wrong).toEqual([])
  expect(looked_at).toBeGreaterThan(300)
})

it("help and completion are the same when read from the data of the build", async () => {
  const { commands } = await builtFrom(all_commands, () => "")
  const valuesBelow = (command: Command): ReadonlyArray<unknown> => [
    ...[...command.options, ...command.registeredArguments].map(valuesOf),
    ...command.commands.map(valuesBelow)
  ]
  const words = await all_commands.firstWords()
  expect(Object.keys(commands)).toEqual(words)
  for (const word of words) {
    const [live, built] = [makeProgram(), makeProgram()]
    await all_commands.load(live, word, [word, "--help"])
    declareBuilt(built, JSON.parse(JSON.stringify(commands[word])))
    built.commands.forEach(flag_texts.addTexts)
    expect(built.commands.map(helpOf)).toEqual(live.commands.map(helpOf))
    expect(built.commands.map(valuesBelow)).toEqual(live.commands.map(valuesBelow))
  }
})

it("manual pages name every visible flag of every command", async () => {
  const { manPages } = await import(pathToFileURL(join(root, "man.mjs")).href)
  const pages: ReadonlyMap<string, string> = await manPages()
  const flagsOf = (command: Command): ReadonlyArray<string> => [
    ...command.options.flatMap(({ hidden, long }) => (long === undefined || long === null || hidden ? [] : [long])),
    ...command.commands.flatMap(flagsOf)
  ]
  const missing: Array<string> = []
  for (const word of await all_commands.firstWords()) {
    const program = makeProgram()
    await all_commands.load(program, word, [word, "--help"])
    for (const command of program.commands) {
      const page = `${pages.get(`flightcase-${command.name()}.1`)}${pages.get("flightcase.1")}`.replaceAll("\\-", "-")
      missing.push(
        ...flagsOf(command)
          .filter((flag) => !page.includes(flag))
          .map((flag) => `${word} ${flag}`)
      )
    }
  }
  expect(missing).toEqual([])
})
