/** The buyer and seller of a document at present; frozen with the document once it is issued. */
import { Effect } from "effect"
import { list_values, picked, type Settings, settingText, Store } from "../../kernel/index.ts"
import { addresses, emails, members, phones } from "../../people/members/schema.ts"
import { countries } from "../../setup/reference-data/currencies.ts"
import { stores } from "../../setup/stores.ts"
import type { NamedParty } from "./tables.ts"

interface ContactRow {
  readonly id: number
  readonly type_id: number | null
  readonly is_primary: boolean
}
/** The address, e-mail or phone of a billing type, else the primary one, else the first; undefined without any. */
export const chosenContact = <R extends ContactRow>(
  rows: ReadonlyArray<R>,
  billing_type_ids: ReadonlySet<number>
): R | undefined =>
  rows.find(({ type_id }) => type_id !== null && billing_type_ids.has(type_id)) ??
  rows.find(({ is_primary }) => is_primary) ??
  rows[0]

const inOrder = { order: ["id"] }
/** Ids of list values called "Billing", in any list. */
export const billingTypeIds = Effect.gen(function* () {
  const rows = yield* Store.find(list_values, { name: "Billing" })
  return new Set(rows.map(({ id }) => id))
})

/** The buyer: the member with their billing address, e-mail and phone; null if there is no such member. */
export const buyerOf = Effect.fnUntraced(function* (member_id: number) {
  const member = yield* Store.get(members, member_id)
  if (member === undefined) return null
  const billing = yield* billingTypeIds
  const address = chosenContact(yield* Store.find(addresses, { member_id }, inOrder), billing)
  const email = chosenContact(yield* Store.find(emails, { member_id }, inOrder), billing)
  const phone = chosenContact(yield* Store.find(phones, { member_id }, inOrder), billing)
  const country =
    address === undefined || address.country_id === null ? undefined : yield* Store.get(countries, address.country_id)
  return {
    name: member.name,
    street: address?.street ?? null,
    city: address?.city ?? null,
    county: address?.county ?? null,
    postcode: address?.postcode ?? null,
    country_code: country?.code ?? null,
    tax_number: member.tax_number,
    registration_number: member.chamber_of_commerce_number,
    peppol_id: member.peppol_id,
    email: email?.address ?? null,
    phone: phone?.number ?? null,
    account_number: member.account_number
  } satisfies NamedParty
})

/** The seller: the company of the settings, completed from the store. */
export const sellerOf = Effect.fnUntraced(function* (store_id: number | null, settings: Settings) {
  const store = store_id === null ? undefined : yield* Store.get(stores, store_id)
  const company = (key: string): string | null => settingText(settings, "company", key) || null
  // Store and company addresses are not mixed, but a store without a country has the company's.
  const place =
    company("street") === null && store !== undefined
      ? { ...store, country_code: store.country_code ?? company("country_code") }
      : {
          street: company("street"),
          city: company("city"),
          county: company("county"),
          postcode: company("postcode"),
          country_code: company("country_code")
        }
  return {
    name: company("name") ?? store?.name ?? "",
    ...picked(place, ["street", "city", "county", "postcode", "country_code"]),
    tax_number: company("tax_number"),
    registration_number: company("registration_number"),
    peppol_id: null,
    email: company("email") ?? store?.email ?? null,
    phone: company("phone") ?? store?.phone ?? null,
    account_number: null
  } satisfies NamedParty
})

/** A party without data: its name is empty, the rest null. */
export const nobody: NamedParty = {
  name: "",
  street: null,
  city: null,
  county: null,
  postcode: null,
  country_code: null,
  tax_number: null,
  registration_number: null,
  peppol_id: null,
  email: null,
  phone: null,
  account_number: null
}
