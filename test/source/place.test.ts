/** Finding places by their declaration and syntax, independent of layout. */
import { describe, expect, it } from "vitest"
import { type Place, placeOf, sourcesOf, withReplaced } from "./place.ts"

const files: { readonly [file: string]: string } = {
  "core/lamps.ts": `
export const lampOf = (id: number) => lamps.find((lamp) => lamp.id === id || lamp.twin === id)
const lit = { switched: (on: boolean) => (on ? "on" : "off"), dimmed: (on: boolean) => (on ? "half" : "off") }
export const described = () => \`a lamp,  \${lampOf(1)} at best\`
export const twice = () => [lampOf(1), lampOf(1)]
`,
  "sync/lamps.ts":
    "export const shared = 1\nexport const moved = () => { first(); second({ a: 1 }) }\nexport const both = () => here()",
  "server/lamps.ts": "export const shared = 1\nexport const both = () => there()"
}
const sources = sourcesOf(Object.keys(files), (file) => files[file]!)
const found = (place: Omit<Place, "file"> & { readonly file?: string }): string => {
  const at = placeOf(sources, { file: "core/lamps.ts", ...place })
  return typeof at === "string" ? at : files[at.file]!.slice(at.start, at.end)
}

describe("a place in the source named by declaration and text", () => {
  it.each([
    ["as it stands", "lamp.id === id || lamp.twin === id"],
    ["over line breaks", "lamp.id === id\n    || lamp.twin === id\n"],
    ["with parentheses that only group", "((lamp.id === id) || lamp.twin === id)"],
    ["with a comment", "lamp.id === id || /* the other */ lamp.twin === id"]
  ])("is found %s", (_layout, find) => {
    expect(found({ within: "lampOf", find })).toBe("lamp.id === id || lamp.twin === id")
  })
  it("is found without parentheses that group in the source", () => {
    expect(found({ within: "lit.switched", find: "=> on ? 'on' : 'off'" })).toBe('=> (on ? "on" : "off")')
  })
  it("is found despite redundant commas and semicolons", () => {
    expect(found({ within: "moved", find: "first()\nsecond({ a: 1, })" })).toBe("first(); second({ a: 1 })")
  })
  it("is found in the text of a string", () => {
    expect(found({ within: "described", find: "lamp, ${lampOf(1)} at", in_text: true })).toBe("lamp,  ${lampOf(1)} at")
  })
  it("is found in another file, if the named one does not declare it", () => {
    expect(found({ within: "moved", find: "first()" })).toBe("first()")
  })
  it("is found in the one of several other files that has it", () => {
    expect(found({ within: "both", find: "there()" })).toBe("there()")
  })
  it("is replaced literally, even if the replacement holds a $&", () => {
    expect(withReplaced("one two three", { start: 4, end: 7 }, "$&")).toBe("one $& three")
  })
})

describe("a place that does not occur exactly once in the source", () => {
  it.each([
    ["not declared", { within: "gone", find: "x" }, "gone is declared neither in core/lamps.ts nor in any other file"],
    [
      "in several other files",
      { within: "shared", find: "shared = 1" },
      "the place is to stand once in shared (not declared in core/lamps.ts), but stands 1 × in sync/lamps.ts, 1 × in server/lamps.ts: shared = 1"
    ],
    [
      "missing",
      { within: "lampOf", find: "lamp.id !== id" },
      "the place is to stand once in lampOf, but stands 0 × in core/lamps.ts: lamp.id !== id"
    ],
    [
      "ambiguous",
      { within: "twice", find: "lampOf(1)" },
      "the place is to stand once in twice, but stands 2 × in core/lamps.ts: lampOf(1)"
    ],
    [
      "outside of the named declaration",
      { within: "twice", find: "lamp.twin" },
      "the place is to stand once in twice, but stands 0 × in core/lamps.ts: lamp.twin"
    ],
    [
      "code instead of text of a string",
      { within: "lampOf", find: "lamp.id", in_text: true },
      "the place is to stand once in lampOf, but stands 0 × in core/lamps.ts: lamp.id"
    ]
  ])("is refused if it is %s", (_why, place, told) => {
    expect(found(place)).toBe(told)
  })
})
