/** The server a command works with, of its flags, its environment and the profile on this machine. */
import { createHash } from "node:crypto"
import { type Environment, loginOf } from "./profile-folder.ts"
import { type Asked, chooseServer, type ServerChoice } from "./server-choice.ts"

export const choiceOf = (
  { profile: named, remote, token, url }: Asked["flags"],
  env: Environment,
  profile: string
): ServerChoice =>
  chooseServer(
    {
      flags: { url, token, remote, profile: named },
      environment: { url: env["FLIGHTCASE_URL"] || undefined, token: env["FLIGHTCASE_TOKEN"] || undefined },
      login: loginOf(profile, env)
    },
    (text) => createHash("sha256").update(text).digest("hex")
  )
