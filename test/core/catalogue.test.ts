/** The catalogue with only the first slices loaded gives the same answers as with all of them. */
import { describe, expect, it } from "vitest"
import { nounOf, nounsIn, type Verb, verbsOf } from "../../cli/derived/names.ts"
import { catalogueOf } from "../../core/kernel/endpoints/endpoint.ts"
import { match } from "../../core/kernel/runtime/engine.ts"
import { Rejection } from "../../core/kernel/fields/rejection.ts"
import { tablesAreCurrent } from "../../core/kernel/runtime/schema.ts"
import { storedSettings } from "../../core/kernel/runtime/server-runtime.ts"
import type { Resource } from "../../core/kernel/endpoints/resource.ts"
import { slices } from "../../core/slices.ts"
import { openApp } from "../app.ts"

/** A new instance of the catalogue, as other tests in this process may have loaded all slices of theirs. */
const unloaded = async (name: string) => {
  const path = `../../core/catalogue.ts?${name}`
  const { catalogue }: typeof import("../../core/catalogue.ts") = await import(path)
  return catalogue
}
const first = (await unloaded("first")).loaded
const whole = catalogueOf(slices)
const pathOf = (path: string): string => path.replaceAll(/\{\w+\}/g, "1")
const nameAt = (of: typeof first, method: string, path: string): string | undefined => {
  const found = match(of, method, path)
  return found instanceof Rejection ? undefined : found.endpoint.name
}

describe("the first slices", () => {
  it("are a part of all slices, with less than half of the endpoints", () => {
    expect(first.endpoints.length).toBeGreaterThan(30)
    expect(first.endpoints.length).toBeLessThan(whole.endpoints.length / 2)
    expect(first.tables.filter((table) => whole.table(table.name) !== table)).toEqual([])
    expect(first.endpoints.filter(({ name }) => whole.endpoint(name) === undefined)).toEqual([])
  })
  it("match a path with the same endpoint as all slices do, or with none", () => {
    const paths = whole.endpoints.flatMap((one) => whole.pathsOf(one).map(pathOf))
    const wrong = paths.filter((path) => {
      const name = nameAt(first, "GET", path)
      return name !== undefined && name !== nameAt(whole, "GET", path)
    })
    expect(wrong).toEqual([])
  })
  it("declare their resources as all slices do, except for computed includes", () => {
    /** Name and declaration of an include, with the name of its resource in place of the resource. */
    const told = (of: Resource, name: string) => {
      const { resource, ...include } = { resource: undefined, ...of.includes[name] }
      return [name, include, resource?.().plural]
    }
    for (const resource of first.resources) {
      const { includes, ...declared } = resource
      const of_all = whole.resources.find(({ plural }) => plural === resource.plural)!
      const { includes: all_includes, ...declared_by_all } = of_all
      expect(declared).toStrictEqual(declared_by_all)
      const shown = Object.keys(all_includes).filter(
        (name) => name in includes || all_includes[name]?.kind !== "worked_out"
      )
      expect(Object.keys(includes)).toEqual(shown)
      expect(shown.map((name) => told(resource, name))).toEqual(shown.map((name) => told(of_all, name)))
    }
  })
  it("give the command line the same nouns and verbs as all slices", () => {
    const [nouns, all_nouns] = [nounsIn(first.endpoints), nounsIn(whole.endpoints)]
    const nounsOf = (noun: string) => [nounOf(noun, nouns), nounOf(noun, all_nouns)] as const
    expect(all_nouns.map(nounsOf).filter(([noun, of_all]) => nouns.includes(noun) && noun !== of_all)).toEqual([])
    const lineOf = ({ endpoint, words }: Verb): string => `${words.join(" ")}: ${endpoint.name}`
    const lines = verbsOf(first.endpoints).map(lineOf)
    const begins = verbsOf(first.endpoints).map(({ words }) => `${words.join(" ")} `)
    // Words that continue a verb would be taken for its arguments.
    const continued = verbsOf(whole.endpoints).filter(({ words }) =>
      begins.some((begin) => words.join(" ").startsWith(begin))
    )
    expect([...lines, ...continued.map(lineOf)].filter((line) => !lines.includes(line))).toEqual([])
    expect(lines.filter((line) => !verbsOf(whole.endpoints).map(lineOf).includes(line))).toEqual([])
  })
})

describe("the catalogue", () => {
  it("answers from the first slices where they suffice, and loads all slices for anything else", async () => {
    const catalogue = await unloaded("read")
    const first = catalogue.loaded
    expect(nameAt(catalogue, "GET", "/api/v1/products/1")).toBe("products.show")
    expect(catalogue.table("products")).toBe(first.table("products"))
    expect(catalogue.loaded).toBe(first)
    expect(nameAt(catalogue, "PUT", "/api/v1/products/1")).toBe("products.update")
    expect(catalogue.loaded.endpoints).toHaveLength(whole.endpoints.length)
    expect(catalogue.loaded).toBe(catalogue.whole)
  })
  it("has settings of slices not loaded yet, and finds tables current despite another release's digest", async () => {
    const catalogue = await unloaded("settings")
    const group = Object.keys(whole.settings).find((name) => !(name in catalogue.loaded.settings)) ?? ""
    const app = await openApp("sqlite")
    const settings = await app.run(storedSettings(catalogue))
    expect(settings[group]).toEqual((await app.run(storedSettings(whole)))[group])
    expect(await app.run(tablesAreCurrent(whole, "a digest of another release"))).toBe("declared")
    await app.close()
  })
})
