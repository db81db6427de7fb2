/** Answers: the manifest of a container and the check of what came back (rules/availability 8.6). */
import { boolean, choice, integer, list, text, timestamp } from "../kernel/field.ts"
import * as Shown from "../kernel/answer-schema.ts"
import { service_states } from "../service/service.ts"
import { containers } from "../packing/schema.ts"

const { barcode, name, scan_mode, sealed_at, sealed_by_user_id, status } = containers.columns
const own = {
  container_id: integer(),
  name,
  barcode,
  status,
  scan_mode,
  sealed_at,
  sealed_by_user_id,
  is_compliant: boolean(),
  slots: Shown.objects({
    product_id: integer(),
    product_name: text({ nullable: true }),
    binding: choice({ pool: "Pool", fixed: "Fixed" }, { nullable: true }),
    required: integer(),
    packed: integer(),
    satisfied: boolean()
  }),
  items: Shown.objects({
    container_item_id: integer(),
    serialised_item_id: integer(),
    product_id: integer(),
    product_name: text({ nullable: true }),
    asset_number: text({ nullable: true }),
    serial_number: text({ nullable: true }),
    service_state: choice(service_states),
    position: text({ nullable: true }),
    packed_at: timestamp(),
    packed_by_user_id: integer({ nullable: true }),
    returned_at: timestamp({ nullable: true, describe: "It came back by itself then: the container is out without it" })
  })
}
export type Manifest = Shown.KeysShown<typeof own> & { readonly containers: ReadonlyArray<Manifest> }
export const manifestShown: Shown.Part<Manifest> = Shown.named("ContainerManifest", () =>
  Shown.keys({ ...own, containers: Shown.list(manifestShown, { describe: "Those packed inside it" }) })
)
export const verificationShown = Shown.keys({
  expected: list(integer()),
  scanned: list(integer()),
  missing: list(integer()),
  unexpected: list(integer()),
  complete: boolean()
})
