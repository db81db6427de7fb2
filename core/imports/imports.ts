/** The imports of catalogues. */
import type { Slice } from "../kernel/catalogue.ts"
import { importProducts } from "./products.ts"
import { importRateDefinitions } from "./rate-definitions.ts"

export const importsSlice: Slice = { name: "imports", endpoints: [importProducts, importRateDefinitions] }
