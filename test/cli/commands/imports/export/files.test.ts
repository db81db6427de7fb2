/** Exported files arrive on another server byte for byte, or the import fails as a whole. */
import { createHash } from "node:crypto"
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { formOf } from "../../../../server/files/sending.ts"
import { linesOf, placeOfSuite } from "../../../place.ts"
import { owner_token, type Place } from "../../../session.ts"
import { bodyRead } from "../../../../answers.ts"

const one = placeOfSuite(),
  other = placeOfSuite(),
  empty = placeOfSuite()
const authorization = `Bearer ${owner_token}`
const hashOf = (content: Uint8Array): string => createHash("sha256").update(content).digest("hex")

const attach = async ({ url }: Place, product_id: number, content: Uint8Array, name: string): Promise<void> => {
  const { bytes, type } = await formOf([
    ["attachable_type", "Product"],
    ["attachable_id", String(product_id)],
    ["file", new Blob([content]), name]
  ])
  const answer = await fetch(`${url}/api/v1/attachments`, {
    method: "POST",
    headers: { authorization, "content-type": type },
    body: bytes
  })
  expect(answer.status, await answer.clone().text()).toBe(201)
}
const attached = async ({ url }: Place): Promise<ReadonlyArray<readonly [string, string]>> => {
  const answer = await fetch(`${url}/api/v1/attachments`, { headers: { authorization } })
  const { attachments } = bodyRead(await answer.json())
  return Promise.all(
    attachments.map(async (row) => {
      const { pathname, search } = new URL(String(row.url))
      const content = await fetch(`${url}${pathname}${search}`)
      return [row.original_name, hashOf(new Uint8Array(await content.arrayBuffer()))] as const
    })
  )
}

describe("an export with files", () => {
  it("restores the files to an empty server, and is refused if one is altered or missing", async () => {
    const contents = [Buffer.alloc(3_000_000, "abc"), Buffer.from("second"), Buffer.from("second")]
    await one.house.product()
    for (const [at, content] of contents.entries()) await attach(one, 1, content, `file ${at}.bin`)
    const folder = join(one.folder, "out")
    expect((await one.done(["export", folder])).err).toContain("with 2 stored files")
    expect(readdirSync(join(folder, "files")).sort()).toEqual([...new Set(contents.map(hashOf))].sort())

    const damaged = join(one.folder, "damaged")
    cpSync(folder, damaged, { recursive: true })
    const [first = ""] = readdirSync(join(damaged, "files"))
    writeFileSync(join(damaged, "files", first), "other content")
    const refused = await other.type(["import", "all", damaged])
    expect([refused.code, refused.err]).toEqual([5, expect.stringContaining("is not the file the export wrote")])
    rmSync(join(damaged, "files", first))
    expect((await other.type(["import", "all", damaged])).code).toBe(5)

    await other.done(["import", "all", folder])
    const there = await attached(other)
    expect(there).toEqual(contents.map((content, at) => [`file ${at}.bin`, hashOf(content)]))
    expect(there).toEqual(await attached(one))
    expect(existsSync(join(folder, "manifest.json")) && readFileSync(join(folder, "manifest.json"), "utf8")).toContain(
      '"stored_files"'
    )
  })
  it("is not imported without its files unless that is confirmed", async () => {
    const folder = join(one.folder, "out")
    const manifest = JSON.parse(readFileSync(join(folder, "manifest.json"), "utf8"))
    const { must, post } = empty.house
    const { restore } = await must("POST", "/system/restores", manifest.journal.manifest)
    const path = `/system/restores/${restore.id}`
    await must("POST", `${path}/events`, { events: linesOf(join(folder, "journal.ndjson")) })
    const refused = await post(`${path}/finish`, {})
    const files = [expect.stringContaining("2 files that the journal names have not come")]
    expect([refused.status, refused.body.errors]).toEqual([422, { files }])
    await must("POST", `${path}/finish`, { accept_missing_files: true })
  })
})
