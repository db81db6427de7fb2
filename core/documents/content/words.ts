import { inLanguage } from "../../values/text.ts"

/** Parts of the default mail with a document, used where no layout has a text. */
interface MailParts {
  readonly subject: string
  readonly name: string
  readonly document: string
  readonly sender: string
}
const phrases: Record<"en" | "de" | "fr", (name: string, document: string) => ReadonlyArray<string>> = {
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
): { readonly subject: string; readonly text: string } => ({
  subject: [document, subject, sender].filter((part) => part !== "").join(", "),
  text: [...inLanguage(phrases, language)(name, document), sender, ""].join("\n")
})

/** Texts of quotations, orders and purchase orders, by language; those of invoices are in billing. */
const english = {
  quotation: "Quotation",
  order_confirmation: "Order confirmation",
  purchase_order: "Purchase order",
  pending: "number pending",
  valid_until: "Valid until",
  version: "Version",
  days: "Days of hire",
  delivery: "Delivery",
  collection: "Collection",
  you_collect: "You collect the equipment from us.",
  you_return: "You bring the equipment back to us.",
  venue: "Venue",
  periods: "Periods",
  further: "Further items",
  charges: "Services and charges",
  optional: "Optional, not in the total",
  list_price: "List price",
  agreed: "Agreed price",
  rule_discounts: "Discounts included",
  remaining: "Remaining",
  acceptance: "Acceptance",
  accept_text: "I accept: {document}, {amount}, with its terms.",
  accepted_by: "Name and signature of the customer",
  expected: "Expected",
  hire_window: "Hire",
  deliver_to: "Deliver to"
}
type LetterWords = typeof english

const german: LetterWords = {
  quotation: "Angebot",
  order_confirmation: "Auftragsbestätigung",
  purchase_order: "Bestellung",
  pending: "Nummer folgt",
  valid_until: "Gültig bis",
  version: "Fassung",
  days: "Miettage",
  delivery: "Anlieferung",
  collection: "Abholung",
  you_collect: "Sie holen das Material bei uns ab.",
  you_return: "Sie bringen das Material zu uns zurück.",
  venue: "Veranstaltungsort",
  periods: "Faktor",
  further: "Weitere Positionen",
  charges: "Leistungen und Nebenkosten",
  optional: "Optional, nicht in der Summe enthalten",
  list_price: "Listenpreis",
  agreed: "Vereinbarter Preis",
  rule_discounts: "Enthaltene Rabatte",
  remaining: "Restbetrag",
  acceptance: "Annahme",
  accept_text: "Ich nehme an: {document}, {amount}, mit seinen Bedingungen.",
  accepted_by: "Name und Unterschrift des Kunden",
  expected: "Erwartet am",
  hire_window: "Mietzeit",
  deliver_to: "Lieferung an"
}
const french: LetterWords = {
  quotation: "Devis",
  order_confirmation: "Confirmation de commande",
  purchase_order: "Bon de commande",
  pending: "numéro à venir",
  valid_until: "Valable jusqu’au",
  version: "Version",
  days: "Jours de location",
  delivery: "Livraison",
  collection: "Reprise",
  you_collect: "Vous venez chercher le matériel chez nous.",
  you_return: "Vous nous rapportez le matériel.",
  venue: "Lieu",
  periods: "Périodes",
  further: "Autres articles",
  charges: "Services et frais",
  optional: "En option, non compris dans le total",
  list_price: "Prix de liste",
  agreed: "Prix convenu",
  rule_discounts: "Remises comprises",
  remaining: "Reste à payer",
  acceptance: "Acceptation",
  accept_text: "J’accepte : {document}, {amount}, et ses conditions.",
  accepted_by: "Nom et signature du client",
  expected: "Attendu le",
  hire_window: "Location",
  deliver_to: "Livrer à"
}

export const letterWordsOf = (language: string): LetterWords =>
  inLanguage<LetterWords>({ en: english, de: german, fr: french }, language)
