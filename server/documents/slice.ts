/** What documents need a server for: drawing, files, public pages. */
import type { ServerSlice } from "../server-slice.ts"
import { checkedLayouts } from "./check-layouts.ts"
import { linkEndpoints } from "./link-api.ts"

export const documentsServerSlice: ServerSlice = {
  name: "documents_server",
  endpoints: [...linkEndpoints],
  around: checkedLayouts
}
