/** How containers are asked for (spec 4.15). */
import type { Slice } from "../kernel/catalogue.ts"
import { rowProjection } from "../kernel/register.ts"
import { container_items, containers } from "./schema.ts"

export const containersSlice: Slice = {
  name: "containers",
  tables: [containers, container_items],
  projection: { ...rowProjection(containers), ...rowProjection(container_items) }
}
