/**
 * The setting groups that belong to no single slice, with their defaults (rules/conventions 12).
 */
import { boolean, choice, integer, list, secretText, settingNumber, settingText, text } from "../../kernel/index.ts"
import type { SettingGroups, Settings } from "../../kernel/index.ts"

/** Default maximum of days that calendars, charts, sweeps and plans cover. */
export const default_span_days = 366
/** Upper limit of `availability.span_max_days`: ten years, the longest possible horizon. */
export const span_days_ceiling = 3_660

const promise_policies = { block: "Block", warn: "Warn", allow: "Allow" }

export const settingGroups = {
  company: {
    name: text({ default: "" }),
    base_currency: text({ default: "GBP", format: "currency", max: 3, required: true }),
    timezone: text({ default: "UTC", format: "zone", max: 64, required: true }),
    locale: text({
      default: "en-GB",
      format: "language",
      max: 10,
      describe: "Language and formats of documents, such as de-DE"
    }),
    fiscal_year_start: integer({ default: 1, min: 1, max: 12, describe: "First month of the financial year, 1 to 12" }),
    email: text({ nullable: true, format: "email" }),
    phone: text({ nullable: true, max: 50 }),
    website: text({ nullable: true, format: "url", max: 2048 }),
    street: text({ nullable: true, max: 1000 }),
    city: text({ nullable: true }),
    county: text({ nullable: true }),
    postcode: text({ nullable: true, max: 20 }),
    country_code: text({ nullable: true, format: "country", max: 2 }),
    registration_number: text({ nullable: true }),
    tax_number: text({ nullable: true })
  },
  api: {
    rate_limit: integer({ default: 600, min: 1, max: 10_000, describe: "Requests per minute and token" }),
    anonymous_rate_limit: integer({
      default: 20,
      min: 1,
      max: 10_000,
      describe: "Requests per minute and IP without a valid token"
    }),
    cors_origins: list(text({ max: 255 }), {
      default: [],
      max_items: 100,
      describe: "Allowed CORS origins, such as https://shop.example; * for any"
    }),
    monthly_units: integer({
      default: 0,
      min: 0,
      max: 1_000_000_000,
      describe: "Weighted units per token and UTC calendar month; 0: no limit"
    }),
    token_expiration_days: integer({
      default: 0,
      min: 0,
      max: 3650,
      describe: "Maximum token lifetime in days; 0: no limit"
    })
  },
  opportunities: {
    number_pad: integer({ default: 10, min: 0, max: 20 }),
    number_scope: choice({ store: "One sequence per store", global: "One sequence" }, { default: "store" }),
    max_versions: integer({ default: 20, min: 1, max: 200 }),
    max_alternatives: integer({ default: 5, min: 1, max: 50 }),
    prices_include_tax: boolean({ default: false }),
    contacts_as_customers: boolean({
      default: false,
      describe: "Allow contacts (private persons) as customers of quotes and orders"
    }),
    on_stop_policy: choice(promise_policies, {
      default: "warn",
      describe: "Orders of a customer on stop: block refuses, warn only warns, allow does neither"
    }),
    credit_limit_policy: choice(promise_policies, {
      default: "warn",
      describe: "Orders above the credit limit: block refuses, warn only warns, allow does neither"
    })
  },
  availability: {
    resolution: choice({ daily: "Daily", half_daily: "Half-daily", hourly: "Hourly" }, { default: "daily" }),
    release_point: choice(
      { off_hired: "Off-hired", returned: "Returned", checked: "Checked" },
      { default: "returned" }
    ),
    demand_date_source: choice(
      { operational: "Operational dates", charge: "Charge dates" },
      { default: "operational" }
    ),
    kit_nesting_max_depth: integer({ default: 3, min: 1, max: 20 }),
    horizon_past_days: integer({ default: 90, min: 0, max: 3650 }),
    horizon_future_days: integer({ default: 365, min: 1, max: 3650 }),
    span_max_days: integer({
      default: default_span_days,
      min: 1,
      max: span_days_ceiling,
      describe: "Longest range of a calendar, chart, shortage list or plan, in days"
    }),
    overdue_check_interval: integer({
      default: 60,
      min: 1,
      max: 1440,
      describe: "No effect: overdue returns are recognised at once"
    })
  },
  scheduling: {
    day_starts_at: text({ default: "09:00", format: "time", max: 5, required: true }),
    day_ends_at: text({ default: "17:00", format: "time", max: 5, required: true }),
    default_hire_days: integer({ default: 1, min: 1, max: 3650 })
  },
  mail: {
    sender_name: text({
      nullable: true,
      on_null: "clear",
      describe: "Sender name of mail; default: the company's name"
    }),
    sender_address: text({
      nullable: true,
      on_null: "clear",
      format: "email",
      describe: "Sender address, also for bounces; default: the company's e-mail"
    }),
    reply_to: text({ nullable: true, on_null: "clear", format: "email" }),
    always_bcc: text({
      nullable: true,
      on_null: "clear",
      format: "email",
      describe: "Address for a blind copy of every message"
    }),
    dkim_domain: text({
      nullable: true,
      on_null: "clear",
      max: 253,
      describe: "DKIM domain; with selector and key, messages are signed for it"
    }),
    dkim_selector: text({ nullable: true, on_null: "clear", max: 63 }),
    dkim_private_key: secretText({ max: 10_000, describe: "DKIM private key: RSA, as PEM" }),
    smtp_url: secretText({
      max: 2048,
      format: "smtp",
      describe: "Mail server: smtp://user:password@host:587; FLIGHTCASE_SMTP_URL overrides it"
    })
  },
  notifications: {
    gather_minutes: integer({
      default: 60,
      min: 0,
      max: 1_440,
      describe: "Minimum minutes between notification mails to a person; 0: no delay"
    }),
    retention_days: integer({ default: 90, min: 1, max: 3_650, describe: "Inbox retention in days" })
  },
  webhooks: {
    retention_days: integer({
      default: 30,
      min: 1,
      max: 3_650,
      describe: "Retention of deliveries and their log, in days"
    })
  },
  metering: {
    log_retention_days: integer({
      default: 90,
      min: 1,
      max: 3_650,
      describe: "Retention of single API calls, in days"
    }),
    usage_retention_months: integer({ default: 25, min: 2, max: 120, describe: "Retention of call totals, in months" }),
    ip_addresses: choice(
      { shortened: "Without the last part, which identifies a machine", full: "Whole", none: "Not at all" },
      { default: "shortened", describe: "Part of callers' IP addresses to store" }
    )
  },
  backups: {
    folder: text({
      nullable: true,
      on_null: "clear",
      max: 2048,
      describe: "Folder on the server, or s3://bucket/prefix; FLIGHTCASE_BACKUPS overrides it"
    }),
    daily_at: text({
      nullable: true,
      on_null: "clear",
      format: "time",
      max: 5,
      describe: "Time of the daily backup, in the company's time zone; null: none"
    }),
    keep: integer({ default: 14, min: 1, max: 1_000, describe: "Number of newest backups to keep" }),
    recipient: text({
      nullable: true,
      on_null: "clear",
      max: 4_000,
      describe: "Public key (age1…) of the tool age to encrypt backups with"
    })
  },
  action_log: { retention_months: integer({ default: 12, min: 1, max: 1200 }) }
} satisfies SettingGroups

// Format of document numbers: a prefix and a number of digits, for each kind (rules/billing 1.3; rules/opportunities
// 3).

export type NumberedKind = "opportunity" | "invoice" | "proforma" | "credit_note" | "purchase_order" | "document"

export const digits_default = 10
export const numbering_group = "numbering"

export const prefixOf = (kind: NumberedKind, settings: Settings): string =>
  settingText(settings, numbering_group, `${kind}.prefix`)

/** Formats the nth number of a series, with the prefix as given. */
export const numberWritten = (
  kind: NumberedKind,
  nth: number,
  given: { readonly before?: string; readonly settings: Settings; readonly store_id: number | null }
): string => {
  const { settings, store_id } = given
  const { before = prefixOf(kind, settings) } = given
  const own = settings[numbering_group]?.[`${kind}.digits`]
  const usual = kind === "opportunity" ? settingNumber(settings, "opportunities", "number_pad") : digits_default
  const length = typeof own === "number" ? own : usual
  return before.replaceAll("{store}", String(store_id ?? "")) + String(nth).padStart(length, "0")
}
