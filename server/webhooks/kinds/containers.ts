/** Containers whole; units packed in them, with the container they are in. */
import { integer } from "../../../core/kernel/field.ts"
import { type WebhookKind, wholeRow } from "../kind.ts"

export const containerKinds: ReadonlyArray<WebhookKind> = [
  ...wholeRow("containers", [
    "container.created",
    "container.sealed",
    "container.unsealed",
    "container.dissolved",
    "container.dispatched",
    "container.returned",
    "container.repack.started"
  ]),
  ...wholeRow("container_items", ["container.item.packed", "container.item.unpacked", "container.repack.item"], {
    more: { container_id: integer() },
    more_of: ({ container_id }) => ({ container_id: Number(container_id) })
  })
]
