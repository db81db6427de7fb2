/** Files travel with a business from one server to another, byte for byte, or nothing arrives. */
import { createHash } from "node:crypto"
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { formOf } from "../../../../server/files/sending.ts"
import { callOf, openPlace, owner_token, type Place, runHere as run } from "../../../session.ts"

let one: Place, other: Place
beforeAll(async () => {
  ;[one, other] = [await openPlace(), await openPlace()]
})
afterAll(async () => {
  await one.close()
  await other.close()
})
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
  const { attachments } = (await answer.json()) as { attachments: ReadonlyArray<any> }
  return Promise.all(
    attachments.map(async (row) => {
      const { pathname, search } = new URL(row.url)
      const content = await fetch(`${url}${pathname}${search}`)
      return [row.original_name, hashOf(new Uint8Array(await content.arrayBuffer()))] as const
    })
  )
}

describe("an export with files", () => {
  it("restores the files to an empty server, and is refused if one is altered or missing", async () => {
    const contents = [Buffer.alloc(3_000_000, "abc"), Buffer.from("second"), Buffer.from("second")]
    expect((await run(one, ["login", one.url, "--token", owner_token])).code).toBe(0)
    expect((await run(one, ["products", "create", "--name", "Lamp"])).code).toBe(0)
    expect((await run(one, ["sync"])).code).toBe(0)
    for (const [at, content] of contents.entries()) await attach(one, 1, content, `file ${at}.bin`)
    const folder = join(one.folder, "out")
    const exported = await run(one, ["export", folder])
    expect([exported.code, exported.err]).toEqual([0, expect.stringContaining("with 2 stored files")])
    expect(readdirSync(join(folder, "files")).sort()).toEqual([...new Set(contents.map(hashOf))].sort())

    const damaged = join(one.folder, "damaged")
    cpSync(folder, damaged, { recursive: true })
    const [first = ""] = readdirSync(join(damaged, "files"))
    writeFileSync(join(damaged, "files", first), "other content")
    const refused = await run(other, ["import", "all", damaged, "--url", other.url, "--token", owner_token])
    expect([refused.code, refused.err]).toEqual([5, expect.stringContaining("is not the file the export wrote")])
    rmSync(join(damaged, "files", first))
    expect((await run(other, ["import", "all", damaged, "--url", other.url, "--token", owner_token])).code).toBe(5)

    const brought = await run(other, ["import", "all", folder, "--url", other.url, "--token", owner_token])
    expect(brought.code, brought.err).toBe(0)
    const there = await attached(other)
    expect(there).toEqual(contents.map((content, at) => [`file ${at}.bin`, hashOf(content)]))
    expect(there).toEqual(await attached(one))
    expect(existsSync(join(folder, "manifest.json")) && readFileSync(join(folder, "manifest.json"), "utf8")).toContain(
      '"stored_files"'
    )
  })
  it("is not imported without its files unless that is confirmed", async () => {
    const empty = await openPlace()
    try {
      const folder = join(one.folder, "out")
      const manifest = JSON.parse(readFileSync(join(folder, "manifest.json"), "utf8"))
      const post = async (path: string, sent: unknown): Promise<any> => {
        const { body, status } = await callOf(empty)("POST", `/system/restores${path}`, sent)
        return { status, ...body }
      }
      const { restore } = await post("", manifest.journal.manifest)
      const events = readFileSync(join(folder, "journal.ndjson"), "utf8")
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line))
      expect((await post(`/${restore.id}/events`, { events })).status).toBe(200)
      const refused = await post(`/${restore.id}/finish`, {})
      expect([refused.status, refused.errors]).toEqual([
        422,
        { files: [expect.stringContaining("2 files that the journal names have not come")] }
      ])
      expect((await post(`/${restore.id}/finish`, { accept_missing_files: true })).status).toBe(200)
    } finally {
      await empty.close()
    }
  })
})
