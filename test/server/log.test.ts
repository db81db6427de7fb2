import { mkdtempSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { describe, expect, it } from "vitest"
import { makeLog } from "../../server/ports/log.ts"

const at = new Date("2026-06-18T12:34:56.789Z")
const logTo = (options: Partial<Parameters<typeof makeLog>[0]> = {}) => {
  const written: Array<string> = []
  return {
    written,
    log: makeLog({
      write: (text) => {
        written.push(text)
      },
      human: false,
      least: "info",
      now: () => at,
      ...options
    })
  }
}

describe("the server's log", () => {
  it("writes each event as one line of JSON, whatever its content", () => {
    const { log, written } = logTo()
    log.at("info", "request", { path: '/a\n"b"', nothing: null, missing: undefined, big: 2n ** 60n, list: [1] })
    log.flush()
    expect(written.join("").split("\n")).toHaveLength(2)
    expect(JSON.parse(written[0]!)).toEqual({
      time: at.toISOString(),
      level: "info",
      event: "request",
      path: '/a\n"b"',
      nothing: null,
      big: "1152921504606846976",
      list: [1]
    })
  })
  it("writes errors with their causes at once", () => {
    const { log, written } = logTo()
    log.at("error", "request failed", { error: new Error("outer", { cause: new Error("inner") }) })
    expect(written).toHaveLength(1)
    expect(JSON.parse(written[0]!).error).toMatch(/Error: outer[\s\S]*caused by Error: inner/)
  })
  it("names source lines if the bundle has source maps", () => {
    const file = join(mkdtempSync(join(tmpdir(), "flightcase-log-")), "server.js")
    writeFileSync(
      `${file}.map`,
      JSON.stringify({ version: 3, sources: ["../server/app.ts"], names: [], mappings: "AAAA,CAIA" })
    )
    const { log, written } = logTo()
    const url = pathToFileURL(file).href
    const error = Object.assign(new Error("no"), {
      stack: `Error: no\n    at f (${url}:1:2)\n    at g (${url}x.js:1:2)`
    })
    log.at("error", "request failed", { error })
    expect(JSON.parse(written[0]!).error).toBe(
      `Error: no\n    at f (${new URL("../server/app.ts", url).href}:5:1)\n    at g (${url}x.js:1:2)`
    )
  })
  it("writes a thousand lines and a warning in order, and loses none", () => {
    const { log, written } = logTo()
    for (let number = 0; number < 1_000; number++) log.at("info", "request", { number })
    log.at("warn", "last")
    const lines = written
      .join("")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line))
    expect(lines.map((line) => line.number ?? line.event)).toEqual([
      ...Array.from({ length: 1_000 }, (_, number) => number),
      "last"
    ])
    expect(written.length).toBeLessThan(100)
  })
  it("writes nothing below the configured level", () => {
    const { log, written } = logTo({ least: "warn" })
    log.at("debug", "a")
    log.at("info", "b")
    log.at("warn", "c")
    log.flush()
    expect(written.map((line) => JSON.parse(line).event)).toEqual(["c"])
    const silent = logTo({ least: "silent" })
    silent.log.at("error", "d")
    silent.log.flush()
    expect(silent.written).toEqual([])
  })
  it("prints plain text on a terminal, with control characters replaced by ?", () => {
    const { log, written } = logTo({ human: true })
    log.at("info", "request", { path: "/a\u001b[31m\u0007b\r\u009b\u202e\u2066", status: 200, user_id: null })
    log.at("error", "request failed", { error: new Error("why") })
    expect(written[0]).toBe("12:34:56 request path=/a?[31m?b???? status=200\n")
    expect(written[1]).toMatch(/^12:34:56 ERROR request failed error=Error: why\n/)
  })
})
