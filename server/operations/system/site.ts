/** The files that the build leaves beside the program: the guide, read at /guide, and the page at /docs. */
import { createHash } from "node:crypto"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { extname } from "node:path"
import { fileURLToPath } from "node:url"
import { brotliDecompressSync } from "node:zlib"
import type { Answer } from "../../../core/kernel/endpoints/endpoint.ts"

const types: { readonly [ending: string]: string } = {
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".json": "application/json",
  ".png": "image/png",
  ".svg": "image/svg+xml"
}

/** Beside the bundled programs, which are in `out` and in `out/parts`, or in `out` of the clone this source is in. */
const folderOfSite = (): string | undefined =>
  ["./site/", "../site/", "../../../out/site/"]
    .map((place) => fileURLToPath(new URL(place, import.meta.url)))
    .find((place) => existsSync(place))

let answers: Map<string, () => Answer> | undefined
/** By path. Only these are ever read, so no path leads out of the folder. */
const answersOfSite = (): Map<string, () => Answer> => {
  if (answers !== undefined) return answers
  answers = new Map()
  const folder = folderOfSite()
  if (folder === undefined) return answers
  for (const entry of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    const name = entry.replaceAll("\\", "/").replace(/\.br$/, "")
    const type = types[extname(name)]
    if (type === undefined || !entry.endsWith(".br")) continue
    const address = `/${name}`.replace(/(\/index)?\.html$/, "")
    answers.set(address, () => answerOf(name, type, brotliDecompressSync(readFileSync(folder + entry))))
  }
  return answers
}

const answerOf = (name: string, type: string, bytes: Buffer): Answer => ({
  status: 200,
  content: { type, text: bytes },
  headers: {
    etag: `"${createHash("sha256").update(bytes).digest("base64url")}"`,
    // The names of assets change with their content.
    "cache-control": name.includes("/assets/") ? "public, max-age=31536000, immutable" : "no-cache",
    ...(type.startsWith("text/html")
      ? { "content-security-policy": policyOf(bytes.toString()), "referrer-policy": "no-referrer" }
      : {})
  }
})

/** Pages run the scripts they came with, and ask this server only. */
const policyOf = (html: string): string => {
  const scripts = [...html.matchAll(/<script(?![^>]*\ssrc=)[^>]*>([^]*?)<\/script>/g)].map(
    ([, script = ""]) => `'sha256-${createHash("sha256").update(script).digest("base64")}'`
  )
  return [
    "default-src 'none'",
    ["script-src 'self'", ...scripts].join(" "),
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'"
  ].join("; ")
}

/** Answers that somebody has read; all of the site is 8 MB. */
const kept = new Map<string, Answer>()
/** Undefined where the site has nothing at this path. A slash at the end is a page's own, or none. */
export const answerOfSite = (path: string): Answer | undefined => {
  if (path === "/guide") return { status: 308, headers: { location: "/guide/" } }
  const address = path.replace(/\/$/, "")
  const answer = kept.get(address) ?? answersOfSite().get(address)?.()
  if (answer !== undefined) kept.set(address, answer)
  return answer
}
