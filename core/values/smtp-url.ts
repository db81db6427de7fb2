/**
 * The mail server from its address, `smtp://user:password@host:587`. Passwords and messages travel encrypted: TLS from
 * the start with `smtps:`, STARTTLS with `smtp:`, and the certificate must be the host's. On this machine itself
 * STARTTLS is used where it is offered, whatever the certificate. `?tls=unchecked` takes any certificate, `?tls=off`
 * sends in the clear.
 */
import { Result } from "effect"

export interface SmtpServer {
  readonly host: string
  readonly port: number
  /** `start`: from the first byte; `starttls`: required; `offered`: where the server offers it; `off`: never. */
  readonly tls: "start" | "starttls" | "offered" | "off"
  readonly checks_certificate: boolean
  readonly login: { readonly user: string; readonly password: string } | undefined
}

export const smtp_url_form =
  "smtp://user:password@host:587, or smtps:// for TLS from the start; @ in a name or password is %40"

/** The server, or what is wrong with its address: never the address itself, which holds a password. */
export const parseSmtpUrl = (given: string): Result.Result<SmtpServer, string> => {
  if (!/^smtps?:\/\//.test(given) || !URL.canParse(given)) return Result.fail(`be ${smtp_url_form}.`)
  const url = new URL(given)
  const user = decoded(url.username)
  const password = decoded(url.password)
  if (user === undefined || password === undefined)
    return Result.fail("have its user name and password percent-encoded: @ is %40, % is %25.")
  if (url.hostname === "") return Result.fail(`name the mail server's host: ${smtp_url_form}.`)
  const unknown = [...url.searchParams.keys()].find((name) => name !== "tls")
  const asked = url.searchParams.get("tls")
  if (unknown !== undefined || (asked !== null && asked !== "unchecked" && asked !== "off"))
    return Result.fail("have no parameter but tls=unchecked (any certificate) or tls=off (no encryption).")
  const from_start = url.protocol === "smtps:"
  if (from_start && asked === "off") return Result.fail("be smtp:// where tls=off: smtps:// is TLS from the start.")
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1")
  const is_here = /^(localhost|.*\.localhost|127\.\d+\.\d+\.\d+|::1)$/.test(host)
  return Result.succeed({
    host,
    port: url.port === "" ? (from_start ? 465 : 587) : Number(url.port),
    tls: from_start ? "start" : asked === "off" ? "off" : is_here && asked === null ? "offered" : "starttls",
    checks_certificate: asked === null && !is_here,
    login: user === "" && password === "" ? undefined : { user, password }
  })
}

const decoded = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
