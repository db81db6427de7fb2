/** Default text of mail with a purchase order, in English, German or French. */
import { inLanguage } from "../../values/text.ts"

interface OrderMailFacts {
  /** Null until the order is numbered. */
  readonly number: string | null
  readonly subject: string | null
  readonly supplier: string
  readonly company: string
  /** Formatted dates of the hire; null for purchases, and for orders without both dates. */
  readonly window: { readonly from: string; readonly to: string } | null
}
const english = {
  order: "Purchase order",
  greeting: (name: string) => `Dear ${name},`,
  attached: (order: string) => `please find attached our ${order}.`,
  hire: (from: string, to: string) => `We need the goods from ${from} to ${to}.`
}

const spoken: Record<"en" | "de" | "fr", typeof english> = {
  en: english,
  de: {
    order: "Bestellung",
    greeting: (name) => `Guten Tag ${name},`,
    attached: (order) => `anbei erhalten Sie unsere ${order}.`,
    hire: (from, to) => `Wir benötigen die Ware vom ${from} bis zum ${to}.`
  },
  fr: {
    order: "Bon de commande",
    greeting: (name) => `Bonjour ${name},`,
    attached: (order) => `veuillez trouver ci-joint notre ${order}.`,
    hire: (from, to) => `Nous avons besoin du matériel du ${from} au ${to}.`
  }
}
const inSentence = (language: string, order: string): string =>
  language === "de" ? order : order.charAt(0).toLowerCase() + order.slice(1)

export const standardOrderMail = (
  facts: OrderMailFacts,
  language: string
): { readonly subject: string; readonly text: string } => {
  const code = language.split("-")[0] ?? ""
  const phrases = inLanguage(spoken, code)
  const named = [phrases.order, facts.number].filter((part) => part !== null).join(" ")
  return {
    subject: [named, facts.subject, facts.company].filter((part) => part !== null && part !== "").join(", "),
    text: [
      phrases.greeting(facts.supplier),
      "",
      phrases.attached(inSentence(code, named)),
      ...(facts.window === null ? [] : [phrases.hire(facts.window.from, facts.window.to)]),
      "",
      facts.company,
      ""
    ].join("\n")
  }
}
