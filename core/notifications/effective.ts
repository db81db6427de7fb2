/** Who is told by which channels: the type, the house's setting, the person's preference (rules/conventions 15). */
import type { NotificationChannel, NotificationType } from "./types.ts"

/** The house's; null channels leave the type's. */
export interface TypeSetting {
  readonly channels: ReadonlyArray<NotificationChannel> | null
  readonly is_enabled: boolean
}
/** A member's; null channels leave the setting's. */
export interface TypePreference {
  readonly channels: ReadonlyArray<NotificationChannel> | null
  readonly is_muted: boolean
}

/**
 * A disabled type reaches nobody. A system type is neither disabled, muted nor changed. Otherwise a muted one reaches
 * nobody; else the preference's channels come before the setting's, and those before the type's.
 */
export const effectiveChannels = (
  type: NotificationType,
  setting: TypeSetting | undefined,
  preference: TypePreference | undefined
): ReadonlySet<NotificationChannel> => {
  if (type.is_system) return new Set(type.default_channels)
  if (setting?.is_enabled === false || preference?.is_muted === true) return new Set()
  const wanted = preference?.channels ?? setting?.channels ?? type.default_channels
  return new Set(wanted.filter((one) => type.available_channels.includes(one)))
}
