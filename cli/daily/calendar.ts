/** `calendar export`: the activities as iCalendar, made here, without a signed link and without a network. */
import type { Command } from "commander"
import { calendarFeed, type FeedActivity, feedName, feedStart, uidHost } from "../../core/calendar/feed.ts"
import { isJsonObject, type JsonObject } from "../../core/kernel/json.ts"
import { instantOf } from "../../core/values/time.ts"
import { profileExists } from "../home.ts"
import { allRows } from "../pages.ts"
import { acting } from "../program.ts"
import { zoneOr } from "../when.ts"

export const declare = (program: Command): void => {
  const calendar = program.command("calendar").description("The calendar of activities")
  const out = calendar.command("export").description("Every activity from a year ago on, as an iCalendar file")
    .option("--user <id>", "only what this member owns").option("-o, --output <file>", "write there instead of standard output")
  acting(out, async (desk, _args, flags) => {
    const generated_at = instantOf(Date.now())
    const user = flags["user"] as string | undefined
    const rows = await allRows(desk, "/api/v1/activities", [["q[starts_at_gteq]", feedStart(generated_at)], ["include", "owner"], ...(user === undefined ? [] : [["q[owned_by_eq]", user] as const])])
    const owner = user === undefined ? undefined : (await desk.read(`/api/v1/members/${encodeURIComponent(user)}`))["member"] as JsonObject
    const settings = await desk.read("/api/v1/settings/company").catch(() => ({ settings: {} }))
    const zone = zoneOr((settings["settings"] as JsonObject)["timezone"], "UTC")
    const address = profileExists(desk.profile(), desk.env) ? (await desk.device()).profile.url : desk.options.url ?? desk.env["FLIGHTCASE_URL"] ?? ""
    const text = calendarFeed(rows.map(asActivity), { generated_at, host: uidHost(address), calendar_name: feedName(owner === undefined ? null : String(owner["name"])), zone })
    const file = flags["output"] as string | undefined
    if (file === undefined) return desk.print(text)
    await (await import("node:fs/promises")).writeFile(file, text)
    desk.note(`Wrote ${rows.length} activities to ${file}.`)
  })
}

const asActivity = (row: JsonObject): FeedActivity => {
  const text = (key: string): string | null => typeof row[key] === "string" ? row[key] : null
  const owner = row["owner"]
  return {
    id: Number(row["id"]), subject: text("subject") ?? "", location: text("location"), description: text("description"),
    starts_at: text("starts_at"), ends_at: text("ends_at"), status_id: Number(row["status_id"]), time_status: Number(row["time_status"] ?? 1),
    owner: isJsonObject(owner) ? { name: String(owner["name"]), email: typeof owner["email"] === "string" ? owner["email"] : null } : null
  }
}
