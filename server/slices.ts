/** What the server adds to the core's slices. New server slices go here. */
import { Struct } from "effect"
import { accessSlice } from "./access/slice.ts"
import { abilitiesOf } from "../core/users/abilities.ts"
import { billingServerSlice } from "./billing/slice.ts"
import { boardSlice } from "./board/slice.ts"
import { documentAnswersSlice, documentsServerSlice } from "./documents/slice.ts"
import { erasedBytes } from "./erased-bytes.ts"
import { feedsSlice } from "./feeds/slice.ts"
import { inboundSlice } from "./inbound/slice.ts"
import { filesSlice } from "./files/slice.ts"
import { idempotencySlice } from "./idempotency/slice.ts"
import { jobsSlice } from "./jobs/api.ts"
import { jobKindsOf } from "./jobs/kinds-of.ts"
import { addMonthUnits } from "./limits/month.ts"
import { limitsSlice } from "./limits/slice.ts"
import { mailSlice } from "./mail/slice.ts"
import { makeMeter } from "./metering/meter.ts"
import { meteringSlice } from "./metering/slice.ts"
import { notificationsServerSlice } from "./notifications/slice.ts"
import { opportunitiesServerSlice } from "./opportunities/waiting.ts"
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
export const serverSlices = (
  whole: () => Catalogue,
  { metered = true }: { readonly metered?: boolean } = {}
): ReadonlyArray<ServerSlice> => {
  const meter = makeMeter({ addMonthUnits })
  return [
    systemSlice(() => whole().slices),
    serverSyncSlice,
    documentAnswersSlice,
    idempotencySlice,
    erasedBytes(),
    restoreSlice,
    secretSettingsSlice,
    feedsSlice,
    boardSlice(),
    jobsSlice(() => new Map(jobKindsOf(whole().slices).map((kind) => [kind.kind, kind]))),
    inboundSlice(whole),
    filesSlice,
    mailSlice(),
    opportunitiesServerSlice,
    billingServerSlice,
    procurementServerSlice,
    documentsServerSlice,
    tokensSlice(() => new Set(abilitiesOf(whole()))),
    accessSlice,
    webhooksSlice({ attempted: meter.attempted }),
    limitsSlice,
    metered ? meteringSlice(meter) : unmetered(meteringSlice(meter)),
    notificationsServerSlice()
  ]
}
/** With all it has but what is told of answers, so that nothing is made to be told. */
const unmetered = (slice: ServerSlice): ServerSlice => Struct.omit(slice, ["answered"])
