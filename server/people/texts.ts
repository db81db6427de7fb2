/** Texts of mail about accounts. Plain text only, as users should copy the code rather than trust a link. */
import { printableLine } from "../../core/values/text.ts"
import { secret_place } from "../delivery/mail/jobs.ts"

export type AccountMailKind = "invited" | "reset" | "reactivated" | "deactivated"

interface AccountWords {
  readonly name: string
  /** Name of the acting user; null for the server. */
  readonly by: string | null
  /** The company's name; "" if not set. */
  readonly house: string
  readonly url: string
  /** Expiry of the code, in the company's time zone. */
  readonly until: string
}

const commandsOf = ({ until, url }: AccountWords): ReadonlyArray<string> => [
  `The code below opens it once, until ${until}. Keep it to yourself.`,
  "",
  `  ${secret_place}`,
  "",
  "To begin, on your own machine:",
  "",
  `  flightcase login ${url} --code ${secret_place}`,
  "  flightcase --help"
]

/** Subject and text of the mail. */
export const accountText = (
  kind: AccountMailKind,
  given: AccountWords
): { readonly subject: string; readonly text: string } => {
  const words = { ...given, name: line(given.name), house: line(given.house), by: given.by && line(given.by) }
  const where = words.house === "" ? words.url : `${words.house}, ${words.url}`
  const written = (subject: string, lines: ReadonlyArray<string>) => ({
    subject,
    text: [`Hello ${words.name},`, "", ...lines, ""].join("\n")
  })
  const of = words.house === "" ? "" : ` at ${words.house}`
  switch (kind) {
    case "invited":
      return written(
        `${words.by === null ? "You are invited" : `${words.by} invites you`} to work${of || " with Flightcase"}`,
        [`${words.by ?? "Somebody"} invites you to work on the Flightcase server of ${where}.`, ...commandsOf(words)]
      )
    case "reset":
      return written(`A new code to log in${of}`, [
        `${words.by ?? "Somebody"} had a new code sent to you, for the Flightcase server of ${where}.`,
        ...commandsOf(words),
        "",
        "If you did not expect this, tell whoever manages your accounts. Without the code nobody can use it."
      ])
    case "reactivated":
      return written(`Your account${of} is open again`, [
        `${words.by ?? "Somebody"} opened your account again, on the Flightcase server of ${where}.`,
        ...commandsOf(words)
      ])
    case "deactivated":
      return written(`Your account${of} was closed`, [
        `Your account${of} was closed. What you were logged in with does not hold any more.`,
        "If that is a mistake, speak to whoever manages your accounts there."
      ])
  }
}
const line = (text: string): string => printableLine(text).trim().slice(0, 255)
