/** The slices that a server has in addition to the core's. Add new server slices here. */
import { inspectionsServerSlice } from "../orders/reminders.ts"
import type { ServerSlice } from "../ports/server-slice.ts"
import type { AnyJobKind } from "../ports/server-context.ts"
import { Context, Effect, type Metric, Struct } from "effect"
import { lostSecrets, unreadableSecrets } from "../../core/setup/settings/secrets.ts"
import { syncSlice } from "../../sync/server/api.ts"
import { BundleKey, DeviceFiles, DeviceTokens, eraseFromDevices } from "../../sync/server/tables.ts"
import { JournalTail, makeJournalTail } from "../../sync/server/shape.ts"
import { seedFrom } from "../../sync/protocol/bundle-format.ts"
import { deviceTokens } from "../access/tokens/issue.ts"
import { accessSlice } from "../people/slice.ts"
import { abilitiesOf } from "../../core/people/users/api.ts"
import { billingServerSlice } from "../billing/slice.ts"
import { boardSlice } from "../overview/board/slice.ts"
import { documentAnswersSlice, documentsServerSlice } from "../documents/slice.ts"
import { erasedBytes } from "./erased-bytes.ts"
import { feedsSlice } from "../overview/feeds/slice.ts"
import { inboundSlice } from "../delivery/inbound/slice.ts"
import { deviceFiles, filesSlice } from "../files/serve.ts"
import { idempotencySlice } from "../access/idempotency/slice.ts"
import { jobsSlice } from "../delivery/jobs/api.ts"
import { addMonthUnits, limitsSlice } from "../http/limit-month.ts"
import { mailSlice } from "../delivery/mail/slice.ts"
import { makeMeter } from "../operations/metering/meter.ts"
import { meteringSlice } from "../operations/metering/slice.ts"
import { notificationsServerSlice } from "../delivery/notifications/slice.ts"
import { opportunitiesServerSlice } from "../orders/waiting.ts"
import { procurementServerSlice } from "../purchasing/slice.ts"
import { backupsSlice } from "../operations/backups/schedule.ts"
import { restoreSlice } from "../operations/restore/slice.ts"
import { systemSlice } from "../operations/system/api.ts"
import { tokensSlice } from "../access/tokens/api.ts"
import { webhooksSlice } from "../delivery/webhooks/slice.ts"
import type { Catalogue } from "../../core/kernel/index.ts"
import { replicaSlice } from "../pg/replica.ts"
import type { Database } from "./config.ts"

// The kinds of jobs that slices declare.

export const jobKindsOf = (slices: ReadonlyArray<ServerSlice>): ReadonlyArray<AnyJobKind> => [
  ...new Set(slices.flatMap(({ jobs, timed }) => [...(jobs ?? []), ...(timed ?? []).map(({ kind }) => kind)]))
]

// Reports at start-up which secret settings the server's key cannot decrypt, before they are needed.

const secretSettingsSlice: ServerSlice = {
  name: "secret_settings",
  background: Effect.flatMap(lostSecrets, (lost) =>
    lost.length === 0 ? Effect.void : Effect.logWarning(unreadableSecrets(lost))
  )
}

// The server side of sync; every commit wakes waiting readers.

const serverSyncSlice: ServerSlice = {
  ...syncSlice,
  concerns: "erasures",
  recorded: eraseFromDevices,
  services: (server) => {
    const { isCurrent, isStopping, journalReplaced } = server
    const { tail, wake } = makeJournalTail({ isCurrent, isStopping, ended: journalReplaced })
    server.onCommit(wake)
    return Context.make(JournalTail, tail).pipe(
      Context.add(DeviceTokens, deviceTokens),
      Context.add(DeviceFiles, deviceFiles),
      Context.add(BundleKey, { seed: seedFrom(server.key, "flightcase bundles") })
    )
  }
}

interface Options {
  readonly database?: Database
  readonly metered?: boolean
  readonly exported_metrics?: Metric.MetricRegistry | undefined
}
/** Server slices. `whole` returns the complete catalogue they become part of. */
export const serverSlices = (
  whole: () => Catalogue,
  { database, exported_metrics, metered = true }: Options = {}
): ReadonlyArray<ServerSlice> => {
  const meter = makeMeter({ addMonthUnits })
  return [
    systemSlice(() => whole().slices, exported_metrics),
    serverSyncSlice,
    documentAnswersSlice,
    idempotencySlice,
    erasedBytes(),
    restoreSlice,
    backupsSlice(whole, database),
    secretSettingsSlice,
    feedsSlice,
    boardSlice(),
    jobsSlice(() => new Map(jobKindsOf(whole().slices).map((kind) => [kind.kind, kind]))),
    inboundSlice(whole),
    filesSlice,
    mailSlice(),
    opportunitiesServerSlice,
    inspectionsServerSlice,
    billingServerSlice,
    procurementServerSlice,
    documentsServerSlice,
    tokensSlice(() => new Set(abilitiesOf(whole()))),
    accessSlice,
    webhooksSlice({ attempted: meter.attempted }),
    limitsSlice,
    metered ? meteringSlice(meter) : unmetered(meteringSlice(meter)),
    notificationsServerSlice(),
    ...(database?.kind === "pg" && database.replica_url !== undefined
      ? [replicaSlice(database.replica_url, database.connections_max)]
      : [])
  ]
}
/** The slice without its hook for answered calls, so that nothing is metered. */
const unmetered = (slice: ServerSlice): ServerSlice => Struct.omit(slice, ["answered"])
