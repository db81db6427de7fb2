/** Extracts the text of our own PDFs: the lines of each page, in the order they are drawn. */
import { inflateSync } from "node:zlib"

interface Part {
  readonly head: string
  readonly stream: string | undefined
}

/** Text of each page; lines from the top, words from the left, with two spaces at wide gaps. */
export const pagesOfPdf = (bytes: Uint8Array): ReadonlyArray<string> => {
  const parts = partsOf(Buffer.from(bytes).toString("latin1"))
  const at = (reference: string | undefined): Part | undefined => parts.get(Number(reference))
  const pages = /\/Kids \[([^\]]*)\]/.exec(
    [...parts.values()].find(({ head }) => /\/Type \/Pages/.test(head))?.head ?? ""
  )
  return [...(pages?.[1] ?? "").matchAll(/(\d+) 0 R/g)].map(([, page]) => {
    const { head = "" } = at(page) ?? {}
    const resources = at(/\/Resources (\d+) 0 R/.exec(head)?.[1])?.head ?? head
    const [, fonts = ""] = /\/Font <<([^>]*)>>/s.exec(resources) ?? []
    const maps = new Map(
      [...fonts.matchAll(/\/(F\d+) (\d+) 0 R/g)].map(([, name = "", font]) => [
        name,
        signsOf(at(/\/ToUnicode (\d+) 0 R/.exec(at(font)?.head ?? "")?.[1])?.stream ?? "")
      ])
    )
    return linesOf(at(/\/Contents (\d+) 0 R/.exec(head)?.[1])?.stream ?? "", maps)
  })
}

const partsOf = (text: string): ReadonlyMap<number, Part> =>
  new Map(
    [...text.matchAll(/(\d+) 0 obj\n(.*?)\nendobj/gs)].map(([, id, whole = ""]) => {
      const [head = "", ...rest] = whole.split("stream\n")
      const raw = rest.join("stream\n").replace(/\nend$/, "")
      const packed = Buffer.from(raw.replace(/\nendstream$/, ""), "latin1")
      const stream =
        rest.length === 0 ? undefined : (/FlateDecode/.test(head) ? inflateSync(packed) : packed).toString("latin1")
      return [Number(id), { head, stream }]
    })
  )

/** Characters of each glyph, several for a ligature. */
const signsOf = (map: string): ReadonlyArray<string> => {
  const signs: Array<string> = []
  for (const [, from = "", list = ""] of map.matchAll(/<([0-9a-f]{4})> <[0-9a-f]{4}> \[(.*?)\]/gs))
    for (const [at, [, hex = ""]] of [...list.matchAll(/<([0-9a-f ]*)>/g)].entries())
      signs[Number.parseInt(from, 16) + at] = Buffer.from(hex.replaceAll(" ", ""), "hex").swap16().toString("utf16le")
  return signs
}

const linesOf = (content: string, maps: ReadonlyMap<string, ReadonlyArray<string>>): string => {
  const words: Array<{ readonly x: number; readonly y: number; readonly text: string }> = []
  for (const [, block = ""] of content.matchAll(/BT\n(.*?)\nET/gs)) {
    const [, x, y] = /1 0 0 1 (\S+) (\S+) Tm/.exec(block) ?? []
    const [, font = ""] = /\/(F\d+) \S+ Tf/.exec(block) ?? []
    const signs = maps.get(font) ?? []
    const hex = [...block.matchAll(/<([0-9a-f]*)>/g)].map(([, one]) => one).join("")
    const text = (hex.match(/.{4}/g) ?? []).map((glyph) => signs[Number.parseInt(glyph, 16)] ?? "?").join("")
    words.push({ x: Number(x), y: Math.round(Number(y)), text })
  }
  const rows = Map.groupBy(words, ({ y }) => y)
  return [...rows]
    .sort(([a], [b]) => b - a)
    .map(([, row]) =>
      row
        .sort((a, b) => a.x - b.x)
        .map(({ text }) => text)
        .join("")
        .replaceAll("\u00a0", " ")
        .trim()
    )
    .filter((line) => line !== "")
    .join("\n")
}
