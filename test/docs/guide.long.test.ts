/** Runs the commands of the tour and the guide in order, as readers would. */
import { execFile } from "node:child_process"
import { cpSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { describe, expect, it } from "vitest"
import { openPlace, owner_token, type Place, type Ran, runHere, wordsOf } from "../cli/session.ts"

const root = fileURLToPath(new URL("../..", import.meta.url))
const readPage = (page: string): string => readFileSync(join(root, `docs/${page}.md`), "utf8")

interface Line {
  readonly page: string
  readonly text: string
}
/** Lines of a page's code blocks without `#` comments, below the given headings. */
const linesOf = (page: string, isWanted: (heading: string) => boolean = () => true): ReadonlyArray<Line> => {
  let heading = "",
    in_block = false,
    language = ""
  const lines: Array<Line> = []
  for (const line of readPage(page).split("\n")) {
    if (line.startsWith("```")) {
      in_block = !in_block
      language = in_block ? line.slice(3) : ""
    }
    // A block of another language holds no commands.
    else if (language !== "") continue
    else if (line.startsWith("#")) heading = line.replace(/^#+ /, "")
    else if (in_block && isWanted(heading))
      lines.push({ page, text: line.replace(/ +# .*$/, "").replaceAll("npx ", "") })
  }
  return lines.filter(({ text }) => text !== "")
}

/** Placeholder that readers replace. */
const has_placeholder = /(?:^|[ =])(?:ID|CODE|NAME|FILE|DIR|URL|T|N)(?: |$)/
/** Commands that are not run here, with the reason. */
const not_typed: { readonly [start: string]: string } = {
  "FLIGHTCASE_TOKEN=": "the server is started by the test",
  "export FLIGHTCASE_URL=": "every command gets both by its environment",
  "flightcase documents get 1 --certificate": "needs a reader who accepted"
}
/** Steps of the reader between two lines. */
const server_before: { readonly [start: string]: "stop" | "start" } = {
  "flightcase availability LX-MARTIN-MAC-AURA-XB --from 2026-12-01T09:00": "stop",
  'flightcase quote new --subject "Walk-in"': "stop",
  "flightcase sync": "start"
}
/** Commands with an exit code other than 0. */
const exit_codes: { readonly [start: string]: number } = {}
const startOf = <A>(by_start: { readonly [start: string]: A }, text: string): A | undefined =>
  Object.entries(by_start).find(([start]) => text.startsWith(start))?.[1]

/** Runs a line of a shell: a command, with input from `printf` and output into a file. */
const type = async (place: Place, text: string): Promise<Ran> => {
  const known = text.replaceAll("http://127.0.0.1:4480", place.url).replaceAll("a-token-of-twenty-chars", owner_token)
  if (known.startsWith("curl ")) {
    const env = { ...place.env, PATH: process.env["PATH"] }
    const { stderr, stdout } = await promisify(execFile)("sh", ["-c", known.replace("curl ", "curl --fail ")], { env })
    return { code: 0, out: stdout, err: stderr }
  }
  const [, printed, rest = known] = /^printf '([^']*)' [|>] (.*)$/.exec(known) ?? []
  const input = printed?.replaceAll("\\n", "\n") ?? ""
  if (printed !== undefined && !rest.startsWith("flightcase ")) {
    writeFileSync(join(place.folder, rest), input)
    return { code: 0, out: "", err: "" }
  }
  const [, command = rest, file] = /^(.*) > (\S+)$/.exec(rest) ?? []
  const ran = await runHere(place, wordsOf(command).slice(1), { input })
  if (file !== undefined) writeFileSync(join(place.folder, file), ran.out)
  return ran
}

const typeAll = async (lines: ReadonlyArray<Line>): Promise<ReadonlyArray<string>> => {
  const place = await openPlace()
  cpSync(join(root, "test/fixtures/rates.json"), join(place.folder, "test/fixtures/rates.json"))
  cpSync(join(root, "test/fixtures/price-list.csv"), join(place.folder, "test/fixtures/price-list.csv"))
  const problems: Array<string> = []
  try {
    for (const { page, text } of lines) {
      const change = startOf(server_before, text)
      if (change !== undefined) await place[change]()
      if (has_placeholder.test(text) || startOf(not_typed, text) !== undefined) continue
      const { code, err, out } = await type(place, text)
      if (code !== (startOf(exit_codes, text) ?? 0)) problems.push(`${page}: ${text}\n  exit ${code}: ${err}${out}`)
    }
  } finally {
    await place.close()
  }
  return problems
}

describe("the commands of the guide", () => {
  it("run from the first to the last on the tour's page", async () => {
    expect(await typeAll(linesOf("TOUR"))).toEqual([])
  })
  it("run in sequence on the pages of office, counter, warehouse and API", async () => {
    const sets_up = (heading: string) => /^(Set the house up|Let people in)$/.test(heading)
    const lines = [
      ...linesOf("OFFICE", sets_up),
      ...linesOf("COUNTER"),
      ...linesOf("WAREHOUSE"),
      ...linesOf("OFFICE", (heading) => !sets_up(heading)),
      ...linesOf("API")
    ]
    expect(await typeAll(lines)).toEqual([])
  })

  it("name existing verbs and flags on the tour's page and six others", async () => {
    const place = await openPlace()
    const helps = new Map<string, string>()
    /** Help of the longest prefix of the words that is a command. */
    const helpOf = async (words: ReadonlyArray<string>): Promise<string | undefined> => {
      const command = words.join(" ")
      const held = helps.get(command)
      if (held !== undefined) return held
      const { code, out } = await runHere(place, [...words, "--help"])
      if (code !== 0) return undefined
      helps.set(command, out)
      return out
    }
    const problems: Array<string> = []
    try {
      for (const page of ["TOUR", "OFFICE", "COUNTER", "WAREHOUSE", "API", "OPERATIONS", "IMPORT"]) {
        const spans = [...readPage(page).matchAll(/`(?:npx )?(flightcase [^`\n]+)`/g)].map(([, span = ""]) => span)
        const blocks = linesOf(page).flatMap(({ text }) => /flightcase [a-z].*/.exec(text) ?? [])
        for (const text of new Set([...spans, ...blocks])) {
          const words = wordsOf(text).slice(1)
          const first = words.findIndex((word) => !/^[a-z][a-z-]*$/.test(word))
          const names = first < 0 ? words : words.slice(0, first)
          let help: string | undefined
          for (let depth = names.length; help === undefined && depth > 0; depth--)
            help = await helpOf(names.slice(0, depth))
          if (help === undefined && names.length > 0) problems.push(`${page}: there is no command in: ${text}`)
          for (const [flag] of text.replace(/'[^']*'|"[^"]*"/g, "").matchAll(/(?<= )--[a-z][a-z-]*/g))
            if (help !== undefined && !help.includes(flag)) problems.push(`${page}: ${text}: no flag ${flag}`)
        }
      }
    } finally {
      await place.close()
    }
    expect(problems).toEqual([])
  })
})
