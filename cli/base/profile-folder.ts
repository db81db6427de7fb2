/** Where this machine keeps its profiles: `FLIGHTCASE_HOME`, else the XDG data folder (0700). One folder per profile. */
import { existsSync, mkdirSync, readFileSync, renameSync } from "node:fs"
import { homedir } from "node:os"
import { join, resolve } from "node:path"
import { isJsonObject } from "../../core/kernel/fields/field.ts"
import { usageError } from "./exit-codes.ts"
import type { Login } from "./server-choice.ts"

export type Environment = { readonly [name: string]: string | undefined }

export const homeFolder = (env: Environment): string => {
  const own = env["FLIGHTCASE_HOME"]
  if (own !== undefined && own !== "") return resolve(own)
  const data = env["XDG_DATA_HOME"]
  return join(data !== undefined && data !== "" ? data : join(homedir(), ".local", "share"), "flightcase")
}

/** The requested name, `FLIGHTCASE_PROFILE`, or `default`. */
export const profileName = (given: string | undefined, env: Environment): string => {
  const name = given ?? env["FLIGHTCASE_PROFILE"] ?? "default"
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(name)) {
    throw usageError(
      `${JSON.stringify(name)} is no name for a profile: use letters, digits, dots, hyphens and underscores.`
    )
  }
  return name
}
export const profileFolder = (name: string, env: Environment): string => join(homeFolder(env), "profiles", name)
/** A profile exists after the first login. */
export const profileExists = (name: string, env: Environment): boolean => {
  const folder = profileFolder(name, env)
  if (existsSync(join(folder, "profile.json"))) return true
  // A login ended between moving the old folder away and the new one into its place.
  const filled = join(homeFolder(env), "profiles", `.${name}.new`)
  if (existsSync(folder) || !existsSync(join(filled, "profile.json"))) return false
  renameSync(filled, folder)
  return true
}

/**
 * A profile's login; undefined if there is none. The address of an unreadable profile is empty: opening the device
 * reports the fault.
 */
export const loginOf = (name: string, env: Environment): Login | undefined => {
  if (!profileExists(name, env)) return undefined
  let profile: unknown
  try {
    profile = JSON.parse(readFileSync(join(profileFolder(name, env), "profile.json"), "utf8"))
  } catch {
    profile = undefined
  }
  const text = (key: string): string | undefined => {
    const value = isJsonObject(profile) ? profile[key] : undefined
    return typeof value === "string" ? value : undefined
  }
  return {
    url: text("url") ?? "",
    public_url: text("public_url"),
    token: text("token") ?? "",
    logged_in_with: text("logged_in_with")
  }
}

/** A folder only its owner may look into. */
export const privateFolder = (...parts: ReadonlyArray<string>): string => {
  const folder = join(...parts)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  return folder
}
