/** The documents slice. */
import type { Slice } from "../kernel/endpoints/endpoint.ts"
import { layoutsSlice } from "./branding/api.ts"
import { documentTypeEndpoints } from "./content/api.ts"
import { documentEvents } from "./events.ts"
import { documentEndpoints, documentResource } from "./lifecycle-api.ts"
import { acceptanceEndpoints, acceptanceResource, linkReactions } from "./links/api.ts"
import { linkEvents } from "./links/events.ts"
import { linkSettings } from "./links/settings.ts"
import { document_acceptances, document_layouts, document_links, document_snapshots, documents } from "./schema.ts"

export const documentsSlice: Slice = {
  name: "documents",
  tables: [documents, document_snapshots, document_links, document_acceptances, document_layouts],
  resources: [documentResource, acceptanceResource, ...(layoutsSlice.resources ?? [])],
  settings: linkSettings,
  react: linkReactions,
  events: [...documentEvents, ...linkEvents, ...(layoutsSlice.events ?? [])],
  endpoints: [...documentEndpoints, ...acceptanceEndpoints, ...documentTypeEndpoints, ...(layoutsSlice.endpoints ?? [])]
}
