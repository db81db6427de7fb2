/** What a refused check-in says of a unit that came back damaged: it holds, whatever was wrong with the check-in. */
import { isJsonObject, type JsonObject } from "../kernel/json.ts"
import { damaged } from "../opportunities/units/schema.ts"
import type { About, AskFacts, Given, Refused } from "./about.ts"
import { objectOf } from "./short-lines.ts"

export interface Damage {
  readonly unit: About["units"][number]
  /** Why it is out of service, as `stock_levels.quarantine` takes it. */
  readonly body: JsonObject
}

/** Undefined of a command that reports no damage, of goods that are counted, and of a unit that is not here. */
export const damageOf = ({ body, name }: Refused, { units }: About): Damage | undefined => {
  const is_check_in = name === "scans.check_in" || (name === "opportunities.scan" && body["direction"] === "in")
  const [unit] = units
  if (!is_check_in || body["condition"] !== damaged || unit === undefined) return undefined
  const { damage_notes, scanned_at } = body
  return {
    unit,
    body: {
      reason: "Checked in damaged",
      ...(typeof damage_notes === "string" && damage_notes !== "" ? { note: damage_notes } : {}),
      ...(typeof scanned_at === "string" ? { starts_at: scanned_at } : {})
    }
  }
}

/** Puts the unit in quarantine with what was said of it. 422 where it is out of service already. */
export const quarantineFor = async (ask: AskFacts, damage: Damage | undefined): Promise<Given> => {
  if (damage === undefined) return refused("--quarantine records damage: this command reports none of a single unit.")
  if (!(await isInService(ask, damage))) return refused(`${damage.unit.name} is out of service already.`)
  const path = `/api/v1/stock_levels/${damage.unit.id}/quarantine`
  return ask({ method: "POST", path, query: [], body: damage.body })
}
export const isInService = async (ask: AskFacts, { unit }: Damage): Promise<boolean> => {
  const path = `/api/v1/stock_levels/${unit.id}`
  const { stock_level: level } = objectOf(await ask({ method: "GET", path, query: [], body: undefined }))
  return level !== undefined && isJsonObject(level) && level["service_state"] === "in_service"
}
const refused = (message: string): Given => ({ status: 422, body: { message } })
