/** Completion in real shells: the arguments completed with the tab key are those the program receives. */
import { spawn, spawnSync } from "node:child_process"
import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { beforeAll, describe, expect, it } from "vitest"
import { forBash, readLine } from "../../cli/commands/operations/completion/candidates.ts"
import { placeOfSuite } from "./place.ts"
import { hasProgram } from "../installed-tools.ts"
import { cli_program } from "../programs.ts"
import { words as wordsIn } from "../words.ts"

const has_terminal = hasProgram("script")

const place = placeOfSuite()
let bin: string
let ran: string
beforeAll(async () => {
  await place.login()
  await place.done("products create --name 'PAR 64' --sku PAR64")
  await place.done("members create --name 'Ann Archer' --membership-type contact")
  bin = join(place.folder, "bin")
  ran = join(place.folder, "ran")
  mkdirSync(bin)
  // A directory of a command's name must not turn the command into a path.
  mkdirSync(join(place.folder, "products"))
  // Requests for words run the real program; anything else is recorded.
  writeFileSync(
    join(bin, "flightcase"),
    `#!/bin/sh\nif [ "$1" = completion ]; then exec ${process.execPath} ${cli_program} "$@"; fi\nprintf '%s\\n' "$@" > ${ran}\n`
  )
  chmodSync(join(bin, "flightcase"), 0o755)
})

const environment = (): { readonly [name: string]: string } => ({
  ...place.env,
  PATH: `${bin}:${place.env["PATH"] ?? ""}`,
  TERM: "xterm",
  PS1: "ready> ",
  SHELL: "/bin/sh"
})
/** Types keys into a shell on a terminal; returns the arguments the program received. */
const typed = (shell: string, before: string, keys: string): Promise<ReadonlyArray<string>> =>
  new Promise((resolve, reject) => {
    rmSync(ran, { force: true })
    const child = spawn("script", ["-qec", shell, "/dev/null"], { cwd: place.folder, env: environment() })
    let out = ""
    let is_sent = false
    const timer = setTimeout(() => child.kill("SIGKILL"), 80_000)
    child.stdout.on("data", (bytes: Buffer) => {
      out += bytes.toString("utf8")
      if (is_sent || !out.includes("SET-UP")) return
      is_sent = true
      child.stdin.write(`${keys}\n`)
      child.stdin.write("exit\n")
    })
    child.on("error", reject)
    child.on("close", () => {
      clearTimeout(timer)
      try {
        resolve(readFileSync(ran, "utf8").split("\n").slice(0, -1))
      } catch {
        reject(new Error(`the program was not called; the terminal showed:\n${out}`))
      }
    })
    // Printed only once the set-up has run; its echo has other characters.
    child.stdin.write(`${before}; printf 'SET%sUP\\n' -\n`)
  })

const shells = [
  { shell: "bash", start: "bash --norc --noprofile -i", before: "source <(flightcase completion bash)" },
  { shell: "zsh", start: "zsh -f -i", before: "source <(flightcase completion zsh)" }
] as const
describe.each(shells)("completion in $shell", ({ before, shell, start }) => {
  const can_run = has_terminal && hasProgram(shell)
  it.runIf(can_run)("completes nouns, verbs, flags and values", { timeout: 180_000 }, async () => {
    const keys = "flightcase products\tcr\t--stock-m\tser\t"
    expect(await typed(start, before, keys)).toEqual(wordsIn("products create --stock-method serialised"))
  })
  it.runIf(can_run)("completes names with a space in them as one word", { timeout: 180_000 }, async () => {
    const named = ["quote", "new", "--member", "Ann Archer", "--json"]
    expect(await typed(start, before, "flightcase quote new --member An\t--json")).toEqual(named)
    expect(await typed(start, before, "flightcase members sh\tAnn\\ A\t")).toEqual(["members", "show", "Ann Archer"])
    expect(await typed(start, before, 'flightcase products sh\t"PAR6\t')).toEqual(["products", "show", "PAR64"])
  })
})

describe("completion in fish", () => {
  const asked = (line: string): ReadonlyArray<string> => {
    const { stderr, stdout } = spawnSync(
      "fish",
      ["--no-config", "-c", `flightcase completion fish | source; complete -C '${line}'`],
      { cwd: place.folder, env: environment(), encoding: "utf8" }
    )
    expect(stderr).toBe("")
    return stdout.split("\n").slice(0, -1).sort()
  }
  it.runIf(hasProgram("fish"))("completes nouns, verbs, flags, values and, where there are none, paths", () => {
    expect(asked("flightcase prod")).toEqual(["product-groups", "product-tax-classes", "products"])
    expect(asked("flightcase products cr")).toEqual(["create"])
    expect(asked("flightcase products create --stock-m")).toEqual(["--stock-method"])
    expect(asked("flightcase products create --stock-method ")).toEqual(["bulk", "serialised"])
    expect(asked("flightcase products show ")).toEqual(["PAR64"])
    expect(asked("flightcase quote new --member An")).toEqual(["Ann Archer"])
    expect(asked("flightcase import products ho")).toEqual(["home/"])
  })
})

it("words for bash omit the text before =, and escape special characters", () => {
  const form = (line: string, candidate: string): string => forBash(candidate, readLine(line))
  expect(readLine("flightcase  x 'a b' c\\ d \"e f")).toEqual({
    words: ["flightcase", "x", "a b", "c d", "e f"],
    quote: '"'
  })
  expect(readLine("flightcase x ").words).toEqual(["flightcase", "x", ""])
  expect(form("flightcase x An", "Ann O'Hara & Co (1)")).toBe("Ann\\ O\\'Hara\\ \\&\\ Co\\ \\(1\\)")
  expect(form('flightcase x "An', "Ann $5")).toBe("Ann \\$5")
  expect(form("flightcase x 'An", "Ann $5")).toBe("Ann $5")
  expect(form("flightcase x --stock-method=se", "--stock-method=serialised")).toBe("serialised")
})

describe("completion of words", () => {
  const words = async (...given: ReadonlyArray<string>) => {
    const { code, err, out } = await place.type(["completion", "words", ...given])
    expect([code, err]).toEqual([0, ""])
    return out.split("\n").slice(0, -1)
  }
  it("works with and without a -- before the typed words", async () => {
    expect(await words("products", "sh")).toEqual(["show"])
    expect(await words("--", "products", "sh")).toEqual(["show"])
    expect(await words("--", "products", "show", "--js")).toEqual(["--json"])
    expect(await words("--", "pro")).toEqual(["product-groups", "product-tax-classes", "products"])
    expect(await words("--", "--prof")).toEqual(["--profile"])
  })
  it("offers values of flags, also after =, and names of rows", async () => {
    expect(await words("--", "products", "create", "--stock-method=")).toEqual([
      "--stock-method=bulk",
      "--stock-method=serialised"
    ])
    expect(await words("--", "opportunities", "create", "--member-id", "ann")).toEqual(["Ann Archer"])
    expect(await words("--", "opportunities", "create", "--owned-by", "Ow")).toEqual(["Owner"])
    expect(await words("--", "completion", "")).toEqual(["bash", "fish", "zsh"])
    expect(await words("--", "api", "P")).toEqual(["PATCH", "POST", "PUT"])
  })
  it("offers nothing if another server or profile than the replica's is named", async () => {
    expect(await words("--", "--url", "http://127.0.0.1:9", "products", "show", "")).toEqual([])
    expect(await words("--", "--profile", "other", "products", "show", "")).toEqual([])
    const elsewhere = await place.type(["completion", "words", "--", "products", "show", ""], {
      env: { FLIGHTCASE_URL: "http://127.0.0.1:9", FLIGHTCASE_TOKEN: "another-token-altogether" }
    })
    expect(elsewhere).toEqual({ code: 0, out: "", err: "" })
    expect(await words("--", "no-such-noun", "x")).toEqual([])
  })
})
