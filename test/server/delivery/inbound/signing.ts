/** Signs webhooks as their senders do. */
import { createHmac } from "node:crypto"
import { Webhook } from "standardwebhooks"

type Headers = { readonly [name: string]: string }
const hex = (key: string, text: string | Uint8Array): string => createHmac("sha256", key).update(text).digest("hex")

export const signedGeneric = (secret: string, body: string | Uint8Array): Headers => ({
  "x-signals-signature": hex(secret, body)
})
/** Signs with the library that senders use. */
export const signedStandard = (secret: string, id: string, at_millis: number, body: string): Headers => ({
  "webhook-id": id,
  "webhook-timestamp": String(Math.floor(at_millis / 1_000)),
  "webhook-signature": new Webhook(secret).sign(id, new Date(at_millis), body)
})
export const signedStripe = (secret: string, at_millis: number, body: string): Headers => {
  const time = Math.floor(at_millis / 1_000)
  return { "stripe-signature": `t=${time},v1=${hex(secret, `${time}.${body}`)},v0=${"0".repeat(64)}` }
}
