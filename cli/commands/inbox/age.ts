/** How long ago something was, in one figure. */

const units = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000]
] as const

/** `3d`, `5h`, `12m`; "now" within the last minute, and where clocks differ. */
export const ageText = (instant: string, now: number): string => {
  const millis = now - Date.parse(instant)
  const unit = units.find(([, length]) => millis >= length)
  return unit === undefined ? "now" : `${Math.floor(millis / unit[1])}${unit[0]}`
}
/** Within a sentence. */
export const agoText = (instant: string, now: number): string => {
  const age = ageText(instant, now)
  return age === "now" ? "just now" : `${age} ago`
}
