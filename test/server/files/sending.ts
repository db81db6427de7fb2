/** Forms as clients send them, for tests of files. */
export type Field = readonly [string, string | Blob, string?]

export const formOf = async (
  fields: ReadonlyArray<Field>
): Promise<{ readonly bytes: Uint8Array; readonly type: string }> => {
  const data = new FormData()
  for (const [name, value, file] of fields)
    typeof value === "string" ? data.append(name, value) : data.append(name, value, file)
  const request = new Request("http://x/", { method: "POST", body: data })
  return { bytes: new Uint8Array(await request.arrayBuffer()), type: request.headers.get("content-type") ?? "" }
}
