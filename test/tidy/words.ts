/** Words of the rental trade, which the general code (core's kernel, replication) may not use. */
import { tokensOf } from "../source/tokens.ts"

/**
 * Folders without rental words, and the words with their forms. `store` also means the database: only stores as places
 * count.
 */
export const general_folders = ["core/kernel", "sync"] as const
const rental_words: { readonly [word: string]: ReadonlyArray<string> } = {
  product: ["product", "products"],
  stock: ["stock", "stocks"],
  opportunity: ["opportunity", "opportunities"],
  container: ["container", "containers"],
  member: ["member", "members"],
  rate: ["rate", "rates"],
  kit: ["kit", "kits"],
  shortage: ["shortage", "shortages"],
  availability: ["availability", "available"],
  allocation: ["allocation", "allocations", "allocated"],
  invoice: ["invoice", "invoices", "invoiced"],
  store: ["stores", "store id", "store ids", "store name"],
  asset: ["asset", "assets"],
  rental: ["rental", "rentals"],
  price: ["price", "prices"],
  venue: ["venue", "venues"],
  customer: ["customer", "customers"],
  warehouse: ["warehouse", "warehouses"]
}

const roots = new RegExp(
  Object.values(rental_words)
    .map(([form]) => form!.slice(0, 4))
    .join("|"),
  "i"
)
/** `stock_level_id` and `stockLevelId` are three words in lower case. */
const wordsIn = (token: string): string =>
  ` ${token
    .replace(/([\p{Ll}\d])(\p{Lu})/gu, "$1 $2")
    .toLowerCase()
    .split(/[^\p{L}\d]+/u)
    .filter((word) => word !== "")
    .join(" ")} `

interface Spoken {
  readonly word: string
  readonly offset: number
}
/** Each rental word in names, strings and templates; comments are left out. */
export const rentalWordsIn = (text: string): ReadonlyArray<Spoken> =>
  tokensOf(text)
    .filter((token) => roots.test(token.text))
    .flatMap((token) => {
      const words = wordsIn(token.text)
      return Object.entries(rental_words).flatMap(([word, forms]) =>
        forms.flatMap((form) =>
          Array.from({ length: words.split(` ${form} `).length - 1 }, () => ({ word, offset: token.start }))
        )
      )
    })
