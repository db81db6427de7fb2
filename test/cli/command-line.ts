/** The command line in this very process: the words somebody types, what is printed, how it ends. For tests of many commands. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { runTold } from "../../cli/run.ts"
import type { Ran } from "./session.ts"

export interface CommandLine {
  readonly home: string
  readonly type: (words: ReadonlyArray<string>) => Promise<Ran>
  readonly close: () => void
}

export const openCommandLine = (): CommandLine => {
  const home = mkdtempSync(join(tmpdir(), "flightcase-typed-"))
  const type = async (words: ReadonlyArray<string>): Promise<Ran> => {
    const before = { out: process.stdout.write, err: process.stderr.write, home: process.env["FLIGHTCASE_HOME"] }
    let out = "", err = ""
    const into = (add: (text: string) => void) => (chunk: string | Uint8Array): boolean => {
      add(typeof chunk === "string" ? chunk : Buffer.from(chunk).toString("utf8"))
      return true
    }
    process.env["FLIGHTCASE_HOME"] = home
    process.stdout.write = into((text) => { out += text })
    process.stderr.write = into((text) => { err += text })
    try {
      const code = await runTold(words)
      return { code, out, err }
    } finally {
      process.stdout.write = before.out
      process.stderr.write = before.err
      if (before.home === undefined) delete process.env["FLIGHTCASE_HOME"]
      else process.env["FLIGHTCASE_HOME"] = before.home
    }
  }
  return { home, type, close: () => rmSync(home, { recursive: true, force: true }) }
}
