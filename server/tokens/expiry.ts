/** When a token ends (rules/conventions 11). */
import { type Settings, settingNumber } from "../../core/kernel/settings.ts"
import type { TokenRow } from "./schema.ts"

/** The earliest of what was asked, what the settings allow and what the issuing token has left. */
export const expiryOf = (
  asked: string | null,
  issuer: TokenRow | undefined,
  settings: Settings,
  now: string
): string | null => {
  const days = settingNumber(settings, "api", "token_expiration_days")
  const at_most = days > 0 ? new Date(Date.parse(now) + days * 86_400_000).toISOString() : null
  return [asked, at_most, issuer?.expires_at ?? null].filter((one) => one !== null).sort()[0] ?? null
}
