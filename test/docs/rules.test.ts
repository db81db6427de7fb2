/** Sections of docs/rules that are cited exist, and so do the files and folders that ARCHITECTURE names. */
import { describe, expect, it } from "vitest"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("../..", import.meta.url))
const read = (path: string): string => readFileSync(join(root, path), "utf8")
const filesUnder = (folder: string): ReadonlyArray<string> =>
  readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(?:ts|mjs|md)$/.test(entry.name))
    .map((entry) => join(relative(root, entry.parentPath), entry.name))
const documents = ["README.md", "CONTRIBUTING.md", "SECURITY.md", join("test", "README.md"), ...filesUnder("docs")]
// This file cites sections that do not exist.
const readable = [...["core", "server", "sync", "cli", "test"].flatMap(filesUnder), ...documents].filter(
  (path) => path !== join("test", "docs", "rules.test.ts")
)

const sectionNumber = /\d+(?:\.\d+)?/.source
const compare = (a: string, b: string): number => a.localeCompare(b, "en", { numeric: true })
/** File name without its ending → the section numbers of its headings. */
const sections: ReadonlyMap<string, ReadonlyArray<string>> = new Map(
  filesUnder(join("docs", "rules"))
    .filter((path) => !path.endsWith("README.md"))
    .map((path) => [
      path.slice(path.lastIndexOf("/") + 1, -".md".length),
      [...read(path).matchAll(new RegExp(`^#{2,4} (${sectionNumber})\\.? `, "gm"))].map((match) => match[1] ?? "")
    ])
)

/** Fault of a citation: a file name and sections, as in `opportunities` and `7, 9.1 to 9.3 and 15`. */
const problem = (file: string, cited: string): string | null => {
  const known = sections.get(file)
  if (known === undefined) return `there is no docs/rules/${file}.md`
  const missing = (cited.match(new RegExp(sectionNumber, "g")) ?? []).filter((section) => !known.includes(section))
  if (missing.length > 0) return `docs/rules/${file}.md has no section ${missing.join(", ")}`
  const reversed = [...cited.matchAll(new RegExp(`(${sectionNumber}) to (${sectionNumber})`, "g"))].find(
    ([, from = "", to = ""]) => compare(from, to) >= 0
  )
  return reversed === undefined ? null : `${reversed[0]} is no range`
}
const citation = new RegExp(`\\brules/([a-z-]+) (${sectionNumber}(?:(?:, | and | to )${sectionNumber})*)`, "g")
const link = new RegExp(`\\[([a-z-]+) (${sectionNumber}(?:(?:, | and | to )${sectionNumber})*)\\]\\(([^)]*)\\)`, "g")
/** Text without line breaks, as comments wrap citations. */
const unwrapped = (text: string): string => text.replaceAll(/\n *(?:\* |\/\/ )? */g, " ")
/** Citations without the folder, of pages that are not kept here, and of ranges with a hyphen. */
const unclear = new RegExp(
  `\\((?:${[...sections.keys(), "interface", "[a-z]+\\.md"].join("|")}) ${sectionNumber}(?=[,) –-])` +
    `|\\brules/[a-z-]+ ${sectionNumber}[–-]`,
  "g"
)
const unclearIn = (text: string): ReadonlyArray<string> =>
  [...unwrapped(text).matchAll(unclear)].map(([whole]) => whole)
const problemsOf = (wrapped: string): ReadonlyArray<string> => {
  const text = unwrapped(wrapped)
  return [...text.matchAll(citation), ...text.matchAll(link)].flatMap(([whole, file = "", cited = ""]) => {
    const found = problem(file, cited)
    return found === null ? [] : [`${whole}: ${found}`]
  })
}
const problemsByFile = (problems: (path: string) => ReadonlyArray<string>): ReadonlyArray<string> =>
  readable.flatMap((path) => problems(path).map((one) => `${path}: ${one}`))

describe("the pages of docs/rules", () => {
  it("number their sections in ascending order, each once", () => {
    expect([...sections.keys()].sort()).toEqual([
      "availability",
      "billing",
      "conventions",
      "inspections",
      "members-activities",
      "opportunities",
      "rates",
      "rulings",
      "search",
      "stocktakes",
      "today",
      "transfers",
      "undo"
    ])
    for (const [file, numbers] of sections) {
      expect(numbers.length, file).toBeGreaterThan(5)
      expect(numbers, file).toEqual([...new Set(numbers)].sort(compare))
    }
  })
  it("are cited with sections that exist", () => {
    expect(problemsByFile((path) => problemsOf(read(path)))).toEqual([])
  })
  it("are cited in one form, as rules/ and the file's name", () => {
    expect(problemsByFile((path) => unclearIn(read(path)))).toEqual([])
    expect([...read("core/orders/opportunities/tables/opportunities.ts").matchAll(citation)]).not.toEqual([])
  })
  it.each([
    ["citations of an unknown file", "(rules/weather 1)", "rules/weather 1: there is no docs/rules/weather.md"],
    [
      "citations of an unknown section",
      "(rules/rates 4.99)",
      "rules/rates 4.99: docs/rules/rates.md has no section 4.99"
    ],
    [
      "citations of one unknown section among several",
      "rules/billing 4 and 77",
      "rules/billing 4 and 77: docs/rules/billing.md has no section 77"
    ],
    [
      "citations wrapped by a comment",
      "(rules/rates\n * 4.99)",
      "rules/rates 4.99: docs/rules/rates.md has no section 4.99"
    ],
    ["reversed ranges", "rules/rates 5 to 4", "rules/rates 5 to 4: 5 to 4 is no range"],
    [
      "links with unknown sections",
      "[rates 99](rates.md)",
      "[rates 99](rates.md): docs/rules/rates.md has no section 99"
    ]
  ])("have %s reported", (_, text, expected) => {
    expect(problemsOf(text)).toEqual([expected])
  })
  it.each([
    ["without the folder", "/** All lists (conventions\n * 2 and 3). */", "(conventions 2"],
    ["of pages that are not kept here", "// Invoices (interface 4.5).", "(interface 4.5"],
    ["of files that are not kept here", "// The order of events (sync.md 2).", "(sync.md 2"],
    ["of ranges with a hyphen", "(rules/rates 4-5)", "rules/rates 4-"]
  ])("have citations %s reported", (_, text, expected) => {
    expect(unclearIn(text)).toEqual([expected])
  })
})

/** Folders of the repository, and files with their paths; folders end with a slash. */
const places = ["core", "sync", "server", "cli", "client", "test", "docs"].flatMap((tree) => [
  `${tree}/`,
  ...readdirSync(join(root, tree), { recursive: true, withFileTypes: true }).map((entry) =>
    [relative(root, join(entry.parentPath, entry.name)), entry.isDirectory() ? "/" : ""].join("")
  )
])
/** Files and folders that a path may mean: from the root, or the end of a longer path. */
const placesOf = (path: string): ReadonlyArray<string> =>
  places.filter((place) =>
    [place, place.replace(/(?:\/|\.md)$/, "")].some((one) => one === path || one.endsWith(`/${path}`))
  )
/** Files that builds and servers create, and the package's name. */
const is_made = /^(?:out|blobs|flightcase)\//
/** Names of files and folders between backticks in a section. */
const namesIn = (section: string): ReadonlyArray<string> =>
  [...section.matchAll(/`([^`\n]+)`/g)]
    .flatMap(([, code = ""]) => code.split(" "))
    .filter((name) => /^(?:[\w.-]+\/)*(?:[\w.-]+\/|[\w.-]+\.ts|[\w.-]+\/[\w.-]+)$/.test(name) && !is_made.test(name))
/** Paths that do not exist, and file names that no folder named in the section holds. */
const lostNamesIn = (section: string): ReadonlyArray<string> => {
  const names = namesIn(section)
  const folders = names
    .filter((name) => name.includes("/"))
    .flatMap(placesOf)
    .map((place) => place.slice(0, place.lastIndexOf("/") + 1))
  return names.filter((name) =>
    name.includes("/")
      ? placesOf(name).length === 0
      : !placesOf(name).some((place) => folders.some((folder) => place.startsWith(folder)))
  )
}

describe("the architecture", () => {
  const sectionsOf = (text: string) => text.split(/^#+ /m)
  it("names files and folders that exist, each file in a folder that its section names", () => {
    const text = read("docs/ARCHITECTURE.md")
    expect(namesIn(text).length).toBeGreaterThan(150)
    expect(sectionsOf(text).flatMap(lostNamesIn)).toEqual([])
  })
  it("is checked for files outside the folders that a section names, and for missing paths", () => {
    const section = "`core/billing/` has `write.ts`, `usage-api.ts`, `billed/` and `numbering/series.ts`."
    expect(lostNamesIn(section)).toEqual(["usage-api.ts", "billed/", "numbering/series.ts"])
  })
})

describe("documents", () => {
  it("link to files that exist, or to other pages of the server", () => {
    const broken = documents.flatMap((path) =>
      [...read(path).matchAll(/\]\((?!https?:|#|\/)([^)#]+)[^)]*\)/g)]
        .filter(([, target = ""]) => !existsSync(join(root, dirname(path), target)))
        .map(([whole]) => `${path}: ${whole}`)
    )
    expect(broken).toEqual([])
  })
  it("close their tables with a blank line, and keep `<names>` in code, which Markdown would drop", () => {
    const broken = documents.flatMap((path) => {
      const lines = read(path).split("\n")
      return lines.flatMap((line, index) => {
        const isSwallowed = lines[index - 1]?.startsWith("|") === true && /^[^|\s]/.test(line)
        const isDropped = /<[a-z]+>/.test(line.replaceAll(/`[^`]*`/g, "")) && !/^ {4}/.test(line)
        return isSwallowed || isDropped ? [`${path} ${index + 1}: ${line}`] : []
      })
    })
    expect(broken).toEqual([])
  })
  it("name in the glossary files and folders that exist", () => {
    const paths = [...read("docs/GLOSSARY.md").matchAll(/`((?:core|sync|server|cli)\/[^`]*)`/g)].map(
      ([, path = ""]) => path
    )
    expect(paths.length).toBeGreaterThan(50)
    expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([])
  })
  it("link to docs/rules from README and ARCHITECTURE", () => {
    expect(read("README.md")).toContain("(docs/rules/README.md)")
    expect(read("docs/ARCHITECTURE.md")).toContain("(rules/README.md)")
  })
})
