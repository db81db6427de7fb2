/** What of a client's address is written down (rules/conventions 16). */
import { isIPv4, isIPv6 } from "node:net"

export const address_forms = {
  shortened: "Without what tells one machine from its neighbours",
  full: "Whole",
  none: "None"
} as const
export type AddressForm = keyof typeof address_forms

/** `192.0.2.7` → `192.0.2.0`, `2001:db8:1:2::7` → `2001:db8:1::`; this machine's own address stays as it is. */
export const shownAddress = (address: string, form: AddressForm): string | null => {
  if (form === "none" || address === "") return null
  const plain = address.replace(/%.*$/, "").toLowerCase()
  const inner = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/.exec(plain)?.[1] ?? plain
  if (!isIPv4(inner) && !isIPv6(inner)) return null
  if (form === "full" || inner === "::1" || inner.startsWith("127.")) return inner
  return isIPv4(inner) ? inner.replace(/\d+$/, "0") : networkOfIPv6(inner)
}
/** The first 48 bits: what a provider gives to a household or an office. */
const networkOfIPv6 = (address: string): string => {
  const [head = "", tail] = address.split("::")
  const groups = head === "" ? [] : head.split(":")
  const after = tail === undefined || tail === "" ? [] : tail.split(":")
  const missing = tail === undefined ? 0 : 8 - groups.length - after.length - (tail.includes(".") ? 1 : 0)
  const first = [...groups, ...Array.from({ length: Math.max(0, missing) }, () => "0"), ...after]
    .slice(0, 3)
    .map((group) => Number.parseInt(group, 16).toString(16))
  while (first.at(-1) === "0") first.pop()
  return `${first.join(":")}::`
}
