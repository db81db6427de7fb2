/** Serves the files built with the program: the guide at /guide, and the API reference at /docs. */
import { createHash } from "node:crypto"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { extname } from "node:path"
import { fileURLToPath } from "node:url"
import { brotliDecompressSync } from "node:zlib"
import type { Answer } from "../../../core/kernel/index.ts"

const types: { readonly [ending: string]: string } = {
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".json": "application/json",
  ".png": "image/png",
  ".svg": "image/svg+xml"
}

/**
 * Folder of the built site, next to the bundled programs (`out`, `out/parts`) or in the `out` of this clone; undefined
 * if not built.
 */
const folderOfSite = (): string | undefined =>
  ["./site/", "../site/", "../../../out/site/"]
    .map((place) => fileURLToPath(new URL(place, import.meta.url)))
    .find((place) => existsSync(place))

let answers: Map<string, () => Answer> | undefined
/** Functions that read the site's files, by path. Only these files are served, so no path leads outside the folder. */
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
    // Names of assets contain a hash of their content.
    "cache-control": name.includes("/assets/") ? "public, max-age=31536000, immutable" : "no-cache",
    ...(type.startsWith("text/html")
      ? { "content-security-policy": policyOf(bytes.toString()), "referrer-policy": "no-referrer" }
      : {})
  }
})

/** Content security policy of a page: only its own scripts run, and they may contact only this server. */
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

/** Responses cached after their first request, as the full site is 8 MB. */
const kept = new Map<string, Answer>()
/** The site's response for a path; undefined if there is none. A trailing slash is ignored. */
const answerOfSite = (path: string): Answer | undefined => {
  if (path === "/guide") return { status: 308, headers: { location: "/guide/" } }
  const address = path.replace(/\/$/, "")
  const answer = kept.get(address) ?? answersOfSite().get(address)?.()
  if (answer !== undefined) kept.set(address, answer)
  return answer
}

// Responses outside the API: a page at `/`, robots.txt, the guide, and 404 for all other paths.

const style = `:root{color-scheme:light dark;--ink:#1c2430;--ground:#fff;--link:#1d4f91}
@media(prefers-color-scheme:dark){:root{--ink:#e8ebef;--ground:#14181d;--link:#8ab8f5}}
html{background:var(--ground);color:var(--ink)}a{color:var(--link)}
body{background:var(--ground);margin:12vh auto;max-width:34rem;padding:0 1.2rem;font:16px/1.5 system-ui,sans-serif}
h1{font-size:1.3rem}li{margin:.4rem 0}a:focus-visible{outline:3px solid;outline-offset:2px}`
const policy = () =>
  [
    "default-src 'none'",
    `style-src 'sha256-${createHash("sha256").update(style).digest("base64")}'`,
    "img-src data:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'"
  ].join("; ")

const page = (status: number, title: string, body: string): Answer => ({
  status,
  content: {
    type: "text/html; charset=utf-8",
    text: `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,"><title>${title}</title><style>${style}</style></head>
<body><main><h1>${title}</h1>
${body}
</main></body>
</html>
`
  },
  headers: {
    "content-security-policy": policy(),
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff"
  }
})

const front = () =>
  page(
    200,
    "Flightcase",
    `<p>This is the server of a rental house: quotes, stock, flight cases, orders and invoices. People work with it by
the command line <code>flightcase</code>; programs by its interface below <code>/api/v1</code>.</p>
<ul>
<li><a href="guide/">The guide</a>: how to work with it, keep it running and connect to it</li>
<li><a href="docs">The interface</a>, to read and to try, and as <a href="api/v1/openapi.json">OpenAPI</a></li>
<li><a href="api/v1/system/health">The health of this server</a></li>
</ul>`
  )

/** The response outside the API. `accept`: the request's header; without HTML in it the response is JSON. */
export const answerOutside = (method: string, path: string, accept: string | undefined): Answer => {
  if (method === "GET" || method === "HEAD") {
    if (path === "/") return front()
    if (path === "/robots.txt")
      return { status: 200, content: { type: "text/plain; charset=utf-8", text: "User-agent: *\nDisallow: /\n" } }
    const found = answerOfSite(path)
    if (found !== undefined) return found
  }
  return accept?.includes("text/html") === true
    ? page(404, "Not found", `<p>There is nothing at this address. <a href="/">What this server is</a>.</p>`)
    : { status: 404, body: { message: "There is nothing at this address; the interface is below /api/v1." } }
}
