/** Writes a systemd user unit that keeps `sync --watch` running. */
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs"
import { homedir } from "node:os"
import { join } from "node:path"
import { exit_codes } from "../../../base/exit-codes.ts"
import { type Environment, homeFolder } from "../../../base/server-choice.ts"

interface Unit {
  readonly name: string
  readonly path: string
  readonly text: string
}

export const unitFor = (profile: string, env: Environment, command: ReadonlyArray<string>): Unit => {
  const config = env["XDG_CONFIG_HOME"]
  const name = profile === "default" ? "flightcase-sync.service" : `flightcase-sync-${profile}.service`
  return {
    name,
    path: join(
      config !== undefined && config !== "" ? config : join(env["HOME"] ?? homedir(), ".config"),
      "systemd",
      "user",
      name
    ),
    text: `[Unit]
Description=Flightcase: keep the profile ${profile} in sync
StartLimitIntervalSec=0

[Service]
Type=exec
ExecStart=${[...command, "sync", "--watch", "--no-input", "--profile", profile].map(quoted).join(" ")}
Environment=${quoted(`FLIGHTCASE_HOME=${homeFolder(env)}`)}
Restart=on-failure
RestartSec=5
# A new release in the program's place ends it with ${exit_codes.replaced}; a token that opens nothing, or no login, is for a person.
RestartForceExitStatus=${exit_codes.replaced}
RestartPreventExitStatus=${exit_codes.usage} ${exit_codes.not_allowed}
TimeoutStopSec=30
UMask=0077
NoNewPrivileges=yes

[Install]
WantedBy=default.target
`
  }
}
/** Escapes a word for systemd: quotes, backslashes, and its own special characters. */
const quoted = (word: string): string => {
  const plain = word
    .replaceAll("\\", "\\\\")
    .replaceAll('"', '\\"')
    .replaceAll("%", "%%")
    .replaceAll("$", "$$$$")
    .replaceAll("\n", "\\n")
  return /^[A-Za-z0-9_@+=:,./%$-]+$/.test(plain) ? plain : `"${plain}"`
}

export const installUnit = ({ path, text }: Unit): void => {
  mkdirSync(join(path, ".."), { recursive: true, mode: 0o700 })
  writeFileSync(path, text, { mode: 0o644, flush: true })
}
/** Removes the unit; returns whether it existed. */
export const removeUnit = ({ path }: Unit): boolean => {
  const there = existsSync(path)
  rmSync(path, { force: true })
  return there
}
