/** What axe finds wrong with a page, by its own rules all. Finds nothing where axe cannot be installed. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import type { Page } from "playwright-core"
import { installedTools } from "../installed-tools.ts"

const tools = await installedTools(fileURLToPath(new URL("./axe-tools", import.meta.url)))
const axe = tools === undefined ? "" : readFileSync(join(tools, "node_modules/axe-core/axe.min.js"), "utf8")

export const axeFaults = async (page: Page): Promise<ReadonlyArray<string>> => {
  if (axe === "") return []
  // Without a wait: what a page's policy forbids to scripts in it, it does not forbid to the browser's own.
  await page.evaluate(`${axe};0`)
  return page.evaluate<
    ReadonlyArray<string>
  >(`axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) =>
    violations.map(({ help, id, nodes }) => "axe: " + id + ", " + help + ", " + nodes.length + " times: " +
      nodes.slice(0, 3).map(({ any, html, target }) => target + " " + html.slice(0, 120) + " " + (any[0]?.message ?? ""))
        .join(" | ")))`)
}
