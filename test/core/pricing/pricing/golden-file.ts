/** Reads the golden cases of the rate engine (format: rules/rates 12). */
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

const path = fileURLToPath(new URL("../../../fixtures/golden/rates.json", import.meta.url))

interface GoldenCase<I, E> {
  readonly id: string
  readonly kind: string
  readonly name: string
  readonly input: I
  readonly expected: E
}

// Whole numbers beyond 2^53 would lose digits in JSON.parse; they are read as text.
const cases: ReadonlyArray<GoldenCase<unknown, unknown>> = JSON.parse(
  readFileSync(path, "utf8").replace(/(:\s*)(\d{16,})(?=\s*[,}])/g, '$1"$2"')
)

export const goldenKinds: ReadonlySet<string> = new Set(cases.map(({ kind }) => kind))

/** Cases of a kind, each with a title. Their types are asserted, not checked. */
export const golden = <I, E>(kind: string): ReadonlyArray<[title: string, test: GoldenCase<I, E>]> =>
  (cases as ReadonlyArray<GoldenCase<I, E>>)
    .filter((test) => test.kind === kind)
    .map((test) => [`${test.id} ${test.name}`, test])
