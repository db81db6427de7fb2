/** How old the replica is that answers: refreshed before a read, told after it. */
import type { Device } from "../sync/device/device.ts"
import {
  arrivedText,
  asOfText,
  isStale,
  refreshFirst,
  shouldSync,
  startBackgroundSync,
  type SyncOccasion
} from "./background.ts"
import { clocksOver } from "./clocks.ts"
import type { Environment } from "./profile-folder.ts"
import type { Written } from "./written.ts"

interface Place {
  readonly env: Environment
  readonly offline: boolean
  readonly folder: () => string
  readonly profile: () => string
  readonly note: (text: string) => void
  readonly written: Written
}
const occasionOf = async (device: Device, { env, folder, offline, profile }: Place): Promise<SyncOccasion> => {
  const { synced_at } = await device.place()
  return { folder: folder(), profile: profile(), env, offline, pending: device.lastPending() > 0, synced_at }
}
/** Tells of commands refused meanwhile, and starts a sync in the background. Neither delays or spoils an answer. */
export const afterAnswering = async (device: Device, place: Place, is_refreshing: boolean): Promise<void> => {
  const { folder, note, written } = place
  try {
    const arrived = arrivedText(folder())
    if (arrived !== undefined) note(arrived)
    const occasion = await occasionOf(device, place)
    const refreshes = shouldSync(occasion, Date.now())
    const is_old = written.was_read && isStale(occasion.synced_at, Date.now())
    const as_of = is_old ? asOfText(occasion.synced_at, Date.now(), await zoneHere(device)) : undefined
    if (as_of !== undefined) note(`${as_of}${refreshes || is_refreshing ? "; it is being refreshed" : ""}.`)
    if (refreshes) await startBackgroundSync(occasion)
  } catch {
    /* The command has been answered; the next sync reports what is wrong here. */
  }
}

const zoneHere = async (device: Device): Promise<string | undefined> => {
  const clocks = clocksOver((asking) => device.ask({ ...asking, body: undefined }))
  await clocks.look()
  return clocks.zoneHere()
}

/** Refreshes what is a minute old, for a moment at most; true while that goes on. Never spoils an answer. */
export const refreshBefore = async (device: Device, place: Place): Promise<boolean> =>
  refreshFirst(await occasionOf(device, place), Date.now()).catch(() => false)
