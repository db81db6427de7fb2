/** Parts that several verbs of `quote` need. */
import type { Json, JsonObject } from "../../../core/kernel/json.ts"
import { rowIn } from "../../answers.ts"
import type { CommandContext } from "../../context.ts"
import { resolveId } from "../../resolve-id.ts"

/** A product by id, sku or barcode. Exit 3 where there is none. */
export const findProduct = async (
  context: CommandContext,
  code: string
): Promise<{ readonly item_id: number; readonly name: string }> => {
  const item_id = await resolveId(context, "products", code)
  const product = rowIn(await context.read(`/api/v1/products/${item_id}`), "product")
  return { item_id, name: String(product["name"]) }
}

/** A body of the values that were given. */
export const present = (values: { readonly [name: string]: Json | undefined }): JsonObject =>
  Object.fromEntries(Object.entries(values).filter((entry): entry is [string, Json] => entry[1] !== undefined))
