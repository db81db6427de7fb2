/** What the mail with a document says where no layout and no setting words it. */
interface MailParts {
  readonly subject: string
  readonly name: string
  readonly document: string
  readonly sender: string
}
const phrases: { readonly [language: string]: (name: string, document: string) => ReadonlyArray<string> } = {
  en: (name, document) => [name === "" ? "Hello," : `Dear ${name},`, "", `please find attached: ${document}.`, ""],
  de: (name, document) => [
    name === "" ? "Guten Tag," : `Guten Tag ${name},`,
    "",
    `anbei erhalten Sie: ${document}.`,
    ""
  ],
  fr: (name, document) => [
    name === "" ? "Bonjour," : `Bonjour ${name},`,
    "",
    `veuillez trouver ci-joint : ${document}.`,
    ""
  ]
}
export const plainMail = (
  { document, name, sender, subject }: MailParts,
  language: string
): { readonly subject: string; readonly text: string } => {
  const lines = phrases[language.split("-")[0] ?? ""] ?? phrases["en"]
  return {
    subject: [document, subject, sender].filter((part) => part !== "").join(", "),
    text: [...(lines?.(name, document) ?? []), sender, ""].join("\n")
  }
}
