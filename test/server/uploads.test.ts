import { describe, expect, it } from "vitest"
import { readBody } from "../../server/body.ts"

const form = async (fields: ReadonlyArray<readonly [string, string | Blob, string?]>) => {
  const data = new FormData()
  for (const [name, value, file] of fields)
    typeof value === "string" ? data.append(name, value) : data.append(name, value, file)
  const request = new Request("http://x/", { method: "POST", body: data })
  return { bytes: new Uint8Array(await request.arrayBuffer()), type: request.headers.get("content-type")! }
}

describe("forms with files", () => {
  it("an upload's fields are its body and its files are apart, byte for byte", async () => {
    const content = new Uint8Array([0, 255, 13, 10, 45, 45, 128])
    const { bytes, type } = await form([
      ["category", "Photo"],
      ["file", new Blob([content], { type: "image/png" }), "Scheinwerfer ü.png"],
      ["data", new Blob(["{}"], { type: "application/json" }), "d.json"]
    ])
    const read = await readBody(bytes, type, { uploads: true })
    expect(read.body_fault).toBeUndefined()
    expect(read.body).toEqual({ category: "Photo" })
    expect(read.files!["file"]).toEqual({ name: "Scheinwerfer ü.png", type: "image/png", bytes: content })
    expect(read.files!["data"]).toMatchObject({ name: "d.json", type: "application/json" })
  })
  it("an endpoint that takes no files takes no form", async () => {
    const { bytes, type } = await form([["category", "Photo"]])
    expect((await readBody(bytes, type, { uploads: false })).body_fault?.kind).toBe("unsupported")
  })
  it.each([
    ["cut off", (bytes: Uint8Array) => bytes.slice(0, -20)],
    ["of an empty line", () => new Uint8Array([13, 10])],
    ["of noise", () => new Uint8Array(500).fill(7)]
  ])("a form %s is told at errors.body", async (_, spoil) => {
    const { bytes, type } = await form([
      ["category", "Photo"],
      ["file", new Blob(["x"]), "x.txt"]
    ])
    const read = await readBody(spoil(bytes), type, { uploads: true })
    expect(read.body_fault?.kind).toBe("invalid")
    expect(Object.keys(read.body_fault!.errors!)).toEqual(["body"])
  })
  it("a form that names no boundary is told at errors.body", async () => {
    const { bytes } = await form([["category", "Photo"]])
    expect((await readBody(bytes, "multipart/form-data", { uploads: true })).body_fault?.errors).toHaveProperty("body")
  })
  it("names that mean something to JavaScript are only names", async () => {
    const { bytes, type } = await form([
      ["__proto__", "x"],
      ["constructor", "y"],
      ["__proto__", new Blob(["z"]), "z.txt"]
    ])
    const read = await readBody(bytes, type, { uploads: true })
    expect(Object.getPrototypeOf(read.body)).toBe(Object.prototype)
    expect(Object.getPrototypeOf(read.files)).toBe(Object.prototype)
    expect(Object.keys(read.files!)).toEqual(["__proto__"])
  })
})
