/** Devices as the server lists them. */
import type { JsonObject } from "../../../core/kernel/json.ts"
import { rowIn, rowsIn } from "../../answers.ts"
import type { CommandContext } from "../../context.ts"
import { CliError, exit_codes, usageError } from "../../exit-codes.ts"
import { profileExists, profileFolder } from "../../profile-folder.ts"

/** An answer of the server about devices; a refusal is thrown. Exit 7 with --offline. */
export const askForDevices = async (
  context: CommandContext,
  method: string,
  path: string,
  body?: JsonObject,
  query: ReadonlyArray<readonly [string, string]> = []
) => {
  if (context.offline)
    throw new CliError(exit_codes.network, "Devices are the server's to know, and --offline forbids to ask it.")
  const answer = await context.requestAtServer({ method, path, query, ...(body === undefined ? {} : { body }) })
  if (answer.status >= 400) throw (await import("../../response-errors.ts")).responseError(answer)
  return answer
}

/** Every device the person may see, page by page. */
export const allDevices = async (context: CommandContext): Promise<ReadonlyArray<JsonObject>> => {
  const found: Array<JsonObject> = []
  for (let page = 1; ; page++) {
    const { body } = await askForDevices(context, "GET", "/api/v1/sync/replicas", undefined, [
      ["per_page", "100"],
      ["page", String(page)]
    ])
    const replicas = rowsIn(body, "replicas")
    found.push(...replicas)
    if (replicas.length === 0 || found.length >= Number(rowIn(body, "meta")["total"])) return found
  }
}

/** The device of this id or name. Exit 2 where several are called so, 3 where none is. */
export const findDevice = async (context: CommandContext, given: string): Promise<JsonObject> => {
  const found = await allDevices(context)
  const byId = found.find((one) => String(one["id"]) === given)
  const byName = found.filter((one) => one["name"] === given)
  // A machine that replaces another often gets its name: of several, the one still in use is meant.
  const inUse = byName.filter((one) => one["revoked_at"] === null)
  const meant = byId ?? (inUse.length === 1 ? inUse[0] : byName.length === 1 ? byName[0] : undefined)
  if (meant !== undefined) return meant
  if (byName.length > 1)
    throw usageError(
      `${byName.length} devices are called ${given}.`,
      `Give an id: ${byName.map((one) => String(one["id"])).join(", ")}.`
    )
  throw new CliError(exit_codes.not_found, `There is no device ${given}.`, {
    way_out: "flightcase devices lists them."
  })
}

/** The id of the profile's own device; undefined where nobody has logged in. */
export const ownDeviceId = async (context: CommandContext): Promise<number | undefined> => {
  if (!profileExists(context.profile(), context.env)) return undefined
  const { readProfile } = await import("../../../sync/device/folder.ts")
  return readProfile(profileFolder(context.profile(), context.env)).replica_id
}
