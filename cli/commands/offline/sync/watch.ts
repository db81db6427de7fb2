/** `sync --watch`: the replica follows the server until stopped. `sync --quiet`: one sync in the background. */
import { existsSync, mkdirSync, rmSync, statSync, watch as watchFiles, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { takeLock } from "../../../../sync/sqlite/file-lock.ts"
import type { Device } from "../../../../sync/device/device.ts"
import type { WatchEvent } from "../../../../sync/device/exchange/watch.ts"
import { counted } from "../../../../core/values/text.ts"
import { background_lock, ownCommand, readAttempt, saveAttempt, watch_lock } from "../../../context/background.ts"
import { objectBody, plainJson, refusedText } from "../../../base/answers.ts"
import type { CommandContext } from "../../../context/context.ts"
import { CliError, exit_codes, refusePlan, usageError } from "../../../base/exit-codes.ts"
import { oneLine, secondText, sentenceText, styled } from "../../../output/text.ts"
import { stopOnSignals } from "../../../base/stop-signals.ts"
import { homedir } from "node:os"
import { join } from "node:path"
import { type Environment, homeFolder } from "../../../base/server-choice.ts"

/** Runs the watching variant of `sync`, by flags, and returns its exit code; undefined without such flags. */
export const watching = async (
  context: CommandContext,
  flags: { readonly [name: string]: unknown }
): Promise<number | undefined> => {
  if (flags.print !== true) refusePlan(context)
  if (flags.installUnit === true || flags.uninstallUnit === true) return unit(context, flags)
  if (flags.print === true) throw usageError("--print goes with --install-unit.")
  if (flags.watch !== true && flags.quiet !== true) return undefined
  if (context.offline)
    throw new CliError(exit_codes.network, "Syncing needs the server, and --offline forbids to ask it.")
  return flags.watch === true ? follow(context) : quietly(context)
}

const unit = async (context: CommandContext, flags: { readonly [name: string]: unknown }): Promise<number> => {
  const systemd_unit = unitFor(context.profile(), context.env, ownCommand())
  if (flags.uninstallUnit === true) {
    context.note(
      removeUnit(systemd_unit)
        ? `Removed ${systemd_unit.path}. If it still runs: systemctl --user disable --now ${systemd_unit.name}; systemctl --user daemon-reload`
        : `There is no ${systemd_unit.path}.`
    )
    return exit_codes.ok
  }
  if (flags.print === true) {
    context.printContent(systemd_unit.text)
    return exit_codes.ok
  }
  installUnit(systemd_unit)
  if (context.options.json === true) context.printJson({ unit: { name: systemd_unit.name, path: systemd_unit.path } })
  else
    context.note(
      `Wrote ${systemd_unit.path}. Now:\n  systemctl --user daemon-reload\n  systemctl --user enable --now ${systemd_unit.name}\n  loginctl enable-linger    (to keep it running while you are logged out)`
    )
  return exit_codes.ok
}

/** Identifies the program's file, as a replaced one is another release. */
const programNow = (): string | undefined => {
  const [program = "", ...script] = ownCommand()
  const path = script.length === 0 ? program : fileURLToPath(import.meta.url)
  const own = path.includes("/parts/") ? fileURLToPath(new URL("../cli.js", import.meta.url)) : path
  if (!existsSync(own)) return undefined
  const { ino, mtimeMs, size } = statSync(own)
  return `${ino} ${mtimeMs} ${size}`
}
/**
 * Returns a function that is true once the program was replaced and unchanged for two seconds, as builds write many
 * files.
 */
const watchProgram = (): (() => boolean) => {
  const begun = programNow()
  const settle_millis = 2_000
  let other: { readonly print: string; readonly since: number } | undefined
  return () => {
    const print = programNow()
    if (print === undefined || print === begun) {
      other = undefined
      return false
    }
    if (other?.print !== print) other = { print, since: performance.now() }
    return performance.now() - other.since >= settle_millis
  }
}

const follow = async (context: CommandContext): Promise<number> => {
  const device = await context.device()
  const lock = takeLock(context.folder(), watch_lock)
  if (lock === undefined)
    throw new CliError(exit_codes.conflict, "This profile is being watched already.", {
      way_out: "systemctl --user status shows the unit, if one runs it."
    })
  // A signal ends it after a sync in progress: with exit code 130 at SIGINT, else 0.
  const { code, stop } = stopOnSignals()
  // Loaded now, not when needed, as another release may replace the program meanwhile.
  await (await import("../../../../sync/device/exchange/remote.ts")).loadShapeReader()
  await import("../../../../sync/notification-stream.ts")
  const told = teller(context, device)
  const { tellNotifications } = await import("./notifications.ts")
  const telling = tellNotifications(context, device.profile, stop.signal, told)
  try {
    const ended = await keptInSync(context, device, { tell: told, stop: stop.signal })
    return ended === "upgraded" ? exit_codes.replaced : code()
  } finally {
    stop.abort()
    await telling
    lock.release()
  }
}

/** Syncs after changes at the server and after local commands, until stopped or replaced. The caller holds the lock. */
export const keptInSync = async (
  context: CommandContext,
  device: Device,
  { stop, tell }: { readonly stop: AbortSignal; readonly tell: (event: WatchEvent) => void }
): Promise<"stopped" | "upgraded"> => {
  const { watch } = await import("../../../../sync/device/exchange/watch.ts")
  const { newsReader } = await import("../../../../sync/device/exchange/news.ts")
  const news = newsReader(async () => ({ ...device.profile, ...(await device.place()) }))
  try {
    return await watch({
      sync: () => device.sync(undefined, { patience_millis: 50 }),
      news: news.next,
      take: device.take,
      lastPending: device.lastPending,
      recorded: onRecorded(context.folder()),
      conflicts: device.conflicts,
      reports: () => device.told(false),
      tell,
      stop,
      upgraded: watchProgram()
    })
  } finally {
    news.close()
  }
}

/** Calls `look` when the profile's outbox or replica changes, until the returned function is called. */
export const onRecorded =
  (folder: string) =>
  (look: () => void): (() => void) => {
    try {
      // The outbox file changes before its commit is readable; the replica is written after that.
      const watcher = watchFiles(folder, (_event, file) => {
        if (file === null || /^(outbox|replica)[.]sqlite/.test(file)) look()
      })
      watcher.on("error", () => watcher.close())
      return () => watcher.close()
    } catch {
      return () => {}
    }
  }

const teller =
  (context: CommandContext, device: Device) =>
  (event: WatchEvent): void => {
    const at = new Date().toISOString()
    if (context.options.json === true) return context.printJsonLine({ at, ...objectBody(plainJson(event)) })
    if (event.event === "conflict") context.ring()
    const { colour, is_tty, zoneOf } = context.terminal
    const zone = zoneOf?.({})
    context.print(
      is_tty
        ? `${styled(colour, "dim", secondText(at, zone))} ${sentenceText(sentence(event, device), zone)}\n`
        : `${at} ${oneLine(sentence(event, device))}\n`
    )
  }
const sentence = (event: WatchEvent, device: Device): string => {
  switch (event.event) {
    case "started":
      return `Watching ${device.profile.url} as ${device.profile.device}.${event.conflicts === 0 ? "" : ` ${counted(event.conflicts, "conflict")} open: flightcase sync conflicts`}`
    case "synced":
      return [
        event.accepted + event.rejected === 0
          ? undefined
          : `Sent ${counted(event.accepted + event.rejected, "command")}: ${event.accepted} accepted, ${event.rejected} refused.`,
        event.pulled_events === 0
          ? undefined
          : `Fetched ${counted(event.pulled_events, "event")}, up to ${event.position}.`
      ]
        .filter((part) => part !== undefined)
        .join(" ")
    case "conflict":
      return `Refused: command ${event.n}, ${event.name}: ${event.message} flightcase sync conflicts shows the ways out.`
    case "different":
      return `Command ${event.n}, ${event.name}, came out otherwise than shown here: flightcase sync report`
    case "offline":
      return `${event.message} Commands are kept; trying again until it answers.`
    case "online":
      return "The server answers again."
    case "woke":
      return `Slept for ${counted(Math.max(1, Math.round(event.slept_seconds / 60)), "minute")}; looking for news.`
    case "warning":
      return event.message
    case "upgraded":
      return "This program was replaced by another release; ending so that the new one can start."
    case "stopped":
      return "Stopped."
  }
}

const resultText = (conflicts: number, different: number): string =>
  [
    conflicts === 0 ? "" : refusedText(conflicts),
    different === 0 ? "" : `${counted(different, "command")} came out otherwise than shown here: flightcase sync report`
  ]
    .filter((text) => text !== "")
    .join("; ")

/** Syncs in the background: prints nothing, and stores its result for the next command. */
const quietly = async (context: CommandContext): Promise<number> => {
  const folder = context.folder()
  const lock = takeLock(folder, background_lock)
  if (lock === undefined) return exit_codes.ok
  try {
    const device = await context.device()
    const before = new Set((await device.conflicts()).map(({ id }) => id))
    const newReports = device.reportsFromNow()
    let attempt: { readonly ok: boolean; readonly reason?: string } = { ok: true }
    try {
      // Also sends commands recorded meanwhile, in at most five rounds.
      for (let rounds = 0; rounds < 5; rounds++) {
        const last_sent = device.lastPending()
        await device.sync(undefined, { patience_millis: 50 })
        if (device.lastPending() <= last_sent) break
      }
    } catch (error) {
      if (error instanceof Error && error.name === "SyncBusy") return exit_codes.ok
      attempt = { ok: false, reason: error instanceof Error ? error.message : String(error) }
    }
    const last = readAttempt(folder)
    const refused = (await device.conflicts()).filter(({ id }) => !before.has(id)).length
    const conflicts = (last?.conflicts ?? 0) + refused
    const different = (last?.different ?? 0) + newReports().length
    saveAttempt(folder, {
      ...attempt,
      ...(conflicts + different === 0 ? {} : { arrived: resultText(conflicts, different) }),
      tried_at: Date.now(),
      conflicts,
      different,
      failures: attempt.ok ? 0 : (last?.failures ?? 0) + 1
    })
    return attempt.ok ? exit_codes.ok : exit_codes.network
  } finally {
    lock.release()
  }
}

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

const installUnit = ({ path, text }: Unit): void => {
  mkdirSync(join(path, ".."), { recursive: true, mode: 0o700 })
  writeFileSync(path, text, { mode: 0o644, flush: true })
}
/** Removes the unit; returns whether it existed. */
const removeUnit = ({ path }: Unit): boolean => {
  const there = existsSync(path)
  rmSync(path, { force: true })
  return there
}
