/**
 * Mailbox addresses that SMTP and message headers can carry (RFC 5321, RFC 6531). Stricter than the format of fields:
 * other characters in a local part could be read as a second address or header.
 */
import { Result } from "effect"

const bytes_max = 254
const local_bytes_max = 64
const domain_max = 253
/**
 * Words of these characters, joined by single dots. Quoted local parts are refused. Made where it is used, as Unicode
 * properties take long to read and most commands need none.
 */
const isLocalPart = (text: string): boolean =>
  /^[\p{L}\p{N}\p{M}!#$%&'*+/=?^_`{|}~-]+(\.[\p{L}\p{N}\p{M}!#$%&'*+/=?^_`{|}~-]+)*$/u.test(text)
const label = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/
const ipv4_literal = /^\[(25[0-5]|2[0-4]\d|1?\d?\d)(\.(25[0-5]|2[0-4]\d|1?\d?\d)){3}\]$/

/** The address with its domain in ASCII (`müller.de` is `xn--mller-kva.de`); fails with the reason it is invalid. */
export const parseMailAddress = (given: string): Result.Result<string, string> => {
  const text = given.trim()
  const at = text.lastIndexOf("@")
  const local = text.slice(0, at)
  if (at < 1 || !isLocalPart(local) || bytesOf(local) > local_bytes_max) return Result.fail(no_address)
  const domain = domainOf(text.slice(at + 1))
  if (domain === undefined || bytesOf(local) + 1 + domain.length > bytes_max) return Result.fail(no_address)
  return Result.succeed(`${local}@${domain}`)
}
const no_address = "must be a valid e-mail address, such as name@example.com."

export const addresses_max = 50
/** Parses the address or list of addresses of a field; undefined if none is given. Faults are added to `errors`. */
export const mailAddressesIn = (
  field: string,
  given: unknown,
  errors: { [field: string]: ReadonlyArray<string> }
): ReadonlyArray<string> | undefined => {
  const list: ReadonlyArray<unknown> =
    given === null || given === undefined || given === "" ? [] : Array.isArray(given) ? given : [given]
  if (list.length > addresses_max)
    errors[field] = [`The ${field} field must not have more than ${addresses_max} addresses.`]
  const read = list.flatMap((one, at): ReadonlyArray<string> => {
    const parsed = parseMailAddress(typeof one === "string" ? one : "")
    if (Result.isSuccess(parsed)) return [parsed.success]
    const key = Array.isArray(given) ? `${field}.${at}` : field
    errors[key] = [`The ${key} field ${parsed.failure}`]
    return []
  })
  return list.length === 0 ? undefined : read
}

const domainOf = (written: string): string | undefined => {
  if (ipv4_literal.test(written)) return written
  const ascii = asciiOf(written)
  if (ascii === undefined || ascii.length > domain_max) return undefined
  const labels = ascii.split(".")
  // A numeric last label makes it an IP address, which is only valid in brackets.
  return labels.every((one) => label.test(one)) && !/^\d+$/.test(labels.at(-1) ?? "") ? ascii : undefined
}
const asciiOf = (written: string): string | undefined => {
  if (/^[\x21-\x7e]*$/.test(written)) return written.toLowerCase()
  if (!/^[\p{L}\p{N}\p{M}.-]+$/u.test(written)) return undefined
  const url = `http://${written}/`
  return URL.canParse(url) ? new URL(url).hostname : undefined
}
const bytesOf = (text: string): number => new TextEncoder().encode(text).length

// Parses a mail server's address, `smtp://user:password@host:587`. `smtps:` uses TLS from the start, `smtp:` requires
// STARTTLS, and the host's certificate must be valid. To this machine itself STARTTLS is optional, with any
// certificate. `?tls=unchecked` accepts any certificate, `?tls=off` sends unencrypted.

export interface SmtpServer {
  readonly host: string
  readonly port: number
  /** `start`: from connecting; `starttls`: required; `offered`: if the server offers it; `off`: never. */
  readonly tls: "start" | "starttls" | "offered" | "off"
  readonly checks_certificate: boolean
  readonly login: { readonly user: string; readonly password: string } | undefined
}

export const smtp_url_form =
  "smtp://user:password@host:587, or smtps:// for TLS from the start; @ in a name or password is %40"

/** Parses the URL of a mail server. Errors never contain it, as it holds a password. */
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
    port: Number(url.port || (from_start ? 465 : 587)),
    tls: from_start ? "start" : tlsAfter(asked, is_here),
    checks_certificate: asked === null && !is_here,
    login: user === "" && password === "" ? undefined : { user, password }
  })
}

const tlsAfter = (asked: string | null, is_here: boolean): SmtpServer["tls"] =>
  asked === "off" ? "off" : is_here && asked === null ? "offered" : "starttls"
const decoded = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
