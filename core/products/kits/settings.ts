/** How many levels deep kits may be nested: a setting of the group `availability` (rules/rulings 15). */
import { settingNumber, type Settings } from "../../kernel/events/settings.ts"

export const defaultKitDepth = 3
export const kitDepthIn = (settings: Settings): number =>
  settingNumber(settings, "availability", "kit_nesting_max_depth") || defaultKitDepth
