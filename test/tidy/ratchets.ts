/** Allowed counts, those of the last run. They may only fall. */
import { readFileSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { Schema } from "effect"
import type { Found } from "./found.ts"

const Counts = Schema.Record(Schema.String, Schema.Record(Schema.String, Schema.Int))
const Ratchets = Schema.Struct({ counts: Counts })
export type Ratchets = typeof Ratchets.Type

const file = fileURLToPath(new URL("ratchets.json", import.meta.url))
export const readRatchets = (): Ratchets =>
  Schema.decodeUnknownSync(Schema.fromJsonString(Ratchets))(readFileSync(file, "utf8"))
export const writeRatchets = (ratchets: Ratchets): void => writeFileSync(file, `${JSON.stringify(ratchets, null, 2)}\n`)

interface Difference {
  readonly what: string
  readonly folder: string
  readonly allowed: number
  readonly counted: number
  readonly places: ReadonlyArray<string>
}
export const command = "npm run tidy"

/** Counts that differ from the allowed ones, in either direction. */
export const differences = ({ counts }: Ratchets, found: Found): ReadonlyArray<Difference> => {
  const kinds = new Set([...Object.keys(counts), ...found.keys()])
  return [...kinds].flatMap((what) => {
    const folders = new Set([...Object.keys(counts[what] ?? {}), ...(found.get(what)?.keys() ?? [])])
    return [...folders].flatMap((folder) => {
      const places = found.get(what)?.get(folder) ?? [],
        allowed = counts[what]?.[folder] ?? 0
      return places.length === allowed ? [] : [{ what, folder, allowed, counted: places.length, places }]
    })
  })
}
export const isMore = ({ allowed, counted }: Difference): boolean => counted > allowed

const shown_max = 40
export const told = (one: Difference): string => {
  const { allowed, counted, folder, places, what } = one
  if (!isMore(one))
    return `${folder}, ${what}: ${counted} by now, ${allowed} still allowed; lower the list by ${command}`
  const more = places.length > shown_max ? `\n    and ${places.length - shown_max} more` : ""
  return `${folder}, ${what}: ${counted}, only ${allowed} allowed. One of these is new:\n    ${places.slice(0, shown_max).join("\n    ")}${more}`
}

/** The allowed counts that would match the current source. */
export const asCounted = (found: Found): Ratchets => ({
  counts: Object.fromEntries(
    [...found]
      .toSorted(([a], [b]) => a.localeCompare(b))
      .map(([what, folders]) => [
        what,
        Object.fromEntries(
          [...folders].toSorted(([a], [b]) => a.localeCompare(b)).map(([folder, places]) => [folder, places.length])
        )
      ])
  )
})
