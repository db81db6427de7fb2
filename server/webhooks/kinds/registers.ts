/** Users, settings, registers and what people do. */
import { idOnly, merged, settingValues, type WebhookKind, wholeRow } from "../kind.ts"

/** A row was made or changed: all of it; it was deleted: its id. */
const register = (plural: string, entity: string): ReadonlyArray<WebhookKind> => [
  ...wholeRow(plural, [`${entity}.created`, `${entity}.updated`]),
  ...idOnly(`${entity}.deleted`)
]

export const registerKinds: ReadonlyArray<WebhookKind> = [
  ...wholeRow("users", ["user.invited", "user.updated", "user.activated", "user.deactivated", "user.reactivated"]),
  ...wholeRow("roles", ["role.created", "role.updated", "role.deleted"], { only: ["id", "name"] }),
  ...settingValues("settings.updated"),
  ...register("members", "member"),
  ...idOnly("member.archived", "member.restored", "member.anonymised"),
  ...merged("member.merged"),
  ...register("activities", "activity"),
  ...wholeRow("activities", ["activity.completed"]),
  ...register("products", "product"),
  ...merged("product.merged"),
  ...register("product_groups", "product_group"),
  ...register("tax_rates", "tax_rate"),
  ...register("tax_rules", "tax_rule"),
  ...register("rate_definitions", "rate_definition"),
  ...register("product_rates", "product_rate"),
  ...register("stock_levels", "stock_level"),
  ...wholeRow("stock_transactions", ["stock_transaction.created"]),
  ...idOnly("stock_transaction.deleted")
]
