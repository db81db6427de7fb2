/** Rejects filters, sorts and includes that a list does not have. */
import { catalogue } from "../../core/catalogue.ts"
import { predicates, snakeCase, splitPredicate, type Json, type ShownResource } from "../../core/kernel/index.ts"
import { nearest } from "../../core/values/nearest.ts"
import { metaIn, objectBody } from "./answers.ts"
import { CliError, exit_codes } from "./exit-codes.ts"

/** Query parameters of every list, besides those its endpoint declares. */
const of_every_list = ["page", "per_page", "sort", "include", "view_id", "archived"]

/** Rejects parameters that a response reports as ignored: exit 2 with the valid names. */
export const refuseIgnored = async (body: Json | undefined): Promise<void> => {
  const { ignored } = metaIn(body)
  if (!Array.isArray(ignored) || ignored.length === 0) return
  const entries = Object.entries(objectBody(body))
  const [plural] = entries.find(([, value]) => Array.isArray(value)) ?? entries[0] ?? [""]
  throw unknownParts(plural, ignored.map(String), await resourceCalled(plural))
}

/** Rejects parameters such as `-q colour=red`: neither a parameter of the list, nor a filter with a predicate. */
export const refuseUnknownParts = async (
  asked: ReadonlyArray<readonly [name: string, value: string]>,
  plural: string,
  declared: ReadonlyArray<string>
): Promise<void> => {
  const unknown = asked
    .map(([name]) => name.replace(/\[.*$/, ""))
    .filter((name) => name !== "q" && !of_every_list.includes(name) && !declared.includes(name))
  if (unknown.length > 0)
    throw unknownParts(
      plural,
      unknown.map((name) => `q[${name}]`),
      await resourceCalled(plural)
    )
}

export const resourceCalled = async (plural: string): Promise<ShownResource | undefined> => {
  const known = catalogue.resources.find((one) => one.plural === plural)
  if (known !== undefined) return known
  const { serverSlices } = await import("../../server/host/slices.ts")
  return serverSlices(() => catalogue)
    .flatMap((slice): ReadonlyArray<ShownResource> => slice.resources ?? [])
    .find((one) => one.plural === plural)
}

interface Unknown {
  readonly flag: string
  readonly name: string
  readonly kind: "filter" | "order" | "include"
}
const unknownIn = (part: string): Unknown => {
  const [, flag = "", name = ""] = /^(sort|include)=(.*)$/s.exec(part) ?? []
  if (flag === "sort") return { flag: "--sort", name: name.replace(/^-/, ""), kind: "order" }
  if (flag === "include") return { flag: "--include", name, kind: "include" }
  return { flag: "-q", name: /^q\[([^\]]*)\]/.exec(part)?.[1] ?? part, kind: "filter" }
}
const each_with = `; each with ${predicates.map((one) => `_${one}`).join(", ")}`
const named = { filter: "filters", order: "orders", include: "includes" } as const

const unknownParts = (plural: string, parts: ReadonlyArray<string>, known: ShownResource | undefined): CliError => {
  const what = plural.replaceAll("_", " ")
  const unknown = parts.map(unknownIn)
  const [first] = unknown
  const sentence = ({ flag, kind, name }: Unknown): string => {
    const guess = known === undefined ? undefined : guessFor(kind, name, known)
    const offered = `${kind === "order" ? "cannot be sorted by" : `have no ${kind}`} ${JSON.stringify(name)}`
    return `${flag}: ${what} ${offered}.${guess === undefined ? "" : ` Did you mean ${guess}?`}`
  }
  const kinds = [...new Set(unknown.map(({ kind }) => kind))]
  return new CliError(exit_codes.usage, first === undefined ? "" : sentence(first), {
    errors: Object.fromEntries(unknown.slice(1).map((one) => [one.flag, [sentence(one).replace(/^\S+ /, "")]])),
    way_out:
      known === undefined
        ? undefined
        : kinds
            .map((kind) => {
              const names = offeredNames(kind, known)
              return names.length === 0
                ? `There are no ${named[kind]} of ${what}.`
                : `The ${named[kind]} of ${what}: ${names.join(", ")}${kind === "filter" ? each_with : ""}.`
            })
            .join(" ")
  })
}
const offeredNames = (kind: Unknown["kind"], resource: ShownResource): ReadonlyArray<string> => {
  if (kind === "include") return Object.keys(resource.includes)
  const aliases = Object.entries(resource.aliases)
  const of = (columns: ReadonlyArray<string>): ReadonlyArray<string> => [
    ...columns,
    ...aliases.flatMap(([alias, column]) => (columns.includes(column) ? [alias] : []))
  ]
  if (kind === "order") return [...new Set(of(resource.sorts))]
  const flags = "flags" in resource && typeof resource.flags === "object" ? Object.keys(resource.flags ?? {}) : []
  return [
    ...new Set([
      ...of(resource.filters),
      ...Object.keys(resource.related),
      ...flags,
      ...(resource.custom_module === undefined ? [] : ["cf.<name>"])
    ])
  ]
}
const guessFor = (kind: Unknown["kind"], name: string, resource: ShownResource): string | undefined => {
  const names = offeredNames(kind, resource)
  if (kind !== "filter") return nearest(snakeCase(name), names)
  const split = splitPredicate(name)
  if (split === undefined) {
    // The name may be a field without predicate (`name=truss`) or with an unknown one (`name_contains`).
    const field = names.find((one) => name === one || name.startsWith(`${one}_`)) ?? nearest(name, names)
    return field === undefined ? undefined : `${field}_eq or ${field}_cont`
  }
  const field = nearest(split.name, names)
  return field === undefined ? undefined : `${field}_${split.predicate}`
}
