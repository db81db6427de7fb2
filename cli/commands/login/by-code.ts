/**
 * A code holds once. The token it is turned into is kept on disk until the login is complete, so that a login that was
 * broken off goes on with the same code.
 */
import { createHash } from "node:crypto"
import { readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Schema } from "effect"
import { decodeAnswer, decoderOf } from "../../answers.ts"
import { serverAt } from "../../remote.ts"

const answered = decoderOf(() => Schema.Struct({ token: Schema.Struct({ secret: Schema.String }) }))
const kept = decoderOf(() => Schema.Struct({ url: Schema.String, code: Schema.String, token: Schema.String }))

/** Beside the profile that is to be. */
const keptPath = (profiles: string, profile: string): string => join(profiles, `.${profile}.login`)
const sameCode = (code: string): string =>
  createHash("sha256").update(code.toUpperCase().replaceAll(/[\s-]/g, "")).digest("hex")

/** A code as mails show it, whatever stands between its groups; tokens have a `|` or other signs. */
export const looksLikeCode = (text: string): boolean => /^(?:[0-9a-z]{4}[\s-]*){7}$/i.test(text.trim())

export interface ByCode {
  readonly url: string
  readonly code: string
  readonly device_name: string
  readonly profiles: string
  readonly profile: string
}
/** The token for a code: from the server, or as it was given when this code was last tried. */
export const tokenByCode = async ({ code, device_name, profile, profiles, url }: ByCode): Promise<string> => {
  const before = readKept(keptPath(profiles, profile))
  if (before !== undefined && before.url === url && before.code === sameCode(code)) return before.token
  const answer = await serverAt(url, "").ask({
    method: "POST",
    path: "/api/v1/login_codes/redeem",
    query: [],
    body: { code, name: device_name.slice(0, 255) }
  })
  if (answer.status >= 400) throw (await import("../../response-errors.ts")).responseError(answer)
  const { secret } = decodeAnswer(answered, answer.body).token
  writeFileSync(keptPath(profiles, profile), JSON.stringify({ url, code: sameCode(code), token: secret }), {
    mode: 0o600,
    flush: true
  })
  return secret
}
const readKept = (path: string) => {
  try {
    return kept(JSON.parse(readFileSync(path, "utf8")))
  } catch {
    return undefined
  }
}
/** The login is complete: its device has a token of its own. */
export const forgetKept = (profiles: string, profile: string): void =>
  rmSync(keptPath(profiles, profile), { force: true })
