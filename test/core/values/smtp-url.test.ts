/** The address of the mail server, and how a connection to it is guarded. */
import { Result } from "effect"
import { describe, expect, it } from "vitest"
import { parseSmtpUrl } from "../../../core/values/mail-address.ts"
import { words } from "../../words.ts"

describe("the mail server's address", () => {
  const login = undefined
  it.each([
    ["smtp://mail.example", { host: "mail.example", port: 587, tls: "starttls", checks_certificate: true, login }],
    ["smtp://mail.example:25", { host: "mail.example", port: 25, tls: "starttls", checks_certificate: true, login }],
    ["smtps://mail.example", { host: "mail.example", port: 465, tls: "start", checks_certificate: true, login }],
    ["smtp://localhost:1025", { host: "localhost", port: 1025, tls: "offered", checks_certificate: false, login }],
    ["smtp://127.0.0.1:1025", { host: "127.0.0.1", port: 1025, tls: "offered", checks_certificate: false, login }],
    ["smtp://[::1]:1025", { host: "::1", port: 1025, tls: "offered", checks_certificate: false, login }],
    ["smtp://post:1025?tls=off", { host: "post", port: 1025, tls: "off", checks_certificate: false, login }],
    ["smtp://post?tls=unchecked", { host: "post", port: 587, tls: "starttls", checks_certificate: false, login }],
    ["smtp://localhost?tls=off", { host: "localhost", port: 587, tls: "off", checks_certificate: false, login }],
    [
      "smtp://me%40example.com:p%3Aa%2Fss%25@mail.example",
      {
        host: "mail.example",
        port: 587,
        tls: "starttls",
        checks_certificate: true,
        login: { user: "me@example.com", password: "p:a/ss%" }
      }
    ]
  ])("is read from %s", (given, expected) => {
    expect(parseSmtpUrl(given)).toEqual(Result.succeed(expected))
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
