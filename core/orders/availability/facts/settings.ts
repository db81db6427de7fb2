/** The settings group `availability` (rules/rulings 15): slots, horizon, dates, release point, spans. */
import { default_span_days } from "../../../setup/settings/groups.ts"
import { settingNumber, type Settings, settingText } from "../../../kernel/events/settings.ts"
import { defaultHorizon, type Horizon } from "../rules/snapshot.ts"
import type { DemandDateSource } from "../rules/line-demands.ts"
import type { ReleasePoint } from "../rules/phase.ts"
import type { Resolution } from "../rules/slots.ts"

const group = "availability"
export const resolutionIn = (settings: Settings): Resolution =>
  (settingText(settings, group, "resolution") || "daily") as Resolution
export const releasePointIn = (settings: Settings): ReleasePoint =>
  (settingText(settings, group, "release_point") || "returned") as ReleasePoint
export const demandDateSourceIn = (settings: Settings): DemandDateSource =>
  (settingText(settings, group, "demand_date_source") || "operational") as DemandDateSource
export const horizonIn = (settings: Settings): Horizon => ({
  past_days: settingNumber(settings, group, "horizon_past_days"),
  future_days: settingNumber(settings, group, "horizon_future_days") || defaultHorizon.future_days
})
/** Most days between `from` and `to` of calendars, charts, sweeps and plans (rules/availability 6.5). */
export const spanMaxIn = (settings: Settings): number =>
  settingNumber(settings, group, "span_max_days") || default_span_days
