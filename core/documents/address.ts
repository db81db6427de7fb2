/** Where a public link leads. */
import { type Settings, settingText } from "../kernel/events/settings.ts"

/** The address of a link: below the server's own, or below what the settings say leads there. */
export const linkAddress = (token: string, settings: Settings, public_url: string): string => {
  const prefix = settingText(settings, "documents", "public_link_prefix").trim() || `${public_url}/d`
  return `${prefix.replace(/\/+$/, "")}/${token}`
}
