/** The catalogue of everything that is recorded anywhere: what devices know, and what only a server records. */
import { catalogue } from "../core/catalogue.ts"
import { catalogueOf } from "../core/kernel/catalogue.ts"
import { tokensSlice } from "../server/tokens/api.ts"
import { syncSlice } from "../sync/server/api.ts"

export const recordedCatalogue = catalogueOf([...catalogue.slices, syncSlice, tokensSlice(() => new Set())])
