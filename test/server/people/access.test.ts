/** Logging in by a mailed code (rules/conventions 11, 12, 15). */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { Effect } from "effect"
import type { Param } from "../../../core/kernel/endpoints/endpoint.ts"
import { Store } from "../../../core/kernel/store/store.ts"
import { update } from "../../../core/kernel/tables/table.ts"
import { userActivated, userDeactivated } from "../../../core/people/users/decide.ts"
import { secret_settings } from "../../../core/setup/settings/secrets.ts"
import { accountMails } from "../../../server/people/slice.ts"
import { silentLog } from "../../../server/ports/log.ts"
import { nothing_outside } from "../../../server/ports/outside.ts"
import { engines } from "../../app.ts"
import { code_form, type House, openHouse, soon } from "./access.ts"

const day = 86_400_000
const logged: Array<string> = []
const log = { ...silentLog, at: (...line: ReadonlyArray<unknown>) => void logged.push(JSON.stringify(line)) }

describe.each(engines)("invitations and login codes by mail on %s", (engine) => {
  let house: House
  beforeAll(async () => {
    house = await openHouse(engine, { log })
    await house.did(200, "PUT", "/settings/company", { settings: { name: "Acme Hire" } })
  })
  afterAll(() => house.close())
  /** Creates an active user with a token. */
  const colleague = async (roles: ReadonlyArray<string> = [], abilities = ["*"]) => {
    const { user } = await house.invite({ roles, active: true, send_invitation: false })
    const made = await house.did(201, "POST", "/tokens", { name: "Theirs", abilities, user_id: user.id })
    return { user, secret: made.token.secret as string }
  }
  const reset = (id: number, json: object = {}, token?: string) =>
    house.ask(`/api/v1/users/${id}/reset_password`, { method: "POST", json, ...(token === undefined ? {} : { token }) })

  it("name the inviter and the server in an invitation, and log the person in", async () => {
    const { invitation_code, invitation_sent, user } = await house.invite({
      name: "Ann\nBcc: x@y.example",
      roles: ["Sales"]
    })
    expect(invitation_code).toBeNull()
    expect([invitation_sent, user.is_active, user.invitation_accepted_at]).toEqual([true, false, null])
    const text = await house.mailTo(user.email)
    expect(text).toContain("Owner invites you to work on the Flightcase server of Acme Hire, https://hire.example.")
    const code = code_form.exec(text)?.[0] ?? ""
    expect(text).toContain(`  flightcase login https://hire.example --code ${code}\n`)
    expect(text).toMatch(/once, until \d{1,2} \w+ \d{4} \d\d:\d\d \(.*\)/)
    const redeemed = await house.redeem(code.toLowerCase().replaceAll("-", " "), { name: "Ann's laptop" })
    expect([redeemed.status, redeemed.body.token]).toMatchObject([
      201,
      { name: "Ann's laptop", abilities: ["*"], user_id: user.id, expires_at: null }
    ])
    const { secret } = redeemed.body.token
    const shown = (await house.did(200, "GET", `/users/${user.id}`)).user
    expect(shown).toMatchObject({
      is_active: true,
      invitation_accepted_at: expect.any(String),
      last_login_at: expect.any(String),
      email_verified_at: expect.any(String)
    })
    await house.did(200, "GET", "/opportunities", undefined, secret)
    // The token's rights are those of the user's roles.
    await house.did(403, "GET", "/settings/company", undefined, secret)
    const told = (await house.events()).filter(
      ({ data, stream }) => stream === `user:${user.id}` || data.user_id === user.id
    )
    expect(told.map(({ type }) => type)).toEqual([
      "user.invited",
      "user.invitation_requested",
      "user.activated",
      "token.issued",
      "user.logged_in"
    ])
  })

  it("work once, and a refusal does not say what is wrong with a code", async () => {
    const { user } = await house.invite()
    const code = await house.codeFor(user.email)
    expect((await house.redeem(code)).status).toBe(201)
    const used = await house.redeem(code)
    const unknown = await house.redeem("0000-0000-0000-0000-0000-0000-0000")
    const malformed = await house.redeem("x")
    expect([used.status, Object.keys(used.body.errors)]).toEqual([422, ["code"]])
    expect(unknown.text).toBe(used.text)
    expect(malformed.text).toBe(used.text)
    expect((await house.redeem(undefined)).status).toBe(422)
    expect((await house.redeem({ $gt: "" })).status).toBe(422)
    expect((await house.redeem("x".repeat(100_000))).status).toBe(422)
  })

  it("log in once when many logins use a code at once", async () => {
    const { user } = await house.invite()
    const code = await house.codeFor(user.email)
    const got = await Promise.all(Array.from({ length: 8 }, (_, at) => house.redeem(code, {}, `203.0.113.${at}`)))
    expect(got.map(({ status }) => status).sort()).toEqual([201, ...Array.from({ length: 7 }, () => 422)])
    expect((await house.events("token.issued")).filter(({ data }) => data.user_id === user.id)).toHaveLength(1)
  })

  it("count against the address if they are invalid", async () => {
    const statuses: Array<number> = []
    for (let n = 0; n < 22; n++) statuses.push((await house.redeem("no code", {}, "203.0.113.99")).status)
    expect([statuses[0], statuses.at(-1)]).toEqual([422, 429])
    const { user } = await house.invite()
    const code = await house.codeFor(user.email)
    expect((await house.redeem(code, {}, "203.0.113.99")).status).toBe(429)
    expect((await house.redeem(code, {}, "203.0.113.98")).status).toBe(201)
  })

  it("expire after seven days for invitations, and after an hour for new codes", async () => {
    const now = Date.now()
    try {
      house.setClock(now)
      const [early, late] = [await house.invite(), await house.invite()]
      const codes = [await house.codeFor(early.user.email), await house.codeFor(late.user.email)]
      house.setClock(now + 7 * day - 1)
      expect((await house.redeem(codes[0])).status).toBe(201)
      house.setClock(now + 7 * day)
      expect((await house.redeem(codes[1])).status).toBe(422)
      const sent = await reset(early.user.id)
      expect([sent.status, sent.body.sent_to, Date.parse(sent.body.expires_at)]).toEqual([
        202,
        early.user.email,
        now + 7 * day + 3_600_000
      ])
      const again = await house.codeFor(early.user.email, 2)
      house.setClock(now + 7 * day + 3_600_000)
      expect((await house.redeem(again)).status).toBe(422)
      // Users who never logged in are invited again.
      expect(Date.parse((await reset(late.user.id)).body.expires_at)).toBe(now + 14 * day + 3_600_000)
      expect(await house.mailTo(late.user.email, 2)).toContain("Owner invites you")
    } finally {
      house.setClock(Date.now())
    }
  })

  it("become invalid with a later code, a changed address, or a closed or reopened account", async () => {
    const { user } = await house.invite()
    const first = await house.codeFor(user.email)
    expect((await reset(user.id)).status).toBe(202)
    const second = await house.codeFor(user.email, 2)
    expect((await house.redeem(first)).status).toBe(422)
    await house.did(200, "PUT", `/users/${user.id}`, { email: `moved.${user.email}` })
    expect((await house.redeem(second)).status).toBe(422)
    expect((await reset(user.id)).body.sent_to).toBe(`moved.${user.email}`)
    const third = await house.codeFor(`moved.${user.email}`)
    await house.did(204, "DELETE", `/users/${user.id}`)
    expect((await house.redeem(third)).status).toBe(422)
    expect(await house.mailTo(`moved.${user.email}`, 2)).toContain("Your account at Acme Hire was closed.")
    expect((await reset(user.id)).body.errors.user).toEqual([expect.stringContaining("closed")])
    await house.did(200, "POST", `/users/${user.id}/activate`)
    expect((await house.redeem(third)).status).toBe(422)
    const fourth = await house.codeFor(`moved.${user.email}`, 3)
    expect((await house.redeem(fourth)).status).toBe(201)
  })

  it("are absent from the mail about a closed account, as is any link", async () => {
    const { user } = await house.invite({ active: true, send_invitation: false })
    await house.did(204, "DELETE", `/users/${user.id}`)
    const text = await house.mailTo(user.email)
    expect(text).not.toMatch(code_form)
    expect(text).not.toContain("http")
  })

  it("are mailed unless the inviter opts out, to users created as active as well", async () => {
    const quiet = await house.invite({ send_invitation: false })
    expect(quiet.invitation_sent).toBe(false)
    const { invitation_sent, user } = await house.invite({ active: true })
    expect([invitation_sent, user.is_active]).toEqual([true, true])
    expect((await house.redeem(await house.codeFor(user.email))).status).toBe(201)
    expect(house.smtp.taken.filter(({ to }) => to.includes(quiet.user.email))).toEqual([])
  })

  it("are not mailed as invitations if the settings turn those off, but still on request", async () => {
    const set = (is_enabled: boolean) =>
      house.did(200, "PUT", "/notification_settings", { settings: [{ notification_type: "user.invited", is_enabled }] })
    await set(false)
    const { invitation_sent, user } = await house.invite()
    expect(invitation_sent).toBe(false)
    expect((await reset(user.id)).status).toBe(202)
    expect((await house.redeem(await house.codeFor(user.email))).status).toBe(201)
    await set(true)
    expect(house.smtp.taken.filter(({ to }) => to.includes(user.email))).toHaveLength(1)
  })

  it("revoke existing tokens on a password reset only if `end_sessions` is sent", async () => {
    const { secret, user } = await colleague(["Sales"])
    expect((await reset(user.id)).status).toBe(202)
    await house.did(200, "GET", "/opportunities", undefined, secret)
    expect((await reset(user.id, { end_sessions: true })).status).toBe(202)
    await house.did(401, "GET", "/opportunities", undefined, secret)
    const got = await house.redeem(await house.codeFor(user.email, 2))
    await house.did(200, "GET", "/opportunities", undefined, got.body.token.secret)
    expect((await house.events("user.access_reset")).slice(-2).map(({ data }) => data)).toEqual([
      { id: user.id, member_id: user.member_id ?? expect.any(Number), ends_sessions: false },
      { id: user.id, member_id: user.member_id ?? expect.any(Number), ends_sessions: true }
    ])
  })

  it("are limited to five an hour per person", async () => {
    const { user } = await colleague()
    for (let n = 0; n < 5; n++) expect((await reset(user.id)).status).toBe(202)
    const sixth = await reset(user.id)
    expect([sixth.status, Number(sixth.headers["retry-after"]) > 3_000]).toEqual([429, true])
    const { user: another } = await colleague()
    expect((await reset(another.id)).status).toBe(202)
  })

  it("cannot be sent to users with more rights than the sender, or with abilities the token lacks", async () => {
    const admin = await colleague(["Admin"])
    const other = await colleague(["Admin"])
    const sales = await colleague(["Sales"])
    const limited = await house.did(201, "POST", "/tokens", {
      name: "Script",
      abilities: ["users:write"],
      user_id: admin.user.id
    })
    expect((await reset(1, {}, admin.secret)).status).toBe(403)
    expect((await reset(other.user.id, {}, admin.secret)).status).toBe(403)
    expect((await reset(sales.user.id, {}, sales.secret)).status).toBe(403)
    expect((await reset(admin.user.id, {}, sales.secret)).status).toBe(403)
    expect((await reset(admin.user.id, {}, limited.token.secret)).status).toBe(403)
    expect((await reset(sales.user.id, {}, limited.token.secret)).body.message).toContain("lacks the ability")
    expect((await reset((await colleague()).user.id, {}, limited.token.secret)).status).toBe(202)
    expect((await reset(admin.user.id, {}, admin.secret)).status).toBe(202)
    expect((await reset(99_999)).status).toBe(404)
    const role = await house.did(201, "POST", "/roles", {
      name: "Helpdesk",
      permissions: ["users.reset-password", "users.view"]
    })
    const helpdesk = await colleague([role.role.name])
    expect((await reset(sales.user.id, {}, helpdesk.secret)).status).toBe(403)
    const nobody = await colleague()
    expect((await reset(nobody.user.id, {}, helpdesk.secret)).status).toBe(202)
    const read = await house.did(201, "POST", "/tokens", { name: "R", abilities: ["users:read"] })
    expect((await reset(sales.user.id, {}, read.token.secret)).status).toBe(403)
  })

  it("grant no more than the inviting token, at the invitation or later", async () => {
    const { token } = await house.did(201, "POST", "/tokens", { name: "HR", abilities: ["users:write", "roles:write"] })
    const invited = { name: "Mallory", email: "mallory@house.example" }
    await house.did(403, "POST", "/users", { ...invited, roles: ["Admin"] }, token.secret)
    await house.did(403, "POST", "/users", { ...invited, roles: ["Sales"], send_invitation: false }, token.secret)
    const { role } = await house.did(201, "POST", "/roles", { name: "Trainees" }, token.secret)
    const { user } = await house.did(201, "POST", "/users", { ...invited, roles: ["Trainees"] }, token.secret)
    await house.did(403, "PUT", `/users/${user.id}`, { roles: ["Admin"] }, token.secret)
    await house.did(403, "PUT", `/roles/${role.id}`, { permissions: ["invoices.view"] }, token.secret)
    // Changes that send no code are allowed: a name, and the address of a user without access.
    const admin = await colleague(["Admin"])
    await house.did(200, "PUT", `/users/${admin.user.id}`, { name: "Renamed" }, token.secret)
    await house.did(200, "PUT", `/users/${user.id}`, { email: "mal@house.example" }, token.secret)
  })

  it("cannot be sent to administrators with a token of fewer abilities", async () => {
    /** Requests every endpoint that names a user, for administrators active or not; returns those that send a code. */
    const walk = async (tokenFor: (ability: string) => Promise<string>): Promise<ReadonlyArray<string>> => {
      const ended: Array<string> = []
      for (const { ability, method, name, params, path } of house.app.catalogue.endpoints) {
        const names_user = Object.values(params).some((param) => (param as Param).table.name === "users")
        if (method === "GET" || ability === null || !(names_user || path === "/api/v1/users")) continue
        for (const is_active of [true, false]) {
          const { user } = await house.invite({ roles: ["Admin"], active: true, send_invitation: false })
          if (!is_active) await house.did(204, "DELETE", `/users/${user.id}`)
          const before = (await house.events()).length
          await house.ask(path.replace(/\{\w+\}/, String(user.id)), {
            method,
            json: { name: "X", email: `x${before}@house.example`, roles: ["Admin"] },
            headers: { prefer: "handling=lenient" },
            token: await tokenFor([ability].flat()[0]!)
          })
          const caused = (await house.events()).slice(before)
          if (caused.some(({ data, type }) => leads_to_code.includes(type) || data.email !== undefined))
            ended.push(`${name}${is_active ? "" : " of a closed account"}`)
        }
      }
      return ended
    }
    const leads_to_code = [...accountMails.on, userActivated.type].filter((type) => type !== userDeactivated.type)
    const own = await house.did(201, "POST", "/tokens", { name: "All", abilities: ["*"] })
    expect(await walk(async () => own.token.secret)).toEqual([
      "users.create",
      "users.create of a closed account",
      "users.update",
      "users.update of a closed account",
      "users.activate of a closed account",
      "users.reset_password"
    ])
    const limited = await house.did(201, "POST", "/tokens", { name: "One", abilities: ["users:write"] })
    const one = async (ability: string): Promise<string> =>
      ability === "users:write"
        ? limited.token.secret
        : (await house.did(201, "POST", "/tokens", { name: ability, abilities: [ability] })).token.secret
    expect(await walk(one)).toEqual([])
  })

  it("yield tokens that expire by the settings, as other tokens do", async () => {
    await house.did(200, "PUT", "/settings/api", { settings: { token_expiration_days: 30 } })
    const { user } = await house.invite()
    const { token } = (await house.redeem(await house.codeFor(user.email))).body
    await house.did(200, "PUT", "/settings/api", { settings: { token_expiration_days: 0 } })
    expect(Date.parse(token.expires_at) - Date.now()).toBeGreaterThan(29 * day)
  })

  it("appear only in the mail, not in the database, logs or jobs", async () => {
    await house.did(200, "PUT", "/settings/mail", { settings: { always_bcc: "archive@house.example" } })
    const { user } = await house.invite()
    const code = await house.codeFor(user.email)
    await house.did(200, "PUT", "/settings/mail", { settings: { always_bcc: null } })
    const mails = house.smtp.taken.filter(({ to }) => to.includes(user.email))
    expect(mails.map(({ to }) => to)).toEqual([[user.email]])
    const plain = code.replaceAll("-", "")
    const holders = [await house.everything(), logged.join("\n")]
    holders.push((await house.ask("/api/v1/system/jobs?per_page=100")).text)
    for (const held of holders) {
      expect(held).not.toContain(code)
      expect(held).not.toContain(plain)
    }
    expect((await house.redeem(code, { name: "Desk" })).status).toBe(201)
    await house.redeem(code)
    expect(await house.everything()).not.toContain(plain)
    expect(logged.join("\n")).not.toContain(plain)
    expect(logged.join("\n")).toContain("/api/v1/login_codes/redeem")
    const sealed = () =>
      house.run(Effect.flatMap(Store, (store) => store.run("select * from mail_secrets where sealed is not null")))
    await expect.poll(sealed, soon).toEqual([])
  })

  it("are not sent to an address that mail cannot carry", async () => {
    const { user } = await house.invite({ email: "two..dots@house.example", active: true, send_invitation: false })
    const { body, status } = await reset(user.id)
    const reason = "No mail can be sent to two..dots@house.example: change the e-mail address first."
    expect([status, body.errors]).toEqual([422, { user: [reason] }])
  })
})

describe.each(engines)("invitations without a mail server on %s", (engine) => {
  it("return their code to the inviter, and encrypt it in stored responses", async () => {
    const house = await openHouse(engine, { outside: nothing_outside })
    try {
      const body = { name: "Ann", email: "ann@house.example", roles: ["Sales"] }
      const headers = { "idempotency-key": "invite-ann" }
      const invited = await house.ask("/api/v1/users", { method: "POST", json: body, headers })
      const { invitation_code } = invited.body
      expect(invitation_code).toMatch(code_form)
      const again = await house.ask("/api/v1/users", { method: "POST", json: body, headers })
      expect(again.body.invitation_code).toBe(invitation_code)
      expect(await house.everything()).not.toContain(invitation_code)
      await expect.poll(async () => (await house.redeem(invitation_code)).status, soon).toBe(201)
      expect((await house.redeem(invitation_code)).status).toBe(422)
      expect((await house.invite({ send_invitation: false })).invitation_code).toBeNull()
      const reset = await house.did(202, "POST", `/users/${invited.body.user.id}/reset_password`, {})
      expect(reset.message).toContain("the message to ann@house.example is written to the outbox folder and not sent")
    } finally {
      await house.close()
    }
  })
})

describe.each(engines)("undelivered mail about accounts on %s", (engine) => {
  it("is not said to be on its way if the server cannot read the address of its mail server", async () => {
    const house = await openHouse(engine, { outside: nothing_outside })
    try {
      await house.did(200, "PUT", "/settings/mail", { settings: { smtp_url: "smtp://mail.house.example" } })
      const { user } = await house.invite({ active: true, send_invitation: false })
      const sealed = update(secret_settings, "mail.smtp_url", { sealed: "sealed by another key" })
      await house.run(Effect.flatMap(Store, (store) => store.apply([sealed])))
      const { message } = await house.did(202, "POST", `/users/${user.id}/reset_password`, {})
      expect(message).toBe(
        `A code to log in with waits to be sent to ${user.email}: mail.smtp_url cannot be read with this server's ` +
          "FLIGHTCASE_KEY. Set what it seals again, or start the server with the earlier key."
      )
    } finally {
      await house.close()
    }
  })
  it("is dropped with its code once the code has expired", async () => {
    const house = await openHouse(engine)
    try {
      const now = Date.now()
      house.setClock(now)
      await house.did(200, "PUT", "/settings/mail", { settings: { sender_address: "desk@house.example" } })
      await house.smtp.close()
      const { user } = await house.invite({ active: true, send_invitation: false })
      await house.did(202, "POST", `/users/${user.id}/reset_password`, {})
      const mailJob = async () =>
        [...(await house.jobs()).values()].find(({ id }) => id.startsWith("mail.send:account"))
      await expect.poll(async () => (await mailJob())?.attempts ?? 0, soon).toBeGreaterThan(0)
      await expect.poll(async () => (await mailJob())?.error ?? null, soon).not.toBeNull()
      house.setClock(now + 3_600_001)
      await house.hurry()
      await expect.poll(async () => (await mailJob())?.status, soon).toBe("failed")
      expect((await mailJob())?.error).toContain("have a new one sent")
      expect(await house.run(Effect.flatMap(Store, (store) => store.run("select * from mail_secrets")))).toEqual([])
      await house.did(200, "POST", `/system/jobs/${(await mailJob())?.id}/retry`)
      await expect.poll(async () => (await mailJob())?.status, soon).toBe("failed")
    } finally {
      await house.close()
    }
  })
})
