/** The words of public pages, of the certificate and of the mails around them, by language. */
export interface LinkWords {
  readonly open_pdf: string
  readonly accept_title: string
  /** `{document}` is replaced. */
  readonly accept_lead: string
  readonly name: string
  readonly email: string
  readonly email_hint: string
  readonly tick: string
  readonly sign: string
  readonly sign_hint: string
  readonly sign_clear: string
  readonly accept: string
  readonly pin_title: string
  readonly pin_lead: string
  readonly pin: string
  readonly pin_send: string
  readonly pin_wrong: string
  readonly gone_title: string
  readonly gone_lead: string
  readonly expired_title: string
  readonly expired_lead: string
  readonly tries_title: string
  /** `{minutes}` is replaced. */
  readonly tries_lead: string
  readonly again: string
  readonly name_missing: string
  readonly name_long: string
  readonly email_wrong: string
  readonly tick_missing: string
  readonly signature_wrong: string
  readonly problem: string
  readonly accepted_title: string
  /** `{name}` and `{date}` are replaced. */
  readonly accepted_lead: string
  readonly copy_follows: string
  readonly certificate: string
  readonly not_accepted: {
    readonly [reason in "no_quotation" | "withdrawn" | "closed" | "expired" | "changed" | "other_text"]: string
  }
  readonly cert_title: string
  readonly cert_lead: string
  readonly cert_document: string
  readonly cert_name: string
  readonly cert_email: string
  readonly cert_time: string
  readonly cert_address: string
  readonly cert_program: string
  readonly cert_text: string
  readonly cert_pdf: string
  readonly cert_link: string
  readonly cert_events: string
  readonly cert_when: string
  readonly cert_what: string
  readonly cert_generated: string
  readonly cert_shared: string
  readonly cert_accepted: string
  readonly cert_signature: string
  readonly cert_note: string
  /** `{document}` is replaced. */
  readonly mail_subject: string
  /** `{name}`, `{document}` and `{date}` are replaced. */
  readonly mail_customer: string
  readonly mail_staff: string
  /** `{document}`: the subject of a mail with a document. */
  readonly sent_subject: string
  /** `{name}`, `{document}`. */
  readonly sent_text: string
  /** `{url}`. */
  readonly sent_link: string
  readonly sent_attached: string
}

const english: LinkWords = {
  open_pdf: "Open as PDF",
  accept_title: "Accept this quotation",
  accept_lead: "By accepting you order what {document} says, on its terms.",
  name: "Your name",
  email: "Your e-mail address (optional)",
  email_hint: "A copy with the certificate is sent there.",
  tick: "I accept this quotation and may do so for the customer it names.",
  sign: "Signature (optional)",
  sign_hint: "Draw with a finger, a pen or the mouse.",
  sign_clear: "Clear signature",
  accept: "Accept",
  pin_title: "This document asks for a PIN",
  pin_lead: "Whoever sent you the link has told you the PIN, or will.",
  pin: "PIN",
  pin_send: "Show document",
  pin_wrong: "This is not the PIN. Check it and try again.",
  gone_title: "There is no document here",
  gone_lead: "The link is not complete, or it was taken back. Ask whoever sent it for another one.",
  expired_title: "This link has expired",
  expired_lead: "Ask whoever sent it for another one.",
  tries_title: "Too many tries",
  tries_lead: "The PIN was wrong too often. Try again in {minutes} minutes.",
  again: "Back to the document",
  name_missing: "Write your name.",
  name_long: "The name must not be longer than 255 characters.",
  email_wrong: "This is no e-mail address.",
  tick_missing: "Tick the box to accept.",
  signature_wrong: "The signature could not be read. Clear it and draw it again.",
  problem: "Nothing was accepted yet:",
  accepted_title: "Accepted",
  accepted_lead: "{name} accepted this quotation on {date}.",
  copy_follows: "A copy with a certificate is sent by e-mail.",
  certificate: "Open the certificate",
  not_accepted: {
    no_quotation: "This document is not one to accept.",
    withdrawn: "The quotation was withdrawn.",
    closed: "The quotation is no longer open. Ask for a new one.",
    expired: "The quotation is no longer valid. Ask for a new one.",
    changed: "The quotation was changed since this document was made. Ask for the present one and accept that.",
    other_text: "The page showed another document than this. Read it again and then accept."
  },
  cert_title: "Certificate of acceptance",
  cert_lead: "This page was added when the quotation on the pages before it was accepted at its public address.",
  cert_document: "Document",
  cert_name: "Accepted by",
  cert_email: "E-mail",
  cert_time: "Accepted at",
  cert_address: "From the address",
  cert_program: "With the program",
  cert_text: "SHA-256 of the text",
  cert_pdf: "SHA-256 of the PDF",
  cert_link: "Link",
  cert_events: "What happened",
  cert_when: "When",
  cert_what: "What",
  cert_generated: "The document was made",
  cert_shared: "Its public address was made",
  cert_accepted: "It was accepted",
  cert_signature: "Signature",
  cert_note: "Note",
  mail_subject: "{document} was accepted",
  mail_customer: "Dear {name},\n\nyou accepted {document} on {date}. Attached is the document with its certificate.\n",
  mail_staff: "{name} accepted {document} on {date}. Attached is the document with its certificate.\n",
  sent_subject: "{document}",
  sent_text: "Dear {name},\n\nhere is {document}.\n",
  sent_link: "Read it here:\n{url}\n",
  sent_attached: "It is attached as PDF.\n"
}
const german: LinkWords = {
  open_pdf: "Als PDF öffnen",
  accept_title: "Angebot annehmen",
  accept_lead: "Mit der Annahme bestellen Sie, was in „{document}“ steht, zu dessen Bedingungen.",
  name: "Ihr Name",
  email: "Ihre E-Mail-Adresse (freiwillig)",
  email_hint: "Dorthin geht eine Kopie mit der Bescheinigung.",
  tick: "Ich nehme dieses Angebot an und darf das für den genannten Kunden tun.",
  sign: "Unterschrift (freiwillig)",
  sign_hint: "Mit Finger, Stift oder Maus zeichnen.",
  sign_clear: "Unterschrift löschen",
  accept: "Annehmen",
  pin_title: "Für dieses Dokument braucht es eine PIN",
  pin_lead: "Wer Ihnen den Link geschickt hat, nennt Ihnen auch die PIN.",
  pin: "PIN",
  pin_send: "Dokument zeigen",
  pin_wrong: "Das ist nicht die PIN. Bitte prüfen und noch einmal versuchen.",
  gone_title: "Hier ist kein Dokument",
  gone_lead: "Der Link ist unvollständig oder wurde zurückgenommen. Bitten Sie den Absender um einen neuen.",
  expired_title: "Dieser Link ist abgelaufen",
  expired_lead: "Bitten Sie den Absender um einen neuen.",
  tries_title: "Zu viele Versuche",
  tries_lead: "Die PIN war zu oft falsch. Versuchen Sie es in {minutes} Minuten wieder.",
  again: "Zurück zum Dokument",
  name_missing: "Bitte geben Sie Ihren Namen an.",
  name_long: "Der Name darf höchstens 255 Zeichen haben.",
  email_wrong: "Das ist keine E-Mail-Adresse.",
  tick_missing: "Zum Annehmen bitte das Kästchen ankreuzen.",
  signature_wrong: "Die Unterschrift war nicht lesbar. Bitte löschen und neu zeichnen.",
  problem: "Noch wurde nichts angenommen:",
  accepted_title: "Angenommen",
  accepted_lead: "{name} hat dieses Angebot am {date} angenommen.",
  copy_follows: "Eine Kopie mit Bescheinigung kommt per E-Mail.",
  certificate: "Bescheinigung öffnen",
  not_accepted: {
    no_quotation: "Dieses Dokument ist nicht zum Annehmen.",
    withdrawn: "Das Angebot wurde zurückgezogen.",
    closed: "Das Angebot ist nicht mehr offen. Bitten Sie um ein neues.",
    expired: "Das Angebot ist nicht mehr gültig. Bitten Sie um ein neues.",
    changed: "Das Angebot hat sich geändert, seit dieses Dokument entstand. Bitten Sie um das jetzige.",
    other_text: "Die Seite zeigte ein anderes Dokument. Lesen Sie es noch einmal und nehmen Sie es dann an."
  },
  cert_title: "Bescheinigung der Annahme",
  cert_lead: "Diese Seite kam hinzu, als das Angebot auf den Seiten davor an seiner Adresse angenommen wurde.",
  cert_document: "Dokument",
  cert_name: "Angenommen von",
  cert_email: "E-Mail",
  cert_time: "Angenommen am",
  cert_address: "Von der Adresse",
  cert_program: "Mit dem Programm",
  cert_text: "SHA-256 des Textes",
  cert_pdf: "SHA-256 der PDF-Datei",
  cert_link: "Link",
  cert_events: "Was geschah",
  cert_when: "Wann",
  cert_what: "Was",
  cert_generated: "Das Dokument entstand",
  cert_shared: "Seine Adresse entstand",
  cert_accepted: "Es wurde angenommen",
  cert_signature: "Unterschrift",
  cert_note: "Hinweis",
  mail_subject: "{document} wurde angenommen",
  mail_customer:
    "Guten Tag {name},\n\nSie haben am {date} angenommen: {document}. Anbei das Dokument mit seiner Bescheinigung.\n",
  mail_staff: "{name} hat am {date} angenommen: {document}. Anbei das Dokument mit seiner Bescheinigung.\n",
  sent_subject: "{document}",
  sent_text: "Guten Tag {name},\n\nhier ist: {document}.\n",
  sent_link: "Hier lesen:\n{url}\n",
  sent_attached: "Es liegt als PDF bei.\n"
}
const french: LinkWords = {
  open_pdf: "Ouvrir en PDF",
  accept_title: "Accepter ce devis",
  accept_lead: "En acceptant, vous commandez ce que dit « {document} », à ses conditions.",
  name: "Votre nom",
  email: "Votre adresse e-mail (facultatif)",
  email_hint: "Une copie avec l’attestation y est envoyée.",
  tick: "J’accepte ce devis et j’en ai le pouvoir pour le client nommé.",
  sign: "Signature (facultatif)",
  sign_hint: "À tracer au doigt, au stylet ou à la souris.",
  sign_clear: "Effacer la signature",
  accept: "Accepter",
  pin_title: "Ce document demande un code PIN",
  pin_lead: "La personne qui vous a envoyé le lien vous donne aussi le code.",
  pin: "Code PIN",
  pin_send: "Voir le document",
  pin_wrong: "Ce n’est pas le bon code. Vérifiez-le et réessayez.",
  gone_title: "Il n’y a pas de document ici",
  gone_lead: "Le lien est incomplet ou a été retiré. Demandez-en un autre à l’expéditeur.",
  expired_title: "Ce lien a expiré",
  expired_lead: "Demandez-en un autre à l’expéditeur.",
  tries_title: "Trop d’essais",
  tries_lead: "Le code était faux trop souvent. Réessayez dans {minutes} minutes.",
  again: "Retour au document",
  name_missing: "Indiquez votre nom.",
  name_long: "Le nom ne doit pas dépasser 255 caractères.",
  email_wrong: "Ce n’est pas une adresse e-mail.",
  tick_missing: "Cochez la case pour accepter.",
  signature_wrong: "La signature est illisible. Effacez-la et tracez-la de nouveau.",
  problem: "Rien n’est encore accepté :",
  accepted_title: "Accepté",
  accepted_lead: "{name} a accepté ce devis le {date}.",
  copy_follows: "Une copie avec attestation est envoyée par e-mail.",
  certificate: "Ouvrir l’attestation",
  not_accepted: {
    no_quotation: "Ce document n’est pas à accepter.",
    withdrawn: "Le devis a été retiré.",
    closed: "Le devis n’est plus ouvert. Demandez-en un nouveau.",
    expired: "Le devis n’est plus valable. Demandez-en un nouveau.",
    changed: "Le devis a changé depuis ce document. Demandez le devis actuel et acceptez celui-là.",
    other_text: "La page montrait un autre document. Relisez-le, puis acceptez."
  },
  cert_title: "Attestation d’acceptation",
  cert_lead: "Cette page a été ajoutée lorsque le devis qui précède a été accepté à son adresse publique.",
  cert_document: "Document",
  cert_name: "Accepté par",
  cert_email: "E-mail",
  cert_time: "Accepté le",
  cert_address: "Depuis l’adresse",
  cert_program: "Avec le programme",
  cert_text: "SHA-256 du texte",
  cert_pdf: "SHA-256 du PDF",
  cert_link: "Lien",
  cert_events: "Ce qui s’est passé",
  cert_when: "Quand",
  cert_what: "Quoi",
  cert_generated: "Le document a été établi",
  cert_shared: "Son adresse publique a été créée",
  cert_accepted: "Il a été accepté",
  cert_signature: "Signature",
  cert_note: "Remarque",
  mail_subject: "{document} : accepté",
  mail_customer:
    "Bonjour {name},\n\nvous avez accepté {document} le {date}. Ci-joint le document avec son attestation.\n",
  mail_staff: "{name} a accepté {document} le {date}. Ci-joint le document avec son attestation.\n",
  sent_subject: "{document}",
  sent_text: "Bonjour {name},\n\nvoici {document}.\n",
  sent_link: "À lire ici :\n{url}\n",
  sent_attached: "Il est joint en PDF.\n"
}
const by_language: { readonly [language: string]: LinkWords } = { en: english, de: german, fr: french }

/** Of the language, else English. */
export const linkWords = (language: string): LinkWords => by_language[language.split("-")[0] ?? ""] ?? english
/** The first of a browser's languages that there are words for. */
export const languageFor = (accept_language: string | undefined): string =>
  (accept_language ?? "")
    .slice(0, 200)
    .split(",")
    .map((one) => one.split(";")[0]?.trim().toLowerCase().split("-")[0] ?? "")
    .find((one) => one in by_language) ?? "en"

/** `{name}` and the like, as the values have them; what a value says in braces stays as it is. */
export const worded = (text: string, values: { readonly [name: string]: string }): string =>
  text.replace(/\{(\w+)\}/g, (all, name: string) => values[name] ?? all)
