/** `devices`: the machines that hold replicas, as the server knows them. */
import type { Command } from "commander"
import type { JsonObject } from "../../core/kernel/json.ts"
import { unpagedMeta } from "../../core/kernel/resource.ts"
import type { Desk } from "../desk.ts"
import { Exit, exits, misused } from "../exits.ts"
import { profileExists, profileFolder } from "../home.ts"
import { column, tableText } from "../output/table.ts"
import { acting } from "../program.ts"

export const declare = (program: Command): void => {
  const devices = program.command("devices").description("The machines that hold replicas: yours, or everybody's if you manage users")
  acting(devices.command("list", { isDefault: true }).description("Name, owner, when it was last seen, how far it has come"), list)
  acting(devices.command("rename").description("Call a device otherwise").argument("<device>", "its id or name").argument("<name>", "the new name"), rename)
  acting(devices.command("revoke").description("Its token opens nothing from then on; it loses its data at its next call, but not what it has not sent")
    .argument("<device>", "its id or name").option("--yes", "do not ask"), revoke)
}

const list = async (desk: Desk): Promise<void> => {
  const found = await all(desk)
  const here = await thisDevice(desk)
  if (desk.options.json === true) return desk.printJson({ replicas: [...found], meta: unpagedMeta(found.length) })
  const columns = [column("id", "ID"), column("name", "NAME"), column("user_name", "OWNER"), column("seen_at", "LAST SEEN"), column("last_n", "SENT"), column("position", "POSITION"), column("revoked_at", "REVOKED")]
  const marked = desk.terminal.seen ? found.map((one) => ({ ...one, name: one["id"] === here ? `${String(one["name"])} (this one)` : one["name"]! })) : found
  desk.print(tableText(columns, marked, desk.terminal))
}

const rename = async (desk: Desk, [given = "", name = ""]: ReadonlyArray<string>): Promise<void> => {
  const device = await find(desk, given)
  const { body } = await answered(desk, "PUT", `/api/v1/sync/replicas/${device["id"] as number}`, { name })
  if (desk.options.json === true) desk.printJson(body ?? null)
  else desk.note(`Device ${device["id"] as number} is called ${name} now.`)
}

const revoke = async (desk: Desk, [given = ""]: ReadonlyArray<string>, flags: { readonly [name: string]: unknown }): Promise<void> => {
  const device = await find(desk, given)
  const called = `${String(device["name"])} (${device["id"] as number})`
  if (flags["yes"] !== true && desk.interactive) {
    const { agree } = await import("../prompt.ts")
    if (!await agree(`Revoke ${called}${device["id"] === await thisDevice(desk) ? ", this very device" : ""}: sure?`)) throw misused("Nothing was changed.")
  }
  await answered(desk, "DELETE", `/api/v1/sync/replicas/${device["id"] as number}`)
  if (desk.options.json === true) desk.printJson({ replica: { ...device, revoked: true } })
  else desk.note(`Revoked ${called}. It loses its data at its next call; what it has not sent stays with it.`)
}

const answered = async (desk: Desk, method: string, path: string, body?: JsonObject, query: ReadonlyArray<readonly [string, string]> = []) => {
  if (desk.offline) throw new Exit(exits.network, "Devices are the server's to know, and --offline forbids to ask it.")
  const answer = await desk.requestAtServer({ method, path, query, ...(body === undefined ? {} : { body }) })
  if (answer.status >= 400) throw (await import("../refusal.ts")).refusalOf(answer)
  return answer
}

const all = async (desk: Desk): Promise<ReadonlyArray<JsonObject>> => {
  const found: Array<JsonObject> = []
  for (let page = 1; ; page++) {
    const { body } = await answered(desk, "GET", "/api/v1/sync/replicas", undefined, [["per_page", "100"], ["page", String(page)]])
    const { replicas, meta } = body as { readonly replicas: ReadonlyArray<JsonObject>; readonly meta: { readonly total: number } }
    found.push(...replicas)
    if (replicas.length === 0 || found.length >= meta.total) return found
  }
}

const find = async (desk: Desk, given: string): Promise<JsonObject> => {
  const found = await all(desk)
  const byId = found.find((one) => String(one["id"]) === given)
  const byName = found.filter((one) => one["name"] === given)
  // Machines are replaced and called the same again: of several, those still in use are meant.
  const inUse = byName.filter((one) => one["revoked_at"] === null)
  const meant = byId ?? (inUse.length === 1 ? inUse[0] : byName.length === 1 ? byName[0] : undefined)
  if (meant !== undefined) return meant
  if (byName.length > 1) throw misused(`${byName.length} devices are called ${given}.`, `Give an id: ${byName.map((one) => String(one["id"])).join(", ")}.`)
  throw new Exit(exits.not_found, `There is no device ${given}.`, { way_out: "flightcase devices lists them." })
}

/** The id of the profile's own device, if somebody logged in here. */
const thisDevice = async (desk: Desk): Promise<number | undefined> => {
  if (!profileExists(desk.profile(), desk.env)) return undefined
  const { readProfile } = await import("../../sync/replica/folder.ts")
  return readProfile(profileFolder(desk.profile(), desk.env)).replica_id
}
