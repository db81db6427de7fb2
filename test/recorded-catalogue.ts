/** The catalogue of everything that is recorded anywhere: what devices know, and what only a server records. */
import { catalogue } from "../core/catalogue.ts"
import { type Catalogue, catalogueOf } from "../core/kernel/endpoints/endpoint.ts"
import { serverSlices } from "../server/host/slices.ts"

export const recordedCatalogue: Catalogue = catalogueOf([...catalogue.slices, ...serverSlices(() => recordedCatalogue)])
