/** Fields in texts are filled, and have access to nothing else. */
import { readFileSync } from "node:fs"
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { sharedRenderer } from "../serving.ts"

const renderer = sharedRenderer()

const data = { member: { name: "Zoë <b>" }, lines: [{ name: "Lamp" }, { name: "Truss" }], empty: null }
const filled = async (text: string): Promise<string | undefined> =>
  (await Effect.runPromise(renderer.texts({ text }, data)))["text"]
const refused = (fragments: { readonly [name: string]: string }) =>
  Effect.runPromise(Effect.flip(renderer.texts(fragments, data)))

describe("a text template", () => {
  it.each([
    ["Dear {{ member.name }},", "Dear Zoë <b>,"],
    ["{% for line in lines %}{{ forloop.index }} {{ line.name }}\n{% endfor %}", "1 Lamp\n2 Truss\n"],
    ["{{ empty.name }}{{ missing }}{{ member.missing | default: 'none' }}", "none"],
    ["{{ '2026-11-22T23:30:00Z' | date: '%d %B %Y %H:%M' }}", "22 November 2026 23:30"]
  ])("fills its fields: %j", async (text, expected) => {
    expect(await filled(text)).toBe(expected)
  })
  it.each([
    ["{{ member.constructor.name }}"],
    ["{{ member.__proto__.toString }}"],
    ["{{ lines.constructor.constructor }}"],
    ["{{ member['constructor']['prototype'] }}"],
    ["{{ 'a'.constructor }}"]
  ])("reads nothing outside the data: %j", async (text) => {
    expect(await filled(text)).toBe("")
  })
  it.each([
    ["a loop in a loop", `${"{% for a in (1..10000) %}".repeat(3)}x${"{% endfor %}".repeat(3)}`],
    ["a range that is too long", "{% assign a = (1..100000000) %}{{ a | join: ',' }}"],
    ["text that doubles", `{% assign a = 'aaaaaaaaaa' %}${"{% assign a = a | append: a %}".repeat(40)}{{ a }}`],
    ["padding without end", "{{ 'now' | date: '%999999999d' }}"],
    ["another file", "{% include '/etc/passwd' %}"],
    ["a file to render", "{% render '../package.json' %}"],
    ["a layout", "{% layout 'x' %}"],
    ["an unknown filter", "{{ member.name | env }}"],
    ["text longer than any letter", "{% if true %}".repeat(1) + "x".repeat(300_000) + "{% endif %}"]
  ])("is refused with %s", async (_what, text) => {
    expect(await refused({ text })).toMatchObject({ _tag: "TextInvalid", faults: [{ name: "text" }] })
  })
  it("reports its error with the position, beside those of all other faulty templates", async () => {
    const failure = await refused({ intro: "Dear\n  {{ member.name | shout }}", terms: "fine", footer: "{% if %}" })
    expect(failure).toMatchObject({
      _tag: "TextInvalid",
      faults: [
        { name: "intro", line: 2, column: 3, message: "undefined filter: shout" },
        { name: "footer", line: 1 }
      ]
    })
    expect(failure.message).toMatch(/^intro, line 2: undefined filter: shout\./)
  })
  it("lists the fields it uses, prefixed with their list within a loop", async () => {
    const text =
      "{{ member.name }}{% for line in lines %}{{ line.name }}{% for part in line.parts %}{{ part.id }}{% endfor %}" +
      "{% endfor %}{{ lines[0].price }}{% assign whom = member %}{{ whom.email }}"
    expect(await Effect.runPromise(renderer.fieldsOf({ text }))).toEqual({
      text: ["lines", "lines.name", "lines.parts", "lines.parts.id", "lines.price", "member", "member.name"]
    })
  })
  it("leaves no variables for the next template", async () => {
    await filled("{% assign secret = member.name %}{% increment counter %}")
    expect(await filled("{{ secret }}{% increment counter %}")).toBe("0")
  })
})

describe("the template library", () => {
  it("is at least the release that fixed its known vulnerabilities", () => {
    const path = new URL("../../../node_modules/liquidjs/package.json", import.meta.url)
    const found: unknown = JSON.parse(readFileSync(path, "utf8"))
    const version = typeof found === "object" && found !== null && "version" in found ? String(found.version) : ""
    expect(version.localeCompare("10.30.1", "en", { numeric: true })).toBeGreaterThanOrEqual(0)
  })
})
