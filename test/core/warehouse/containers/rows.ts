/** Cases and their contents as rows, for tests of rules. */
import { initialRow } from "../../../../core/kernel/tables/field-schema.ts"
import {
  type ContainerItemRow,
  type ContainerRow,
  container_items,
  containers
} from "../../../../core/products/packing.ts"
import { given_at, type GivenRow, row, stamps } from "../../decider.ts"

export const container = (id: number, more: Partial<ContainerRow> = {}): GivenRow =>
  row(containers, {
    ...initialRow(containers, containers.columns),
    ...stamps,
    id,
    uuid: `uuid-${id}`,
    name: `Case ${id}`,
    status: "open",
    scan_mode: "free",
    store_id: 1,
    ...more
  } as ContainerRow)
/** Unit 500 + id, packed in the container. */
export const item = (id: number, container_id: number, more: Partial<ContainerItemRow> = {}): GivenRow =>
  row(container_items, {
    ...initialRow(container_items, container_items.columns),
    ...stamps,
    id,
    container_id,
    serialised_item_id: 500 + id,
    product_id: 50,
    packed_at: given_at,
    ...more
  } as ContainerItemRow)
