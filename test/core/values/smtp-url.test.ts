/** SMTP URLs: host, port, TLS and login. */
import { Result } from "effect"
import { describe, expect, it } from "vitest"
import { parseSmtpUrl } from "../../../core/values/mail-address.ts"
import { words } from "../../words.ts"

describe("the mail server's address", () => {
  const me = { user: "me@example.com", password: "p:a/ss%" }
  it.each([
    ["smtp://mail.example", "mail.example", 587, "starttls", true, undefined],
    ["smtp://mail.example:25", "mail.example", 25, "starttls", true, undefined],
    ["smtps://mail.example", "mail.example", 465, "start", true, undefined],
    ["smtp://localhost:1025", "localhost", 1025, "offered", false, undefined],
    ["smtp://127.0.0.1:1025", "127.0.0.1", 1025, "offered", false, undefined],
    ["smtp://[::1]:1025", "::1", 1025, "offered", false, undefined],
    ["smtp://post:1025?tls=off", "post", 1025, "off", false, undefined],
    ["smtp://post?tls=unchecked", "post", 587, "starttls", false, undefined],
    ["smtp://localhost?tls=off", "localhost", 587, "off", false, undefined],
    ["smtp://me%40example.com:p%3Aa%2Fss%25@mail.example", "mail.example", 587, "starttls", true, me]
  ])("is read into host, port, TLS and login from %s", (given, host, port, tls, checks_certificate, login) => {
    expect(parseSmtpUrl(given)).toEqual(Result.succeed({ host, port, tls, checks_certificate, login }))
  })

  it.each(
    words(`
    mail.example http://mail.example smtp:// smtp://u:p%ZZ@mail.example smtp://mail.example?tls=no
    smtp://mail.example?tls.rejectUnauthorized=false smtps://mail.example?tls=off
  `)
  )("is rejected without revealing its password: %s", (given) => {
    const refused = parseSmtpUrl(given)
    expect(Result.isFailure(refused)).toBe(true)
    expect(Result.isFailure(refused) && refused.failure).not.toContain("p%ZZ")
  })
})
