/** Signatures of the sender's domain (DKIM), where the settings hold a key. */
import { createPrivateKey } from "node:crypto"
import { Effect } from "effect"
import { CommandRuntime } from "../../core/kernel/command-runtime.ts"
import type { Failure } from "../../core/kernel/failure.ts"
import { settingText } from "../../core/kernel/settings.ts"
import type { Store } from "../../core/kernel/store/store.ts"
import { secretSetting } from "../../core/settings/secrets.ts"

export interface Signing {
  readonly domainName: string
  readonly keySelector: string
  readonly privateKey: string
}

/** Undefined where messages are not signed; a text where they are to be, but cannot be by what is set. */
export const signing: Effect.Effect<Signing | string | undefined, Failure, Store | CommandRuntime> = Effect.gen(
  function* () {
    const settings = yield* (yield* CommandRuntime).settings
    const domainName = settingText(settings, "mail", "dkim_domain")
    const keySelector = settingText(settings, "mail", "dkim_selector")
    const privateKey = yield* secretSetting("mail", "dkim_private_key")
    if (domainName === "" || keySelector === "" || privateKey === undefined) return undefined
    if (![domainName, keySelector].every((one) => /^[A-Za-z0-9.-]+$/.test(one)))
      return "The settings mail.dkim_domain and mail.dkim_selector must be names of the DNS."
    // A message would go out unsigned if its key were none.
    return isRsaKey(privateKey)
      ? { domainName, keySelector, privateKey }
      : "The setting mail.dkim_private_key must be an RSA private key as PEM, without a passphrase."
  }
)
const isRsaKey = (text: string): boolean => {
  try {
    return createPrivateKey(text).asymmetricKeyType === "rsa"
  } catch {
    return false
  }
}
