/** What procurement needs a server for: mail to suppliers, and what is due at certain times. */
import type { ServerSlice } from "../server-slice.ts"

export const procurementServerSlice: ServerSlice = { name: "procurement_server" }
