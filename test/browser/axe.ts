/** Faults that axe finds in a page by all its rules; none where axe is not installed. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import type { Page } from "playwright-core"
import { installedTools } from "../installed-tools.ts"

const tools = await installedTools(fileURLToPath(new URL("./axe-tools", import.meta.url)))
const axe = tools === undefined ? "" : readFileSync(join(tools, "node_modules/axe-core/axe.min.js"), "utf8")

export const axeFaults = async (page: Page): Promise<ReadonlyArray<string>> => {
  if (axe === "") return []
  // Evaluated by the browser, so the page's content security policy does not forbid it.
  await page.evaluate(`${axe};0`)
  return page.evaluate<
    ReadonlyArray<string>
  >(`axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) =>
    violations.map(({ help, id, nodes }) => "axe: " + id + ", " + help + ", " + nodes.length + " times: " +
      nodes.slice(0, 3).map(({ any, html, target }) => target + " " + html.slice(0, 120) + " " + (any[0]?.message ?? ""))
        .join(" | ")))`)
}
