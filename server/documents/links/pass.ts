/**
 * What a browser holds once it gave the right PIN: a signed word for an hour, sent to this one address only. It ends
 * with the PIN it was given for.
 */
import { createHmac, timingSafeEqual } from "node:crypto"

const name = "document_pass"
export const pass_seconds = 3_600

const macOf = (key: string, link_id: number, pin_hash: string, expires: string): string =>
  createHmac("sha256", createHmac("sha256", key).update("flightcase document links").digest())
    .update(`${link_id}\n${pin_hash}\n${expires}`)
    .digest("base64url")

/** `path`: that of the page as the browser knows it. */
export const passCookie = (
  key: string,
  link_id: number,
  pin_hash: string,
  now_millis: number,
  at: { readonly path: string; readonly is_secure: boolean }
): string => {
  const expires = String(Math.floor(now_millis / 1_000) + pass_seconds)
  const value = `${expires}.${macOf(key, link_id, pin_hash, expires)}`
  const held = `Path=${at.path}; Max-Age=${pass_seconds}; HttpOnly; SameSite=Lax`
  return `${name}=${value}; ${held}${at.is_secure ? "; Secure" : ""}`
}
export const hasPass = (key: string, link_id: number, pin_hash: string, now_millis: number, cookies: string): boolean =>
  cookies.split(";").some((cookie) => {
    const [, expires = "", mac = ""] = /^\s*document_pass=(\d{1,12})\.([\w-]{43})\s*$/.exec(cookie) ?? []
    if (expires === "" || Number(expires) * 1_000 <= now_millis) return false
    const right = Buffer.from(macOf(key, link_id, pin_hash, expires))
    const sent = Buffer.from(mac)
    return sent.length === right.length && timingSafeEqual(sent, right)
  })
