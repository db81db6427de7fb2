/** PINs of public addresses: kept as scrypt hashes, each with a salt of its own. */
import { randomBytes, scrypt, timingSafeEqual } from "node:crypto"
import { Effect } from "effect"

const cost = 16_384
const key_bytes = 32

const derived = (pin: string, salt: Buffer, N: number): Effect.Effect<Buffer> =>
  Effect.callback((resume) => {
    scrypt(pin, salt, key_bytes, { N, r: 8, p: 1 }, (cause, key) =>
      resume(cause === null ? Effect.succeed(key) : Effect.die(cause))
    )
  })

export const hashPin = (pin: string): Effect.Effect<string> =>
  Effect.suspend(() => {
    const salt = randomBytes(16)
    return Effect.map(
      derived(pin, salt, cost),
      (key) => `scrypt.${cost}.${salt.toString("base64url")}.${key.toString("base64url")}`
    )
  })
/** Takes as long for a wrong PIN as for the right one, and where there is nothing to compare it with. */
export const isPin = (pin: string, kept: string | undefined): Effect.Effect<boolean> =>
  Effect.suspend(() => {
    const [form, given_cost, salt, key] = (kept ?? "").split(".")
    const right = Buffer.from(key ?? "", "base64url")
    const is_known = form === "scrypt" && right.length === key_bytes && Number(given_cost) === cost
    return Effect.map(
      derived(pin, Buffer.from(salt ?? "", "base64url"), cost),
      (tried) => timingSafeEqual(tried, is_known ? right : Buffer.alloc(key_bytes)) && is_known
    )
  })
