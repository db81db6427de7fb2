/** /metrics and the alert rules in deploy/ as Prometheus itself reads them. */
import { spawnSync } from "node:child_process"
import { join } from "node:path"
import { afterAll, describe, expect, it } from "vitest"
import { hasProgram } from "../installed-tools.ts"
import { cleanUp, folderOfItsOwn, startServer } from "../server/process.ts"

afterAll(cleanUp)

describe.skipIf(!hasProgram("promtool"))("promtool", () => {
  it("finds no fault in the alert rules", () => {
    const rules = join(import.meta.dirname, "../../deploy/prometheus/alerts.yml")
    const { status, stdout } = spawnSync("promtool", ["check", "rules", rules], { encoding: "utf8" })
    expect(status, stdout).toBe(0)
  })
  it("finds no fault in /metrics", async () => {
    const token = "a-token-of-more-than-twenty-characters"
    const { url } = await startServer({ FLIGHTCASE_DATA: await folderOfItsOwn(), FLIGHTCASE_TOKEN: token })
    await fetch(`${url}/api/v1/stores`, { headers: { authorization: `Bearer ${token}` } })
    const input = await (await fetch(`${url}/metrics`)).text()
    const { status, stderr, stdout } = spawnSync("promtool", ["check", "metrics"], { input, encoding: "utf8" })
    expect(status, stdout + stderr + input).toBe(0)
  }, 60_000)
})
