/** Words of invoices and credit notes, by language. Amounts and dates are written by core/pricing/print/format.ts. */
export interface Words {
  readonly invoice: string
  readonly deposit: string
  readonly proforma: string
  readonly credit_note: string
  readonly draft: string
  readonly number: string
  readonly date: string
  readonly due: string
  readonly customer_number: string
  readonly reference: string
  readonly order: string
  readonly hire: string
  readonly your_tax_number: string
  readonly tax_number: string
  readonly registration: string
  readonly credited_invoice: string
  readonly description: string
  readonly quantity: string
  readonly unit_price: string
  readonly unit_price_gross: string
  readonly discount: string
  readonly tax: string
  readonly net: string
  readonly gross: string
  readonly subtotal: string
  readonly discounts: string
  readonly deposits: string
  /** `{net}` is replaced. */
  readonly on: string
  readonly total: string
  readonly paid: string
  readonly credited: string
  readonly outstanding: string
  readonly owed_back: string
  /** `{amount}` and `{date}` are replaced. */
  readonly pay_by: string
  readonly pay: string
  readonly account: string
  readonly bank: string
  readonly reference_of_payment: string
  readonly scan: string
  readonly pay_online: string
  readonly not_invoice: string
  /** `{amount}` is replaced. */
  readonly due_once_invoiced: string
  readonly reason: string
  /** `{amount}` and `{rate}` are replaced. */
  readonly tax_in: string
}

const english: Words = {
  invoice: "Invoice",
  deposit: "Deposit invoice",
  proforma: "Proforma invoice",
  credit_note: "Credit note",
  draft: "draft",
  number: "Number",
  date: "Date",
  due: "Due",
  customer_number: "Customer number",
  reference: "Your reference",
  order: "Order",
  hire: "Hire",
  your_tax_number: "Your tax number",
  tax_number: "Tax number",
  registration: "Registration",
  credited_invoice: "For invoice",
  description: "Description",
  quantity: "Quantity",
  unit_price: "Price",
  unit_price_gross: "Price incl. tax",
  discount: "Discount",
  tax: "Tax",
  net: "Net",
  gross: "Incl. tax",
  subtotal: "Net",
  discounts: "Discounts included",
  deposits: "Deposits taken off",
  on: "on {net}",
  total: "Total",
  paid: "Paid",
  credited: "Credited",
  outstanding: "To pay",
  owed_back: "Owed to you",
  pay_by: "Please pay {amount} by {date}.",
  pay: "Please pay {amount}.",
  account: "Account holder",
  bank: "Bank",
  reference_of_payment: "Reference",
  scan: "Scan to pay with your banking app",
  pay_online: "Pay online",
  not_invoice: "This is not an invoice for tax purposes, and no payment is asked for yet.",
  due_once_invoiced: "Once invoiced, {amount} will be due.",
  reason: "Reason",
  tax_in: "Tax comes to {amount} at the rate of {rate}."
}
const german: Words = {
  invoice: "Rechnung",
  deposit: "Anzahlungsrechnung",
  proforma: "Proformarechnung",
  credit_note: "Rechnungskorrektur",
  draft: "Entwurf",
  number: "Nummer",
  date: "Datum",
  due: "Fällig",
  customer_number: "Kundennummer",
  reference: "Ihr Zeichen",
  order: "Auftrag",
  hire: "Mietzeit",
  your_tax_number: "Ihre USt-IdNr.",
  tax_number: "USt-IdNr.",
  registration: "Handelsregister",
  credited_invoice: "Zu Rechnung",
  description: "Bezeichnung",
  quantity: "Menge",
  unit_price: "Preis",
  unit_price_gross: "Preis inkl. USt.",
  discount: "Rabatt",
  tax: "USt.",
  net: "Netto",
  gross: "Brutto",
  subtotal: "Netto",
  discounts: "Enthaltene Rabatte",
  deposits: "Abzüglich Anzahlungen",
  on: "auf {net}",
  total: "Gesamtbetrag",
  paid: "Bezahlt",
  credited: "Gutgeschrieben",
  outstanding: "Zu zahlen",
  owed_back: "Guthaben",
  pay_by: "Bitte zahlen Sie {amount} bis {date}.",
  pay: "Bitte zahlen Sie {amount}.",
  account: "Kontoinhaber",
  bank: "Bank",
  reference_of_payment: "Verwendungszweck",
  scan: "Mit der Banking-App scannen und zahlen",
  pay_online: "Online zahlen",
  not_invoice: "Dies ist keine Rechnung im Sinne des Umsatzsteuerrechts und noch keine Zahlungsaufforderung.",
  due_once_invoiced: "Mit der Rechnung werden {amount} fällig.",
  reason: "Grund",
  tax_in: "Die Umsatzsteuer beträgt {amount} zum Kurs von {rate}."
}
const french: Words = {
  invoice: "Facture",
  deposit: "Facture d’acompte",
  proforma: "Facture proforma",
  credit_note: "Avoir",
  draft: "brouillon",
  number: "Numéro",
  date: "Date",
  due: "Échéance",
  customer_number: "Numéro de client",
  reference: "Votre référence",
  order: "Commande",
  hire: "Location",
  your_tax_number: "Votre numéro de TVA",
  tax_number: "Numéro de TVA",
  registration: "Immatriculation",
  credited_invoice: "Sur la facture",
  description: "Désignation",
  quantity: "Quantité",
  unit_price: "Prix",
  unit_price_gross: "Prix TTC",
  discount: "Remise",
  tax: "TVA",
  net: "HT",
  gross: "TTC",
  subtotal: "Total HT",
  discounts: "Remises comprises",
  deposits: "Acomptes déduits",
  on: "sur {net}",
  total: "Total TTC",
  paid: "Payé",
  credited: "Crédité",
  outstanding: "À payer",
  owed_back: "En votre faveur",
  pay_by: "Merci de payer {amount} avant le {date}.",
  pay: "Merci de payer {amount}.",
  account: "Titulaire du compte",
  bank: "Banque",
  reference_of_payment: "Référence",
  scan: "À scanner avec votre application bancaire",
  pay_online: "Payer en ligne",
  not_invoice: "Ceci n’est pas une facture au sens fiscal, ni encore une demande de paiement.",
  due_once_invoiced: "À la facturation, {amount} seront à payer.",
  reason: "Motif",
  tax_in: "La TVA s’élève à {amount} au cours de {rate}."
}
const spoken: { readonly [language: string]: Words } = { en: english, de: german, fr: french }

/** The language a document can be written in: a language without words of its own here is written in English. */
export const paperLanguage = (locale: string): string => {
  const plain = locale.replace("_", "-")
  return Object.hasOwn(spoken, plain.split("-")[0] ?? "") ? plain : "en-GB"
}
export const wordsOf = (language: string): Words => spoken[language.split("-")[0] ?? ""] ?? english

/** `{name}` in a phrase, replaced. */
export const filled = (phrase: string, values: { readonly [name: string]: string }): string =>
  phrase.replace(/\{(\w+)\}/g, (whole, name: string) => values[name] ?? whole)
