/** The single executable and the Debian package that `npm run package` leaves in dist/. */
import { execFileSync } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { hasProgram } from "../installed-tools.ts"
import { environment, quotesOffline, runIn } from "../e2e/installed.ts"

const root = join(import.meta.dirname, "../..")
const dist = join(root, "dist")
const made = (ending: RegExp): string => join(dist, readdirSync(dist).find((name) => ending.test(name)) ?? "missing")
const folder = mkdtempSync(join(tmpdir(), "flightcase-ship-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe("the folder of the release", () => {
  it("lists the SHA-256 sum of every file", () => {
    const listed = readFileSync(join(dist, "SHA256SUMS"), "utf8")
    expect(execFileSync("sha256sum", ["--check", "--quiet", "SHA256SUMS"], { cwd: dist, encoding: "utf8" })).toBe("")
    expect(listed.trim().split("\n")).toHaveLength(readdirSync(dist).length - 1)
  })
})

describe("the executable", () => {
  const bin = made(/-linux-x64$/)
  const run = runIn(folder)
  it("says its version without Node on the path", async () => {
    expect(await run(bin, ["--version"], { PATH: "/nowhere", HOME: folder })).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^flightcase \d+\.\d+\.\d+\n$/)
    })
  })
  it("serves the guide, quotes while its server is stopped, syncs, and draws a document", () =>
    quotesOffline(folder, bin))
  it("backs up its data, and restores the backup on trial", async () => {
    const home = { ...environment, FLIGHTCASE_HOME: join(folder, "home"), FLIGHTCASE_DATA: join(folder, "data") }
    const backups = join(folder, "backups")
    expect(await run(bin, ["backup", "create", backups], home)).toMatchObject({ code: 0 })
    const [file = ""] = readdirSync(backups)
    expect(await run(bin, ["backup", "verify", join(backups, file), "--restore"], home)).toMatchObject({ code: 0 })
  })
  it("leaves nothing in the folder for temporary files", () => {
    expect(readdirSync(tmpdir()).filter((name) => name.startsWith("flightcase-print-"))).toEqual([])
  })
})

describe.skipIf(!hasProgram("systemd-analyze"))("the systemd units", () => {
  it.each(["flightcase", "flightcase-backup"])(
    "include a %s.service that systemd-analyze rates below 1.5 of 10",
    (name) => {
      const unit = join(root, `deploy/systemd/${name}.service`)
      const report = execFileSync("systemd-analyze", ["security", "--offline=true", unit], { encoding: "utf8" })
      expect(Number(/Overall exposure level for \S+: (\S+)/.exec(report)?.[1])).toBeLessThan(1.5)
    }
  )
})

/** Needs root, and Debian's archive. */
describe.skipIf(!hasProgram("debootstrap") || process.getuid?.() !== 0)("the Debian package, on a bare Debian", () => {
  const bare = join(folder, "bare")
  const inside = (...words: ReadonlyArray<string>): string =>
    execFileSync("chroot", [bare, ...words], {
      encoding: "utf8",
      env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", HOME: "/root", DEBIAN_FRONTEND: "noninteractive" }
    })
  const data = join(bare, "var/lib/flightcase")
  const calls = join(bare, "root/systemctl-calls")
  /** Calls of systemctl that started or stopped the server since the last read. */
  const systemctlCalls = (): ReadonlyArray<string> => {
    const lines = readFileSync(calls, "utf8").trim().split("\n")
    rmSync(calls)
    return lines.filter((line) => line.includes("flightcase"))
  }
  beforeAll(() => {
    execFileSync("debootstrap", ["--variant=minbase", "bookworm", bare], { stdio: "ignore" })
    mkdirSync(join(bare, "run/systemd/system"), { recursive: true })
    writeFileSync(join(bare, "bin/systemctl"), '#!/bin/sh\necho "$*" >> /root/systemctl-calls\n', { mode: 0o755 })
    writeFileSync(join(bare, "root/flightcase.deb"), readFileSync(made(/_amd64\.deb$/)))
  })
  it("installs with its dependencies, and starts the server", () => {
    inside("apt-get", "install", "-y", "-q", "--no-install-recommends", "/root/flightcase.deb")
    expect(inside("flightcase", "--version")).toMatch(/^flightcase \d/)
    expect(statSync(join(bare, "etc/flightcase/env")).mode & 0o777).toBe(0o640)
    for (const file of ["usr/lib/systemd/system/flightcase.service", "usr/share/man/man1/flightcase.1.gz"])
      expect(existsSync(join(bare, file))).toBe(true)
    expect(systemctlCalls()).toEqual(["enable --now flightcase.service"])
  })
  it("serves, and quotes while its server is stopped", () => {
    const bin = join(folder, "in-bare")
    const words = `chroot ${bare} /bin/sh -c 'cd /root; exec flightcase "$@"' flightcase "$@"`
    writeFileSync(bin, `#!/bin/sh\nexec ${words}\n`, { mode: 0o755 })
    return quotesOffline(join(bare, "root"), bin)
  })
  it("upgrades in place, keeps settings and data, and restarts the server", () => {
    writeFileSync(join(bare, "etc/flightcase/env"), "FLIGHTCASE_PORT=4481\n")
    mkdirSync(data, { recursive: true })
    writeFileSync(join(data, "kept"), "kept")
    execFileSync("dpkg-deb", ["--raw-extract", made(/_amd64\.deb$/), join(folder, "next")])
    const control = join(folder, "next/DEBIAN/control")
    writeFileSync(control, readFileSync(control, "utf8").replace(/^Version: .*$/m, "Version: 99.0.0"))
    execFileSync("dpkg-deb", ["-Znone", "--build", join(folder, "next"), join(bare, "root/next.deb")], {
      stdio: "ignore"
    })
    inside("apt-get", "install", "-y", "-q", "--no-install-recommends", "/root/next.deb")
    expect(inside("dpkg-query", "-W", "-f", "${Version}", "flightcase")).toBe("99.0.0")
    expect(readFileSync(join(bare, "etc/flightcase/env"), "utf8")).toBe("FLIGHTCASE_PORT=4481\n")
    expect(existsSync(join(data, "kept"))).toBe(true)
    expect(systemctlCalls()).toEqual(["try-restart flightcase.service"])
  })
  it("stops the server on removal, and starts it on reinstallation", () => {
    inside("apt-get", "remove", "-y", "-q", "flightcase")
    inside("apt-get", "install", "-y", "-q", "--no-install-recommends", "/root/next.deb")
    expect(systemctlCalls()).toEqual([
      "disable --now flightcase.service flightcase-backup.timer",
      "enable --now flightcase.service"
    ])
  })
  it("leaves data when it is removed, and nothing when it is purged", () => {
    inside("apt-get", "remove", "-y", "-q", "flightcase")
    expect(existsSync(join(data, "kept"))).toBe(true)
    inside("apt-get", "purge", "-y", "-q", "flightcase")
    expect([data, join(bare, "etc/flightcase"), join(bare, "usr/bin/flightcase")].filter(existsSync)).toEqual([])
  })
})
