/** Settings of public links and acceptance. */
import { choice, text } from "../../kernel/fields/field.ts"
import type { SettingGroups } from "../../kernel/events/settings.ts"

export const acceptance_effects = {
  none: "The quotation stays as it is",
  reserve: "The quotation is reserved",
  order: "The quotation becomes an order, where no shortage stands against it"
} as const
export type AcceptanceEffect = keyof typeof acceptance_effects

export const linkSettings = {
  documents: {
    public_link_prefix: text({
      nullable: true,
      on_null: "clear",
      max: 500,
      format: "url",
      describe: "What stands before the token of a public link, where a proxy leads there: https://offers.example/d"
    }),
    acceptance: choice(acceptance_effects, {
      default: "reserve",
      any_case: true,
      describe: "What follows when a customer accepts a quotation at its public link"
    })
  }
} satisfies SettingGroups
