/** Names that steer terminals, break lines or are markup, in what people are told. */
import { describe, expect, it } from "vitest"
import { house } from "./house.ts"

const hostile =
  "Show\r\nBcc: a@b.example\n\n-- \nYour account is closed: https://evil.example \u001b[2J\u202e<script>alert(1)</script>"

describe("names that are made to harm", () => {
  it("are one line without control characters in the inbox and in mails, and no markup", async () => {
    const one = await house("sqlite", { public_url: "https://hire.example" })
    try {
      const ann = await one.person("Ann", ["opportunities.view", "members.view"])
      const { member } = await one.did(201, "POST", "/members", { name: hostile, membership_type: "organisation" })
      const channels = { database: true, email: true }
      await one.did(200, "PUT", "/notification_settings", {
        settings: [{ notification_type: "opportunity.created", is_enabled: true, channels }]
      })
      await one.did(201, "POST", "/opportunities", { subject: hostile, member_id: member.id })
      await one.told()
      const [told] = (await one.inbox(ann)).filter(
        ({ notification_type }) => notification_type === "opportunity.created"
      )
      expect(told.title).toContain("evil.example")
      for (const text of [told.title, told.body]) expect(text).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e]/)
      await one.sql(
        "update effect_queue set visible_at = datetime('now', '-1 hour') where queue_name = 'notifications.mail' and state = 'pending'"
      )
      const mails = () =>
        one.sql(
          `select element from effect_queue where queue_name = 'mail.send' and id like 'mail.send:notifications.${ann.user_id}.%'`
        )
      await expect.poll(async () => (await mails()).length, { timeout: 20_000 }).toBe(1)
      const { data } = JSON.parse((await mails())[0].element)
      expect(data.subject).not.toMatch(/[\r\n\u001b\u202e]/)
      expect(data.text).not.toMatch(/[\r\u001b\u202e]/)
      expect(data.text).not.toMatch(/^\s*Your account is closed/m)
      expect(data.text).not.toMatch(/^Bcc:/m)
      expect(data.html).not.toContain("<script>")
    } finally {
      await one.close()
    }
  })
})
