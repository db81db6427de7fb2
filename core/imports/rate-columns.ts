/** Columns of a rate import, with their aliases. */
import type { Columns } from "./rows.ts"

export const methodColumns = [
  "calculation_strategy",
  "base_period",
  "enabled_modifiers",
  "strategy_config",
  "modifier_configs"
] as const

export const rateColumns: Columns = {
  known: new Set(["name", "description", "preset", "engine", ...methodColumns]),
  aliases: {
    slug: "preset",
    preset_slug: "preset",
    rate_engine: "engine",
    source_engine: "engine",
    strategy: "calculation_strategy",
    period: "base_period",
    modifiers: "enabled_modifiers"
  },
  spread: new Set(["strategy_config", "modifier_configs"])
}
