/** The built product: a user is invited, reads the mail, and enrols a device with its code. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import PostalMime from "postal-mime"
import { expect, it } from "vitest"
import { freePort } from "../free-port.ts"
import { engines } from "../app.ts"
import { freshDatabase } from "../postgres.ts"
import { commandLine, startServer, token } from "./processes.ts"

it.each(engines)("an invited user logs in with the mailed code, which works once, on %s", async (engine) => {
  const folder = mkdtempSync(join(tmpdir(), "flightcase-invited-"))
  const database = engine === "pg" ? await freshDatabase() : undefined
  const data = join(folder, "server")
  const server = await startServer({ port: await freePort(), data, database: database?.url })
  try {
    const office = commandLine(join(folder, "office"))
    expect(await office("login", server.url, "--token", token)).toMatchObject({ code: 0 })
    const invited = await office("users", "invite", "ann@house.example", "--name", "Ann", "--role", "Sales")
    expect(invited).toMatchObject({ code: 0 })
    const mails = () => (readdirSync(data).includes("outbox") ? readdirSync(join(data, "outbox")) : [])
    await expect.poll(() => mails().filter((name) => name.endsWith(".eml")), { timeout: 30_000 }).toHaveLength(1)
    const mail = await PostalMime.parse(readFileSync(join(data, "outbox", mails()[0]!)))
    const code = /--code (\S+)/.exec(mail.text ?? "")?.[1] ?? ""
    const laptop = commandLine(join(folder, "laptop"))
    expect(await laptop("login", server.url, "--code", code, "--name", "laptop")).toMatchObject({ code: 0 })
    expect(await laptop("quote", "list", "--offline")).toMatchObject({ code: 0 })
    expect((await commandLine(join(folder, "thief"))("login", server.url, "--code", code)).code).toBe(5)
    expect(await server.stop()).toBe(0)
  } finally {
    await server.kill()
    await database?.drop()
    rmSync(folder, { recursive: true, force: true })
  }
})
