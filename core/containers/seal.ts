/**
 * Breaking the seal of a container: something is taken out of it while it is closed, so that it is not what its
 * manifest said (rules/availability 8.6).
 */
import type { DecideContext } from "../kernel/endpoint.ts"
import type { NewEvent } from "../kernel/event.ts"
import type { StockLevelRow } from "../stock/schema.ts"
import type { ContainerRow } from "../packing/schema.ts"
import { containerUnsealed } from "./events.ts"
import type { ContainerFacts } from "./facts.ts"

/** The container itself and those around it that are sealed: all of them are opened to reach what is inside. */
export const sealedAround = ({ chain }: Pick<ContainerFacts, "chain">): ReadonlyArray<ContainerRow> =>
  chain.filter(({ status }) => status === "sealed")

export const sealBroken = (container: ContainerRow, reason: string, context: DecideContext): NewEvent =>
  containerUnsealed.make({
    id: container.id,
    status: "open",
    unsealed_at: context.happened_at,
    unsealed_by_user_id: context.viewer.user_id || null,
    unsealed_reason: reason
  })

/** What people call a unit, as the code on it says. */
export const labelOf = (level: Pick<StockLevelRow, "id" | "asset_number" | "serial_number" | "item_name">): string =>
  level.asset_number ?? level.serial_number ?? level.item_name ?? `unit ${level.id}`

const named_max = 5
/** `unit scanned out to order 0000000012: A-1, A-2`. */
export const scannedOutReason = (order: string, levels: ReadonlyArray<Parameters<typeof labelOf>[0]>): string => {
  const names = levels.map(labelOf)
  const more = names.length - named_max
  return (
    `${names.length === 1 ? "unit" : `${names.length} units`} scanned out to order ${order}: ` +
    `${names.slice(0, named_max).join(", ")}${more > 0 ? ` and ${more} more` : ""}`
  ).slice(0, 255)
}
