/** What the server adds to the core's slices. New server slices go here. */
import { abilitiesOf } from "../core/users/abilities.ts"
import { billingServerSlice } from "./billing/slice.ts"
import { documentAnswersSlice, documentsServerSlice } from "./documents/slice.ts"
import { erasedBytes } from "./erased-bytes.ts"
import { feedsSlice } from "./feeds/slice.ts"
import { inboundSlice } from "./inbound/slice.ts"
import { filesSlice } from "./files/slice.ts"
import { idempotencySlice } from "./idempotency/slice.ts"
import { jobsSlice } from "./jobs/api.ts"
import { jobKindsOf } from "./jobs/kinds-of.ts"
import { mailSlice } from "./mail/slice.ts"
import { procurementServerSlice } from "./procurement/slice.ts"
import { restoreSlice } from "./restore/slice.ts"
import { systemSlice } from "./system/api.ts"
import { secretSettingsSlice } from "./secret-settings.ts"
import { serverSyncSlice } from "./sync-slice.ts"
import { tokensSlice } from "./tokens/api.ts"
import { webhooksSlice } from "./webhooks/slice.ts"
import type { Catalogue } from "../core/kernel/catalogue.ts"
import type { ServerSlice } from "./server-slice.ts"

/** `whole` returns the catalogue they become part of, once it is complete. */
export const serverSlices = (whole: () => Catalogue): ReadonlyArray<ServerSlice> => [
  systemSlice(() => whole().slices),
  serverSyncSlice,
  documentAnswersSlice,
  idempotencySlice,
  erasedBytes(),
  restoreSlice,
  secretSettingsSlice,
  feedsSlice,
  jobsSlice(() => new Map(jobKindsOf(whole().slices).map((kind) => [kind.kind, kind]))),
  inboundSlice(whole),
  filesSlice,
  mailSlice(),
  billingServerSlice,
  procurementServerSlice,
  documentsServerSlice,
  tokensSlice(() => new Set(abilitiesOf(whole()))),
  webhooksSlice()
]
