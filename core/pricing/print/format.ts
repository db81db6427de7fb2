/** Formats amounts, numbers and dates for documents. */
import { currencies, currencyOf } from "../../values/money.ts"
import { wallOf } from "../../values/time.ts"

/**
 * Formats of one language. Not from `Intl`, whose results change with Node's releases: documents rendered again must be
 * equal.
 */
interface Locale {
  readonly decimal: string
  readonly group: string
  /** Position of the currency: `¤1`, `¤ 1` or `1 ¤`, with a no-break space. */
  readonly money: "before" | "before_spaced" | "after"
  /** Currencies whose shared sign (`$`, `kr`) is unambiguous in this language. */
  readonly at_home: ReadonlyArray<string>
  /** Date pattern: `d`, `dd`, `m`, `mm`, `yyyy` are replaced, and `month` by its name. */
  readonly date: string
  readonly long_date: string
  /** Names of months from January, in the form used in dates. */
  readonly months: ReadonlyArray<string>
  readonly clock: "24" | "12"
  readonly page_label: string
}

const narrow = "\u00a0"
const months = (names: string): ReadonlyArray<string> => names.split(" ")

const english: Locale = {
  decimal: ".",
  group: ",",
  money: "before",
  at_home: ["GBP"],
  date: "dd/mm/yyyy",
  long_date: "d month yyyy",
  months: months("January February March April May June July August September October November December"),
  clock: "24",
  page_label: "Page {page} of {pages}"
}
const german: Locale = {
  decimal: ",",
  group: ".",
  money: "after",
  at_home: [],
  date: "dd.mm.yyyy",
  long_date: "d. month yyyy",
  months: months("Januar Februar März April Mai Juni Juli August September Oktober November Dezember"),
  clock: "24",
  page_label: "Seite {page} von {pages}"
}
const french: Locale = {
  decimal: ",",
  group: narrow,
  money: "after",
  at_home: [],
  date: "dd/mm/yyyy",
  long_date: "d month yyyy",
  months: months("janvier février mars avril mai juin juillet août septembre octobre novembre décembre"),
  clock: "24",
  page_label: "Page {page} sur {pages}"
}
const spanish: Locale = {
  decimal: ",",
  group: ".",
  money: "after",
  at_home: [],
  date: "dd/mm/yyyy",
  long_date: "d de month de yyyy",
  months: months("enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre"),
  clock: "24",
  page_label: "Página {page} de {pages}"
}
const norwegian: Locale = {
  decimal: ",",
  group: narrow,
  money: "after",
  at_home: ["NOK"],
  date: "dd.mm.yyyy",
  long_date: "d. month yyyy",
  months: months("januar februar mars april mai juni juli august september oktober november desember"),
  clock: "24",
  page_label: "Side {page} av {pages}"
}
/** Pattern for languages whose month names need cases or another calendar: dates in figures. */
const figures = { long_date: "dd.mm.yyyy", months: [] } as const

const locales: { readonly [language: string]: Locale } = {
  en: english,
  "en-US": { ...english, at_home: ["USD"], date: "mm/dd/yyyy", long_date: "month d, yyyy", clock: "12" },
  "en-CA": { ...english, at_home: ["CAD"], date: "yyyy-mm-dd", clock: "12" },
  "en-AU": { ...english, at_home: ["AUD"], clock: "12" },
  "en-NZ": { ...english, at_home: ["NZD"], clock: "12" },
  "en-IE": english,
  de: german,
  "de-AT": { ...german, months: ["Jänner", ...german.months.slice(1)] },
  "de-CH": { ...german, decimal: ".", group: "\u2019", money: "before_spaced" },
  fr: french,
  "fr-CH": { ...french, decimal: ",", money: "after", date: "dd.mm.yyyy" },
  nl: {
    ...german,
    money: "before_spaced",
    date: "dd-mm-yyyy",
    long_date: "d month yyyy",
    months: months("januari februari maart april mei juni juli augustus september oktober november december"),
    page_label: "Pagina {page} van {pages}"
  },
  es: spanish,
  "es-MX": { ...spanish, decimal: ".", group: ",", money: "before", at_home: ["MXN"] },
  it: {
    ...spanish,
    long_date: "d month yyyy",
    months: months("gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre"),
    page_label: "Pagina {page} di {pages}"
  },
  pt: {
    ...spanish,
    months: months("janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro"),
    page_label: "Página {page} de {pages}"
  },
  "pt-BR": {
    ...spanish,
    money: "before_spaced",
    months: months("janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro"),
    page_label: "Página {page} de {pages}"
  },
  da: {
    ...german,
    at_home: ["DKK"],
    months: months("januar februar marts april maj juni juli august september oktober november december"),
    page_label: "Side {page} af {pages}"
  },
  sv: {
    ...norwegian,
    at_home: ["SEK"],
    date: "yyyy-mm-dd",
    long_date: "d month yyyy",
    months: months("januari februari mars april maj juni juli augusti september oktober november december"),
    page_label: "Sida {page} av {pages}"
  },
  nb: norwegian,
  no: norwegian,
  fi: {
    ...norwegian,
    at_home: [],
    date: "d.m.yyyy",
    months: months(
      "tammikuuta helmikuuta maaliskuuta huhtikuuta toukokuuta kesäkuuta " +
        "heinäkuuta elokuuta syyskuuta lokakuuta marraskuuta joulukuuta"
    ),
    page_label: "Sivu {page}/{pages}"
  },
  pl: {
    ...norwegian,
    at_home: ["PLN"],
    long_date: "d month yyyy",
    months: months(
      "stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października listopada grudnia"
    ),
    page_label: "Strona {page} z {pages}"
  },
  cs: {
    ...norwegian,
    at_home: ["CZK"],
    date: "d. m. yyyy",
    months: months("ledna února března dubna května června července srpna září října listopadu prosince"),
    page_label: "Strana {page} z {pages}"
  },
  el: { ...german, ...figures, date: "dd/mm/yyyy", long_date: "dd/mm/yyyy", page_label: "Σελίδα {page} από {pages}" },
  ru: { ...norwegian, ...figures, at_home: [], page_label: "Страница {page} из {pages}" },
  uk: { ...norwegian, ...figures, at_home: [], page_label: "Сторінка {page} з {pages}" },
  ja: {
    ...english,
    at_home: ["JPY"],
    date: "yyyy/mm/dd",
    long_date: "yyyy年m月d日",
    months: [],
    page_label: "{page} / {pages}"
  },
  zh: {
    ...english,
    at_home: ["CNY"],
    date: "yyyy-mm-dd",
    long_date: "yyyy年m月d日",
    months: [],
    page_label: "{page} / {pages}"
  },
  ar: {
    ...english,
    ...figures,
    at_home: [],
    money: "before_spaced",
    long_date: "dd/mm/yyyy",
    page_label: "{page} / {pages}"
  },
  he: { ...english, at_home: ["ILS"], ...figures, page_label: "{page} / {pages}" }
}

/** Formats by language and country, else by language, else English. */
const localeOf = (language: string): Locale => locales[language] ?? locales[language.split("-")[0] ?? ""] ?? english

const nbsp = "\u00a0"

/** Formats a decimal string ("-1234.50"), keeping its decimals. */
export const numberText = (amount: string, language: string): string => numberIn(amount, localeOf(language))
const numberIn = (amount: string, { decimal, group }: Locale): string => {
  const [, sign = "", whole = "", fraction] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(amount) ?? []
  if (whole === "") return amount
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, group)
  return `${sign}${grouped}${fraction === undefined ? "" : decimal + fraction}`
}

/** Formats a quantity without trailing zeros: "2.500" is 2.5. */
export const quantityText = (amount: string, language: string): string =>
  numberText(/\./.test(amount) ? amount.replace(/\.?0+$/, "") : amount, language)

/** Signs shared by several currencies, such as `$` and `kr`; `at_home` lists those a language uses them for. */
const shared = new Set(currencies.map(({ symbol }) => symbol).filter((symbol, at, all) => all.indexOf(symbol) !== at))
const signOf = (code: string, locale: Locale): string => {
  const found = currencyOf(code)
  if (found === undefined) return code
  return shared.has(found.symbol) && !locale.at_home.includes(code) ? code : found.symbol
}

/** Formats money, given as a decimal string with its currency's decimals ("1234.50" EUR, "1234" JPY, "1.234" KWD). */
export const moneyText = (amount: string, currency: string, language: string): string => {
  const locale = localeOf(language)
  const sign = signOf(currency, locale)
  const is_negative = amount.startsWith("-")
  const digits = numberIn(is_negative ? amount.slice(1) : amount, locale)
  const minus = is_negative ? "-" : ""
  if (locale.money === "after") return `${minus}${digits}${nbsp}${sign}`
  const space = locale.money === "before_spaced" || /\p{L}$/u.test(sign) ? nbsp : ""
  return `${minus}${sign}${space}${digits}`
}
/** Formats a percentage without trailing zeros: "7.50" is "7.5%" in English, "7,5 %" in German. */
export const percentText = (percent: string, language: string): string =>
  `${quantityText(percent, language)}${localeOf(language).money === "after" ? nbsp : ""}%`

/** Formats a date ("2026-12-05"), in figures or with the month's name. */
export const dateText = (day: string, language: string, form: "figures" | "long" = "long"): string => {
  const [, year, month, date] = /^(\d{4})-(\d{2})-(\d{2})/.exec(day) ?? []
  if (year === undefined || month === undefined || date === undefined) return day
  const locale = localeOf(language)
  const parts: { readonly [part: string]: string } = {
    yyyy: year,
    mm: month,
    dd: date,
    month: locale.months[Number(month) - 1] ?? month,
    m: String(Number(month)),
    d: String(Number(date))
  }
  // Only whole words are replaced: not the "d" in a word such as "de".
  return (form === "long" ? locale.long_date : locale.date).replace(
    /(?<![a-z])(yyyy|month|mm|dd|m|d)(?![a-z])/g,
    (part) => parts[part] ?? part
  )
}
/** Formats an instant as date and time in a zone. */
export const momentText = (
  instant: string,
  zone: string,
  language: string,
  form: "figures" | "long" = "figures"
): string => {
  const millis = Date.parse(instant)
  if (Number.isNaN(millis)) return instant
  const wall = new Date(wallOf(millis, zone)).toISOString()
  return `${dateText(wall.slice(0, 10), language, form)} ${timeText(wall.slice(11, 16), language)}`
}
/** Formats a time of day: "14:30", or "2:30 PM" in languages with a 12-hour clock. */
const timeText = (time: string, language: string): string => {
  if (localeOf(language).clock === "24") return time
  const hours = Number(time.slice(0, 2))
  return `${hours % 12 === 0 ? 12 : hours % 12}:${time.slice(3, 5)}${nbsp}${hours < 12 ? "AM" : "PM"}`
}
/** Pattern for page numbers in a language: "Page {page} of {pages}". */
export const pageLabel = (language: string): string => localeOf(language).page_label
