// The guide that the server shows at /guide: the pages of docs/, built by site.mjs into out/site/guide.
import { posix } from "node:path"
import { defineConfig } from "vitepress"

/** Addresses are lower case, and a folder's README is its index: `docs/TOUR.md` is read at /guide/tour. */
const addressOf = (page) => page.toLowerCase().replace(/(^|\/)readme\.md$/, "$1index.md")

/** For those who work on the source alone: no pages of the guide. */
const left_out = ["decisions/archive.md", "PERFORMANCE.md"]

/** Points links between sources at their addresses; what is no page keeps its words only. */
const linksBetweenPages = (markdown) => {
  markdown.core.ruler.push("links_between_pages", ({ env, tokens }) => {
    for (const { children } of tokens)
      for (const token of children ?? []) {
        // Braces in code are words, no fields.
        if (token.type === "code_inline") token.attrSet("v-pre", "")
        const href = token.attrGet("href")
        if (token.type !== "link_open" || href === null || /^([a-z]+:|#)/.test(href)) continue
        if (href.startsWith("/")) {
          // Another page of the server, which is loaded as such.
          Object.assign(token, { type: "html_inline", content: `<a href="${href}" target="_self">` })
          continue
        }
        const [, page, anchor] = /^([^#]*)(.*)$/.exec(href)
        const path = posix.join(posix.dirname(env.relativePath), page)
        if (path.startsWith("..") || left_out.includes(path)) token.attrs = []
        else token.attrSet("href", addressOf(page) + anchor)
      }
  })
}

const page = (text, link) => ({ text, link })

export default defineConfig({
  title: "Flightcase",
  description: "The guide to Flightcase, the back office of equipment-rental companies.",
  lang: "en",
  base: "/guide/",
  outDir: "../out/site/guide",
  cacheDir: "../node_modules/.cache/guide",
  head: [["link", { rel: "icon", href: "data:," }]],
  srcExclude: left_out,
  cleanUrls: true,
  metaChunk: true,
  rewrites: addressOf,
  markdown: { html: false, attrs: { disable: true }, config: linksBetweenPages },
  themeConfig: {
    search: {
      provider: "local",
      options: {
        miniSearch: {
          // Guides for people come before pages of reference.
          searchOptions: {
            boostDocument: (id) => (/\/(rules|decisions|events|architecture|changelog|glossary)/.test(id) ? 1 : 4)
          }
        }
      }
    },
    sidebar: [
      {
        text: "Work with it",
        items: [
          page("Start here", "/"),
          page("Tour", "/tour"),
          page("At the counter", "/counter"),
          page("In the warehouse", "/warehouse"),
          page("In the office", "/office")
        ]
      },
      { text: "Keep it running", items: [page("Operations", "/operations"), page("Import", "/import")] },
      {
        text: "Connect to it",
        items: [
          page("API", "/api"),
          page("Client", "/client"),
          page("Webhooks", "/webhooks"),
          page("Events", "/events")
        ]
      },
      {
        text: "How it is made",
        items: [
          page("Architecture", "/architecture"),
          page("Glossary", "/glossary"),
          page("Rules", "/rules/"),
          page("Decisions", "/decisions"),
          page("Changelog", "/changelog")
        ]
      }
    ]
  }
})
