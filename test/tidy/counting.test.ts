/** Each measure finds its pattern, and ignores comments, strings and types that look like it. */
import { describe, expect, it } from "vitest"
import { sourcesOf } from "../source/place.ts"
import { parsed } from "../source/tree.ts"
import { circlesOf, fileGraph, folderCircles } from "./circles.ts"
import { complexitiesOf } from "./complexity.ts"
import { commentsOf, dialectIn, titlesOf } from "./dialect.ts"
import { tidinessOf } from "./found.ts"
import { importsOf, measures } from "./measures.ts"
import { asCounted, differences, isMore, type Ratchets, told } from "./ratchets.ts"
import { rentalWordsIn } from "./words.ts"

const counted = (what: string, text: string): number => measures[what]!({ text, tree: parsed(text) }).length
const lines = (count: number, line: string): string => `${line}\n`.repeat(count)
const sourcesFrom = (files: { readonly [file: string]: string }) =>
  sourcesOf(Object.keys(files), (file) => files[file]!)

describe("the count of a measure", () => {
  it.each([
    ["casts", "const a = (b as C).d as E", 2],
    ["casts", "const a = [b] as const, c = d satisfies E // as F", 0],
    ["as unknown as", "const a = b as unknown as string", 1],
    ["as unknown as", "const a = (b as unknown) as string", 1],
    ["as unknown as", "const a = b as unknown // as string", 0],
    ["as unknown as", 'const a = "b as unknown as string"', 0],
    ["as never", "const a = (b as never).c", 1],
    ["as never", "type Never<T> = { [K in keyof T as never]: T[K] }", 0],
    ["as any", "const a = b as any", 1],
    ["as any", "const any = 1, a = any // as any", 0],
    ["non-null !", "const a = b!.c![0]", 2],
    ["non-null !", "const a = !b, c = d !== e", 0],
    ["JSON.parse taken for a type", "const a = JSON.parse(b) as A", 1],
    ["JSON.parse taken for a type", "const a = (JSON.parse(b)) as A", 1],
    ["JSON.parse taken for a type", "const a: A = JSON.parse(b)", 1],
    ["JSON.parse taken for a type", "const a: unknown = JSON.parse(b), c = JSON.parse(d) as unknown", 0],
    [
      "ids told by the names of keys",
      'const a = key.endsWith("_id"), b = /_ids?$/.test(key), c = /(^|_)id$/.exec(key)',
      3
    ],
    ["ids told by the names of keys", 'const a = row["store_id"], b = row._id, c = /^\\d+$/ // "_id"', 0],
    ["lines over 120 columns", `// ${"a".repeat(117)}\n// ${"a".repeat(118)}`, 1],
    ["files over 400 lines", lines(401, "a"), 1],
    ["files over 400 lines", lines(400, "a"), 0],
    ["functions over 70 lines", `const a = () => {\n${lines(69, "b")}}`, 1],
    ["functions over 70 lines", `const a = () => {\n${lines(68, "b")}}`, 0],
    ["functions over 70 lines", `class A { b() {\n${lines(70, "c")}} }`, 1]
  ])("is exact: for %s in %j it is %i", (what, text, times) => {
    expect(counted(what, text)).toBe(times)
  })
})

describe("cognitive complexity", () => {
  const points = (text: string): ReadonlyArray<number> => [...complexitiesOf(parsed(text)).values()]
  it.each([
    ["an if, else if and else", "const a = () => { if (b) c(); else if (d) e(); else f() }", [3]],
    ["control flow by its nesting", "function a() { for (const b of c) while (d) if (e) f() }", [6]],
    ["a switch with a nested ?:", "const a = () => { switch (b) { case 1: return (c ? d : e) } }", [3]],
    ["a catch, but not its try", "const a = () => { try { if (b) c() } catch { if (d) e() } }", [4]],
    ["the nested ?: of a branch", "const a = () => (b ? c : d ? e : f)", [3]],
    ["jumps to labels", "const a = () => { b: for (;;) { for (;;) break b } }", [4]],
    ["runs of &&", "const a = () => (b && c && d) || (e && f)", [2]],
    ["&& in brackets once", "const a = () => b && (c || (d && e))", [2]],
    ["neither || nor ?? nor ?.", "const a = () => (b || c) ?? d?.e", [0]],
    ["a function inside for itself", "const a = () => { if (b) return () => (c ? d : e) }", [1, 1]],
    ["nothing outside of functions", "if (a) b()", []]
  ])("counts %s", (_what, text, expected) => {
    expect(points(text)).toEqual(expected)
  })
  it("is counted above a limit", () => {
    const ifs = (count: number) => `const a = () => {${"if (b) c();".repeat(count)}}`
    expect(counted("functions over 15 in cognitive complexity", ifs(15))).toBe(0)
    expect(counted("functions over 15 in cognitive complexity", ifs(16))).toBe(1)
    expect(counted("functions over 20 in cognitive complexity", ifs(20))).toBe(0)
  })
})

describe("rental words", () => {
  const said = (text: string): ReadonlyArray<string> => rentalWordsIn(text).map(({ word }) => word)
  it("are found in names, properties, strings and templates, in any case and plural", () => {
    expect(
      said("const stockLevel = row.product_id + `${a} opportunities`; const b = { \"kits\": 'shortage' }")
    ).toEqual(["stock", "product", "opportunity", "kit", "shortage"])
  })
  it("are not found in comments, within other words, or in names of the database's store", () => {
    expect(
      said("// a product\nconst separate = yield_(Store); /* stock */ const store = makeStore(generated)")
    ).toEqual([])
  })
  it("include store where it names a place, as in store_id", () => {
    expect(said("row.store_id + stores")).toEqual(["store", "store"])
  })
})

describe("phrases to avoid in comments and titles", () => {
  const kinds = (texts: Parameters<typeof dialectIn>[0]) => dialectIn(texts).map(({ kind }) => kind)
  it("are found in comments, across lines, and not in code or strings", () => {
    const text =
      '/** Whoever is\n   * told. */\nconst nobody = "anew", a = /\\/\\/ wanted/ // so\n// many\n// What it is'
    expect(commentsOf(text).length).toBe(2)
    expect(kinds(commentsOf(text))).toEqual(["whoever", "is told", "tell, told", "so many"])
    expect(kinds(commentsOf("// What it is"))).toEqual(["begins with a clause"])
  })
  it("are found in test titles, and not in other strings of tests", () => {
    const text = 'describe.each(["nobody"])("nobody", () => it.live(`is told ${"anew"}`, () => expect("anew")))'
    expect(kinds(titlesOf({ text, tree: parsed(text) }))).toEqual(["nobody", "is told", "anew", "tell, told"])
  })
})

describe("imports", () => {
  it("include those of values and types, re-exports and dynamic ones", () => {
    const text = `import { a } from "./a.ts"\nimport type { B } from "./b.ts"\nexport { c } from "./c.ts"\nexport * from "./d.ts"
      import "./e.ts"\ntype F = import("./f.ts").F\nconst g = await import("./g.ts")\nexport type { H } from "./h.ts"\n// import "./i.ts"`
    expect(importsOf(parsed(text))).toEqual([
      "./a.ts",
      "./b.ts",
      "./c.ts",
      "./d.ts",
      "./e.ts",
      "./f.ts",
      "./g.ts",
      "./h.ts"
    ])
  })
  it("form circles when a folder imports itself through others", () => {
    const graph = fileGraph(
      sourcesFrom({
        "core/a/one.ts": 'import type { B } from "../b/one.ts"',
        "core/b/one.ts": 'export * from "../c/one.ts"',
        "core/c/one.ts": 'import { two } from "../a/two.ts"',
        "core/a/two.ts": "",
        "core/d/one.ts": 'import "../a/two.ts"'
      })
    )
    expect(circlesOf(graph)).toEqual([])
    expect(folderCircles(graph)).toEqual(["core/: a and b and c"])
  })
})

describe("the list of ceilings", () => {
  const sources = sourcesFrom({
    "core/kernel/one.ts": 'import { b } from "../stock/two.ts"\nexport const a = b! + 1',
    "core/stock/two.ts": 'import { a } from "../kernel/one.ts"\nexport const b = a',
    "sync/three.ts": "const product = 1"
  })
  const today = tidinessOf(sources),
    allowed = asCounted(today)
  it("holds a count for each kind and folder", () => {
    expect(allowed).toEqual({
      counts: {
        "files in circles of imports": { core: 2 },
        "imports of core beyond values": { "core/kernel": 1 },
        "non-null !": { core: 1 },
        "rental word product": { sync: 1 },
        "rental word stock": { "core/kernel": 1 }
      }
    })
    expect(differences(allowed, today)).toEqual([])
  })
  const withCore = (core: number): Ratchets => ({ ...allowed, counts: { ...allowed.counts, "non-null !": { core } } })
  it("refuses a higher count, and says where it is", () => {
    const [one, ...others] = differences(withCore(0), today)
    expect(others).toEqual([])
    expect(isMore(one!)).toBe(true)
    expect(told(one!)).toBe("core, non-null !: 1, only 0 allowed. One of these is new:\n    core/kernel/one.ts:2")
  })
  it("refuses a ceiling above the count, and says how to lower it", () => {
    const [one, ...others] = differences(withCore(2), today)
    expect(others).toEqual([])
    expect(isMore(one!)).toBe(false)
    expect(told(one!)).toBe("core, non-null !: 1 by now, 2 still allowed; lower the list by npm run tidy")
  })
})
