/** Numbers of parties as electronic invoices carry them: VAT ids, Peppol ids. */
import { countries } from "../../values/country.ts"
import type { NamedParty } from "../schema.ts"
import type { Endpoint } from "./model.ts"

/** Greece and Northern Ireland have other letters in VAT ids than in addresses (BR-CO-09). */
const prefixes: ReadonlySet<string> = new Set([...countries.map(({ code }) => code), "EL", "XI"])

/** A VAT id begins with the letters of a country; anything else is a number at a tax office (BT-31, BT-32). */
export const taxNumbersOf = (
  given: string | null
): { readonly vat_id: string | null; readonly tax_registration: string | null } => {
  const text = given?.trim() ?? ""
  if (text === "") return { vat_id: null, tax_registration: null }
  const packed = text.toUpperCase().replace(/[\s./_-]/g, "")
  return /^[A-Z]{2}[A-Z0-9+*]{2,13}$/.test(packed) && prefixes.has(packed.slice(0, 2)) && /\d/.test(packed)
    ? { vat_id: packed, tax_registration: null }
    : { vat_id: null, tax_registration: text }
}

/** `0088:1234567890128`, with or without the words Peppol's registers put before it. */
export const parsePeppolId = (given: string): Endpoint | undefined => {
  const found = /^(?:iso6523-actorid-upis::)?(\d{4}):(\S{1,50})$/i.exec(given.trim())
  return found?.[1] === undefined || found[2] === undefined ? undefined : { scheme: found[1], id: found[2] }
}
/** By Peppol id, else by mail (EAS code EM). */
export const endpointOf = ({ email, peppol_id }: Pick<NamedParty, "email" | "peppol_id">): Endpoint | null => {
  const peppol = peppol_id === null ? undefined : parsePeppolId(peppol_id)
  if (peppol !== undefined) return peppol
  return email === null || email.trim() === "" ? null : { scheme: "EM", id: email.trim() }
}
