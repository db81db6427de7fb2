/** Addresses that a message can be sent to. */
import { Result } from "effect"
import { describe, expect, it } from "vitest"
import { parseMailAddress } from "../../../core/values/mail-address.ts"

describe("a mail address", () => {
  it.each([
    ["name@example.com", "name@example.com"],
    ["  name@example.com ", "name@example.com"],
    ["o'brien+hire/2@Example.COM", "o'brien+hire/2@example.com"],
    ["müller@bücher.example", "müller@xn--bcher-kva.example"],
    ["имя@почта.рф", "имя@xn--80a1acny.xn--p1ai"],
    ["root@localhost", "root@localhost"],
    ["a@[192.168.1.20]", "a@[192.168.1.20]"],
    [`${"l".repeat(64)}@example.com`, `${"l".repeat(64)}@example.com`]
  ])("is accepted and normalised if it is %j", (given, expected) => {
    expect(parseMailAddress(given)).toEqual(Result.succeed(expected))
  })

  it.each([
    "",
    "name",
    "@example.com",
    "name@",
    "na me@example.com",
    "name@exam ple.com",
    "name@example.com\r\nBcc: other@example.com",
    "name\n@example.com",
    "a@example.com,b@example.com",
    "a@example.com;b@example.com",
    "Name <name@example.com>",
    "<name@example.com>",
    '"quoted name"@example.com',
    "a(comment)@example.com",
    "a\\b@example.com",
    "a:b@example.com",
    ".name@example.com",
    "name.@example.com",
    "na..me@example.com",
    "a@b@example.com",
    "name@-example.com",
    "name@example..com",
    "name@1.2.3.4",
    "name@１.2.3.4",
    "name@[300.1.1.1]",
    "name@exa\u202emple.com",
    "na\u0000me@example.com",
    "na\u202eme@example.com",
    `${"l".repeat(65)}@example.com`,
    `${"ü".repeat(33)}@example.com`,
    `name@${"d".repeat(64)}.com`,
    `name@${"d.".repeat(130)}com`
  ])("is rejected if it is %j", (given) => {
    expect(Result.isFailure(parseMailAddress(given))).toBe(true)
  })
})
