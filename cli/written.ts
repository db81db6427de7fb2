/** Tells, once a command has ended, where and as whom it wrote. */
import { isJsonObject } from "../core/kernel/json.ts"
import type { Device } from "../sync/device/device.ts"
import type { ServerChoice, ServerPlace } from "./server-choice.ts"

/** Where a command wrote, for the line that says so. */
export interface Written {
  to_server: ServerPlace | undefined
  /** Something was recorded on this device. */
  here: boolean
  told_pending: boolean
  /** The replica has answered a read. */
  was_read: boolean
}
export const nothing_written: Readonly<Written> = {
  to_server: undefined,
  here: false,
  told_pending: false,
  was_read: false
}

interface Telling {
  readonly note: (text: string) => void
  readonly choice: () => ServerChoice
  readonly written: Written
}
/** A line about where a command wrote and as whom, so that nobody writes to another server than they think. */
export const tellWritten = async ({ choice, note, written }: Telling, device: Device | undefined): Promise<void> => {
  const { here, to_server, told_pending } = written
  Object.assign(written, { ...nothing_written, was_read: written.was_read })
  if (!here && to_server === undefined) return
  const { by, is_device, url = "" } = choice()
  const person = device === undefined || !is_device ? undefined : await nameOf(device).catch(() => undefined)
  const as_whom = person === undefined ? "" : ` as ${person}`
  if (to_server !== undefined)
    note(
      `Written to ${to_server.url}${as_whom}${is_device ? "" : `, as ${by} ${by.includes(" and ") ? "say" : "says"}`}.`
    )
  if (here)
    note(
      told_pending
        ? `It is for ${url}${as_whom}.`
        : `Recorded on this device for ${url}${as_whom}, sent at the next sync.`
    )
}
const nameOf = async (device: Device): Promise<string | undefined> => {
  const { body } = await device.ask({
    method: "GET",
    path: `/api/v1/users/${device.profile.user_id}`,
    query: [],
    body: undefined
  })
  const user = isJsonObject(body) ? body["user"] : undefined
  return isJsonObject(user) && typeof user["name"] === "string" ? user["name"] : undefined
}
