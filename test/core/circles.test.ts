/** The folders of core/ form no circle: each imports only from folders below it, types included. */
import { readdirSync, readFileSync } from "node:fs"
import { dirname, join, relative, resolve } from "node:path"
import { describe, expect, it } from "vitest"

type Imports = ReadonlyMap<string, ReadonlyMap<string, string>>
const core = join(import.meta.dirname, "../../core")

/** What a source imports or re-exports from files of its own tree, `import("…")` and types included. */
const importedBy = (source: string): ReadonlyArray<string> =>
  [...source.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*"(\.[^"]+)"/g)].map((found) => found[1]!)
const folderOf = (path: string): string | undefined =>
  path.includes("/") ? path.slice(0, path.indexOf("/")) : undefined

/** Folder → the folders it imports from, each with one import that does. */
const importsOf = (files: Iterable<readonly [path: string, source: string]>): Imports => {
  const imports = new Map<string, Map<string, string>>()
  for (const [path, source] of files) {
    const from = folderOf(path)
    if (from === undefined) continue
    for (const named of importedBy(source)) {
      const there = relative(core, resolve(core, dirname(path), named))
      const to = there.startsWith("..") ? undefined : folderOf(there)
      if (to === undefined || to === from) continue
      const known = imports.get(from) ?? new Map<string, string>()
      imports.set(from, known.set(to, known.get(to) ?? `${path} imports ${there}`))
    }
  }
  return imports
}

/** The first circle found, as the imports that close it; empty where folders can be put in an order. */
const circleIn = (imports: Imports): ReadonlyArray<string> => {
  const done = new Set<string>()
  const walk = (folder: string, way: ReadonlyArray<string>): ReadonlyArray<string> => {
    const at = way.indexOf(folder)
    if (at >= 0) return [...way.slice(at), folder].slice(1).map((to, index) => imports.get(way[at + index]!)!.get(to)!)
    if (done.has(folder)) return []
    for (const to of imports.get(folder)?.keys() ?? []) {
      const circle = walk(to, [...way, folder])
      if (circle.length > 0) return circle
    }
    done.add(folder)
    return []
  }
  return [...imports.keys()].reduce<ReadonlyArray<string>>(
    (found, folder) => (found.length > 0 ? found : walk(folder, [])),
    []
  )
}

describe("folders of core/", () => {
  const files = readdirSync(core, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".ts"))
    .map((path) => [path.replaceAll("\\", "/"), readFileSync(join(core, path), "utf8")] as const)
  const imports = importsOf(files)

  it("form no circle", () => {
    expect(circleIn(imports)).toEqual([])
  })
  it("stand on values and the kernel, which know none of the others", () => {
    expect([...(imports.get("values")?.keys() ?? [])]).toEqual([])
    expect([...(imports.get("kernel")?.keys() ?? [])]).toEqual(["values"])
    expect(imports.size).toBeGreaterThan(20)
  })
  it("would be told of a circle, of types and of re-exports too", () => {
    const of = (...edges: ReadonlyArray<readonly [string, string]>) =>
      circleIn(importsOf(edges.map(([from, line]) => [`${from}/x.ts`, line] as const)))
    expect(
      of(
        ["a", 'import { b } from "../b/y.ts"'],
        ["b", 'import type { C } from "../c/z.ts"'],
        ["c", 'export * from "../a/x.ts"']
      )
    ).toEqual(["a/x.ts imports b/y.ts", "b/x.ts imports c/z.ts", "c/x.ts imports a/x.ts"])
    expect(of(["a", 'type B = import("../b/y.ts").B'], ["b", 'import "../a/x.ts"'])).toHaveLength(2)
    expect(
      of(
        ["a", 'import { b } from "../b/y.ts"'],
        ["c", 'import { b } from "../b/y.ts"'],
        ["c", 'import { a } from "../a/y.ts"']
      )
    ).toEqual([])
  })
})
