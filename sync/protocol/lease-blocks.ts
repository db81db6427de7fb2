/** Which tables' ids are leased to devices: server and device ask for the same. */
import type { Catalogue } from "../../core/kernel/endpoints/endpoint.ts"
import { hasOwnIds } from "../../core/kernel/runtime/ids.ts"

/** Tables that commands which can be sent later make rows in. */
export const leasedTables = (catalogue: Catalogue): ReadonlyArray<string> =>
  catalogue.tables.filter(hasOwnIds).map((table) => table.name)
