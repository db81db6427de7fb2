/** Files on the server: served by signed addresses, kept in the store while a row names them. */
import type { ServerSlice } from "../server-slice.ts"
import { collectWork } from "./collect.ts"
import { blobs, downloads, file_stores } from "./schema.ts"
import { showFile } from "./serve.ts"

export const filesSlice: ServerSlice = {
  name: "files",
  server_tables: [blobs, downloads, file_stores],
  endpoints: [showFile],
  jobs: [collectWork.kind],
  timed: [collectWork]
}
