/** Time zone and currency that a country suggests at the first set-up. */
import { countries } from "../../../../core/values/country.ts"
import type { Company } from "./house.ts"
import { machineZone, type Present } from "./present.ts"

/** Where most people live, of countries with several zones. */
const main_zones: { readonly [country: string]: string } = {
  AR: "America/Argentina/Buenos_Aires",
  AU: "Australia/Sydney",
  BR: "America/Sao_Paulo",
  CA: "America/Toronto",
  CL: "America/Santiago",
  CN: "Asia/Shanghai",
  CY: "Asia/Nicosia",
  DE: "Europe/Berlin",
  EC: "America/Guayaquil",
  ES: "Europe/Madrid",
  ID: "Asia/Jakarta",
  KZ: "Asia/Almaty",
  MX: "America/Mexico_City",
  MY: "Asia/Kuala_Lumpur",
  NZ: "Pacific/Auckland",
  PT: "Europe/Lisbon",
  RU: "Europe/Moscow",
  UA: "Europe/Kyiv",
  US: "America/New_York"
}
/** This machine's where it is one of the country's; undefined where the country does not say which. */
const zoneIn = (country: string, machine: string): string | undefined => {
  // Not in the types of this version of the language yet.
  const locale = new Intl.Locale("und", { region: country }) as { readonly getTimeZones?: () => ReadonlyArray<string> }
  const zones = locale.getTimeZones?.() ?? []
  return zones.includes(machine) ? machine : (main_zones[country] ?? (zones.length === 1 ? zones[0] : undefined))
}

/** What the first set-up takes where nothing else is said. The machine's own zone stands in for no country's. */
export const proposedBy = (
  country_code: string | undefined,
  { currencies }: Pick<Present, "currencies">,
  machine = machineZone()
): Required<Pick<Company, "timezone">> & Pick<Company, "base_currency"> => {
  const country = countries.find(({ code }) => code === country_code?.toUpperCase())
  const currency = country?.currency_code
  return {
    timezone: (country === undefined ? undefined : zoneIn(country.code, machine)) ?? machine,
    ...(typeof currency === "string" && currencies.some((one) => one.code === currency)
      ? { base_currency: currency }
      : {})
  }
}
