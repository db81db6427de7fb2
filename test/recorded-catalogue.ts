/** The catalogue of all recorded commands: those devices know, and those only a server records. */
import { catalogue } from "../core/catalogue.ts"
import { type Catalogue, catalogueOf } from "../core/kernel/endpoints/endpoint.ts"
import { serverSlices } from "../server/host/slices.ts"

export const recordedCatalogue: Catalogue = catalogueOf([...catalogue.slices, ...serverSlices(() => recordedCatalogue)])
